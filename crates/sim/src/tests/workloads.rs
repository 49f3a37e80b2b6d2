//! Named workloads, and those that are refused.

use super::*;

#[test]
fn every_named_workload_and_device_runs() {
    for preset in Workload::presets() {
        for device in Device::presets() {
            let workload = preset.at(500, 500);
            let config = Config { device: device.device, ..small(all_small().remove(0), workload) };
            let report = run(config).report();
            let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
            let done: u64 = report.phases.iter().map(|phase| phase.figures.operations).sum();
            assert_eq!(done, report.whole.operations, "{}: {names:?}", preset.name);
            assert_eq!(names.last(), Some(&"wait-until-idle"), "{}", preset.name);
            assert!(report.whole.space_amp_peak >= 1.0, "{} {report:?}", preset.name);
        }
    }
}

#[test]
fn a_choice_outside_its_range_is_refused_with_its_name() {
    let refused = |config: Config| Simulation::new(config).err().unwrap().to_string();
    let config = Config::default();
    let words = refused(Config { workers: 0, ..config.clone() });
    assert!(words.contains("workers is 0"), "{words}");
    let device = Device { read_speed: f64::NAN, ..Device::default() };
    let words = refused(Config { device, ..config.clone() });
    assert!(words.contains("read-speed is NaN"), "{words}");
    let flash = Some(FlashOptions { page_bytes: 1, ..FlashOptions::default() });
    let words = refused(Config { flash, ..config.clone() });
    assert!(words.contains("flash pages"), "{words}");
    for (clients, expected) in [
        (Clients { count: 0, ..Clients::default() }, "clients.count is 0, expected 1 to"),
        (Clients { rate: -1.0, ..Clients::default() }, "clients.rate is -1, expected 0, or"),
        (
            Clients { scan_entries: u64::MAX, ..Clients::default() },
            "clients.scan-entries is 18446744073709552000, expected 1 to 1e12",
        ),
        (
            Clients { scan_entries: 5, scan_entries_least: 6, ..Clients::default() },
            "clients.scan-entries-least is 6, expected at most scan-entries",
        ),
        (
            Clients {
                choice: Choice::ShiftingRanges { from: 10, to: 5, step: 1 },
                ..Clients::default()
            },
            "clients.choice.to is 5, expected at least from, and at most 10000",
        ),
    ] {
        let workload = Workload::then(10, 10, clients);
        let words = refused(Config { workload, ..config.clone() });
        assert!(words.contains(expected), "{words}");
    }
    let choice = Choice::ShiftingRanges { from: 10, to: 50, step: 10 };
    let ranges = Workload::then(10, 10, Clients { choice, ..Clients::default() });
    for (order, name) in [(KeyOrder::Scattered, "scattered"), (KeyOrder::Skewed, "skewed")] {
        let workload = Workload { order, ..ranges.clone() };
        let words = refused(Config { workload, ..config.clone() });
        assert!(
            words.contains(&format!("workload.order is {name}, expected ascending")),
            "{words}"
        );
    }
    let workload = Workload { order: KeyOrder::Ascending, ..ranges };
    assert!(Simulation::new(Config { workload, ..config.clone() }).is_ok());
    let phases = vec![Phase { clients: Vec::new(), ..Phase::default() }];
    let workload = Workload { phases, ..Workload::default() };
    let words = refused(Config { workload, ..config.clone() });
    assert!(words.contains("workload.phases.clients is 0"), "{words}");
    let words = refused(Config { subcompactions: 0, ..config });
    assert!(words.contains("subcompactions is 0"), "{words}");
    serde_json::from_str::<Config>(r#"{"worker": 1}"#).unwrap_err();
}

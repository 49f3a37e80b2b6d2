//! Level 0: who stalls by what, merges that are shared, and what is measured of merges.

use super::*;

/// A load under this policy, on a machine whose merges bound it.
fn load(json: &str, workers: usize) -> Config {
    let mut config = small(policy(json), Workload { load: 12_000, ..Workload::default() });
    config.device.merge_nanos_per_byte = 200.0;
    Config { workers, l0_stop_trigger: 8, timeline: true, window: 500, ..config }
}

const LEVELED: &str = r#"{"policy": "leveled", "size-ratio": 4, "level-base-bytes": 6000,
    "target-file-bytes": 3000"#;

fn leveled(more: &str, workers: usize) -> Report {
    Simulation::new(load(&format!("{LEVELED}{more}}}"), workers)).unwrap().run().unwrap()
}

#[test]
fn a_shared_merge_of_level_0_takes_less_time() {
    let [alone, shared] = ["", r#", "max-subcompactions": 4"#].map(|more| leveled(more, 4).whole);
    let time = |figures: &Figures| figures.merges[0].micros.mean;
    assert!(time(&shared) < 0.5 * time(&alone), "{} of {}", time(&shared), time(&alone));
}

#[test]
fn merges_are_counted_by_the_level_that_they_take_from() {
    let report = leveled("", 2);
    let Figures { merges, merge_read_bytes, .. } = &report.whole;
    let sum = |of: &dyn Fn(&MergeFigures) -> f64| merges.iter().map(of).sum::<f64>();
    let bytes = sum(&|merges| merges.count as f64 * merges.input_bytes.mean);
    assert!((bytes / *merge_read_bytes as f64 - 1.0).abs() < 1e-9);
    assert!(merges.len() > 2 && merges[0].count > 0);
    let level0 = merges[0].input_bytes;
    assert!(level0.p10 <= level0.p25 && level0.p25 <= level0.p50 && level0.p50 <= level0.p75);
    assert!(level0.p75 <= level0.p90 && level0.p90 <= level0.p99 && level0.p99 <= level0.max);
    let phases: u64 = report.phases.iter().map(|phase| phase.figures.merges[0].count).sum();
    assert_eq!(phases, merges[0].count);
}

#[test]
fn busy_workers_over_time_add_up_to_what_they_did() {
    let config = load(&format!("{LEVELED}}}"), 3);
    let mut simulation = Simulation::new(config).unwrap();
    while simulation.progress().0 < 12_000 && simulation.advance(1).unwrap() {}
    let report = simulation.report();
    let (mut begun, mut busy) = (0.0, 0.0);
    for window in &report.timeline {
        assert!(window.busy_workers <= 3.0);
        busy += window.busy_workers * (window.seconds - begun);
        begun = window.seconds;
    }
    assert_eq!(report.timeline.len(), 24);
    let loaded = &report.phases[0].figures;
    let all = loaded.worker_utilisation * 3.0 * loaded.seconds;
    assert!((0.999..1.001).contains(&(busy / all)), "{busy} of {all}");
}

#[test]
fn writes_slow_down_before_level_0_stops_them() {
    let [free, slowed] = [0, 4].map(|l0_slowdown_trigger| {
        let config = load(&format!("{LEVELED}}}"), 1);
        let (l0_stop_trigger, delayed_write_rate) = (12, 1_000_000);
        let config = Config { l0_stop_trigger, l0_slowdown_trigger, delayed_write_rate, ..config };
        Simulation::new(config).unwrap().run().unwrap().whole.stall_seconds
    });
    assert_eq!(free.slowed_level0, 0.0);
    assert!(slowed.slowed_level0 > 0.0 && slowed.slowed == 0.0, "{slowed:?}");
    assert!(slowed.level0 < free.level0, "{slowed:?} {free:?}");
}

#[test]
fn workers_and_waits_of_a_phase_last_no_longer_than_the_phase() {
    let mix = Workload::preset("updates-50", 12_000, 1000).unwrap();
    // Many clients wait at once where writes slow down, and then stop.
    for (clients, workers) in [(1, 1), (1, 2), (64, 1)] {
        let (l0_slowdown_trigger, delayed_write_rate) = (4, 100_000);
        let mut config = load(&format!("{LEVELED}}}"), workers);
        config =
            Config { l0_slowdown_trigger, delayed_write_rate, workload: mix.clone(), ..config };
        config.workload.phases.iter_mut().for_each(|phase| phase.clients[0].count = clients);
        let report = Simulation::new(config).unwrap().run().unwrap();
        let phases = report.phases.iter().map(|phase| &phase.figures);
        for Figures { seconds, worker_utilisation, stall_seconds: stalls, .. } in phases {
            assert!((0.0..=1.0 + 1e-9).contains(worker_utilisation), "{worker_utilisation}");
            let all = stalls.memtables + stalls.level0 + stalls.slowed_level0;
            assert!(all <= seconds * 1.001, "{stalls:?} of {seconds} s");
        }
    }
}

#[test]
fn buckets_stall_writes_by_the_tables_over_one_key() {
    let options = r#"{"policy": "bucket", "size-ratio": 4, "level-base-bytes": 6000,
        "target-file-bytes": 3000, "follow-workers": false, "l0-compaction-trigger": 4}"#;
    let mut config = load(options, 4);
    config.l0_stop_trigger = 4;
    let runs = Simulation::new(config.clone()).unwrap().run().unwrap().whole.runs_max;
    assert!(runs > 4, "more runs than writes would stall at");
    let mut simulation = Simulation::new(config).unwrap();
    let mut most = 0;
    while simulation.advance(1).unwrap() {
        most = most.max(simulation.tree.shape().level0_depth());
    }
    // One is being flushed as the fourth is there, one more is sealed.
    assert!((4..=6).contains(&most), "{most}");
}

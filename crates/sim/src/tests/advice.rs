//! Advice: costs are those of the operations, the front has all that nothing beats, and a pick keeps to limits.

use super::*;
use crate::advice::{Costs, Pick, front, pick};
use proptest::prelude::*;

fn costs(write: f64, read: f64, space: f64) -> Costs {
    Costs { write, read, space, compaction_micros: write, read_micros: read, waited: 0.0 }
}

#[test]
fn the_front_has_what_nothing_beats() {
    let all = [
        costs(4.0, 1.0, 1.5),
        costs(2.0, 3.0, 1.5),
        // As the first, and larger.
        costs(4.0, 1.0, 1.6),
        // As the second.
        costs(2.0, 3.0, 1.5),
        // As the first by two digits, though less by three.
        costs(3.99, 1.0, 1.5),
    ];
    assert_eq!(front(&all), [true, true, false, true, true]);
}

proptest! {
    #[test]
    fn whatever_is_off_the_front_is_beaten_by_one_of_it(
        all in prop::collection::vec((1u32..9, 1u32..9, 1u32..9), 1..40)
    ) {
        let all: Vec<_> =
            all.into_iter().map(|(w, r, s)| costs(w.into(), r.into(), s.into())).collect();
        let on = front(&all);
        let beats = |a: &Costs, b: &Costs| {
            a.write <= b.write && a.read <= b.read && a.space <= b.space
                && (a.write < b.write || a.read < b.read || a.space < b.space)
        };
        for (one, on_front) in all.iter().zip(&on) {
            let mut of_front = all.iter().zip(&on).filter(|(_, on)| **on);
            prop_assert_eq!(!on_front, of_front.any(|(other, _)| beats(other, one)));
        }
    }
}

#[test]
fn a_pick_takes_the_least_of_the_device_within_its_limits() {
    let slow = Costs { waited: 0.5, ..costs(1.0, 1.0, 2.0) };
    let all = [costs(4.0, 2.0, 1.2), costs(3.0, 1.0, 3.0), slow, costs(2.0, 4.0, 1.3)];
    let picked = |space| pick(&all, space);
    let with = |picked, too_large, too_slow| Some(Pick { picked, too_large, too_slow });
    // By the device: 2 for the one that waits, 4 for the large one, 6 for the others.
    assert_eq!(picked(4.0), with(1, None, Some(2)));
    assert_eq!(picked(2.0), with(0, Some(1), Some(2)));
    assert_eq!(picked(1.2), with(0, Some(1), None));
    assert_eq!(picked(1.1), None);
}

#[test]
fn where_none_keeps_up_the_pick_waits_least() {
    let waiting = |waited, write| Costs { waited, ..costs(write, 10.0 - write, 1.0) };
    let all = [waiting(0.5, 1.0), waiting(0.2, 2.0), waiting(0.3, 3.0)];
    assert_eq!(pick(&all, 2.0).map(|pick| pick.picked), Some(1));
}

/// A load, and operations of this mix once it is compacted.
fn measured(mix: Mix, policy: PolicyOptions) -> (Costs, Report) {
    let mut workload = Workload::then(2000, 4000, Clients { mix, ..Clients::default() });
    workload.phases[0].wait_until_idle = true;
    let mut config = small(policy.sized(6000, 3000), workload);
    (config.device.read_speed, config.device.write_speed) = (1e6, 5e5);
    let report = run(config.clone()).report();
    (Costs::of(&config, &report), report)
}

#[test]
fn costs_are_those_of_the_operations_alone() {
    for policy in ["leveled", "tiered", "spooky"] {
        let policy = PolicyOptions::preset(policy).unwrap();
        let (costs, report) = measured(Mix { update: 1.0, read: 1.0, ..Mix::default() }, policy);
        let load = phase(&report, "load");
        let whole = &report.whole;
        // The second wait belongs to the operations, the first to the load.
        let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["load", "wait-until-idle", "operations", "wait-until-idle"]);
        let first_wait = &report.phases[1].figures;
        let written = |f: &Figures| (f.flushed_bytes + f.merge_written_bytes) as f64;
        let after = written(whole) - written(&load) - written(first_wait);
        let accepted = (whole.user_bytes - load.user_bytes) as f64;
        assert!((costs.write - after / accepted).abs() < 1e-9);
        let read =
            (whole.merge_read_bytes - load.merge_read_bytes - first_wait.merge_read_bytes) as f64;
        let seconds = after / 5e5 + read / 1e6;
        assert!((costs.compaction_micros - seconds * 1e6 / 4000.0).abs() < 1e-6);
        assert!((costs.read - whole.read_ios_per_get).abs() < 1e-9);
    }
}

#[test]
fn reads_alone_write_nothing_and_take_blocks() {
    let mix = Mix { read: 1.0, scan: 1.0, ..Mix::default() };
    let (costs, report) = measured(mix, PolicyOptions::default());
    let whole = &report.whole;
    assert_eq!((costs.write, costs.compaction_micros), (0.0, 0.0));
    let blocks =
        whole.gets as f64 * whole.read_ios_per_get + whole.scans as f64 * whole.read_ios_per_scan;
    assert!((costs.read - blocks / 4000.0).abs() < 1e-9 && costs.read > 0.5, "{costs:?}");
    // A block is 400 bytes, at a megabyte a second.
    let block = Device::default().block_micros + 400.0;
    assert!((costs.read_micros - blocks * block / 4000.0).abs() < 1e-6);
}

//! Writes while many bytes wait to be compacted.

use super::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Partial merges on a machine whose one worker is slower than the writes.
fn behind(soft: u64, hard: u64) -> Config {
    let json = r#"{"policy": "leveled", "size-ratio": 4, "level-base-bytes": 6000,
                   "target-file-bytes": 3000, "dynamic-level-bytes": false}"#;
    let mut config = small(policy(json), Workload { load: 12_000, ..Workload::default() });
    config.device.merge_nanos_per_byte = 500.0;
    config.device.write_micros = 100.0;
    Config {
        workers: 1,
        l0_stop_trigger: 1000,
        soft_pending_compaction_bytes: soft,
        hard_pending_compaction_bytes: hard,
        ..config
    }
}

/// The report, the trace, and the most bytes that waited.
fn outcome(config: Config) -> (Figures, String, u64) {
    let mut simulation = Simulation::new(config).unwrap();
    let trace = Rc::new(RefCell::new(String::new()));
    let written = trace.clone();
    simulation.listen(Box::new(move |micros, event| {
        *written.borrow_mut() += &format!("{micros} {}\n", serde_json::to_string(event).unwrap());
    }));
    let mut most = 0;
    while simulation.advance(1).unwrap() {
        most = most.max(simulation.pending_bytes);
    }
    (simulation.report().whole, trace.take(), most)
}

#[test]
fn bounds_that_are_not_reached_change_nothing() {
    let (free, trace, _) = outcome(behind(0, 0));
    let (bounded, same, most) = outcome(behind(1 << 40, 1 << 41));
    assert_eq!((free, trace), (bounded, same));
    assert!(most > 200_000, "{most}");
}

#[test]
fn writes_stall_for_pending_compaction_bytes_and_report_it() {
    let (free, _, without) = outcome(behind(0, 1 << 40));
    let (bounded, trace, most) = outcome(behind(0, 60_000));
    let stalls = bounded.stall_seconds;
    assert!(stalls.compaction_bytes > 0.1 * bounded.seconds, "{stalls:?}");
    assert_eq!((stalls.level0, stalls.slowed), (0.0, 0.0));
    assert!(trace.contains(r#""type":"stalled","reason":"compaction-bytes""#));
    // What merges add to a level that is over its capacity still comes.
    assert!((60_000..without / 2).contains(&most), "{most} of {without}");
    assert!(bounded.space_amp_peak < free.space_amp_peak, "{bounded:?} {free:?}");
    assert_eq!(bounded.user_bytes, free.user_bytes);
}

#[test]
fn writes_slow_down_to_their_rate_for_pending_bytes() {
    let rate = 100_000;
    let (slowed, trace, _) = outcome(Config { delayed_write_rate: rate, ..behind(1, 0) });
    let stalls = slowed.stall_seconds;
    // From the first flush that is over a capacity on, nearly.
    let all = slowed.user_bytes as f64 / rate as f64;
    assert!((0.5 * all..=all).contains(&stalls.slowed), "{stalls:?} {all}");
    assert!(slowed.seconds >= stalls.slowed, "{slowed:?}");
    assert_eq!(stalls.compaction_bytes, 0.0);
    assert!(!trace.contains("compaction-bytes"));
}

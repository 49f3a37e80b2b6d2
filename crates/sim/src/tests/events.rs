//! The events, which are those of the engine.

use super::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use terrane_policy::event::{Event, MAX_PROGRESS};

/// The events of a whole simulation, with their times.
fn events(config: Config) -> (Vec<(u64, Event)>, Simulation) {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let recorded = Rc::clone(&heard);
    let mut simulation = Simulation::new(config).unwrap();
    simulation.listen(Box::new(move |micros, event| {
        recorded.borrow_mut().push((micros, event.clone()));
    }));
    while simulation.advance(u64::MAX).unwrap() {}
    (heard.take(), simulation)
}

#[test]
fn each_group_is_announced_with_what_its_installation_replaces() {
    for options in all_small() {
        let name = options.name();
        let (events, _) = events(small(options, updates(3000, 3000, Choice::Uniform)));
        let (mut begun, mut installed) = (BTreeMap::new(), 0);
        for (_, event) in &events {
            match event {
                Event::GroupBegun { compaction, inputs, level, run, moved, .. } => {
                    let announced = (inputs.clone(), *level, *run, *moved);
                    let before = begun.insert((*compaction, inputs[0]), (announced, 0));
                    assert!(before.is_none(), "{name}: {event:?}");
                }
                Event::MergeProgress { compaction, group, .. } => {
                    begun.get_mut(&(*compaction, *group)).expect("it has begun").1 += 1;
                }
                Event::GroupInstalled { compaction, inputs, level, run, moved, .. } => {
                    let (announced, reports) =
                        begun.remove(&(*compaction, inputs[0])).expect("it has begun");
                    assert_eq!(announced, (inputs.clone(), *level, *run, *moved), "{name}");
                    assert!(reports <= MAX_PROGRESS, "{name}: {reports}");
                    installed += 1;
                }
                _ => {}
            }
        }
        assert!(begun.is_empty() && installed > 10, "{name}: {installed}");
    }
}

#[test]
fn a_policy_that_is_changed_takes_the_tree_as_it_is() {
    for options in all_small() {
        let name = options.name();
        let config = small(policy(r#"{"policy": "tiered"}"#), updates(3000, 3000, Choice::Uniform));
        let heard = Rc::new(RefCell::new(Vec::new()));
        let recorded = Rc::clone(&heard);
        let mut simulation = Simulation::new(config).unwrap();
        simulation.listen(Box::new(move |_, event| recorded.borrow_mut().push(event.clone())));
        simulation.advance(4000).unwrap();
        let before: BTreeSet<_> =
            simulation.shape().tables().map(|(_, _, table)| table.id).collect();
        simulation.set_policy(&options).unwrap();
        let after: BTreeSet<_> =
            simulation.shape().tables().map(|(_, _, table)| table.id).collect();
        assert_eq!(after, before, "{name}");
        while simulation.advance(u64::MAX).unwrap() {}
        assert_eq!(simulation.report().policy, name);
        let events = heard.take();
        let changed = events.iter().position(|event| matches!(event, Event::PolicyChanged { .. }));
        let (old, new) = events.split_at(changed.expect("it was changed"));
        let count = |events: &[Event], begun: bool| {
            let is = |event: &&Event| match event {
                Event::CompactionBegun { .. } => begun,
                Event::CompactionEnded { .. } => !begun,
                _ => false,
            };
            events.iter().filter(is).count()
        };
        assert_eq!(count(&events, true), count(&events, false), "{name}");
        assert!(count(old, true) > 5 && count(new, true) > 5, "{name}");
        let refused = new.iter().filter(|event| matches!(event, Event::PlanRefused { .. }));
        assert_eq!(refused.count(), 0, "{name}");
    }
}

#[test]
fn stalls_end_after_the_time_that_the_report_has() {
    let policy = policy(r#"{"policy": "tiered", "size-ratio": 2, "level-base-bytes": 1024}"#);
    let mut config = small(policy, Workload { load: 500, ..Workload::default() });
    config.buffer_bytes = 1000;
    config.device.write_speed = 1000.0;
    config.max_immutable_memtables = 1;
    let (events, simulation) = events(config);
    let (mut open, mut stalled) = (None, 0);
    for (micros, event) in events {
        match event {
            Event::Stalled { reason } => assert_eq!(open.replace((reason, micros)), None),
            Event::StallEnded { reason, lasted_micros } => {
                let (begun, at) = open.take().expect("it has begun");
                assert_eq!(reason, begun);
                assert!(lasted_micros.abs_diff(micros - at) <= 1, "{lasted_micros}");
                stalled += lasted_micros;
            }
            _ => {}
        }
    }
    assert_eq!(open, None);
    let report = simulation.report().whole.stall_seconds;
    let seconds = report.memtables + report.level0;
    assert!(seconds > 10.0 && (stalled as f64 / 1e6 - seconds).abs() < 0.01, "{stalled} {seconds}");
}

#[test]
fn gets_and_writes_are_reported_each_virtual_second() {
    let mix = Mix { read: 0.6, update: 0.4, ..Mix::default() };
    let clients = Clients { mix, rate: 1000.0, ..Clients::default() };
    let config = small(policy(r#"{"policy": "leveled"}"#), Workload::then(3000, 6000, clients));
    let (events, simulation) = events(config);
    let (mut seconds, mut gets, mut writes, mut reads) = (0, 0, 0, Vec::new());
    for (at, event) in events {
        let Event::Operations { lasted_micros, gets: get, writes: write, levels, .. } = event
        else {
            continue;
        };
        assert!(lasted_micros >= 1_000_000 && lasted_micros <= at, "{lasted_micros} of {at}");
        for stats in [&get, &write] {
            assert!(stats.p50_micros <= stats.p99_micros && stats.p99_micros <= stats.max_micros);
            assert!(stats.quantiles.is_sorted() && stats.quantiles.len() > 1);
        }
        (seconds, gets, writes, reads) =
            (seconds + 1, gets + get.count, writes + write.count, levels);
    }
    // The last second is cut short. All of the load, in no time, may be in the first.
    assert!((4..=6).contains(&seconds), "{seconds}");
    assert!((2000..=3800).contains(&gets), "{gets}");
    assert!((4000..=5500).contains(&writes), "{writes}");
    let report = simulation.report().whole;
    for (reported, all) in reads.iter().zip(&report.by_level) {
        assert!(reported.filter_lookups <= all.lookups);
        assert!(2 * reported.filter_lookups >= all.lookups, "{reported:?} of {all:?}");
        // Nothing is cached.
        assert_eq!(reported.blocks_read, reported.searches);
    }
}

//! A policy that tunes itself, in a store whose mix of operations changes.

use super::*;
use std::cell::RefCell;
use std::rc::Rc;
use terrane_policy::Fact;
use terrane_policy::event::Event;

const VERTIORIZON: &str = r#"{"policy": "vertiorizon", "level-base-bytes": 6000, "window-operations": 2048,
    "target-file-bytes": 6400, "data-bytes": 600000}"#;

/// Returns Vertiorizon's choices at the end of each phase of updates and scans: its levels, and
/// whether they are tiered. A merge costs `merge` nanoseconds a byte; without that, nothing is known of costs.
fn choices(mixes: &[(f64, f64)], merge: Option<f64>) -> Vec<(u64, u64)> {
    let phases = mixes.iter().map(|(update, scan)| Phase {
        operations: 30_000,
        clients: vec![Clients {
            mix: Mix { update: *update, scan: *scan, ..Mix::default() },
            scan_entries: 8,
            ..Clients::default()
        }],
        ..Phase::default()
    });
    let workload = Workload { load: 6000, phases: phases.collect(), ..Workload::default() };
    let last = Rc::new(RefCell::new((0, 0)));
    let chosen = Rc::clone(&last);
    let mut config = small(policy(VERTIORIZON), workload);
    config.measured_costs = merge.is_some();
    config.device.merge_nanos_per_byte = merge.unwrap_or(0.0);
    let mut simulation = Simulation::new(config).unwrap();
    simulation.listen(Box::new(move |_, event| {
        let Event::Decided { facts, .. } = event else { return };
        let number = |wanted: &str| {
            facts.iter().find_map(|fact| match fact {
                Fact::Number { name, value, .. } if *name == wanted => Some(*value),
                _ => None,
            })
        };
        if let Some(choice) = number("levels").zip(number("tiered")) {
            *chosen.borrow_mut() = choice;
        }
    }));
    let mut choices = Vec::new();
    // The load, then as many operations as a phase has.
    let mut operations = 6000;
    loop {
        let goes_on = simulation.advance(operations).unwrap();
        choices.push(*last.borrow());
        operations = 30_000;
        if !goes_on {
            return choices.into_iter().skip(1).take(mixes.len()).collect();
        }
    }
}

/// In each phase what it chooses is what it chooses in a store that has had no other mix.
#[test]
fn vertiorizon_follows_a_mix_that_changes_and_changes_back() {
    let mixes = [(1.0, 0.0), (0.2, 0.8), (1.0, 0.0)];
    let alone: Vec<_> = mixes.iter().flat_map(|mix| choices(&[*mix], None)).collect();
    assert_ne!(alone[0], alone[1]);
    assert_eq!(choices(&mixes, None), alone);
}

#[test]
fn vertiorizon_weighs_merges_by_what_they_cost_on_the_device() {
    let half = [(0.5, 0.5)];
    // A block takes 80 us; a page, of 40 entries, by 16 workers a hundred times as long, or next to nothing.
    let [slow, fast] = [128e6 / 4096.0, 80.0 / 4096.0].map(|merge| choices(&half, Some(merge))[0]);
    assert_eq!(fast, (1, 0), "one leveled level has fewest runs");
    assert_ne!(slow, fast);
}

//! Limits of what runs at once.

use super::*;
use std::cell::Cell;
use std::rc::Rc;
use terrane_policy::event::Event;

/// The most compactions that run at once.
fn most_at_once(config: Config) -> u64 {
    let most = Rc::new(Cell::new((0, 0)));
    let mut simulation = Simulation::new(config).unwrap();
    let seen = Rc::clone(&most);
    simulation.listen(Box::new(move |_, event| {
        let (now, greatest): (u64, u64) = seen.get();
        let now = match event {
            Event::CompactionBegun { .. } => now + 1,
            Event::CompactionEnded { .. } => now - 1,
            _ => now,
        };
        seen.set((now, greatest.max(now)));
    }));
    simulation.run().unwrap();
    most.get().1
}

#[test]
fn no_more_compactions_run_at_once_than_the_options_allow() {
    for options in all_small() {
        let workload = updates(3000, 3000, Choice::Uniform);
        let mut config = small(options.clone(), workload);
        config.device.merge_nanos_per_byte = 1e4;
        let free = most_at_once(config.clone());
        for max_compactions in [1, 2] {
            let limited = Config { max_compactions, ..config.clone() };
            assert_eq!(most_at_once(limited), free.min(max_compactions as u64), "{options:?}");
        }
    }
}

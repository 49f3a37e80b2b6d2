//! Skewed updates: write amplification, and which files merges leave as they are.
//!
//! A partitioned merge *leaves* a file of the largest level if the file is there before and after. The
//! store becomes idle after each buffer, so inspecting the tree between two buffers shows each merge.

use super::growth::{WRITES, rounds};
use super::store;
use crate::figure::Figure;
use crate::scaled::{Scaled, start};
use crate::{PapersError, Scale};
use std::collections::HashSet;
use terrane_policy::{PolicyOptions, Shape, TableId};
use terrane_sim::{Choice, Clients, Config, KeyOrder, Mix, Workload};

/// The share of the largest level's files that merges into it leave.
pub const LEFT: &str = "files left, share";

/// The workloads: hot keys at random places, as in the paper, and adjacent hot keys.
pub const WORKLOADS: [&str; 2] = ["hot keys anywhere", "hot keys side by side"];

fn workload(store: Scaled, (buffers, rounds): (u64, u64), name: &str) -> Workload {
    let load = buffers * store.buffer_entries;
    let operations = rounds * load;
    let updates = Mix { update: 1.0, ..Mix::default() };
    // They move four times, like every two hours of ten.
    let moving = Choice::Zipf { exponent: 1.0, move_every: operations / 5 };
    let (order, choice, mix) = if name == WORKLOADS[0] {
        (KeyOrder::Scattered, moving, updates)
    } else {
        let mix = Mix { insert: 0.2, update: 0.8, ..Mix::default() };
        (KeyOrder::Ascending, Choice::Latest { exponent: 1.5 }, mix)
    };
    let clients = Clients { mix, choice, ..Clients::default() };
    Workload { order, ..Workload::then(load, operations, clients) }
}

/// Figure 13 G, and the effect that figure 11 A explains.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (buffer_entries, buffers) = if scale == Scale::Ci { (24, 1000) } else { (56, 3500) };
    let store = store(buffer_entries);
    let mut figure = Figure::new(
        "figure-13g",
        "Figures 13 G and 11 A: skewed updates",
        "With Zipf updates whose hot keys move, Spooky writes less than partial merges; files \
                of the largest level over which nothing newer lies are not rewritten.",
        format!(
            "T = 5, {buffers} buffers of {buffer_entries} entries loaded, then {} times as many of \
             updates, Zipf with exponent 1, hot keys anywhere and other ones after each fifth; and, \
             after a load in order, inserts that go on in order beside four times as many updates \
             that favour the greatest keys, exponent 1.5. The store becomes idle after each buffer; \
             the write amp is that of merges after the load. Of Spooky the share of the largest \
             level's files that merges into it left as they were.",
            rounds(scale)
        ),
    );
    let designs: [(&str, PolicyOptions); 4] = [
        ("full", store.full(5)),
        ("partial", store.partial(5, 1)),
        ("spooky", store.spooky(5, 2, 64)),
        ("spooky, moves", store.spooky_that_moves(5)),
    ];
    for name in WORKLOADS {
        for (design, policy) in &designs {
            let case = format!("{name}, {design}");
            progress(&format!("figure 13 G, {case}"));
            let workload = workload(store, (buffers, rounds(scale)), name);
            let config = store.at_rest(policy.clone(), workload);
            let (writes, left) = run(&case, config, store.buffer_entries)?;
            figure.found(&case, WRITES, writes);
            if design.starts_with("spooky") {
                figure.found(&case, LEFT, left);
            }
        }
    }
    Ok(figure)
}

/// Bytes written by merges per byte of updates, and the share of files left.
fn run(case: &str, config: Config, buffer: u64) -> Result<(f64, f64), PapersError> {
    let load = config.workload.load;
    let failed = |why| PapersError::Simulation { case: case.to_owned(), why };
    let mut simulation = start(case, config)?;
    simulation.advance(load).map_err(failed)?;
    let mut before = largest(simulation.shape());
    let (mut there, mut left) = (0, 0);
    while simulation.advance(buffer).map_err(failed)? {
        let now = largest(simulation.shape());
        if now != before {
            there += before.len();
            left += before.intersection(&now).count();
        }
        before = now;
    }
    let report = simulation.report();
    let updates = report.phases.iter().find(|phase| phase.name == "operations");
    let writes = updates.and_then(|phase| phase.figures.write_amp_compaction).unwrap_or(0.0);
    Ok((writes, left as f64 / f64::from(u32::try_from(there.max(1)).unwrap_or(u32::MAX))))
}

/// The files of the largest level.
fn largest(shape: &Shape) -> HashSet<TableId> {
    shape.levels().last().into_iter().flat_map(|level| level.tables()).map(|t| t.id).collect()
}

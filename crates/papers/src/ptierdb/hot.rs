//! Cost of reads over time: merges within the deepest level bring the tables over a hot key down.

use super::{config, ptier, scaled, setting, store};
use crate::figure::{Figure, Plot};
use crate::scaled::{simulate, tables_a_read};
use crate::{PapersError, Scale};
use terrane_policy::{PTier, PolicyOptions};
use terrane_sim::{Choice, Clients, Mix, Phase, Workload};

/// Tables whose filter a read asks.
pub const TABLES: &str = "tables a read";
/// Writes of merges meanwhile, over the size of the store.
pub const MERGED: &str = "merged, of the store";

/// Phases of reads, each of a tenth of the entries.
pub const PHASES: usize = 10;

/// With the read limit, and with one that is never met.
pub const CASES: [&str; 2] = ["reads are counted", "no limit"];

/// A load and updates at rest, then reads.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = store(scale, 116);
    let load = scaled(store, 100_000_000);
    let mut figure = Figure::new(
        "reads-over-time",
        "Reads over time",
        "A table of the largest level that is read more often than its limit is merged with those that it \
         overlaps there, which makes later reads cheaper.",
        format!(
            "{} A load of {load} entries, as many updates, a wait until nothing is left to merge; then reads, \
             all by Zipf's law of exponent 0.99.",
            setting(scale, store)
        ),
    );
    let mut plot = Plot { x: "reads, of the entries", y: TABLES, curves: Vec::new() };
    for (name, read_limit) in CASES.into_iter().zip([super::read_limit(scale), 1 << 50]) {
        progress(&format!("reads over time, {name}"));
        let policy = PolicyOptions::PTier(PTier { read_limit, ..ptier(scale, store) });
        let report = simulate(name, config(store, policy, workload(load)))?;
        let reads = report.phases.iter().filter(|phase| phase.name == "reads");
        for (tenth, phase) in reads.enumerate() {
            let tables = tables_a_read(&phase.figures);
            figure.found(&case(name, tenth), TABLES, tables);
            let store_bytes = phase.figures.store_bytes_peak.max(1) as f64;
            let merged = phase.figures.merge_written_bytes as f64 / store_bytes;
            figure.found(&case(name, tenth), MERGED, merged);
            plot.point(name, ((tenth + 1) as f64 / PHASES as f64, tables));
        }
    }
    figure.plots.push(plot);
    Ok(figure)
}

/// A tenth of the reads.
#[must_use]
pub fn case(name: &str, tenth: usize) -> String {
    format!("{name}, tenth {}", tenth + 1)
}

fn workload(load: u64) -> Workload {
    let choice = Choice::Zipf { exponent: 0.99, move_every: 0 };
    let phase = |name: &str, operations, wait_until_idle, mix| Phase {
        name: name.to_owned(),
        wait_until_idle,
        operations,
        clients: vec![Clients { mix, choice: choice.clone(), ..Clients::default() }],
    };
    let mut phases = vec![phase("updates", load, false, Mix { update: 1.0, ..Mix::default() })];
    for tenth in 0..PHASES {
        let mix = Mix { read: 1.0, ..Mix::default() };
        phases.push(phase("reads", load / PHASES as u64, tenth == 0, mix));
    }
    Workload { load, phases, ..Workload::default() }
}

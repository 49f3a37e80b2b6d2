//! Tables over the size of a run: what the rule itself can give.
//!
//! A single run is merged with each flush, and counted.

use super::{Design, GLOBAL, LOCAL, SIZE, store};
use crate::figure::{Figure, Plot, Source};
use crate::scaled::{Scaled, start};
use crate::{PapersError, Scale};
use terrane_policy::{HorizontalLeveling, Partitioning, PolicyOptions};
use terrane_sim::Workload;

/// The tables of a run, over those that its size needs.
pub const TABLES: &str = "tables over size's";

/// Flushes that a table holds.
const FLUSHES: u64 = 4;

/// The designs.
pub const DESIGNS: [Design; 3] = [SIZE, LOCAL, GLOBAL];

/// Tables over run / theta.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, _) = store(scale);
    let most = if scale == Scale::Ci { 12 } else { 40 };
    let mut figure = Figure::new(
        "tables",
        "Tables of a run, by its size",
        "Global-range has 8 % more tables than size (figure 6), local-range 70 %; \"in practice, both \
         produce 1.5 to 2 times more\" (section IV).",
        format!(
            "A run that a flush of {} entries is merged into at a time, keys alike everywhere, tables of \
             {FLUSHES} flushes. A cell is halved while it has more than a table: of a run of s tables \
             there are 2^ceil(log2 s) cells, so that tables are between half full and full.",
            store.buffer_entries
        ),
    );
    let mut plot = Plot { x: "run / theta", y: TABLES, curves: Vec::new() };
    for design in DESIGNS {
        progress(&format!("tables, {}", design.name));
        let points = counted(store, design, most * FLUSHES)?;
        let over: Vec<_> =
            points.iter().map(|(size, tables)| (*size, tables / size.ceil())).collect();
        over.iter().for_each(|at| plot.point(design.name, *at));
        let beyond = over.iter().filter(|(size, _)| *size > 1.0);
        let (least, greatest, sum, count) = beyond.fold(
            (f64::MAX, 0.0f64, 0.0, 0.0),
            |(least, greatest, sum, count), (_, over)| {
                (least.min(*over), greatest.max(*over), sum + over, count + 1.0)
            },
        );
        for (name, ours) in [("least", least), ("mean", sum / count), ("greatest", greatest)] {
            figure.found(&format!("{}, {name}", design.name), TABLES, ours);
        }
    }
    for eighth in 1..=most * 8 {
        let size = eighth as f64 / 8.0;
        plot.equation(
            "2^ceil(log2 s) cells",
            (size, size.log2().ceil().exp2().max(1.0) / size.ceil()),
        );
    }
    plot.equation("the paper's global-range", (1.0, 1.08));
    plot.equation("the paper's global-range", (most as f64, 1.08));
    plot.equation("the paper's local-range", (1.0, 1.7));
    plot.equation("the paper's local-range", (most as f64, 1.7));
    figure.plots.push(plot);
    figure.compare("global-range, mean", TABLES, (Source::Derived, 1.08));
    figure.compare("local-range, mean", TABLES, (Source::Derived, 1.7));
    Ok(figure)
}

/// The sizes of a growing run, in tables, and how many it has.
fn counted(store: Scaled, design: Design, flushes: u64) -> Result<Vec<(f64, f64)>, PapersError> {
    let failed = |why| PapersError::Simulation { case: design.name.to_owned(), why };
    let table = FLUSHES * store.buffer();
    let policy = PolicyOptions::HorizontalLeveling(HorizontalLeveling {
        levels: 1,
        level_base_bytes: store.base(),
        target_file_bytes: table,
        partitioning: Partitioning {
            partitioner: design.partitioner.unwrap_or_default(),
            ..Partitioning::DEFAULT
        },
        ..HorizontalLeveling::default()
    });
    let load = flushes * store.buffer_entries;
    let config = store.at_rest(policy, Workload { load, ..Workload::default() });
    let mut simulation = start(design.name, config)?;
    let mut points = Vec::new();
    loop {
        let goes_on = simulation.advance(store.buffer_entries).map_err(failed)?;
        if let Some(level) = simulation.shape().levels().get(1) {
            points.push((level.bytes() as f64 / table as f64, level.tables().count() as f64));
        }
        if !goes_on {
            return Ok(points);
        }
    }
}

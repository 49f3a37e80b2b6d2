//! Figure 15: buckets that stay as they are, and buckets that follow the keys.

use super::workloads::case;
use super::{Design, LEVEL0, RATE, STALLS, measure, setting, store, workload};
use crate::figure::{Figure, Plot, Source};
use crate::scaled::start;
use crate::{PapersError, Scale};
use std::cell::Cell;
use std::rc::Rc;
use terrane_policy::event::Event;
use terrane_sim::{Config, Figures};

/// The mean input of a level-0 merge.
pub const INPUT: &str = "MB a level-0 merge";
/// Spread of inputs: the standard deviation over the mean.
pub const SPREAD: &str = "spread of inputs";

/// Buckets, and workers: with 80 of each the one client bounds both.
const BUCKETS: u64 = 16;

/// Buckets that stay.
pub const STATIC: Design = Design::Static(BUCKETS);
/// Buckets that follow the keys.
pub const DYNAMIC: Design = Design::Buckets(BUCKETS);

/// Those that follow with temperatures by the buckets that are present, and those that are split and joined
/// also while they hold tables of level 0.
pub const OTHERS: [Design; 2] = [Design::Present(BUCKETS), Design::Early(BUCKETS)];

/// Buckets that were split, and that were joined with another.
pub const SPLITS: &str = "buckets split";
/// The same of those that were joined.
pub const JOINS: &str = "buckets joined";

/// A workload, and how many thousand operations of the paper's arrive each second; 0 for as many as the store
/// accepts.
const WORKLOADS: [(&str, f64); 4] =
    [("mixgraph1", 0.0), ("mixgraph1", 100.0), ("mixgraph1", 200.0), ("fillrandom", 0.0)];

/// Runs the operations; returns their figures, and how many buckets were split and joined.
fn run(case: &str, config: Config) -> Result<(Figures, [u64; 2]), PapersError> {
    let failed = |why| PapersError::Simulation { case: case.to_owned(), why };
    let counts = Rc::new(Cell::new([0; 2]));
    let counted = Rc::clone(&counts);
    let mut simulation = start(case, config)?;
    simulation.listen(Box::new(move |_, event| {
        let [splits, joins] = counted.get();
        match event {
            Event::Decided { decision: "bucket-split", .. } => counted.set([splits + 1, joins]),
            Event::Decided { decision: "bucket-joined", .. } => counted.set([splits, joins + 1]),
            _ => {}
        }
    }));
    let report = simulation.run().map_err(failed)?;
    let phase = report.phases.iter().rfind(|phase| phase.figures.operations > 0);
    Ok((phase.map_or_else(|| report.whole.clone(), |phase| phase.figures.clone()), counts.get()))
}

/// Inputs of merges, and throughput.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let mut figure = Figure::new(
        "figure-15",
        "Figure 15: inputs of level-0 merges, static and dynamic buckets",
        "Under shifting ranges dynamic buckets have 1.12 times the throughput of static ones, and inputs of middle \
         sizes: static ones read up to 180 MB, many of them little. Under fillrandom there is no difference.",
        format!(
            "{} Here 16 workers, rather than 80, and as many buckets.",
            setting(store, flushes)
        ),
    );
    let mut plot = Plot { x: "MB", y: "share of level-0 merges", curves: Vec::new() };
    for (workload_name, rate_per_second) in WORKLOADS {
        let name = match rate_per_second > 0.0 {
            true => format!("{workload_name} at {rate_per_second:.0} thousand a second"),
            false => workload_name.to_owned(),
        };
        let name = name.as_str();
        for design in [STATIC, DYNAMIC].into_iter().chain(OTHERS) {
            let case = case(name, design);
            progress(&format!("figure 15, {case}"));
            let mut workload = workload(workload_name, store, flushes);
            for clients in workload.phases.iter_mut().flat_map(|phase| &mut phase.clients) {
                clients.rate = rate_per_second * 1e3 / store.factor();
            }
            let config = design.config(store, workload);
            let config = Config { workers: BUCKETS as usize, ..config };
            let (found, [splits, joins]) = run(&case, config)?;
            measure(&mut figure, &case, &found, store);
            figure
                .rows
                .retain(|row| row.case != case || [RATE, STALLS, LEVEL0].contains(&row.measure));
            let Some(level0) = found.merges.first() else { continue };
            let input = level0.input_bytes;
            let megabytes = |bytes: f64| bytes * store.factor() / 1e6;
            figure.found(&case, "level-0 merges", level0.count as f64);
            figure.found(&case, INPUT, megabytes(input.mean));
            figure.found(&case, SPREAD, input.deviation / input.mean);
            figure.found(&case, "MB at most", megabytes(input.max as f64));
            figure.found(&case, SPLITS, splits as f64);
            figure.found(&case, JOINS, joins as f64);
            if name == "mixgraph1" {
                let quantiles = [
                    (input.p10, 0.1),
                    (input.p25, 0.25),
                    (input.p50, 0.5),
                    (input.p75, 0.75),
                    (input.p90, 0.9),
                    (input.p99, 0.99),
                    (input.max, 1.0),
                ];
                for (bytes, share) in quantiles {
                    plot.point(&design.name(), (megabytes(bytes as f64), share));
                }
            }
        }
        let rate = |design| figure.number(&case(name, design), RATE);
        let over = |design| Some(rate(design)? / rate(STATIC)?);
        let [dynamic, others @ ..] = [DYNAMIC, OTHERS[0], OTHERS[1]].map(over);
        if rate_per_second == 0.0
            && let Some(dynamic) = dynamic
        {
            let stated = if name == "mixgraph1" { 1.12 } else { 1.0 };
            let case = format!("{name}, dynamic over static");
            figure.beside(&case, RATE, dynamic, (Source::Measured, stated));
            for (other, over) in OTHERS.into_iter().zip(others) {
                let case = format!("{name}, {} over static", other.name());
                figure.found(&case, RATE, over.unwrap_or(0.0));
            }
        }
    }
    figure.plots.push(plot);
    figure.notes.push(
        "A bucket is split only right after a compaction that leaves it without tables of level 0. While the client \
         goes as fast as it can, a hot bucket gets the next table before its merge ends, so that few are split, while \
         cold ones are joined: hot keys are merged with less parallelism. If 100 thousand operations arrive a second, \
         6 buckets are split rather than 2, and inputs are more alike; at 200 thousand hardly anything changes, as \
         level 0 still stalls writes. If temperatures are measured by the current number of buckets, none is split at \
         all: each join makes a fair share larger."
            .to_owned(),
    );
    figure.notes.push(
        "If buckets are also split while they hold tables of level 0, those that follow the keys are faster than \
         those that stay, as in the paper, and by more. Tables that span both halves are then merged with both, once."
            .to_owned(),
    );
    Ok(figure)
}

//! Workers: which designs gain from more of them.

use super::{
    BUSY, Design, LEVEL0, PARTS, RATE, STALLS, TIME, measure, run, setting, store, workload,
};
use crate::figure::{Figure, Plot};
use crate::{PapersError, Scale};
use terrane_sim::Config;

/// The workloads.
pub const WORKLOADS: [&str; 2] = ["fillrandom", "mixgraph1"];

/// Returns the designs with `workers` workers: as many buckets, as by default.
#[must_use]
pub fn designs(workers: usize) -> [Design; 4] {
    let bucket = Design::Buckets(workers as u64);
    [Design::Baseline, Design::Subcompaction(PARTS), Design::Pipelined, bucket]
}

/// The name of a case.
#[must_use]
pub fn case(workload: &str, workers: usize, design: Design) -> String {
    format!("{workload}, {workers} workers, {}", design.name())
}

/// Numbers of workers.
#[must_use]
pub fn workers(scale: Scale) -> &'static [usize] {
    if scale == Scale::Ci { &[8, 16, 64] } else { &[8, 16, 32, 64] }
}

/// Throughput and stalls by the number of workers.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let flushes = flushes.min(200);
    let mut figure = Figure::new(
        "workers",
        "Throughput and stalls by the number of workers",
        "(The paper has 80 throughout: \"throughput is not simply determined by the number of available \
         background threads\", but by how quickly level 0 is reduced.)",
        format!("{} As many workers as a case says, rather than 80.", setting(store, flushes)),
    );
    for name in WORKLOADS {
        let mut plot = Plot { x: "workers", y: RATE, curves: Vec::new() };
        for &workers in workers(scale) {
            for design in designs(workers) {
                let case = case(name, workers, design);
                progress(&format!("workers, {case}"));
                let config = design.config(store, workload(name, store, flushes));
                let config = Config { workers, ..config };
                let (found, _) = run(&case, config)?;
                measure(&mut figure, &case, &found, store);
                figure.rows.retain(|row| {
                    row.case != case || [TIME, RATE, STALLS, LEVEL0].contains(&row.measure)
                });
                figure.found(&case, BUSY, found.worker_utilisation * workers as f64);
                if let Some(rate) = figure.number(&case, RATE) {
                    let buckets = matches!(design, Design::Buckets(_));
                    let curve = if buckets { "bucket".to_owned() } else { design.name() };
                    plot.point(&curve, (workers as f64, rate));
                }
            }
        }
        figure.plots.push(plot);
    }
    figure.notes.push(
        "Under fillrandom one task gains little from more workers: a merge of level 0 needs all of level 1, and waits \
         while tables of it go down, which 8 workers do more slowly. Pipelined, which does not wait for them, is no \
         faster with 64 workers than with 8. Subcompaction is faster with 16 workers than with 64, as merges leave \
         more of the storage to flushes: those of level 0 take 9.5 flushes each rather than 5.5, and those into level \
         3 write 77 GB during the load rather than 192. Buckets are within a twentieth of shared merges there, \
         because the client and flushes limit both: with slower merges buckets are ahead (below). Under shifting \
         ranges they are behind because hot buckets are few, and each is one task (figure 15); where ranges stay they \
         are ahead (also below)."
            .to_owned(),
    );
    Ok(figure)
}

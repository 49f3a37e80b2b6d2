//! Ranges that stay where they are: what buckets lose where ranges shift is not due to how uneven they are.

use super::{
    BUSY, Design, LEVEL0, PARTS, RATE, STALLS, TIME, measure, run, setting, store, workload,
};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_sim::{Choice, Config, Workload};

/// Puts of any key; into as many ranges as the shifting ones are on average, of the same heat, which stay; and
/// into those that shift.
pub const WORKLOADS: [&str; 3] = ["fillrandom", "30 ranges", "mixgraph1"];

/// Numbers of workers.
pub const WORKERS: [usize; 2] = [16, 64];

/// Returns the designs with `workers` workers, those ahead first.
#[must_use]
pub fn designs(workers: usize) -> [Design; 3] {
    [Design::Buckets(workers as u64), Design::Subcompaction(PARTS), Design::Baseline]
}

/// The name of a case.
#[must_use]
pub fn case(workload: &str, workers: usize, design: Design) -> String {
    format!("{workload}, {workers} workers, {}", design.name())
}

/// A workload, which may be one whose ranges stay.
fn named(name: &str, operations: impl Fn(&str) -> Workload) -> Workload {
    if name != WORKLOADS[1] {
        return operations(name);
    }
    let mut workload = operations("mixgraph1");
    for clients in workload.phases.iter_mut().flat_map(|phase| &mut phase.clients) {
        clients.choice = Choice::ShiftingRanges { from: 30, to: 30, step: 1 };
    }
    workload
}

/// Throughput and stalls with merges of half the speed, by the number of workers.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let flushes = flushes.min(200);
    let mut figure = Figure::new(
        "staying",
        "Ranges that stay, and merges of half the speed",
        "(The paper changes nothing of these.)",
        format!(
            "{} As many workers as a case says, rather than 80, and merges of half that speed. 30 ranges are as uneven \
             as those of mixgraph1, and stay where they are.",
            setting(store, flushes)
        ),
    );
    for name in WORKLOADS {
        for workers in WORKERS {
            for design in designs(workers) {
                let case = case(name, workers, design);
                progress(&format!("staying, {case}"));
                let workload = named(name, |name| workload(name, store, flushes));
                let mut config = Config { workers, ..design.config(store, workload) };
                config.device.merge_nanos_per_byte *= 2.0;
                let (found, _) = run(&case, config)?;
                measure(&mut figure, &case, &found, store);
                figure.rows.retain(|row| {
                    row.case != case || [TIME, RATE, STALLS, LEVEL0].contains(&row.measure)
                });
                figure.found(&case, BUSY, found.worker_utilisation * workers as f64);
            }
        }
    }
    figure.notes.push(
        "One of the 30 ranges takes three quarters of the keys. Buckets are ahead of shared merges, and shared merges \
         ahead of one task: the first flush cuts the buckets at equal numbers of its entries, most of them within \
         that range. If ranges of the same heat move, shared merges are ahead: buckets lose because they follow late, \
         not because keys are uneven. The paper's are ahead there even if they stay as they are (1.75 times \
         subcompaction's throughput over 1.12: 1.56 times). Here most of the keys then go to a few buckets, each of \
         which is one task. The paper does not say whether its store is opened again for each number of ranges, which \
         would reset the buckets."
            .to_owned(),
    );
    Ok(figure)
}

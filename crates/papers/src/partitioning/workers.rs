//! Bounds of a load: workers, and flushes that span the key space.

use super::loads::{GROUPS, LONGEST, MOST, TIME, measure};
use super::{Design, GLOBAL, GLOBAL_CUT, NONE, SIZE, setting, store};
use crate::figure::{Figure, Plot};
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use terrane_sim::Workload;

const DEVICE: &str = "device busy";
const CORES: &str = "cores busy";
const STALLED: &str = "seconds stalled";

/// The designs.
pub const DESIGNS: [Design; 4] = [NONE, SIZE, GLOBAL, GLOBAL_CUT];

/// The name of a case.
#[must_use]
pub fn case(workers: usize, design: Design) -> String {
    format!("{workers} workers, {}", design.name)
}

/// Numbers of workers.
#[must_use]
pub fn workers(scale: Scale) -> &'static [usize] {
    if scale == Scale::Ci { &[1, 16] } else { &[1, 2, 4, 8, 16, 32, 64] }
}

/// The time of a load by the number of workers, flushes whole and cut.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let flushes = flushes / 2;
    let mut figure = Figure::new(
        "workers",
        "What bounds a load: workers, whole and cut flushes",
        "(The paper has 16 threads. \"Each flushed SSTable's key range could span the entire key space\", section V-A: \
         its flushes are whole.)",
        setting(store, flushes),
    );
    let mut plot = Plot { x: "workers", y: TIME, curves: Vec::new() };
    for &workers in workers(scale) {
        for design in DESIGNS {
            let case = case(workers, design);
            progress(&format!("workers, {case}"));
            let load = flushes * store.buffer_entries;
            let workload = Workload { load, ..Workload::default() };
            let report = simulate(&case, design.config(scale, workload, workers))?;
            measure(&mut figure, &case, &report, store.factor(), store.buffer());
            let whole = &report.whole;
            figure.found(&case, DEVICE, whole.device_utilisation);
            figure.found(&case, CORES, whole.cores_busy_mean);
            figure.found(
                &case,
                STALLED,
                whole.stall_seconds.level0 + whole.stall_seconds.memtables,
            );
            figure.rows.retain(|row| {
                row.case != case
                    || [TIME, GROUPS, MOST, LONGEST, DEVICE, CORES, STALLED].contains(&row.measure)
            });
            if let Some(seconds) = figure.number(&case, TIME) {
                plot.point(design.name, (workers as f64, seconds));
            }
        }
    }
    figure.plots.push(plot);
    Ok(figure)
}

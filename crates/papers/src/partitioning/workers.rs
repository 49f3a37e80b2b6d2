//! Bounds of a load: workers, and whole flushes.

use super::loads::{GROUPS, LONGEST, MOST, TIME, measure};
use super::{Design, GLOBAL, GLOBAL_WHOLE, NONE, SIZE, setting, store};
use crate::figure::{Figure, Plot};
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use terrane_sim::Workload;

const DEVICE: &str = "device busy";
const CORES: &str = "cores busy";
const STALLED: &str = "seconds stalled";

/// The designs.
pub const DESIGNS: [Design; 4] = [NONE, SIZE, GLOBAL_WHOLE, GLOBAL];

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
        "What bounds a load: workers and whole flushes",
        "(The paper has 16 threads. It does not say whether its flushes are cut.)",
        setting(store, flushes),
    );
    let mut plot = Plot { x: "workers", y: TIME, curves: Vec::new() };
    for &workers in workers(scale) {
        for design in DESIGNS {
            let case = case(workers, design);
            progress(&format!("workers, {case}"));
            let load = flushes * store.buffer_entries;
            let workload = Workload { load, ..Workload::default() };
            let report = simulate(&case, design.config(store, workload, workers))?;
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

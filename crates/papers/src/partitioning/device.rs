//! The load again on faster storage, whose speed is the one thing that the paper does not state.

use super::loads::{BUSY, GROUPS, THROUGHPUT, TIME, WRITES, measure};
use super::{Design, GLOBAL, LEVELED, LOCAL, NONE, SIZE, setting, store};
use crate::figure::{Figure, Plot};
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use terrane_sim::Workload;

const DEVICE: &str = "device busy";

/// The designs.
pub const DESIGNS: [Design; 5] = [NONE, SIZE, LOCAL, GLOBAL, LEVELED];

/// The name of a case.
#[must_use]
pub fn case(faster: u32, design: Design) -> String {
    format!("device x{faster}, {}", design.name)
}

/// Returns the speeds of the storage over the assumed one.
#[must_use]
pub fn speeds(scale: Scale) -> &'static [u32] {
    if scale == Scale::Ci { &[16] } else { &[1, 2, 4, 8, 16] }
}

/// The time of a load by the speed of the storage.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let mut figure = Figure::new(
        "device",
        "Figure 5 again: on faster storage",
        "Global-range is 8 % faster than none, 13 % faster than size. (The paper does not say what its \
         instance stores on.)",
        format!(
            "{} 16 workers on 16 cores; a thread merges 200 MB a second. Only the speed of the storage \
             differs, from 594 MB a second on.",
            setting(store, flushes)
        ),
    );
    let mut plot = Plot { x: "speed of the storage", y: TIME, curves: Vec::new() };
    for &faster in speeds(scale) {
        for design in DESIGNS {
            let case = case(faster, design);
            progress(&format!("device, {case}"));
            let load = flushes * store.buffer_entries;
            let mut config = design.config(scale, Workload { load, ..Workload::default() }, 16);
            config.device.read_speed *= f64::from(faster);
            config.device.write_speed *= f64::from(faster);
            let report = simulate(&case, config)?;
            measure(&mut figure, &case, &report, store.factor(), store.buffer());
            figure.found(&case, DEVICE, report.whole.device_utilisation);
            figure.rows.retain(|row| {
                row.case != case
                    || [TIME, BUSY, THROUGHPUT, WRITES, GROUPS, DEVICE].contains(&row.measure)
            });
            if let Some(seconds) = figure.number(&case, TIME) {
                plot.point(design.name, (f64::from(faster), seconds));
            }
        }
    }
    figure.plots.push(plot);
    Ok(figure)
}

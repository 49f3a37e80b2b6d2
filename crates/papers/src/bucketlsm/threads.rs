//! Figure 13: busy workers over time.

use super::{BUSY, DESIGNS, TIME, measure, run, setting, store, workload};
use crate::figure::{Figure, Plot, Source};
use crate::{PapersError, Scale};
use terrane_sim::Config;

/// Windows of the timeline.
const WINDOWS: u64 = 50;

/// The peak of the busy workers, over a window.
pub const MOST: &str = "busy workers at most";

const NOTE: &str = "With buckets 17 to 23 workers are busy throughout, after the first tenth of the load: no more \
                    are needed to keep up with the client and flushes. With merges at a quarter of the speed 57 are \
                    (below). Subcompaction keeps nearly as many busy. One task and pipelined leave most workers idle \
                    most of the time, and have many tasks only once a merge of level 0 has ended.";

/// Workers over time.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let mut figure = Figure::new(
        "figure-13",
        "Figure 13: busy workers over time",
        "Fillrandom takes about 1000 s under the baseline, 700 s with subcompaction, 800 s pipelined and 500 s with \
         buckets, which keep most threads busy throughout; subcompaction has up to 20, pipelined up to 60.",
        setting(store, flushes),
    );
    let mut plot = Plot { x: "seconds", y: BUSY, curves: Vec::new() };
    for (design, seconds) in DESIGNS.into_iter().zip([1000.0, 700.0, 800.0, 500.0]) {
        let case = design.name();
        progress(&format!("figure 13, {case}"));
        let workload = workload("fillrandom", store, flushes);
        let window = workload.operations() / WINDOWS;
        let config = Config { timeline: true, window, ..design.config(store, workload) };
        let (found, report) = run(&case, config)?;
        measure(&mut figure, &case, &found, store);
        figure.rows.retain(|row| row.case != case || [TIME, BUSY].contains(&row.measure));
        let most = report.timeline.iter().map(|window| window.busy_workers).fold(0.0, f64::max);
        figure.found(&case, MOST, most);
        if scale == Scale::Full {
            figure.compare(&case, TIME, (Source::Measured, seconds));
        }
        for window in &report.timeline {
            plot.point(&case, (window.seconds, window.busy_workers));
        }
    }
    figure.plots.push(plot);
    figure.notes.push(NOTE.to_owned());
    Ok(figure)
}

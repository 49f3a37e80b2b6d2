//! Figure 10 and table I: the degree of parallelism of level 0, as parts of a merge and as buckets.

use super::{BUSY, Design, LEVEL0, RATE, STALLS, TIME, measure, run, setting, store, workload};
use crate::figure::{Figure, Plot, Source};
use crate::scaled::Scaled;
use crate::{PapersError, Scale};
use terrane_sim::Config;

/// The standard deviation of the time of a merge of level 0.
pub const DEVIATION: &str = "deviation of a level-0 merge, s";
/// Its mean.
pub const MEAN: &str = "a level-0 merge, s";

/// The paper's deviations, by the number of parts.
pub(super) const TABLE_1: [(u64, f64); 4] = [(2, 0.607), (4, 17.289), (8, 27.833), (16, 29.540)];

/// The degrees of parallelism.
#[must_use]
pub fn degrees(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[8, 16, 64] } else { &[2, 4, 8, 16, 32, 64, 80] }
}

/// Throughput by degree.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let mut figure = Figure::new(
        "figure-10",
        "Figure 10 and table I: throughput by the degree of parallelism of level 0",
        "Subcompaction is flat beyond 8 parts, and worse from 32 on. Buckets scale nearly linearly up to 64, and \
         not beyond. The time of a level-0 merge deviates by 0.6, 17.3, 27.8 and 29.5 s at 2, 4, 8 and 16 parts.",
        format!("fillrandom. {}", setting(store, flushes)),
    );
    measure_degrees(&mut figure, degrees(scale), store, Design::name, |case, design| {
        progress(&format!("figure 10, {case}"));
        design.config(store, workload("fillrandom", store, flushes))
    })?;
    figure.notes.push(
        "Subcompaction is nearly as fast as buckets here, as its parts are even: they are cut at 64 points of each \
         input, and from 4 parts on a level-0 merge deviates by less than a second, not by 17 to 30 s. From 8 on \
         nothing waits for level 0 under either. Both are limited by the one client, at 500 thousand operations a \
         second, and by flushes, which share the storage with merges; more parts only keep it busier."
            .to_owned(),
    );
    Ok(figure)
}

/// Adds the rows and the plot of the designs by degree, each with its case and configuration, beside table I.
pub(super) fn measure_degrees(
    figure: &mut Figure,
    degrees: &[u64],
    store: Scaled,
    case_of: impl Fn(Design) -> String,
    mut config_of: impl FnMut(&str, Design) -> Config,
) -> Result<(), PapersError> {
    let mut plot = Plot { x: "parts, buckets", y: RATE, curves: Vec::new() };
    let of_degree = |degree: &u64| {
        let (parts, buckets) = (Design::Subcompaction(*degree), Design::Buckets(*degree));
        [(*degree, "subcompaction", parts), (*degree, "bucket", buckets)]
    };
    let baseline = [(1, "baseline", Design::Baseline)];
    for (degree, curve, design) in baseline.into_iter().chain(degrees.iter().flat_map(of_degree)) {
        let case = case_of(design);
        let (found, _) = run(&case, config_of(&case, design))?;
        measure(figure, &case, &found, store);
        figure.rows.retain(|row| {
            row.case != case || [TIME, RATE, STALLS, LEVEL0, BUSY].contains(&row.measure)
        });
        if let Some(level0) = found.merges.first() {
            figure.found(&case, MEAN, level0.micros.mean / 1e6);
            figure.found(&case, DEVIATION, level0.micros.deviation / 1e6);
        }
        if let Some(rate) = figure.number(&case, RATE) {
            plot.point(curve, (degree as f64, rate));
        }
    }
    for (parts, deviation) in TABLE_1 {
        let case = case_of(Design::Subcompaction(parts));
        figure.compare(&case, DEVIATION, (Source::Measured, deviation));
    }
    figure.plots.push(plot);
    Ok(())
}

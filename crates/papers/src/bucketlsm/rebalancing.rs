//! Figure 15: buckets that stay as they are, and buckets that follow the keys.

use super::workloads::case;
use super::{Design, LEVEL0, RATE, STALLS, measure, run, setting, store, workload};
use crate::figure::{Figure, Plot, Source};
use crate::{PapersError, Scale};
use terrane_sim::Config;

/// The mean input of a level-0 merge.
pub const INPUT: &str = "MB a level-0 merge";
/// How far inputs are spread: the standard deviation over the mean.
pub const SPREAD: &str = "spread of inputs";

/// Buckets, and workers: with 80 of each the one client bounds both.
const BUCKETS: u64 = 16;

/// Buckets that stay.
pub const STATIC: Design = Design::Static(BUCKETS);
/// Buckets that follow the keys.
pub const DYNAMIC: Design = Design::Buckets(BUCKETS);

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
        format!("{} Here 16 workers and buckets.", setting(store, flushes)),
    );
    let mut plot = Plot { x: "MB", y: "share of level-0 merges", curves: Vec::new() };
    for name in ["mixgraph1", "fillrandom"] {
        for design in [STATIC, DYNAMIC] {
            let case = case(name, design);
            progress(&format!("figure 15, {case}"));
            let config = design.config(store, workload(name, store, flushes));
            let config = Config { workers: BUCKETS as usize, ..config };
            let (found, _) = run(&case, config)?;
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
        if let (Some(dynamic), Some(fixed)) = (rate(DYNAMIC), rate(STATIC)) {
            let stated = if name == "mixgraph1" { 1.12 } else { 1.0 };
            let over = format!("{name}, dynamic over static");
            figure.beside(&over, RATE, dynamic / fixed, (Source::Measured, stated));
        }
    }
    figure.plots.push(plot);
    Ok(figure)
}

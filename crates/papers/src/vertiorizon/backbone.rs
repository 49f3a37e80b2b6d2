//! Figure 10 b-e: Vertiorizon in place of lazy leveling's tiered levels.

use super::designs::Data;
use super::mixes::{BALANCED, ENTRIES, LOAD, mix};
use super::setting::{Operations, READ, Setting};
use super::trade_off::CONDITIONS;
use crate::figure::{Figure, Plot};
use crate::{PapersError, Scale};
use terrane_policy::Filters;
use terrane_sim::Choice;

/// Lazy leveling as it is.
pub const LAZY: &str = "lazy";
/// Vertiorizon as its backbone.
pub const BACKBONE: &str = "backbone";

/// The same bits for all, and by Monkey: the backbone's by the sizes that runs will have.
pub const FILTERS: [&str; 2] = ["uniform", "Monkey"];
/// Caches.
pub const CACHES: [&str; 2] = ["32 MB", "64 GB"];

/// The size ratios.
#[must_use]
pub fn ratios(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[4, 8] } else { &[4, 6, 8, 10] }
}

/// The layouts of [`FILTERS`], of lazy leveling and of the backbone.
const LAYOUTS: [[Filters; 2]; 2] =
    [[Filters::Uniform, Filters::Uniform], [Filters::Monkey, Filters::Dynamic]];

/// The case of a size ratio and a design.
#[must_use]
pub fn case(condition: &str, cache: &str, filters: &str, ratio: u64, design: &str) -> String {
    format!("{condition}, {cache}, {filters}, T = {ratio}, {design}")
}

/// Figure 10 b-e.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let setting = Setting::new(ENTRIES, LOAD);
    let mut figure = Figure::new(
        "figure-10b",
        "Figure 10 b-e: a backbone for lazy leveling",
        "With Vertiorizon as its backbone lazy leveling reads faster at the same writes, at every size \
         ratio, with uniform and with Monkey filters, with small and large caches.",
        format!(
            "Half updates, half lookups, {}. A load of {LOAD} buffers. Monkey filters of the \
             backbone are those of its dynamic layout: by the sizes that runs are going to have. *At rest* \
             operations wait until nothing is left to merge.",
            setting.description()
        ),
    );
    let operations = Operations { mix: mix(BALANCED), choice: Choice::Uniform };
    for (condition, at_rest) in CONDITIONS {
        let mut plot = Plot { x: "T", y: READ, curves: Vec::new() };
        for (cache, bytes) in CACHES.iter().zip([32 << 20, 64 << 30]) {
            let bits = setting.store.filter_bits_per_key;
            let setting = Setting { at_rest, ..setting.with_memory(bytes, bits) };
            for (filters, filters_of) in FILTERS.iter().zip(LAYOUTS) {
                for &ratio in ratios(scale) {
                    for (design, layout) in [LAZY, BACKBONE].iter().zip(filters_of) {
                        let case = case(condition, cache, filters, ratio, design);
                        progress(&format!("figure 10 b-e, {case}"));
                        let policy = |data: Data| match *design {
                            LAZY => data.lazy_leveling(ratio, layout),
                            _ => data.backbone(ratio, layout),
                        };
                        let measured = setting.run(
                            &case,
                            policy(setting.data(operations.mix.update)),
                            &operations,
                        )?;
                        let curve = format!("{design}, {cache}, {filters}");
                        plot.point(&curve, (ratio as f64, measured.of(READ)));
                        measured.add(&mut figure, &case);
                    }
                }
            }
        }
        figure.plots.push(plot);
    }
    Ok(figure)
}

//! Figure 9: a larger store.

use super::designs::{DESIGNS, RANKED, VERTIORIZON};
use super::mixes::{BALANCED, ENTRIES, mix};
use super::setting::{Operations, Setting, THROUGHPUT, WORST};
use crate::figure::Figure;
use crate::scaled::Scaled;
use crate::{PapersError, Scale};
use terrane_sim::Choice;

/// The cache of part a.
pub const SMALL: &str = "32 MB, 10 bits";

/// Part a, where Vertiorizon is tuned by costs.
pub const KNOWN: &str = "32 MB, 10 bits, tuned by costs";

/// The cache and bits per key of both parts, and by how much merges are slower.
const CONDITIONS: [(&str, u64, f64, f64); 3] = [
    (SMALL, 32 << 20, 10.0, 1.0),
    ("64 GB, 20 bits", 64 << 30, 20.0, 1.0),
    ("32 MB, slow merges", 32 << 20, 10.0, 4.0),
];

/// The case of a condition and a design.
#[must_use]
pub fn case(condition: &str, design: &str) -> String {
    format!("{condition}, {design}")
}

/// The number of buffers: 500 GB in buffers of 64 MB, or a fourth.
fn buffers(scale: Scale) -> u64 {
    if scale == Scale::Ci { 1900 } else { 7630 }
}

/// The store, and 200 million operations of 1 KB, or a fourth.
pub(super) fn setting(scale: Scale) -> Setting {
    let operations = if scale == Scale::Ci { 50_000_000 } else { 200_000_000 };
    let setting = Setting::new(ENTRIES, buffers(scale)).with_operations(operations);
    Setting { store: Scaled { paper_buffer: 64 << 20, ..setting.store }, ..setting }
}

/// Adds what a design costs under half updates and half lookups.
///
/// # Errors
/// A simulation that failed.
pub(super) fn add_case(
    figure: &mut Figure,
    condition: &str,
    design: &'static str,
    setting: Setting,
) -> Result<(), PapersError> {
    let operations = Operations { mix: mix(BALANCED), choice: Choice::Uniform };
    let case = case(condition, design);
    let policy = setting.data(operations.mix.update).design(design);
    setting.run(&case, policy, &operations)?.add(figure, &case);
    Ok(())
}

/// Figure 9.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let setting = setting(scale);
    let buffers = buffers(scale);
    let mut figure = Figure::new(
        "figure-9",
        "Figure 9: a store of 500 GB",
        "Vertiorizon has the highest mean throughput; horizontal growth, and full merges altogether, have \
         a slowest window far below that of partial merges.",
        format!(
            "Half updates, half lookups, uniform keys, buffers of 64 MB, a load of {buffers} of them (the \
             paper: 500 GB, 7630), {}. Its other machine is taken to be as fast \
             as that of figure 7; *slow merges* have a quarter of the speed. *Tuned by costs* Vertiorizon \
             knows what a block that is read and a page that is merged take, and tunes both its parts.",
            setting.description()
        ),
    );
    let mut add = |condition: &str, design, setting| {
        progress(&format!("figure 9, {}", case(condition, design)));
        add_case(&mut figure, condition, design, setting)
    };
    let designs = if scale == Scale::Ci { &RANKED[..] } else { &DESIGNS[..] };
    let conditions = if scale == Scale::Ci { &CONDITIONS[..1] } else { &CONDITIONS[..] };
    for (condition, cache, bits, slower) in conditions {
        let setting = Setting { slower: *slower, ..setting.with_memory(*cache, *bits) };
        for design in designs {
            add(condition, design, setting)?;
        }
    }
    if scale == Scale::Full {
        let (_, cache, bits, _) = CONDITIONS[0];
        let setting = Setting { costs: true, ..setting.with_memory(cache, bits) };
        add(KNOWN, VERTIORIZON, setting)?;
    }
    let names: Vec<_> = conditions.iter().map(|(name, ..)| *name).collect();
    for measure in [THROUGHPUT, WORST] {
        figure.draw_bars(measure, &names, designs);
    }
    Ok(figure)
}

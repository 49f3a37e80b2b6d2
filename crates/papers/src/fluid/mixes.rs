//! Trees under mixes of operations: fixed ones, and the one that is tuned to the mix.

use super::setting::{BLOCKS, Measured, RUNS, Setting, THROUGHPUT, WRITES, designs};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_policy::PolicyOptions;
use terrane_policy::fluid::model::{Mix, Tree, tune};

/// 95 % writes, with some reads and scans.
pub const WRITE_HEAVY: &str = "write-heavy";
/// Half writes; half of the rest are reads that find a key, and most others are reads that find none.
pub const BALANCED: &str = "balanced";
/// 80 % reads of keys that are not there.
pub const MISSING: &str = "missing reads";
/// 30 % short scans.
pub const SCANS: &str = "scans";

/// The mixes.
pub const MIXES: [(&str, Mix); 4] = [
    (WRITE_HEAVY, Mix { reads: 0.04, missing_reads: 0.0, scans: 0.01, writes: 0.95 }),
    (BALANCED, Mix { reads: 0.25, missing_reads: 0.2, scans: 0.05, writes: 0.5 }),
    (MISSING, Mix { reads: 0.0, missing_reads: 0.8, scans: 0.0, writes: 0.2 }),
    (SCANS, Mix { reads: 0.1, missing_reads: 0.0, scans: 0.3, writes: 0.6 }),
];

/// Tuned where a page that is merged counts like a block that is read, as the papers count.
pub const TUNED: &str = "tuned";
/// Tuned by what a page costs on the machine.
pub const TUNED_BY_COST: &str = "tuned by cost";
/// Vertiorizon, which tunes itself.
pub const VERTIORIZON: &str = "Vertiorizon";

/// A page that is merged, in blocks that are read at random: on this machine 4 KiB take 81 us to read at random, and
/// 20 us to merge.
const PRICE: f64 = 0.25;

/// The two parts of the figure: at rest, and as fast as the store accepts.
pub const CONDITIONS: [(&str, bool); 2] = [("at rest", true), ("under load", false)];

/// The case of a mix and a design.
#[must_use]
pub fn case(condition: &str, mix: &str, design: &str) -> String {
    format!("{condition}, {mix}, {design}")
}

/// The tree that is tuned to a mix, where a merged page has this price in blocks.
pub(super) fn tuned(setting: Setting, mix: &Mix, page: f64) -> Tree {
    tune(mix, &setting.of_the_model(page))
}

/// Trees under each mix, at rest and under load.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let setting = Setting::new(scale);
    let mut figure = Figure::new(
        "mixes",
        "Trees under mixes of operations",
        "The tree that the closed forms choose for a mix costs least; no fixed one is good in all (Moose).",
        format!(
            "{}. One client, one thread that merges. *At rest* operations wait until nothing is left to merge; \
             {BLOCKS}: those that reads fetch, and pages of 4 KiB that merges write. *Under load* they follow at \
             once. Of two tuned trees one counts a merged page like a block, the other as {PRICE} of it, its \
             share of the time on this machine, which is assumed. Vertiorizon starts with the size of the data \
             and knows what blocks and pages cost.",
            setting.description()
        ),
    );
    for (name, mix) in MIXES {
        let mut all: Vec<(&str, PolicyOptions)> = designs(setting.buffers)
            .into_iter()
            .map(|(design, tree)| (design, setting.policy(tree)))
            .collect();
        for (design, price) in [(TUNED, 1.0), (TUNED_BY_COST, PRICE)] {
            let tree = tuned(setting, &mix, price);
            figure.notes.push(description(name, design, &tree));
            all.push((design, setting.policy(tree)));
        }
        all.push((VERTIORIZON, setting.vertiorizon()));
        for (condition, at_rest) in CONDITIONS {
            for (design, policy) in &all {
                let case = case(condition, name, design);
                progress(&format!("mixes, {case}"));
                let measured: Measured = setting.run(&case, policy.clone(), &mix, at_rest)?;
                let measures =
                    if at_rest { [BLOCKS, WRITES, RUNS] } else { [THROUGHPUT, WRITES, RUNS] };
                measured.add(&mut figure, &case, &measures);
            }
        }
    }
    let groups = MIXES.map(|(name, _)| name);
    let names: Vec<_> = designs(setting.buffers).into_iter().map(|(name, _)| name).collect();
    let series = [&names[..], &[TUNED, TUNED_BY_COST, VERTIORIZON]].concat();
    for (condition, measure) in [("at rest", BLOCKS), ("under load", THROUGHPUT)] {
        let groups = groups.map(|mix| format!("{condition}, {mix}"));
        figure.draw_bars(measure, &groups.each_ref().map(String::as_str), &series);
    }
    Ok(figure)
}

/// Describes a tuned tree.
fn description(mix: &str, design: &str, tree: &Tree) -> String {
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let (largest, above) = tree.size_ratios.split_last().unwrap_or((&0, &[]));
    let runs = tree.runs.get(..above.len()).unwrap_or_default();
    let above = match above {
        [] => String::new(),
        _ => format!("levels of ratios {} and runs {} above ", list(above), list(runs)),
    };
    let runs = tree.largest_runs;
    format!("For {mix}, {design}: {above}a largest level of ratio {largest} and runs {runs}.")
}

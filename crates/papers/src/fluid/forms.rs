//! Closed forms of fluid trees, beside simulations.

use super::mixes::{MIXES, tuned};
use super::setting::{RUNS, Setting, WRITES, designs};
use crate::figure::{Figure, Plot, Source};
use crate::{PapersError, Scale};
use terrane_policy::fluid::model::{Mix, Tree};

/// Size ratio of the levels above the largest, in trees whose numbers of runs are varied.
const RATIO: u64 = 16;
/// Runs of a level, and of the largest.
pub const COUNTS: [u64; 5] = [1, 2, 4, 8, 16];

/// The case of a tree with this number of runs in each level above the largest.
#[must_use]
pub fn upper(runs: u64) -> String {
    format!("T = {RATIO}, K = {runs}")
}

/// The case of a tree with this number of runs in the largest level.
#[must_use]
pub fn largest(runs: u64) -> String {
    format!("T = {RATIO}, K = 4, Z = {runs}")
}

/// Writes and runs of each tree, beside their closed forms.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let setting = Setting::new(scale);
    let mut figure = Figure::new(
        "closed-forms",
        "Closed forms of a fluid tree, and simulations",
        "Merges into level i write an entry (r + 1) / 2 times, where a run takes r = T_i / K_i arrivals of the level \
         above, and 1 / r less if these are single runs, which move. It has (K_i + 1) / 2 - 1 / r runs. A largest \
         level of one run is rewritten by each arrival; of Z runs, Z - 1 gather beside the one that holds the data.",
        format!(
            "{}. At rest: operations wait until nothing is left to merge. The papers count T - 1 arrivals \
             where a level here takes T, and every arrival as written; the equations are those of the policy as \
             it is, for entries that never meet an older version on their way to the largest level.",
            setting.description()
        ),
    );
    let updates = Mix { reads: 0.0, missing_reads: 0.0, scans: 0.0, writes: 1.0 };
    let last = (setting.buffers_to_hold() / RATIO as f64 + 0.5).ceil() as u64;
    let of = |runs, largest_runs| Tree {
        size_ratios: vec![RATIO, last],
        runs: vec![runs, runs.min(last)],
        largest_runs,
    };
    let mut cases = Vec::new();
    for runs in COUNTS {
        cases.push((upper(runs), of(runs, 1), Some(("K", runs))));
    }
    for runs in COUNTS {
        cases.push((largest(runs), of(4, runs), Some(("Z", runs))));
    }
    for (name, tree) in designs(setting.buffers) {
        cases.push((name.to_owned(), tree, None));
    }
    for (name, mix) in MIXES {
        cases.push((format!("tuned, {name}"), tuned(setting, &mix, 1.0), None));
    }
    let mut plots: Vec<_> = ["K", "Z"]
        .iter()
        .flat_map(|x| [WRITES, RUNS].map(|y| Plot { x, y, curves: Vec::new() }))
        .collect();
    for (case, tree, place) in cases {
        progress(&format!("closed forms, {case}"));
        let expected = tree.costs(setting.buffers as f64);
        let found = setting.run(&case, setting.policy(tree), &updates, true)?;
        for (measure, ours, equation) in
            [(WRITES, found.writes, expected.writes), (RUNS, found.runs, expected.runs)]
        {
            figure.beside(&case, measure, ours, (Source::Equation, equation));
            for plot in plots.iter_mut().filter(|plot| plot.y == measure) {
                if let Some((_, at)) = place.filter(|(x, _)| *x == plot.x) {
                    plot.point("simulated", (at as f64, ours));
                    plot.equation("closed form", (at as f64, equation));
                }
            }
        }
    }
    figure.plots = plots;
    Ok(figure)
}

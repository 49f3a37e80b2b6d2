//! Experiments that change one thing, to explain where our results differ from the paper's.

use super::designs::{
    Data, HORIZONTAL_LEVELING, HORIZONTAL_TIERING, LEVEL0_RUNS, VERTICAL_LEVELING_FULL,
    VERTICAL_LEVELING_PARTIAL, VERTICAL_TIERING_FULL, VERTICAL_TIERING_PARTIAL, VERTIORIZON,
    VERTIORIZON_TIERING,
};
use super::mixes::{ENTRIES, LOADS, RANGES, WRITE_HEAVY, mix};
use super::setting::{Operations, Setting};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_policy::{MergeChoice, PolicyOptions};
use terrane_sim::Choice;

/// By how much merges are slower in [`SLOW`].
const SLOWER: f64 = 4.0;

/// Nothing is changed.
pub const SAME: &str = "as figure 7";
/// Merges take four times as long.
pub const SLOW: &str = "merges of a quarter of the speed";
/// Horizontal leveling admits as much at once as vertical leveling waits for.
pub const ADMITS: &str = "4 buffers admitted at once";
/// Vertiorizon's vertical part is tiered.
pub const TIERED: &str = "tiered below";

/// Measured cases: the change, the mix and the design.
const CASES: [(&str, &str, &str); 21] = [
    (SAME, WRITE_HEAVY, VERTICAL_LEVELING_FULL),
    (SAME, WRITE_HEAVY, HORIZONTAL_LEVELING),
    (ADMITS, WRITE_HEAVY, HORIZONTAL_LEVELING),
    (SAME, WRITE_HEAVY, VERTIORIZON),
    (TIERED, WRITE_HEAVY, VERTIORIZON),
    (SAME, RANGES, VERTICAL_TIERING_PARTIAL),
    (SAME, RANGES, VERTICAL_TIERING_FULL),
    (SAME, RANGES, HORIZONTAL_TIERING),
    (SLOW, RANGES, VERTICAL_TIERING_PARTIAL),
    (SLOW, RANGES, VERTICAL_TIERING_FULL),
    (SLOW, RANGES, HORIZONTAL_TIERING),
    (SAME, WRITE_HEAVY, VERTICAL_LEVELING_PARTIAL),
    (SAME, WRITE_HEAVY, VERTICAL_TIERING_PARTIAL),
    (SAME, WRITE_HEAVY, HORIZONTAL_TIERING),
    (SAME, WRITE_HEAVY, VERTIORIZON_TIERING),
    (SLOW, WRITE_HEAVY, VERTICAL_LEVELING_PARTIAL),
    (SLOW, WRITE_HEAVY, VERTICAL_TIERING_PARTIAL),
    (SLOW, WRITE_HEAVY, HORIZONTAL_TIERING),
    (SLOW, WRITE_HEAVY, VERTIORIZON_TIERING),
    (SLOW, WRITE_HEAVY, VERTIORIZON),
    (SLOW, RANGES, VERTICAL_LEVELING_PARTIAL),
];

/// Number of the cases that tests need.
const CI_CASES: usize = 11;

/// The case of an experiment.
#[must_use]
pub fn case(change: &str, mix: &str, design: &str) -> String {
    format!("{mix}, {design}: {change}")
}

fn policy(data: Data, change: &str, design: &str) -> PolicyOptions {
    let mut policy = data.design(design);
    match &mut policy {
        PolicyOptions::HorizontalLeveling(policy) if change == ADMITS => {
            policy.level_base_bytes *= LEVEL0_RUNS;
        }
        PolicyOptions::Vertiorizon(policy) if change == TIERED => {
            policy.vertical_merge_policy = MergeChoice::Tiering;
        }
        _ => {}
    }
    policy
}

/// Figure 7 again.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let setting = Setting::new(ENTRIES, 0);
    let mut figure = Figure::new(
        "figure-7-changed",
        "Figure 7 again: one thing changed",
        "(Figure 7's: horizontal growth is faster than vertical growth with full merges, also under 90 % \
         updates and with ranges; the slowest window of partial tiering is above that of full tiering with \
         ranges; Vertiorizon is as fast as its tiering under 90 % updates, and up to 3.2 times as fast as \
         RocksDB; partial tiering has 60 % of the throughput of horizontal tiering.)",
        "As figure 7 with uniform keys, but for what the case says.".to_owned(),
    );
    let cases = if scale == Scale::Ci { &CASES[..CI_CASES] } else { &CASES[..] };
    for (change, name, design) in cases {
        let case = case(change, name, design);
        progress(&format!("figure 7 again, {case}"));
        let operations = Operations { mix: mix(name), choice: Choice::Uniform };
        let slower = if *change == SLOW { SLOWER } else { 1.0 };
        let setting = Setting { slower, ..setting };
        let policy = |data: Data| policy(data, change, design);
        setting.run_loads(&case, &LOADS, policy, &operations)?.add(&mut figure, &case);
    }
    Ok(figure)
}

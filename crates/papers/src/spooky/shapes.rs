//! Spooky compared with full merges under leveling, lazy leveling and tiering.

use super::growth::{PEAK, WRITES, rounds, uniform};
use super::store;
use crate::figure::Figure;
use crate::scaled::simulate;
use crate::{PapersError, Scale};

/// The merge policies, with G.
pub const POLICIES: [(&str, u64); 3] = [("leveled", 64), ("lazy leveled", 1), ("tiered", 0)];

/// The merge granularities, with L - X.
pub const MERGES: [(&str, u64); 2] = [("full", 0), ("spooky", 2)];

/// Figure 14 A-C.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (buffer_entries, buffers) = if scale == Scale::Ci { (24, 500) } else { (56, 3500) };
    let store = store(buffer_entries);
    let mut figure = Figure::new(
        "figure-14",
        "Figure 14 A-C: lazy leveling and tiering",
        "Relative to full merges Spooky needs much less space under any merge policy, and \
                hardly writes more; tiered policies write less than leveled ones.",
        format!(
            "T = 5, {buffers} buffers of {buffer_entries} entries (the paper: 250 GB, about 3900 \
             buffers), loaded, then {} times as many of uniform updates; the store becomes idle after \
             each.",
            rounds(scale)
        ),
    );
    for (policy, leveled) in POLICIES {
        for (merge, below) in MERGES {
            let case = format!("{policy}, {merge}");
            progress(&format!("figure 14, {case}"));
            let options = store.spooky(5, below, leveled);
            let workload = uniform(store, buffers, rounds(scale));
            let whole = simulate(&case, store.at_rest(options, workload))?.whole;
            figure.found(&case, WRITES, whole.write_amp_compaction.unwrap_or(0.0));
            figure.found(&case, PEAK, whole.space_amp_peak);
        }
    }
    Ok(figure)
}

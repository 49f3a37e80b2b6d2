//! The closed form of what Vertiorizon writes, as the sum of its two parts, beside simulated stores at rest.
//!
//! 1. **The horizontal part** of l levels holds n = `C(k+l-1, l)` buffers. Until the last of them, which drains the
//!    part, an entry was written `(l k + 1) / (l + 1) - 1` times under leveling, and `l (k - 1) / k` times under
//!    tiering, moves included.
//! 2. **The vertical part** is leveled. A drain rewrites V1, of T1 = T / sqrt(2) times n buffers, and tables of V1 go
//!    down into V2, which is `T^2 / (2 T1)` times as large as V1 on average: `T1 + T^2 / (2 T1)`, which is T sqrt(2).

use super::closed_forms::{WRITTEN, choose};
use super::designs::{Data, SIZE_RATIO};
use super::setting::store;
use crate::figure::{Figure, Source};
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use std::f64::consts::SQRT_2;
use terrane_policy::{MergeChoice, PolicyOptions, Vertiorizon};
use terrane_sim::Workload;

/// Horizontal parts: l and k.
#[must_use]
pub fn horizontal_parts(scale: Scale) -> &'static [(u64, u64)] {
    if scale == Scale::Ci { &[(2, 6), (3, 5)] } else { &[(2, 6), (3, 5), (2, 10), (3, 6)] }
}

/// Merge policies of the horizontal part, by their names.
pub const MERGES: [(&str, MergeChoice); 2] =
    [("leveling", MergeChoice::Leveling), ("tiering", MergeChoice::Tiering)];

/// n: the buffers of a horizontal part.
fn buffers((levels, k): (u64, u64)) -> u64 {
    choose(k + levels - 1, levels)
}

/// The case of a horizontal part.
#[must_use]
pub fn case(part: (u64, u64), merge: &str) -> String {
    format!("{merge} in {} levels, n = {}", part.0, buffers(part))
}

/// Writes of an entry by the horizontal part.
fn horizontal((levels, k): (u64, u64), merge: MergeChoice) -> f64 {
    let (l, k) = (levels as f64, k as f64);
    match merge {
        MergeChoice::Tiering => l * (k - 1.0) / k,
        _ => (l * k + 1.0) / (l + 1.0) - 1.0,
    }
}

/// Writes of each horizontal part above a leveled vertical one, beside their closed form.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = store(if scale == Scale::Ci { 32 } else { 64 });
    let mut figure = Figure::new(
        "closed-form-parts",
        "Closed form of Vertiorizon's two parts",
        "(Each part writes what its closed form says: the horizontal one by the theory of its growth, the vertical one \
         T1 + T^2 / (2 T1) times.)",
        format!(
            "A load that fills V1 and V2, of n T / sqrt(2) and n T^2 buffers of {} entries, with T = {SIZE_RATIO} and \
             a fixed horizontal part of n = C(k + l - 1, l) buffers; V1 and V2 are leveled. The store becomes idle \
             after each buffer. Merges alone are counted, with the tables that they move.",
            store.buffer_entries,
        ),
    );
    let ratio = SIZE_RATIO as f64;
    let vertical = ratio * SQRT_2;
    for &part in horizontal_parts(scale) {
        let n = buffers(part);
        let loaded = n * SIZE_RATIO * SIZE_RATIO + (n as f64 * ratio / SQRT_2) as u64;
        let data = Data { store, buffers: loaded, written: loaded, window: 1 << 10 };
        for (name, merge) in MERGES {
            let case = case(part, name);
            progress(&format!("closed form of the parts, {case}"));
            let policy = match data.vertiorizon(merge, part.0) {
                PolicyOptions::Vertiorizon(fixed) => PolicyOptions::Vertiorizon(Vertiorizon {
                    buffers: n,
                    vertical_merge_policy: MergeChoice::Leveling,
                    // A round ends with its last buffer.
                    level_base_bytes: store.buffer(),
                    ..fixed
                }),
                other => other,
            };
            let load = loaded * store.buffer_entries;
            let workload = Workload { load, ..Workload::default() };
            let whole = simulate(&case, store.at_rest(policy, workload))?.whole;
            let bytes = whole.merge_written_bytes + whole.moved_bytes;
            let form = horizontal(part, merge) + vertical;
            let ours = bytes as f64 / whole.user_bytes as f64;
            figure.beside(&case, WRITTEN, ours, (Source::Equation, form));
        }
    }
    Ok(figure)
}

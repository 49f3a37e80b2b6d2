//! Figure 4: what merges read, by the level that they take from.

use super::{Design, run, setting, store, workload};
use crate::figure::{Figure, Source};
use crate::{PapersError, Scale};

/// The case of merges from level 0.
pub const SHALLOW: &str = "level 0 into level 1";
/// The case of all other merges.
pub const DEEP: &str = "deeper";
/// Files that a merge reads.
pub const FILES: &str = "files";
/// Their bytes.
pub const GIGABYTES: &str = "GB";
/// Duration of a merge.
pub const SECONDS: &str = "seconds a merge";

/// The inputs of merges of the baseline.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let mut figure = Figure::new(
        "figure-4",
        "Figure 4: files that a merge reads",
        "Merges of level 0 read more than 10 files, of 1.014 GB; deeper ones 3 to 4, of 0.179 GB.",
        setting(store, flushes),
    );
    progress("figure 4");
    let config = Design::Baseline.config(store, workload("fillrandom", store, flushes));
    let (found, _) = run("figure 4", config)?;
    let (shallow, deep) = found.merges.split_at(found.merges.len().min(1));
    for (case, merges) in [(SHALLOW, shallow), (DEEP, deep)] {
        let count: u64 = merges.iter().map(|merges| merges.count).sum();
        let mean = |of: &dyn Fn(&terrane_sim::MergeFigures) -> f64| {
            merges.iter().map(|m| of(m) * m.count as f64).sum::<f64>() / count.max(1) as f64
        };
        figure.found(case, "merges", count as f64);
        figure.found(case, FILES, mean(&|merges| merges.input_tables.mean));
        let bytes = mean(&|merges| merges.input_bytes.mean) * store.factor();
        figure.found(case, GIGABYTES, bytes / 1e9);
        figure.found(case, SECONDS, mean(&|merges| merges.micros.mean) / 1e6);
    }
    // "More than 10", and "3 to 4".
    figure.compare(SHALLOW, FILES, (Source::Derived, 10.0));
    figure.compare(SHALLOW, GIGABYTES, (Source::Measured, 1.014));
    figure.compare(DEEP, FILES, (Source::Derived, 3.5));
    figure.compare(DEEP, GIGABYTES, (Source::Measured, 0.179));
    figure.notes.push(
        "A merge of level 0 takes all that waits there, 11 flushes on average beside 9 or 10 files of level 1: that \
         many arrive while the merge before it runs, as writes are slowed down from 20 on. If 50 thousand writes \
         arrive a second, which it sustains, four flushes wait, and a merge reads 8 files, of 1.34 GB. The paper does \
         not say why its merges are no larger although its writes stall."
            .to_owned(),
    );
    Ok(figure)
}

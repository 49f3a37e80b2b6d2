//! Figures with garbage collection of flash (`drive.rs`).

use super::drive::{Drive, Updates};
use crate::figure::{Figure, Plot, Source};
use crate::{PapersError, Scale};

pub use super::drive::{COLLECTION, FITS, PEAK, TOTAL, TREE};

/// Bytes that garbage collection adds.
pub const EXTRA: &str = "extra writes of garbage collection";

/// The cases of figure 13, by the data on the paper's device of 960 GB.
pub const FULL: &str = "full, 369 GB";
/// Full merges with as much data as partial merges and Spooky have.
pub const FULL_LARGE: &str = "full, 644 GB";
/// Partial merges.
pub const PARTIAL: &str = "partial, 644 GB";
/// Spooky.
pub const SPOOKY: &str = "spooky, 644 GB";
/// Spooky's writes over those of partial merges.
pub const SPOOKY_OVER_PARTIAL: &str = "spooky over partial, 644 GB";

pub(super) const SMALL: f64 = 369.0 / 960.0;
pub(super) const LARGE: f64 = 644.0 / 960.0;

pub(super) fn drive(scale: Scale, updates: Updates) -> Drive {
    Drive::new(if scale == Scale::Ci { 1500 } else { 5000 }, updates)
}

/// Figures 13 A-D and 15 B: T = 5; 369 of 960 GB with full merges, 644 with partial ones and with
/// Spooky.
///
/// # Errors
/// A simulation that failed.
pub fn over_time(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let drive = drive(scale, Updates::Uniform);
    let store = drive.store;
    let mut figure = Figure::new(
        "figure-13",
        "Figure 13 A-D: garbage collection",
        "At 644 of 960 GB Spooky's collection is more than 2 times as cheap as that of \
                partial merges, its merges write 30 % less, and in all it writes 2.5 times less. \
                Full merges cause no collection at 369 GB, and could not hold 644. (The factor of \
                partial merges is what the paper reads at the end of the day; ours is the mean.)",
        drive.setting(5),
    );
    let mut outcome = |case, policy, utilisation| {
        progress(&format!("figure 13, {case}"));
        drive.measure(&mut figure, case, policy, utilisation)
    };
    outcome(FULL, store.full(5), SMALL)?;
    outcome(FULL_LARGE, store.full(5), LARGE)?;
    let partial = outcome(PARTIAL, store.partial(5, 1), LARGE)?;
    let spooky = outcome(SPOOKY, store.spooky(5, 2, 64), LARGE)?;
    figure.compare(FULL, COLLECTION, (Source::Measured, 1.0));
    figure.compare(PARTIAL, COLLECTION, (Source::Measured, 3.0));
    if let (Some(partial), Some(spooky)) = (partial, spooky) {
        let case = SPOOKY_OVER_PARTIAL;
        let extra = (spooky.collection() - 1.0) / (partial.collection() - 1.0).max(1e-3);
        figure.beside(case, EXTRA, extra, (Source::Derived, 1.0 / 2.0));
        figure.beside(case, TREE, spooky.tree() / partial.tree(), (Source::Derived, 0.7));
        let total = spooky.total() / partial.total();
        figure.beside(case, TOTAL, total, (Source::Derived, 1.0 / 2.5));
    }
    Ok(figure)
}

/// Figure 13 G and H: the same data, updated by Zipf with hot keys that move.
///
/// # Errors
/// A simulation that failed.
pub fn under_skew(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let drive = drive(scale, Updates::MovingZipf);
    let store = drive.store;
    let mut figure = Figure::new(
        "figure-13h",
        "Figure 13 G and H: garbage collection under skew",
        "With Zipf updates whose hot keys move, too, Spooky writes significantly less than \
                partial merges, of as much data.",
        drive.setting(5),
    );
    for (case, policy, utilisation) in [
        (FULL, store.full(5), SMALL),
        (PARTIAL, store.partial(5, 1), LARGE),
        (SPOOKY, store.spooky(5, 2, 64), LARGE),
    ] {
        progress(&format!("figure 13 H, {case}"));
        drive.measure(&mut figure, case, policy, utilisation)?;
    }
    Ok(figure)
}

/// The sizes of files of figure 15, in GB on the paper's device, and the names of their cases.
pub const FILES: [(f64, &str); 3] = [
    (2.0, "partial, files of 2 GB"),
    (5.0, "partial, files of 5 GB"),
    (10.0, "partial, files of 10 GB"),
];

/// Figure 15: partial merges of large files.
///
/// # Errors
/// A simulation that failed.
pub fn file_sizes(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let drive = drive(scale, Updates::Uniform);
    let mut figure = Figure::new(
        "figure-15",
        "Figure 15: partial merges of large files",
        "With files of 10 and 5 GB the device overflows. With 2 GB garbage collection costs slightly less \
         than with 64 MB (figure 13), and the total is still above Spooky's.",
        format!("644 of 960 GB. {}", drive.setting(5)),
    );
    for (gigabytes, case) in FILES {
        progress(&format!("figure 15, {case}"));
        let buffers = (gigabytes / 960.0 * drive.buffers as f64).round().max(1.0) as u64;
        drive.measure(&mut figure, case, drive.store.partial(5, buffers), LARGE)?;
    }
    figure.notes.push(
        "With files of 5 GB the paper's device overflows, and ours does not: at its peak the store takes up 0.96 of \
         it."
            .to_owned(),
    );
    Ok(figure)
}

/// Figure 1: T = 10; total write amplification over utilisation.
///
/// # Errors
/// A simulation that failed.
pub fn over_utilisation(
    scale: Scale,
    progress: &mut dyn FnMut(&str),
) -> Result<Figure, PapersError> {
    let buffers = if scale == Scale::Ci { 1000 } else { 5000 };
    let percents: &[u64] = if scale == Scale::Ci { &[40, 70] } else { &[30, 40, 50, 60, 70, 80] };
    let drive = Drive::new(buffers, Updates::Uniform);
    let store = drive.store;
    let mut figure = Figure::new(
        "figure-1",
        "Figure 1: storage utilisation and total write amplification",
        "Full merges cannot use more than half of the device. Partial ones reach 80 % at \
                exorbitant write amplification; Spooky reaches as much with 3 times less.",
        drive.setting(10),
    );
    let mut plot = Plot { x: "data, share of the device (%)", y: TOTAL, curves: Vec::new() };
    for &percent in percents {
        let designs = [
            ("full", store.full(10)),
            ("partial", store.partial(10, 1)),
            ("spooky", store.spooky(10, 2, 64)),
        ];
        for (name, policy) in designs {
            let case = format!("{percent} %, {name}");
            progress(&format!("figure 1, {case}"));
            let outcome = drive.measure(&mut figure, &case, policy, percent as f64 / 100.0)?;
            if let Some(outcome) = outcome {
                plot.point(name, (percent as f64, outcome.total()));
            }
        }
        let of = |name: &str| figure.number(&format!("{percent} %, {name}"), TOTAL);
        if let (Some(partial), Some(spooky)) = (of("partial"), of("spooky")) {
            figure.found(&format!("{percent} %, spooky over partial"), TOTAL, spooky / partial);
        }
    }
    figure.compare("80 %, spooky over partial", TOTAL, (Source::Derived, 1.0 / 3.0));
    figure.plots.push(plot);
    Ok(figure)
}

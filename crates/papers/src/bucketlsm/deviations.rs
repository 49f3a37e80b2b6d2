//! Table I again: what makes the times of level-0 merges differ from one another.

use super::scaling::{DEVIATION, MEAN, TABLE_1};
use super::stragglers::{self, AT_FILES};
use super::{Design, RATE, measure, run, setting, store, workload};
use crate::figure::{Figure, Source};
use crate::{PapersError, Scale};
use terrane_policy::PolicyOptions;
use terrane_sim::Config;

/// The last of figure 10 again, with nothing changed.
pub const SAME: &str = AT_FILES;
/// Storage that writes a fifth as fast.
pub const STORAGE: &str = "and storage that writes 1.4 GB/s";
/// No merges within level 0, which have one part.
pub const OUTWARD: &str = "and no merges within level 0";

/// The changes, each by itself; the first is none.
pub const CHANGES: [&str; 3] = [SAME, STORAGE, OUTWARD];

/// The name of a case.
#[must_use]
pub fn case(change: &str, parts: u64) -> String {
    format!("{change}, {}", Design::Subcompaction(parts).name())
}

/// Numbers of parts, as in table I.
#[must_use]
pub fn parts(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[2, 16] } else { &[2, 4, 8, 16] }
}

fn apply_change(config: Config, change: &str) -> Config {
    let mut config = stragglers::apply_change(config, AT_FILES);
    if let PolicyOptions::Leveled(leveled) = &mut config.policy {
        leveled.merge_waiting &= change != OUTWARD;
    }
    if change == STORAGE {
        config.device.write_speed /= 5.0;
    }
    config
}

/// Table I, one change at a time.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let flushes = flushes.min(200);
    let mut figure = Figure::new(
        "deviations",
        "Table I again: storage that fills up, and merges within level 0",
        "The time of a level-0 merge deviates by 0.6, 17.3, 27.8 and 29.5 s at 2, 4, 8 and 16 parts, since the parts \
         are uneven.",
        format!(
            "fillrandom. {} As the last of figure 10 again: values 2:1, merges at a quarter of the speed, 5 ms a merge \
             or part, 4 clients, parts that end where files do. Then, one at a time: storage that writes a fifth as \
             fast (1.4 GB a second, as such a device may once its fast cells are full; assumed); no merges within \
             level 0. These have one part, as in RocksDB, and count as level-0 merges.",
            setting(store, flushes)
        ),
    );
    for change in CHANGES {
        for &parts in parts(scale) {
            let case = case(change, parts);
            progress(&format!("deviations, {case}"));
            let design = Design::Subcompaction(parts);
            let config = design.config(store, workload("fillrandom", store, flushes));
            let (found, _) = run(&case, apply_change(config, change))?;
            measure(&mut figure, &case, &found, store);
            figure.rows.retain(|row| row.case != case || row.measure == RATE);
            if let Some(level0) = found.merges.first() {
                figure.found(&case, MEAN, level0.micros.mean / 1e6);
                figure.found(&case, DEVIATION, level0.micros.deviation / 1e6);
            }
            let paper = TABLE_1.iter().find(|(number, _)| *number == parts);
            if let Some((_, deviation)) = paper {
                figure.compare(&case, DEVIATION, (Source::Measured, *deviation));
            }
        }
    }
    Ok(figure)
}

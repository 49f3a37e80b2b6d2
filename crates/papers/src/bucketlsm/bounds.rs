//! Bounds of the designs: the same load, each time with one thing changed.

use super::{
    BUSY, DESIGNS, Design, LEVEL0, MEMTABLES, PENDING, RATE, STALLS, TIME, measure, run, setting,
    store, workload,
};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_sim::Config;

/// A change of the configuration.
pub type Change = fn(&mut Config);

/// Merges at half and at a quarter of the speed, with flushes unchanged.
pub const SLOWER: [&str; 2] = ["merges x1/2", "merges x1/4"];

/// The changes, by name.
pub const CHANGES: [(&str, Change); 7] = [
    ("as it is", |_| ()),
    ("flushes as slow as merges", |config| config.device.flush_nanos_per_byte = None),
    // The paper's machine has memory for the whole store.
    ("inputs from memory", |config| config.device.read_speed *= 1e6),
    (SLOWER[0], |config| config.device.merge_nanos_per_byte *= 2.0),
    (SLOWER[1], |config| config.device.merge_nanos_per_byte *= 4.0),
    ("no slowing down", |config| {
        config.l0_slowdown_trigger = 0;
        config.soft_pending_compaction_bytes = 0;
    }),
    ("storage and merges x4", |config| {
        config.device.read_speed *= 4.0;
        config.device.write_speed *= 4.0;
        config.device.merge_nanos_per_byte /= 4.0;
        config.device.flush_nanos_per_byte = Some(config.device.merge_nanos_per_byte / 4.0);
    }),
];

/// The name of a case.
#[must_use]
pub fn case(change: &str, design: Design) -> String {
    format!("{change}, {}", design.name())
}

/// The designs under each change.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    under(&CHANGES, scale, progress)
}

/// The designs under some of the changes.
///
/// # Errors
/// A simulation that failed.
pub fn under(
    changes: &[(&str, Change)],
    scale: Scale,
    progress: &mut dyn FnMut(&str),
) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let flushes = flushes.min(200);
    let mut figure = Figure::new(
        "bounds",
        "What bounds the designs: one thing changed at a time",
        "(The paper changes nothing of these.)",
        format!("fillrandom. {}", setting(store, flushes)),
    );
    for (change, apply) in changes {
        for design in DESIGNS {
            let case = case(change, design);
            progress(&format!("bounds, {case}"));
            let mut config = design.config(store, workload("fillrandom", store, flushes));
            apply(&mut config);
            let workers = config.workers as f64;
            let (found, _) = run(&case, config)?;
            measure(&mut figure, &case, &found, store);
            figure.rows.retain(|row| {
                row.case != case
                    || [TIME, RATE, STALLS, LEVEL0, MEMTABLES, PENDING].contains(&row.measure)
            });
            figure.found(&case, BUSY, found.worker_utilisation * workers);
        }
    }
    figure.notes.push(
        "With flushes as slow as merges all designs wait mostly for memtables. With merges at half or a quarter of the \
         speed and flushes unchanged, level 0 needs more than 8 parts can give: buckets are ahead of shared merges, \
         and shared merges ahead of one task, which is the paper's order. At full speed the client and flushes limit \
         both; with inputs in memory, as on the paper's machine, the client alone does. Without slowing down the \
         baseline is faster by half: it waits at 36 runs instead of writing 16 MB a second from 20 on. On faster \
         storage, with faster merges, the client limits nearly all."
            .to_owned(),
    );
    figure.notes.push(
        "Slower merges do not slow buckets down: there are workers enough, and they are limited by the storage, which \
         merges share with flushes. With merges at a quarter of the speed they are even faster. Merges then run more \
         evenly (from flush to flush the number of busy workers deviates by 28 % of its mean rather than by 45 %), so \
         that storage is busy for 0.90 of the time rather than 0.86; and they write 345 GB during the load rather \
         than 361."
            .to_owned(),
    );
    Ok(figure)
}

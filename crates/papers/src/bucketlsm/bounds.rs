//! What bounds the designs: the same load, each time with one thing changed.

use super::{
    BUSY, DESIGNS, Design, LEVEL0, MEMTABLES, PENDING, RATE, STALLS, TIME, measure, run, setting,
    store, workload,
};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_sim::Config;

/// A change of the configuration.
type Change = fn(&mut Config);

/// The changes, by name.
pub const CHANGES: [(&str, Change); 5] = [
    ("as it is", |_| ()),
    ("flushes as slow as merges", |config| config.device.flush_nanos_per_byte = None),
    ("merges x1/4", |config| config.device.merge_nanos_per_byte *= 4.0),
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
    let (store, flushes) = store(scale);
    let flushes = flushes.min(200);
    let mut figure = Figure::new(
        "bounds",
        "What bounds the designs: one thing changed at a time",
        "(The paper changes nothing of these.)",
        format!("fillrandom. {}", setting(store, flushes)),
    );
    for (change, apply) in CHANGES {
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
        "With flushes as slow as merges all designs wait for memtables. With merges of a quarter of the speed, flushes \
         as fast as they are, what level 0 needs is more than 8 parts give, and buckets are ahead of shared merges, \
         these of one task: the paper's order, by more than its factors. As it is the client bounds both. Without \
         slowing down the baseline is a third faster: it waits at 36 runs instead of writing 16 MB a second from 20 \
         on. On faster storage, with faster merges, the client bounds all."
            .to_owned(),
    );
    Ok(figure)
}

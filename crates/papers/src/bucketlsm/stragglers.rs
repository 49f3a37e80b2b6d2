//! Figure 10 again: slower merges, their set-up, more clients, and parts that end where files do.

use super::scaling::measure_degrees;
use super::{Design, setting, store, workload};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_sim::Config;

/// Processor time to set up a merge, or a part of one, and to commit it: files are opened, created and synced, and the
/// manifest is. Assumed.
const SET_UP_MICROS: f64 = 5_000.0;

/// Clients that are not the bound.
const CLIENTS: usize = 4;

/// Values that compress 2:1, and merges at a quarter of the speed.
pub const SLOW: &str = "merges x1/4, 2:1";
/// The same with a cost of each part and merge.
pub const SET_UP: &str = "and 5 ms a merge or part";
/// The same with more clients.
pub const MORE: &str = "and 4 clients";
/// The same with parts that end at files' boundaries.
pub const AT_FILES: &str = "and parts at files' boundaries";

/// The changes, each beside those before it.
pub const CHANGES: [&str; 4] = [SLOW, SET_UP, MORE, AT_FILES];

/// The name of a case.
#[must_use]
pub fn case(change: &str, design: Design) -> String {
    format!("{change}, {}", design.name())
}

/// The degrees of parallelism.
#[must_use]
pub fn degrees(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[8, 64] } else { &[2, 4, 8, 16, 32, 64, 80] }
}

pub(super) fn apply_change(mut config: Config, change: &str) -> Config {
    config.value_compression = 2.0;
    config.device.merge_nanos_per_byte *= 4.0;
    if change != SLOW {
        // Of a merge there are as many here as in the paper's store.
        config.device.merge_micros = SET_UP_MICROS;
    }
    config.parts_at_tables = change == AT_FILES;
    if [MORE, AT_FILES].contains(&change) {
        let phases = config.workload.phases.iter_mut();
        phases.flat_map(|phase| &mut phase.clients).for_each(|clients| clients.count = CLIENTS);
    }
    config
}

/// Throughput by degree.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let flushes = flushes.min(200);
    let mut figure = Figure::new(
        "stragglers",
        "Figure 10 and table I again: slower merges, their set-up, and more clients",
        "Subcompaction is flat beyond 8 parts, and worse from 32 on. Buckets scale nearly linearly up to 64, and \
         not beyond. The time of a level-0 merge deviates by 0.6, 17.3, 27.8 and 29.5 s at 2, 4, 8 and 16 parts.",
        format!(
            "fillrandom. {} Here values compress 2:1, which is db_bench's default, and a thread merges a quarter as \
             much; then a merge, or a part of one, also takes {} ms of a core to be set up and committed, which is \
             assumed; then {CLIENTS} clients write; then parts end only where an input file starts or ends, as in \
             RocksDB before it sampled keys within files. Elsewhere they end where what is known of the inputs' keys, \
             64 points of each file, reaches an equal share of their bytes, and have at least a file's bytes, as in \
             RocksDB 10.6, which takes 128 points.",
            setting(store, flushes),
            SET_UP_MICROS / 1e3,
        ),
    );
    // Tests read the last change from the published report.
    let changes = if scale == Scale::Ci { &CHANGES[..3] } else { &CHANGES[..] };
    for &change in changes {
        let case = |design| case(change, design);
        measure_degrees(&mut figure, degrees(scale), store, case, |case, design| {
            progress(&format!("stragglers, {case}"));
            apply_change(design.config(store, workload("fillrandom", store, flushes)), change)
        })?;
    }
    Ok(figure)
}

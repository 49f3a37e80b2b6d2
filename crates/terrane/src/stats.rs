//! Statistics that [`Db::stats`](crate::Db::stats) returns, which `admin/stats.rs` declares and fills.

pub use crate::admin::{
    BackgroundStats, JobStats, KeyspaceStats, LevelStats, OldestSnapshot, RangeDeleteStats, Stats,
    ValueKind,
};
pub use crate::engine::{WaitStats, WriteWaits};
pub use crate::storage::Space;
#[doc(inline)]
pub use terrane_table::read::ReadCounts;

use terrane_platform::{BROWSER, THREADS};

/// Whether JSON leaves a field out, which is zero in a browser.
pub(crate) fn in_browser<T>(_: &T) -> bool {
    BROWSER
}

/// Whether JSON leaves a field out, which is zero where there is one thread.
pub(crate) fn on_one_thread<T>(_: &T) -> bool {
    !THREADS
}

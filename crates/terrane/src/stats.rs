//! Statistics that [`Db::stats`](crate::Db::stats) returns, which `admin/stats.rs` fills.

pub use crate::admin::{
    KeyspaceStats, LevelStats, OldestSnapshot, RangeDeleteStats, Stats, ValueKind,
};
pub use crate::engine::{WaitStats, WriteWaits};
pub use crate::executor::background_stats::{BackgroundStats, JobStats};
pub use crate::storage::Space;
#[doc(inline)]
pub use terrane_table::read::ReadCounts;

//! Statistics that [`Db::stats`](crate::Db::stats) returns.

#[cfg(any(not(target_arch = "wasm32"), target_feature = "atomics"))]
pub use crate::admin::{BackgroundStats, JobStats};
pub use crate::admin::{KeyspaceStats, LevelStats, OldestSnapshot, RangeDeleteStats, Stats};
pub use crate::engine::{WaitStats, WriteWaits};
pub use crate::storage::Space;
#[doc(inline)]
pub use terrane_table::read::ReadCounts;

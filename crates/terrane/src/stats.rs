//! What [`Db::stats`](crate::Db::stats) returns.

#[cfg(not(target_arch = "wasm32"))]
pub use crate::admin::{BackgroundStats, JobStats};
pub use crate::admin::{KeyspaceStats, LevelStats, Stats};
pub use crate::engine::{WaitStats, WriteWaits};
pub use crate::storage::Space;
#[doc(inline)]
pub use terrane_table::read::ReadCounts;

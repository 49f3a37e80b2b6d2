//! What [`Db::stats`](crate::Db::stats) returns.

pub use crate::admin::{KeyspaceStats, LevelStats, Stats};
pub use crate::engine::{WaitStats, WriteWaits};
pub use crate::storage::Space;
#[doc(inline)]
pub use terrane_table::read::ReadCounts;

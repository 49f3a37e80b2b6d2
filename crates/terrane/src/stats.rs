//! What [`Db::stats`](crate::Db::stats) returns.

pub use crate::db::{KeyspaceStats, LevelStats, Stats, WaitStats, WriteWaits};
#[doc(inline)]
pub use crate::read::ReadCounts;
pub use crate::storage::Space;

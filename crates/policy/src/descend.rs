//! How tables that overlap nothing go down a level.
//!
//! Moving them costs nothing, but a move never drops a tombstone. So on arrival at the bottom,
//! where tombstones have nothing left to hide, tables rich in them are rewritten instead. This
//! happens once, on the way down: a snapshot that keeps the tombstones cannot make it repeat.

use crate::plan::Action;
use crate::shape::TableInfo;
use std::sync::Arc;

/// Tables with more than one tombstone in this many entries are rewritten at the bottom.
const RICH: u64 = 4;

/// Move or merge; `bottom` says that nothing older lies below the destination.
pub(crate) fn descend(tables: &[Arc<TableInfo>], bottom: bool, table_bytes: u64) -> Action {
    let entries: u64 = tables.iter().map(|t| t.entries).fold(0, u64::saturating_add);
    let tombstones: u64 = tables.iter().map(|t| t.tombstones).fold(0, u64::saturating_add);
    if bottom && tombstones.saturating_mul(RICH) > entries {
        Action::merge(table_bytes)
    } else {
        Action::Move
    }
}

//! Trivial moves: tables that overlap nothing go down a level as they are.
//!
//! A move costs nothing, but it never drops a tombstone. So tables with many tombstones are rewritten
//! instead when they reach the bottom, where tombstones hide nothing. This happens once, on the way
//! down: a snapshot that keeps the tombstones cannot cause it again.

use terrane_types::Action;

/// Tables with more than one tombstone in this many entries are rewritten at the bottom.
const RICH: u64 = 4;

/// Whether to move or merge tables with this many entries and tombstones; `bottom` says that nothing
/// older lies below the destination.
pub(crate) fn move_or_merge(
    entries: u64,
    tombstones: u64,
    bottom: bool,
    target_file_bytes: u64,
) -> Action {
    if bottom && tombstones.saturating_mul(RICH) > entries {
        Action::merge(target_file_bytes)
    } else {
        Action::Move
    }
}

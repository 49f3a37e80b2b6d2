//! How tables that overlap nothing go down a level.
//!
//! Moving them costs nothing, but a move never drops a tombstone. So on arrival at the bottom,
//! where tombstones have nothing left to hide, tables rich in them are rewritten instead. This
//! happens once, on the way down: a snapshot that keeps the tombstones cannot make it repeat.

use terrane_types::Action;

/// Tables with more than one tombstone in this many entries are rewritten at the bottom.
const RICH: u64 = 4;

/// Move or merge tables that hold so much; `bottom` says that nothing older lies below the
/// destination.
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

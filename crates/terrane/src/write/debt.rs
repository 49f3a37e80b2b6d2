//! Compaction debt: natively writes slow down and stall by the bytes of a keyspace that wait to be compacted.

use crate::engine::{KeyspaceInner, Versions};
use crate::error::Stall;
use crate::options::Options;
use crate::version::Tree;
use crate::write::Backpressure;
use terrane_platform::BROWSER;

/// Returns the distance of a tree's keyspace from a stall by its debt, if there is a limit.
pub(super) fn debt(options: &Options, tree: &Tree) -> Option<(Stall, Backpressure)> {
    if BROWSER {
        return None;
    }
    let room = Some(options.hard_pending_compaction_bytes).filter(|most| *most > 0)?;
    Some((Stall::CompactionBytes, Backpressure { filled: tree.pending_bytes(), room }))
}

/// Whether a keyspace's writes stall by its debt: not where its policy leaves the tree as it is, since
/// the wait would not end.
pub(super) fn is_in_debt(
    options: &Options,
    versions: &Versions,
    keyspace: &KeyspaceInner,
    tree: &Tree,
) -> bool {
    debt(options, tree).is_some_and(|(_, debt)| debt.filled >= debt.room)
        && versions.state().planner.compacts(keyspace.id)
}

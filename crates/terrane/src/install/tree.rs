//! The tree that an edit leads to, and the report of the range deletes that it changes.

use crate::engine::KeyspaceInner;
use crate::event::{Event, EventStream};
use crate::keyspace::KeyspaceId;
use crate::options::Options;
use crate::version::{LiveTable, Tree, VersionSet};
use std::sync::Arc;
use terrane_types::range_deletes::RangeDeletes;

/// The keyspace's tree as an edit leaves it.
pub(super) fn next_tree(
    options: &Options,
    version_set: &VersionSet,
    keyspace: &KeyspaceInner,
    opened: &[Arc<LiveTable>],
) -> Option<Arc<Tree>> {
    let record = version_set.keyspaces.get(&keyspace.id)?;
    let tree = keyspace.super_version.load().tree.next(record, opened);
    tree.estimate_debt(options, &**keyspace.policy.load_full(), &record.policy_state);
    Some(Arc::new(tree))
}

/// Reports the range deletes of a keyspace, if an edit changed them.
pub(super) fn report_deletes(
    events: &EventStream,
    keyspace: KeyspaceId,
    changed: Option<RangeDeletes>,
) {
    if let Some(list) = changed {
        let (fragments, bytes) = (list.fragments().len(), list.bytes());
        events.emit(|| Event::RangeDeletes { keyspace, fragments, bytes });
    }
}

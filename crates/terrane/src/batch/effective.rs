//! The effect of a batch: its range deletes, and the entries that they leave.

use super::{BatchDamage, Entry, Operation, decode};
use crate::entry::Seq;
use crate::keyspace::KeyspaceId;
use crate::vec_map::VecMap;
use terrane_types::range_deletes::{End, RangeDeletes};

/// Returns the entries of an encoded batch that take effect: without entries that a later range delete of the batch
/// removes, which are looked for if it `may_delete_range`. Insert its [`range_deletes`] first: they hide entries with
/// lower numbers.
pub(crate) fn effective(
    bytes: &[u8],
    may_delete_range: bool,
) -> impl Iterator<Item = Result<Entry<'_>, BatchDamage>> {
    let removed = if may_delete_range { removed(bytes) } else { Vec::new() };
    let stays = move |at: usize| !removed.get(at).is_some_and(|removed| *removed);
    decode(bytes).enumerate().filter(move |(at, _)| stays(*at)).map(|(_, entry)| entry)
}

/// Returns the range deletes of a batch with the number `seq`, together for each keyspace: a memtable takes a list as a
/// whole.
pub(crate) fn range_deletes(bytes: &[u8], seq: Seq) -> VecMap<KeyspaceId, RangeDeletes> {
    let mut lists: VecMap<KeyspaceId, RangeDeletes> = VecMap::default();
    for (id, operation) in decode(bytes).map_while(Result::ok) {
        if let Operation::DeleteRange(from, to) = operation {
            lists.update(id, |list: &mut RangeDeletes| list.add(from, &End::before(to), seq));
        }
    }
    lists
}

/// Whether each entry of a batch is removed by a later range delete; empty for a batch without any.
pub(super) fn removed(bytes: &[u8]) -> Vec<bool> {
    let is_range = |entry: &Entry<'_>| matches!(entry.1, Operation::DeleteRange(..));
    if !decode(bytes).map_while(Result::ok).any(|entry| is_range(&entry)) {
        return Vec::new();
    }
    let entries: Vec<Entry<'_>> = decode(bytes).map_while(Result::ok).collect();
    let mut later: VecMap<KeyspaceId, RangeDeletes> = VecMap::default();
    let mut removed = vec![false; entries.len()];
    for ((id, operation), removed) in entries.iter().zip(&mut removed).rev() {
        match operation {
            Operation::DeleteRange(from, to) => {
                later.update(*id, |later: &mut RangeDeletes| later.add(from, &End::before(*to), 1));
            }
            Operation::Put(key, _)
            | Operation::PutExpiring(key, _)
            | Operation::Merge(key, _)
            | Operation::Delete(key) => {
                *removed = later.get(id).is_some_and(|later| later.covers(key));
            }
            Operation::DropKeyspace(_) => {}
        }
    }
    removed
}

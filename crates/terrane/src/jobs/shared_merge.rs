//! The merge of a group, which workers may share.
//!
//! 1. A group's `parts` divide the keys of its merge; most are one part. Each is a job, which an executor
//!    takes as any other, and writes tables of its own.
//! 2. A part that is done leaves its tables here. With the last of them the group is installed, as one
//!    edit.
//! 3. With the first part that is abandoned the group is: no further part starts, and the tables of all
//!    parts are discarded.

use crate::keyspace::KeyspaceId;
use crate::sync::{Mutex, lock};
use crate::vec_map::VecSet;
use crate::version::{LiveTable, Tree};
use std::sync::Arc;
use terrane_policy::{Group, TableId, TombstoneRule};

/// A merge, part by part.
pub(crate) struct SharedMerge {
    pub compaction: u64,
    pub keyspace: KeyspaceId,
    pub group: Group,
    /// Pins the inputs.
    pub tree: Arc<Tree>,
    pub tombstones: TombstoneRule,
    /// Inputs that are not read: no reader sees anything of them.
    pub hidden: VecSet<TableId>,
    /// Entries of all inputs that are read.
    pub total_entries: u64,
    pub total_bytes: u64,
    state: Mutex<State>,
}

struct State {
    parts: Vec<Progress>,
    /// Parts that were taken.
    taken: usize,
    abandoned: bool,
}

/// Progress of a part.
#[derive(Clone, Default)]
struct Progress {
    read_entries: u64,
    written_bytes: u64,
    /// Its tables, in key order, once it is done.
    outputs: Option<Vec<Arc<LiveTable>>>,
}

/// A part of a merge, by its number.
pub(crate) struct Part {
    pub merge: Arc<SharedMerge>,
    number: usize,
}

impl SharedMerge {
    pub fn new(
        compaction: u64,
        keyspace: KeyspaceId,
        group: Group,
        tree: Arc<Tree>,
        tombstones: TombstoneRule,
        hidden: VecSet<TableId>,
    ) -> Arc<Self> {
        let read = group.inputs.iter().filter(|id| !hidden.contains(id));
        let inputs = read.filter_map(|id| tree.table(*id));
        let (total_bytes, total_entries) = inputs
            .map(|t| (t.table().info().bytes, t.table().info().entries))
            .fold((0, 0), |(bytes, entries), (b, e)| (bytes + b, entries + e));
        let parts = vec![Progress::default(); group.parts.len() + 1];
        Arc::new(SharedMerge {
            compaction,
            keyspace,
            group,
            tree,
            tombstones,
            hidden,
            total_entries,
            total_bytes,
            state: Mutex::new(State { parts, taken: 0, abandoned: false }),
        })
    }

    /// Returns the bytes of tables that `entries` entries of the inputs take.
    pub fn bytes_of(&self, entries: u64) -> u64 {
        let share = entries as f64 / self.total_entries.max(1) as f64;
        (self.total_bytes as f64 * share) as u64
    }

    /// Whether there is a part that was not taken, unless the merge is abandoned.
    pub fn has_parts(&self) -> bool {
        let state = lock(&self.state);
        !state.abandoned && state.taken < state.parts.len()
    }

    /// Parts that no job has taken.
    pub fn parts_left(&self) -> usize {
        let state = lock(&self.state);
        if state.abandoned { 0 } else { state.parts.len() - state.taken }
    }

    /// The next part, unless all were taken or the merge is abandoned.
    pub fn next_part(self: &Arc<Self>) -> Option<Part> {
        let mut state = lock(&self.state);
        let number = state.taken;
        if state.abandoned || number == state.parts.len() {
            return None;
        }
        state.taken += 1;
        Some(Part { merge: self.clone(), number })
    }
}

impl Part {
    /// Its first key; `None` where the merge starts.
    pub fn begin(&self) -> Option<&[u8]> {
        let before = self.number.checked_sub(1)?;
        self.merge.group.parts.get(before).map(Vec::as_slice)
    }

    /// The first key behind it; `None` where the merge ends.
    pub fn end(&self) -> Option<&[u8]> {
        self.merge.group.parts.get(self.number).map(Vec::as_slice)
    }

    /// Returns its number, from 1 on, and the number of parts.
    pub fn place(&self) -> (usize, usize) {
        (self.number + 1, self.merge.group.parts.len() + 1)
    }

    /// Whether the merge is abandoned.
    pub fn is_abandoned(&self) -> bool {
        lock(&self.merge.state).abandoned
    }

    /// Notes what it has read and written so far; returns the sums of all parts.
    pub fn progress(&self, entries: u64, bytes: u64) -> (u64, u64) {
        let mut state = lock(&self.merge.state);
        if let Some(own) = state.parts.get_mut(self.number) {
            (own.read_entries, own.written_bytes) = (entries, bytes);
        }
        let sums = |(entries, bytes), part: &Progress| {
            (entries + part.read_entries, bytes + part.written_bytes)
        };
        state.parts.iter().fold((0, 0), sums)
    }

    /// The part is done, and its tables are durable. Returns those of all parts with the last one.
    pub fn done(&self, outputs: &[Arc<LiveTable>]) -> Option<Vec<Arc<LiveTable>>> {
        let mut state = lock(&self.merge.state);
        if state.abandoned {
            outputs.iter().for_each(|table| table.mark_dropped());
            return None;
        }
        if let Some(own) = state.parts.get_mut(self.number) {
            own.outputs = Some(outputs.to_vec());
        }
        let all: Option<Vec<_>> = state.parts.iter().map(|part| part.outputs.clone()).collect();
        Some(all?.concat())
    }

    /// The part is abandoned, and the merge with it; returns whether it was not yet. Where an edit may
    /// have `named` the tables of other parts they stay.
    pub fn abandon(&self, named: bool) -> bool {
        let mut state = lock(&self.merge.state);
        for table in state.parts.iter_mut().filter_map(|part| part.outputs.take()).flatten() {
            if !named {
                table.mark_dropped();
            }
        }
        !std::mem::replace(&mut state.abandoned, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_policy::{Action, Destination, RunId, Running, TableId};

    /// A merge in three parts.
    fn merge() -> Arc<SharedMerge> {
        let destination = Destination { level: 1, run: RunId(1) };
        let group = Group::new(vec![TableId(1)], destination, Action::merge(u64::MAX));
        let group = Group { parts: vec![b"f".to_vec(), b"m".to_vec()], ..group };
        let tree = Arc::<Tree>::default();
        let tombstones = TombstoneRule::new(tree.shape(), &Running::default(), &group);
        SharedMerge::new(7, KeyspaceId(0), group, tree, tombstones, VecSet::default())
    }

    #[test]
    fn each_part_is_taken_once_and_they_divide_the_keys() {
        let merge = merge();
        let bounds = [(None, Some("f")), (Some("f"), Some("m")), (Some("m"), None)];
        for (before, (begin, end)) in bounds.into_iter().enumerate() {
            assert!(merge.has_parts());
            assert_eq!(merge.parts_left(), 3 - before);
            let part = merge.next_part().unwrap();
            assert_eq!(part.begin(), begin.map(str::as_bytes));
            assert_eq!(part.end(), end.map(str::as_bytes));
            assert_eq!(part.place(), (before + 1, 3));
        }
        assert!(!merge.has_parts() && merge.next_part().is_none());
        assert_eq!(merge.parts_left(), 0);
    }

    #[test]
    fn no_part_of_an_abandoned_merge_starts_or_takes_effect() {
        let merge = merge();
        let [first, second] = [(); 2].map(|()| merge.next_part().unwrap());
        assert!(first.done(&[]).is_none() && !second.is_abandoned());
        assert!(second.abandon(false), "it was not yet");
        assert!(!first.abandon(false));
        assert!(first.is_abandoned() && second.done(&[]).is_none());
        assert!(!merge.has_parts() && merge.next_part().is_none());
        assert_eq!(merge.parts_left(), 0);
    }

    #[test]
    fn progress_is_each_parts_last_and_entries_count_by_bytes() {
        let merge = merge();
        let [first, second] = [(); 2].map(|()| merge.next_part().unwrap());
        assert_eq!(first.progress(10, 4), (10, 4));
        assert_eq!(second.progress(20, 5), (30, 9));
        assert_eq!(first.progress(30, 6), (50, 11));
        drop((first, second));
        let merge = Arc::into_inner(merge).unwrap();
        let merge = SharedMerge { total_entries: 200, total_bytes: 600, ..merge };
        assert_eq!([0, 50, 200].map(|entries| merge.bytes_of(entries)), [0, 150, 600]);
    }
}

//! The merge of a group, which workers may share.
//!
//! 1. A group's `parts` divide the keys of its merge; most are one part. Each is a job, which an executor
//!    takes as any other, and writes tables of its own.
//! 2. A part that is done leaves its tables here. With the last of them the group is installed, as one
//!    edit.
//! 3. With the first part that is abandoned the group is: no further part begins, and the tables of all
//!    parts are discarded.

use crate::keyspace::KeyspaceId;
use crate::sync::{Mutex, lock};
use crate::version::{LiveTable, Tree};
use std::sync::Arc;
use terrane_policy::{Group, TombstoneRule};

/// A merge, part by part.
pub(crate) struct SharedMerge {
    pub compaction: u64,
    pub keyspace: KeyspaceId,
    pub group: Group,
    /// Pins the inputs.
    pub tree: Arc<Tree>,
    pub tombstones: TombstoneRule,
    /// Of all inputs.
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

/// How far a part is.
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
    ) -> Arc<Self> {
        let inputs = group.inputs.iter().filter_map(|id| tree.table(*id));
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
            total_entries,
            total_bytes,
            state: Mutex::new(State { parts, taken: 0, abandoned: false }),
        })
    }

    /// The bytes of tables that so many entries of the inputs take.
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
    #[cfg(not(target_arch = "wasm32"))]
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
    /// Its first key; `None` where the merge begins.
    pub fn begin(&self) -> Option<&[u8]> {
        let before = self.number.checked_sub(1)?;
        self.merge.group.parts.get(before).map(Vec::as_slice)
    }

    /// The first key behind it; `None` where the merge ends.
    pub fn end(&self) -> Option<&[u8]> {
        self.merge.group.parts.get(self.number).map(Vec::as_slice)
    }

    /// Which of how many it is, from 1 on.
    #[cfg(not(target_arch = "wasm32"))]
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

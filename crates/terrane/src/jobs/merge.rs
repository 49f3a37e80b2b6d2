//! Merge: a group's inputs become new tables of its destination run.
//!
//! 1. The runs of the inputs are merged, and read in large chunks that bypass the cache.
//! 2. [`DropRule`] drops the versions and tombstones that no reader needs.
//! 3. Outputs are cut at the plan's keys, prefixes and sizes, always between user keys: all versions of a key
//!    lie in one table.
//! 4. The outputs are durable before one edit replaces the inputs by them.

use super::{DropRule, JobContext, Outcome, Reservation, TableSetWriter};
use crate::error::Result;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::table::{ReadPattern, RunCursor};
use crate::version::Tree;
use std::sync::Arc;
use terrane_policy::event::MAX_PROGRESS;
use terrane_policy::{Group, Placed, TombstoneRule};
use terrane_table::read::{Cursor, MergeCursor, Source, known_kind};

/// One group's merge.
pub(crate) struct Merge {
    pub compaction: u64,
    keyspace: KeyspaceId,
    pub group: Group,
    cursor: Option<MergeCursor>,
    /// The memory of the cursor.
    buffers: Option<Reservation>,
    drop_rule: DropRule,
    tombstones: TombstoneRule,
    outputs: TableSetWriter,
    read_entries: u64,
    total_entries: u64,
    total_bytes: u64,
    /// Pins the inputs.
    tree: Arc<Tree>,
}

impl Merge {
    pub fn new(
        outputs: TableSetWriter,
        compaction: u64,
        keyspace: KeyspaceId,
        group: Group,
        tree: Arc<Tree>,
        drop_rule: DropRule,
        tombstones: TombstoneRule,
    ) -> Self {
        let inputs = group.inputs.iter().filter_map(|id| tree.table(*id));
        let (total_bytes, total_entries) = inputs
            .map(|t| (t.table().info().bytes, t.table().info().entries))
            .fold((0, 0), |(bytes, entries), (b, e)| (bytes + b, entries + e));
        Merge {
            compaction,
            keyspace,
            group,
            cursor: None,
            buffers: None,
            drop_rule,
            tombstones,
            outputs,
            read_entries: 0,
            total_entries,
            total_bytes,
            tree,
        }
    }

    /// Reads about so many bytes; returns the outputs when all are written.
    pub fn step(&mut self, context: &JobContext, bytes: u64) -> Result<Option<Outcome>> {
        let mut cursor = match self.cursor.take() {
            Some(cursor) => cursor,
            None => self.begin(context)?,
        };
        let shares = self.shares();
        let mut left = bytes;
        while cursor.valid() {
            let size = (cursor.key().len() + cursor.value().len() + 16) as u64;
            self.take(&cursor)?;
            cursor.next()?;
            self.read_entries += 1;
            left = left.saturating_sub(size);
            if left == 0 {
                if self.shares() > shares {
                    self.tell_progress(context);
                }
                self.cursor = Some(cursor);
                self.outputs.count_memory();
                return Ok(None);
            }
        }
        self.outputs.cut()?;
        Ok(Some(Outcome::Merged {
            keyspace: self.keyspace,
            compaction: self.compaction,
            group: self.group.clone(),
            outputs: self.outputs.finished().to_vec(),
            read_bytes: self.total_bytes,
        }))
    }

    /// How many of the shares after which progress is reported are done.
    fn shares(&self) -> u64 {
        self.read_entries.saturating_mul(MAX_PROGRESS) / self.total_entries.max(1)
    }

    fn tell_progress(&self, context: &JobContext) {
        let Some(&group) = self.group.inputs.first() else { return };
        context.events.emit(|| Event::MergeProgress {
            compaction: self.compaction,
            group,
            read_bytes: self.read_bytes(),
            total_bytes: self.total_bytes,
            written_bytes: self.outputs.bytes_written(),
        });
    }

    /// The bytes of tables that the entries read so far take.
    fn read_bytes(&self) -> u64 {
        let share = self.read_entries as f64 / self.total_entries.max(1) as f64;
        (self.total_bytes as f64 * share) as u64
    }

    /// One cursor for each run that has inputs, newest first, merged. They read ahead as far as
    /// there is memory for all.
    fn begin(&mut self, context: &JobContext) -> Result<MergeCursor> {
        let inputs = self.tree.shape().find(self.group.inputs.clone());
        let runs = || inputs.chunk_by(|a, b| a.place == b.place);
        let (buffers, ahead) = context.memory.reserve_merge(runs().count());
        self.buffers = Some(buffers);
        let cursors = runs().map(|run| {
            let open = |t: &Placed| Some(self.tree.table(t.table.id)?.table().clone());
            let tables = run.iter().filter_map(open).collect();
            Source::Run(Box::new(RunCursor::new(
                tables,
                ReadPattern::Compaction { readahead: ahead },
            )))
        });
        let mut merge = MergeCursor::new(cursors.collect());
        merge.seek_first()?;
        Ok(merge)
    }

    /// Takes the entry under the cursor into the outputs, if it stays.
    fn take(&mut self, cursor: &MergeCursor) -> Result<()> {
        let (key, tag) = (cursor.key(), cursor.tag());
        known_kind(tag)?;
        if !self.drop_rule.keeps(key, tag, |key| !self.tombstones.may_drop(key)) {
            return Ok(());
        }
        let (total, read) = (self.total_bytes, self.read_entries as f64);
        let share = read / self.total_entries.max(1) as f64;
        self.outputs.note_left(|| total.saturating_sub((total as f64 * share) as u64));
        self.outputs.add(key, tag, cursor.value())
    }

    /// Throws away what was written, or leaves it where an edit may have named it.
    pub fn discard(&mut self, named: bool) {
        self.cursor = None;
        self.outputs.discard(named);
    }
}

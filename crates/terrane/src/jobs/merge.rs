//! Merge: a group's inputs become new tables of its destination run; [part](super::shared_merge) by part.
//!
//! 1. The runs of the inputs are merged, and read in large chunks that bypass the cache. Tables of which no reader sees
//!    anything are not read: range deletes hide it, or it has expired.
//! 2. The [`Resolver`] drops the versions and tombstones that no reader needs, and what range deletes hide. What has
//!    expired becomes a tombstone first.
//! 3. Outputs are cut at the plan's keys, prefixes and sizes, always between user keys: all versions of a key
//!    lie in one table.
//! 4. The outputs are durable before one edit replaces the inputs by them.

use super::shared_merge::Part;
use super::{JobContext, Outcome, Reservation, TableSetWriter};
use crate::entry::{MAX_SEQ, Tag};
use crate::error::Result;
use crate::event::Event;
use crate::table::{ReadPattern, RunCursor};
use terrane_policy::event::MAX_PROGRESS;
use terrane_policy::{Placed, TombstoneRule};
use terrane_table::read::{Cursor, Fate, MergeCursor, Resolver, Source, is_operand, take_versions};

/// The merge of one part of a group, usually of all of it.
pub(crate) struct Merge {
    pub part: Part,
    cursor: Option<MergeCursor>,
    /// The memory of the cursor.
    buffers: Option<Reservation>,
    resolver: Resolver,
    tombstones: TombstoneRule,
    outputs: TableSetWriter,
    read_entries: u64,
}

impl Merge {
    pub fn new(outputs: TableSetWriter, part: Part, resolver: Resolver) -> Self {
        let tombstones = part.merge.tombstones.clone();
        let (cursor, buffers, read_entries) = (None, None, 0);
        Merge { part, cursor, buffers, resolver, tombstones, outputs, read_entries }
    }

    /// Reads about `bytes` bytes. Returns the outputs when those of all parts are written.
    pub fn step(&mut self, context: &JobContext, bytes: u64) -> Result<Option<Outcome>> {
        if self.part.is_abandoned() {
            self.discard(false);
            return Ok(Some(Outcome::Nothing));
        }
        let mut cursor = match self.cursor.take() {
            Some(cursor) => cursor,
            None => self.begin(context)?,
        };
        let (before, _) = self.progress();
        let mut left = bytes;
        while cursor.valid() && self.part.end().is_none_or(|end| cursor.key() < end) {
            if is_operand(cursor.tag()) {
                left = left.saturating_sub(self.take_joined(&mut cursor)?);
            } else {
                let size = (cursor.key().len() + cursor.value().len() + 16) as u64;
                self.take(cursor.key(), cursor.tag(), cursor.value())?;
                cursor.next()?;
                self.read_entries += 1;
                left = left.saturating_sub(size);
            }
            if left == 0 {
                self.report_progress(context, before);
                self.cursor = Some(cursor);
                self.outputs.count_memory();
                return Ok(None);
            }
        }
        self.outputs.cut()?;
        let merge = &self.part.merge;
        Ok(Some(match self.part.done(self.outputs.finished()) {
            None => Outcome::Nothing,
            Some(outputs) => Outcome::Merged {
                keyspace: merge.keyspace,
                compaction: merge.compaction,
                group: merge.group.clone(),
                outputs,
                read_bytes: merge.total_bytes,
            },
        }))
    }

    /// The entries that the merge has read, and the bytes that it has written: all parts together.
    fn progress(&self) -> (u64, u64) {
        self.part.progress(self.read_entries, self.outputs.bytes_written())
    }

    /// Reports progress, if one of the shares after which it is reported was completed since `before`.
    fn report_progress(&self, context: &JobContext, before: u64) {
        let merge = &self.part.merge;
        let all = merge.total_entries.max(1);
        let shares = |entries: u64| entries.saturating_mul(MAX_PROGRESS) / all;
        let Some(&group) = merge.group.inputs.first() else { return };
        if shares(self.progress().0) == shares(before) {
            return;
        }
        context.events.emit(|| {
            // Looked up again: another part may have reported more.
            let (entries, written_bytes) = self.progress();
            Event::MergeProgress {
                compaction: merge.compaction,
                group,
                read_bytes: merge.bytes_of(entries),
                total_bytes: merge.total_bytes,
                written_bytes,
            }
        });
    }

    /// One cursor for each run that has inputs, newest first, merged. They read ahead as far as
    /// there is memory for all.
    fn begin(&mut self, context: &JobContext) -> Result<MergeCursor> {
        let merge = &self.part.merge;
        let read = merge.group.inputs.iter().filter(|id| !merge.hidden.contains(id)).copied();
        let inputs = merge.tree.shape().find(read.collect());
        let runs: Vec<_> = inputs.chunk_by(|a, b| a.place == b.place).collect();
        let (buffers, readahead) = context.memory.reserve_merge(runs.len());
        self.buffers = Some(buffers);
        let mut cursors = Vec::new();
        for run in runs {
            let open = |t: &Placed| Some(merge.tree.table(t.table.id)?.table().clone());
            let tables = run.iter().filter_map(open).collect();
            let pattern = ReadPattern::Compaction { readahead };
            cursors.push(Source::Run(RunCursor::new(tables, pattern)));
        }
        let mut cursor = MergeCursor::new(cursors);
        match self.part.begin() {
            None => cursor.seek_first()?,
            Some(begin) => cursor.seek(begin, Tag::at(MAX_SEQ))?,
        }
        Ok(cursor)
    }

    /// Takes the operand under the cursor and the older versions of its key into the outputs, joined. Returns their
    /// bytes.
    #[cold]
    fn take_joined(&mut self, cursor: &mut MergeCursor) -> Result<u64> {
        let (key, mut versions) = take_versions(cursor)?;
        let bytes = versions.iter().map(|(_, stored)| (key.len() + stored.len() + 16) as u64).sum();
        let tombstones = &mut self.tombstones;
        self.resolver.join(&key, &mut versions, |key| !tombstones.may_drop(key))?;
        for (tag, stored) in &versions {
            self.take(&key, *tag, stored)?;
            self.read_entries += 1;
        }
        Ok(bytes)
    }

    /// Takes the next entry into the outputs, if it stays.
    #[inline]
    fn take(&mut self, key: &[u8], tag: Tag, stored: &[u8]) -> Result<()> {
        let tombstones = &mut self.tombstones;
        let judgement = self.resolver.judge(key, tag, stored, |key| !tombstones.may_drop(key))?;
        if judgement.fate == Fate::Dropped {
            return Ok(());
        }
        let (merge, read) = (&self.part.merge, self.read_entries);
        self.outputs.note_left(|| merge.total_bytes.saturating_sub(merge.bytes_of(read)));
        self.outputs.take(key, tag, stored, judgement)
    }

    /// The merge is abandoned. What was written is thrown away, or left where an edit may have `named`
    /// it. Returns whether the group falls with it: with the first of its parts.
    pub fn abandon(&mut self, named: bool) -> bool {
        self.discard(named);
        self.part.abandon(named)
    }

    fn discard(&mut self, named: bool) {
        self.cursor = None;
        self.outputs.discard(named);
    }
}

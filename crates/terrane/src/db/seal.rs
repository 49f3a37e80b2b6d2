//! Sealing: when memtables close for writing and wait for their flush.
//!
//! After each commit
//! 1. a memtable that is full is sealed;
//! 2. if all memtables together take more than their share of the memory budget, the largest is;
//! 3. if the logs take too much room, the one that holds the oldest record is, so that logs retire.
//!
//! The other share of the budget belongs to what tables pin (indexes, filters) and, as far as that
//! leaves room, to the block cache.

use super::commit::Writer;
use super::state::{FlushStatus, Keyspaces, Sealed, State, View};
use super::{Engine, lock};
use crate::entry::Seq;
use crate::error::Result;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::sync::atomic::Ordering;
use crate::wal::LogWriter;
use std::sync::Arc;

/// The least cache that is kept however much tables pin.
const CACHE_BYTES_MIN: u64 = 256 << 10;

impl Engine {
    /// Bytes that all memtables together may take: half of the budget, and room for one that fills
    /// while another is flushed.
    pub(super) fn memtables_share(&self) -> u64 {
        (self.options.memory_bytes / 2).max(2 * self.options.memtable_bytes)
    }

    /// Gives the cache what memtables and pinned parts of tables leave of the budget.
    pub(super) fn share_memory(&self) {
        let keyspaces = self.keyspaces.load();
        let tables = keyspaces
            .values()
            .map(|k| k.view.load().tree.tables().map(|t| t.table().memory() as u64).sum::<u64>());
        let pinned: u64 = tables.sum();
        let left = self.options.memory_bytes.saturating_sub(self.memtables_share());
        let cache = left.saturating_sub(pinned).max(CACHE_BYTES_MIN);
        self.cache.resize(cache.min(self.options.cache_bytes));
    }

    /// Seals what must be sealed after a commit that touched `touched`.
    pub(super) fn seal_full(
        &self,
        writer: &Writer,
        keyspaces: &Keyspaces,
        touched: &[KeyspaceId],
    ) -> Result<()> {
        let through = writer.last();
        for keyspace in touched.iter().filter_map(|id| keyspaces.get(id)) {
            if keyspace.view.load().active.bytes() as u64 >= self.options.memtable_bytes {
                self.seal(&mut *self.open_state()?, keyspace.id, through);
            }
        }
        if self.memtable_bytes.load(Ordering::Relaxed) > self.memtables_share() {
            let active = keyspaces.values().map(|k| (k.view.load().active.bytes(), k.id));
            if let Some((_, id)) = active.max().filter(|(bytes, _)| *bytes > 0) {
                self.seal(&mut *self.open_state()?, id, through);
            }
        }
        let mut state = self.open_state()?;
        let current = writer.log.as_ref().map_or(0, LogWriter::bytes);
        let logged = state.sealed_logs.iter().map(|log| log.bytes).sum::<u64>() + current;
        if logged > self.options.logs_bytes_max {
            let unsealed = keyspaces.values().filter(|k| k.view.load().sealed.is_empty());
            let first = unsealed.filter_map(|k| Some((k.view.load().active.first_seq()?, k.id)));
            if let Some((_, id)) = first.min() {
                self.seal(&mut state, id, through);
            }
        }
        Ok(())
    }

    /// Seals every memtable that holds anything, for an explicit flush; answers the last sequence.
    pub(crate) fn seal_all(&self) -> Result<Seq> {
        let writer = lock(&self.writer);
        let mut state = self.open_state()?;
        state.failed = None;
        for id in self.keyspaces.load().keys() {
            self.seal(&mut state, *id, writer.last());
        }
        Ok(writer.last())
    }

    /// Closes a keyspace's memtable for writing. The caller holds the writer lock, so that every
    /// entry up to `through` is in.
    fn seal(&self, state: &mut State, id: KeyspaceId, through: Seq) {
        let keyspaces = self.keyspaces.load();
        let Some(keyspace) = keyspaces.get(&id) else { return };
        let view = keyspace.view.load_full();
        if view.active.is_empty() {
            return;
        }
        let mut sealed = vec![view.active.clone()];
        sealed.extend(view.sealed.iter().cloned());
        let tree = view.tree.clone();
        let active = Arc::new(self.options.memtable());
        keyspace.view.store(Arc::new(View { active, sealed, tree }));
        let memtable = view.active.clone();
        keyspace.operations.updates.fetch_add(memtable.entries() as u64, Ordering::Relaxed);
        let bytes = memtable.bytes() as u64;
        let waiting = Sealed { memtable, through, status: FlushStatus::Waiting };
        state.sealed.update(id, |queue| queue.push(waiting));
        // A new flush is a new chance for work that failed.
        state.failed = None;
        self.work_came();
        self.emit(&Event::MemtableSealed { keyspace: id, bytes, through });
    }
}

//! Sealed memtables, from their sealing until an edit has their tables.

use crate::engine::KeyspaceMap;
use crate::entry::Seq;
use crate::jobs::Flushed;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::vec_map::VecMap;
use std::sync::Arc;
use terrane_types::SharedMap;

/// The stage of a sealed memtable on its way to level 0.
pub(crate) enum FlushStatus {
    /// No job has taken it.
    Waiting,
    /// A job writes its table.
    Running,
    /// It is written.
    Written(Flushed),
}

/// A sealed memtable.
pub(crate) struct Sealed {
    /// The memtable's position among all sealed memtables.
    number: u64,
    pub memtable: Arc<Memtable>,
    /// Every entry of the keyspace up to here is in this memtable or an older one.
    pub through: Seq,
    pub status: FlushStatus,
}

/// A flush that is written, and next to be installed.
pub(crate) struct WrittenFlush {
    /// Its place in its keyspace's queue.
    at: usize,
    pub through: Seq,
    pub memtable: Arc<Memtable>,
    pub flushed: Flushed,
}

/// The queues of sealed memtables.
#[derive(Default)]
pub(crate) struct Flushes {
    /// Queues by keyspace, the oldest memtable first.
    queues: VecMap<KeyspaceId, Vec<Sealed>>,
    /// The keyspaces of sealed memtables that no job has taken, by [`Sealed::number`]. Memtables of dropped
    /// keyspaces are skipped.
    waiting: SharedMap<u64, u64>,
    /// Memtables sealed so far.
    seals: u64,
}

impl Flushes {
    /// Queues a memtable that was just sealed.
    pub fn push(&mut self, id: KeyspaceId, memtable: Arc<Memtable>, through: Seq) {
        self.seals += 1;
        let number = self.seals;
        let sealed = Sealed { number, memtable, through, status: FlushStatus::Waiting };
        self.queues.update(id, |queue| queue.push(sealed));
        self.waiting.insert(number, id.0.into());
    }

    /// Takes the oldest memtable that waits for a job: its keyspace, its last sequence and itself.
    pub fn next(&mut self) -> Option<(KeyspaceId, Seq, Arc<Memtable>)> {
        while let Some((&number, &id)) = self.waiting.iter().next() {
            self.waiting.remove(&number);
            let keyspace = KeyspaceId(id as u32);
            let mut queue = self.queues.get_mut(&keyspace).into_iter().flatten();
            let Some(sealed) = queue.find(|s| s.number == number) else { continue };
            sealed.status = FlushStatus::Running;
            return Some((keyspace, sealed.through, sealed.memtable.clone()));
        }
        None
    }

    /// A job has written a memtable. Returns `false` if its keyspace is gone.
    pub fn written(&mut self, id: KeyspaceId, through: Seq, flushed: Flushed) -> bool {
        let Some(queue) = self.queues.get_mut(&id) else { return false };
        if let Some(sealed) = queue.iter_mut().find(|s| s.through == through) {
            sealed.status = FlushStatus::Written(flushed);
        }
        true
    }

    /// The flush of a keyspace that is next to be installed, if it is written: the oldest or, where the order is not
    /// kept, the oldest that is written.
    pub fn next_written(&self, id: KeyspaceId, in_order: bool) -> Option<WrittenFlush> {
        let queue = self.queues.get(&id)?;
        let is_written = |s: &Sealed| matches!(s.status, FlushStatus::Written(_));
        let at = if in_order { 0 } else { queue.iter().position(is_written)? };
        let Sealed { through, memtable, status, .. } = queue.get(at)?;
        let FlushStatus::Written(flushed) = status else { return None };
        let (memtable, flushed) = (memtable.clone(), flushed.clone());
        Some(WrittenFlush { at, through: *through, memtable, flushed })
    }

    /// The tables of a written flush are in the tree. Since it was found, memtables were added behind it at most.
    pub fn installed(&mut self, id: KeyspaceId, flush: &WrittenFlush) {
        let is_empty = self.queues.update(id, |queue| {
            drop(queue.remove(flush.at));
            queue.is_empty()
        });
        if is_empty {
            self.queues.remove(&id);
        }
    }

    /// Queues the written flushes of a keyspace again: the edit that would have named their tables failed.
    pub fn requeue_written(&mut self, id: KeyspaceId) {
        for sealed in self.queues.get_mut(&id).into_iter().flatten() {
            if let FlushStatus::Written(flushed) = &sealed.status {
                flushed.tables.iter().for_each(|table| table.mark_dropped());
                sealed.status = FlushStatus::Waiting;
                self.waiting.insert(sealed.number, id.0.into());
            }
        }
    }

    /// A job was abandoned: another may take its memtable.
    pub fn abandoned(&mut self, id: KeyspaceId, through: Seq) {
        let queue = self.queues.get_mut(&id).into_iter().flatten();
        if let Some(sealed) = queue.into_iter().find(|s| s.through == through)
            && matches!(sealed.status, FlushStatus::Running)
        {
            sealed.status = FlushStatus::Waiting;
            self.waiting.insert(sealed.number, id.0.into());
        }
    }

    /// Forgets the memtables of a keyspace that was dropped. No edit will name what their flushes have written.
    pub fn forget(&mut self, id: KeyspaceId) {
        for sealed in self.queues.remove(&id).into_iter().flatten() {
            if let FlushStatus::Written(flushed) = sealed.status {
                flushed.tables.iter().for_each(|table| table.mark_dropped());
            }
        }
    }

    /// Whether every memtable that was sealed up to this sequence is in tables.
    pub fn are_done(&self, through: Seq) -> bool {
        self.iter().all(|sealed| sealed.through > through)
    }

    /// All sealed memtables.
    pub fn iter(&self) -> impl Iterator<Item = &Sealed> {
        self.queues.values().flatten()
    }

    /// The keyspaces that have sealed memtables.
    #[cfg(test)]
    pub fn keyspaces(&self) -> Vec<KeyspaceId> {
        self.queues.keys().copied().collect()
    }

    /// Returns the number of memtables that no job has taken.
    pub fn waiting(&self) -> usize {
        self.iter().filter(|sealed| matches!(sealed.status, FlushStatus::Waiting)).count()
    }

    /// Whether a memtable holds anything that is in no table.
    pub fn hold_any(&self, keyspaces: &KeyspaceMap) -> bool {
        self.iter().next().is_some()
            || keyspaces.values().any(|k| !k.super_version.load().active.is_empty())
    }

    /// Returns the first sequence number of each memtable that is in no table once `flushed`, if given, is in one.
    pub fn first_seqs(&self, keyspaces: &KeyspaceMap, flushed: Option<&Arc<Memtable>>) -> Vec<Seq> {
        let waits = |s: &&Sealed| flushed.is_none_or(|flushed| !Arc::ptr_eq(&s.memtable, flushed));
        let sealed = self.iter().filter(waits);
        let mut first: Vec<_> = sealed.filter_map(|s| s.memtable.first_seq()).collect();
        first.extend(keyspaces.values().filter_map(|k| k.super_version.load().active.first_seq()));
        first
    }
}

//! Memtables and runs of a keyspace, which a get searches. They hold no file: natively a get borrows them under a pin
//! of the epoch, and reads memory alone; what must be read from files is left to a get that holds a super version.

use super::{LevelCounters, SharedSamples};
use crate::entry::{Seq, Tag};
use crate::error::Result;
use crate::memtable::Memtable;
#[cfg(not(target_arch = "wasm32"))]
use crate::sync::Pinned;
use crate::table::RunTables;
use std::sync::Arc;
use terrane_policy::RunId;
use terrane_table::entry::head;
use terrane_table::read::{ReadCounts, ReadTracer};
use terrane_types::range_deletes::RangeDeletes;

/// Memtables and runs, immutable but for the active memtable, which only grows.
pub(crate) struct Sources {
    /// Takes the writes.
    pub active: Arc<Memtable>,
    /// Waiting for their flush, newest first.
    pub sealed: Vec<Arc<Memtable>>,
    /// Runs of the tree.
    pub runs: Arc<Runs>,
    /// Counts of the keyspace, which all its super versions share.
    pub counters: Arc<LevelCounters>,
    /// Samples of its operations, shared likewise.
    pub samples: SharedSamples,
}

/// The runs of a tree, newest first over all levels, and the range deletes that hide entries of them.
#[derive(Default)]
pub(crate) struct Runs {
    pub runs: Vec<Run>,
    pub range_deletes: RangeDeletes,
}

/// A sorted run.
pub(crate) struct Run {
    pub level: usize,
    pub id: RunId,
    /// Its tables, in key order.
    pub tables: RunTables,
}

/// A key that a get searches.
#[derive(Clone, Copy)]
pub(crate) struct SoughtKey<'a> {
    pub key: &'a [u8],
    /// The [`key_hash`](crate::table::key_hash) of the key.
    pub hash: u64,
    /// The sequence number of the reader.
    pub at: Seq,
    /// The least sequence number of an entry that is not hidden by a range delete.
    pub least: Seq,
    /// Whether each table counts its reads.
    #[cfg_attr(target_arch = "wasm32", allow(dead_code))]
    // for gets in memory, which are native
    pub watching: bool,
    /// The index of a run of which memory has too little.
    #[cfg_attr(target_arch = "wasm32", allow(dead_code))] // likewise
    pub unread: Option<usize>,
}

/// A version that was found: its tag, and the index of its run.
type FoundInRun = Option<(Tag, usize)>;

impl Sources {
    /// The memtables, newest first.
    #[inline]
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.sealed)
    }

    /// The sequence number of the newest range delete of a key that a reader at `at` sees; 0 without one.
    #[inline]
    pub fn deleted(&self, key: &[u8], at: Seq) -> Seq {
        if cfg!(not(target_arch = "wasm32"))
            && self.runs.range_deletes.is_empty()
            && self.memtables().all(|memtable| memtable.deletions() == 0)
        {
            return 0;
        }
        self.newest_deletion(key, at)
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(never))]
    fn newest_deletion(&self, key: &[u8], at: Seq) -> Seq {
        let list = &self.runs.range_deletes;
        let in_tables = if list.is_empty() { 0 } else { list.newest_at(key, at) };
        self.memtables().fold(in_tables, |newest, memtable| newest.max(memtable.deleted(key, at)))
    }

    /// The lists of range deletes that are not empty: those of memtables, and that of the tables.
    pub fn range_deletes(&self) -> Vec<RangeDeletes> {
        let of_memtables = self.memtables().filter(|memtable| memtable.deletions() > 0);
        let mut lists: Vec<RangeDeletes> = of_memtables.map(|m| m.range_deletes()).collect();
        lists.extend(Some(self.runs.range_deletes.clone()).filter(|list| !list.is_empty()));
        lists
    }
}

impl Runs {
    /// Returns the tag of the newest version of a key that its reader sees, tombstones included, and the index of its
    /// run; lends the value to `lend`. Runs before the `first` are left out. `counters` count what filters say, and
    /// blocks read. This thread must not be pinned: files may be read.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get(
        &self,
        sought: SoughtKey<'_>,
        first: usize,
        lend: &mut dyn FnMut(Tag, &[u8]),
        tracer: &mut ReadTracer,
        counters: &LevelCounters,
    ) -> Result<FoundInRun> {
        let mut first = first;
        loop {
            #[cfg(not(target_arch = "wasm32"))]
            if !tracer.is_recording() && sought.unread != Some(first) {
                let (mut pin, mut counts) = (crate::sync::Pin::default(), ReadCounts::default());
                let pinned = pin.pinned();
                let found = self.get_shown(sought, first, lend, &mut counts, counters, pinned);
                tracer.add(&counts);
                match found {
                    Ok(found) => return Ok(found),
                    Err(place) => first = place,
                }
            }
            if first >= self.runs.len() {
                return Ok(None);
            }
            if let Some(tag) = self.find(sought, first, lend, tracer, counters)? {
                return Ok(Some((tag, first)).filter(|(tag, _)| tag.seq() >= sought.least));
            }
            first += 1;
        }
    }

    /// Searches one run, also in its files.
    fn find(
        &self,
        sought: SoughtKey<'_>,
        place: usize,
        lend: &mut dyn FnMut(Tag, &[u8]),
        tracer: &mut ReadTracer,
        counters: &LevelCounters,
    ) -> Result<Option<Tag>> {
        let SoughtKey { key, hash, at, least, .. } = sought;
        let Some(run) = self.runs.get(place) else { return Ok(None) };
        let table = run.tables.covering(key, head(key));
        tracer.run(run.level, run.id, table.map(|table| table.info().id));
        let Some(table) = table.filter(|table| least == 0 || table.info().last_seq >= least) else {
            return Ok(None);
        };
        let lend = &mut |tag: Tag, stored: &[u8]| {
            if tag.seq() >= least {
                lend(tag, stored);
            }
        };
        let before = *tracer.counts();
        let found = table.find(key, hash, at, lend, tracer)?;
        let ReadCounts { blocks, blocks_cached, .. } = tracer.counts().since(&before);
        counters.own().add(run.level, tracer.verdict(), blocks, blocks - blocks_cached);
        Ok(found)
    }

    /// [`Runs::get`] in memory. The error is the index of the first run of which memory has too little: nothing of it
    /// is counted or lent then.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub fn get_shown(
        &self,
        sought: SoughtKey<'_>,
        first: usize,
        lend: &mut dyn FnMut(Tag, &[u8]),
        counts: &mut ReadCounts,
        counters: &LevelCounters,
        pinned: &Pinned,
    ) -> Result<FoundInRun, usize> {
        let SoughtKey { key, hash, at, least, watching, .. } = sought;
        let (counters, wanted) = (counters.own(), head(key));
        let mut hide = |tag: Tag, stored: &[u8]| {
            if tag.seq() >= least {
                lend(tag, stored);
            }
        };
        let runs = self.runs.get(first..).unwrap_or_default();
        for (place, run) in (first..).zip(runs) {
            let Some(table) = run.tables.covering(key, wanted) else { continue };
            if least > 0 && table.info().last_seq < least {
                continue;
            }
            let found = table.find_peeked(key, hash, at, &mut hide, watching, pinned);
            let shown = found.ok_or(place)?;
            shown.count(counts);
            counters.add(run.level, shown.verdict(), 1, 0);
            if let Some(tag) = shown.tag() {
                return Ok(Some((tag, place)).filter(|(tag, _)| tag.seq() >= least));
            }
        }
        Ok(None)
    }
}

//! Lookups of keys at one moment, cursors and traces, over a super version. The search for a key is `search`.

#[cfg(not(target_arch = "wasm32"))]
use super::search::SearchedMemory;
use super::search::{Found, Search};
use crate::engine::{Background, Engine, KeyspaceInner, Keyspaces, Snapshots, StoreState};
use crate::entry::{Millis, Seq, Tag};
use crate::error::{Closed, Error, ErrorKind, Result};
use crate::event::EventStream;
use crate::keyspace::KeyspaceId;
use crate::operand::MergeOperator;
use crate::read::Cursor;
use crate::sync::Loaded;
use crate::table::ReadPattern;
use crate::vec_map::VecMap;
use crate::version::{OperationKind, SuperVersion};
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;
use terrane_table::cursor::Cursor as TableCursor;
use terrane_table::read::{KeyRange, MvccCursor, ReadCounters, ReadTracer, Reader, Source, Trace};
use terrane_types::range_deletes::{End, Fragment};

#[cfg(test)]
mod tests;

fn live_keyspace(
    keyspaces: &Keyspaces,
    store: &StoreState,
    id: KeyspaceId,
) -> Result<Arc<KeyspaceInner>> {
    keyspaces.get(id).ok_or_else(|| missing(store))
}

#[cold]
pub(super) fn missing(store: &StoreState) -> Error {
    let closed = store.lock_open().err();
    closed.unwrap_or_else(|| Closed::Keyspace.into())
}

/// Returns the moment to read at: that of a snapshot, or the present.
///
/// The caller takes the super version before. It pins everything that is visible at that time, so no merge can take a
/// version away between the two.
pub(super) fn moment(snapshots: &Snapshots, background: &Background, at: Option<Reader>) -> Reader {
    let reader = at.unwrap_or_else(|| snapshots.present());
    if snapshots.clock.is_due(reader.now) {
        background.notify_work();
    }
    reader
}

/// Returns the value of a key and every step that led to it.
///
/// # Errors
/// Damage, an I/O error, or a keyspace that was dropped.
pub(crate) fn trace_get(
    engine: &Engine,
    keyspace: KeyspaceId,
    key: &[u8],
    at: Option<Reader>,
) -> Result<(Option<Vec<u8>>, Trace)> {
    let keyspace = live_keyspace(&engine.keyspaces, &engine.state, keyspace)?;
    let super_version = keyspace.super_version.load_full();
    let reader = moment(&engine.snapshots, &engine.background, at);
    let mut tracer = ReadTracer::tracing();
    let mut value = Vec::new();
    let operator = engine.options.merge_operator.as_ref();
    let found = Search::new(&super_version, key, reader, operator).value(
        0,
        &mut |found| value.extend_from_slice(found),
        &mut tracer,
    )?;
    let mut trace = Trace::at(reader.at);
    trace.append(tracer);
    Ok((found.map(|_| value), trace))
}

/// Returns the values of several keys at one moment, in the order of the keys.
///
/// # Errors
/// The errors of [`trace_get`].
pub(crate) fn get_many(
    engine: &Engine,
    keyspace: KeyspaceId,
    keys: &[impl AsRef<[u8]>],
    at: Option<Reader>,
) -> Result<Vec<Option<Vec<u8>>>> {
    let mut lookup = lookup(engine, keyspace, keys.len(), at)?;
    keys.iter().map(|key| lookup.get(key)).collect()
}

/// Returns a lookup of `keys` keys in the keyspace as it is now, or was at a snapshot's sequence.
///
/// # Errors
/// A keyspace that was dropped.
pub(crate) fn lookup(
    engine: &Engine,
    keyspace: KeyspaceId,
    keys: usize,
    at: Option<Reader>,
) -> Result<Lookup<'_>> {
    // Borrowed: a reference that is counted would be one that all threads count.
    let keyspaces = engine.keyspaces.load();
    let keyspace = keyspaces.get(&keyspace).ok_or_else(|| missing(&engine.state))?;
    if keyspace.reads.access_stats.looked_up(keys) {
        engine.background.notify_reads_due();
    }
    let tracer = ReadTracer::default().watching(keyspace.reads.access_stats.watched());
    let super_version = keyspace.super_version.load();
    let reader = moment(&engine.snapshots, &engine.background, at);
    let (sums, operator) = (&engine.counters.gets, engine.options.merge_operator.as_ref());
    let events = &engine.jobs.events;
    Ok(Lookup { super_version, reader, tracer, sums, operator, events })
}

/// Returns the keyspaces as they are now, all at one moment.
///
/// Unlike a lookup's, its number is taken first, so that everything up to it is in each super version; and held,
/// so that no merge takes a version away before the last is loaded.
///
/// # Errors
/// A keyspace that was dropped.
pub(crate) fn view(
    engine: &Engine,
    keyspaces: impl Iterator<Item = KeyspaceId>,
) -> Result<View<'_>> {
    let reader = engine.snapshots.hold(engine.jobs.events.micros());
    let mut view = View { lookups: VecMap::default(), reader, engine };
    for id in keyspaces {
        if view.lookups.get(&id).is_none() {
            view.lookups.insert(id, lookup(engine, id, 1, Some(reader))?);
        }
    }
    Ok(view)
}

/// Returns a cursor over a range of the keyspace as it is now, or was at a snapshot's sequence.
///
/// # Errors
/// A keyspace that was dropped.
pub(crate) fn cursor(
    engine: &Engine,
    keyspace: KeyspaceId,
    range: KeyRange,
    at: Option<Reader>,
) -> Result<Cursor> {
    // Borrowed, as for a lookup.
    let keyspaces = engine.keyspaces.load();
    let keyspace = keyspaces.get(&keyspace).ok_or_else(|| missing(&engine.state))?;
    if keyspace.reads.access_stats.scanned() {
        engine.background.notify_reads_due();
    }
    let watched = keyspace.reads.access_stats.watched();
    let super_version = keyspace.super_version.load_full();
    let reader = moment(&engine.snapshots, &engine.background, at);
    let whole = ReadTracer::adding_to(engine.counters.scans.clone());
    let part = || ReadTracer::default().watching(watched);
    let operator = engine.options.merge_operator.as_ref();
    let cursor = mvcc_cursor(&super_version, range, reader, operator, whole, part);
    Ok(Cursor::new(cursor, super_version))
}

/// Traces a scan to its first row, or to its last if `reverse`: the position of each memtable's and run's
/// cursor, and the blocks read for it.
///
/// # Errors
/// Damage, an I/O error, or a keyspace that was dropped.
pub(crate) fn trace_seek(
    engine: &Engine,
    keyspace: KeyspaceId,
    range: KeyRange,
    reverse: bool,
    at: Option<Reader>,
) -> Result<Trace> {
    let keyspace = live_keyspace(&engine.keyspaces, &engine.state, keyspace)?;
    let super_version = keyspace.super_version.load_full();
    let reader = moment(&engine.snapshots, &engine.background, at);
    let operator = engine.options.merge_operator.as_ref();
    let tracing = ReadTracer::tracing;
    let mut mvcc_cursor = mvcc_cursor(&super_version, range, reader, operator, tracing(), tracing);
    if reverse {
        mvcc_cursor.prev()?
    } else {
        mvcc_cursor.next()?
    };
    let mut parts = mvcc_cursor.into_tracers();
    let row = parts.next();
    let mut trace = Trace::at(reader.at);
    parts.chain(row).for_each(|part| trace.append(part));
    Ok(trace)
}

/// A value with its version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Versioned {
    /// Value of the key.
    pub value: Vec<u8>,
    /// Sequence number of the batch that wrote the value.
    pub seq: Seq,
    /// Time at which the value expires, in milliseconds since the epoch; `None` if it does not expire.
    pub expires_at: Option<Millis>,
}

/// The result of a lookup that touches no file; see [`Lookup::try_get`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryGet<T = Vec<u8>> {
    /// The key has this value.
    Value(T),
    /// The key has no value.
    Absent,
    /// A file must be read to know.
    WouldRead,
}

/// Keyspaces at one moment.
pub(crate) struct View<'a> {
    lookups: VecMap<KeyspaceId, Lookup<'a>>,
    reader: Reader,
    engine: &'a Engine,
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        self.engine.release_snapshot(self.reader.at);
    }
}

impl<'a> View<'a> {
    /// Returns the lookup of a keyspace.
    ///
    /// # Errors
    /// [`Closed::Keyspace`] for a keyspace that the view does not have.
    pub fn lookup(&mut self, keyspace: KeyspaceId) -> Result<&mut Lookup<'a>> {
        self.lookups.get_mut(&keyspace).ok_or(Closed::Keyspace.into())
    }

    /// Returns the moment of the view.
    pub fn reader(&self) -> Reader {
        self.reader
    }
}

/// Lookups of keys of one keyspace, all at one moment. It pins the files that it may read: drop it soon.
pub struct Lookup<'a> {
    pub(super) super_version: Loaded<SuperVersion>,
    pub(super) reader: Reader,
    pub(super) tracer: ReadTracer,
    /// Counters to add to at the end.
    pub(super) sums: &'a ReadCounters,
    pub(super) operator: Option<&'a MergeOperator>,
    /// Receives what is sampled.
    pub(super) events: &'a EventStream,
}

impl Lookup<'_> {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn get(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.get_with(key, <[u8]>::to_vec)
    }

    /// Calls `work` with the value of a key, if there is one, and returns what it returned. The value is lent where it
    /// lies in memory, not copied. Values that are replaced meanwhile stay in memory until `work` ends, so `work`
    /// should be short.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn get_with<R>(
        &mut self,
        key: impl AsRef<[u8]>,
        work: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let (mut work, mut worked) = (Some(work), None);
        let lend = &mut |value: &[u8]| worked = work.take().map(|work| work(value));
        self.find(key.as_ref(), lend)?;
        Ok(worked)
    }

    /// Returns the value of a key and its version.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn get_versioned(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Versioned>> {
        let mut value = Vec::new();
        let found = self.find(key.as_ref(), &mut |found| value.extend_from_slice(found))?;
        Ok(found.map(|(seq, expires_at)| Versioned { value, seq, expires_at }))
    }

    /// Looks a key up in memory: in memtables, and in what the cache has of tables. No file is touched, and nothing
    /// is waited for.
    ///
    /// # Errors
    /// Damage.
    pub fn try_get(&mut self, key: impl AsRef<[u8]>) -> Result<TryGet> {
        let mut value = Vec::new();
        Ok(match self.try_find(key.as_ref(), &mut value)? {
            TryGet::Value(_) => TryGet::Value(value),
            TryGet::Absent => TryGet::Absent,
            TryGet::WouldRead => TryGet::WouldRead,
        })
    }

    /// Looks a key and its version up in memory, as [`Lookup::try_get`] does.
    ///
    /// # Errors
    /// Damage.
    pub fn try_get_versioned(&mut self, key: impl AsRef<[u8]>) -> Result<TryGet<Versioned>> {
        let mut value = Vec::new();
        Ok(match self.try_find(key.as_ref(), &mut value)? {
            TryGet::Value((seq, expires_at)) => TryGet::Value(Versioned { value, seq, expires_at }),
            TryGet::Absent => TryGet::Absent,
            TryGet::WouldRead => TryGet::WouldRead,
        })
    }

    fn try_find(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<TryGet<Found>> {
        self.tracer.set_only_cached(true);
        let found = self.find(key, &mut |value| out.extend_from_slice(value));
        self.tracer.set_only_cached(false);
        match found {
            Ok(Some(found)) => Ok(TryGet::Value(found)),
            Ok(None) => Ok(TryGet::Absent),
            Err(e) if matches!(e.kind(), ErrorKind::WouldRead) => Ok(TryGet::WouldRead),
            Err(e) => Err(e),
        }
    }

    /// Appends the value of a key to `out`, whose memory can so serve many values; returns whether
    /// there is one.
    ///
    /// # Errors
    /// Damage, or an I/O error; `out` is as it was then.
    pub fn get_into(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        Ok(self.find(key, &mut |value| out.extend_from_slice(value))?.is_some())
    }

    pub(super) fn find(
        &mut self,
        key: &[u8],
        lend: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Found>> {
        let sampled = self.super_version.samples.start(OperationKind::Get, self.events);
        let found = self.search(key, lend);
        if let Some(began) = sampled
            && found.is_ok()
        {
            self.super_version.samples.end(OperationKind::Get, began, key, self.events);
        }
        found
    }

    /// [`Lookup::find`] of a get that samples itself.
    pub(super) fn search(
        &mut self,
        key: &[u8],
        lend: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Found>> {
        let Lookup { super_version, tracer, operator, .. } = self;
        Search::new(super_version, key, self.reader, *operator).value(0, lend, tracer)
    }

    /// Continues a search in memory, of the sources of this super version, where it stopped.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn find_rest(
        &mut self,
        key: &[u8],
        rest: SearchedMemory,
        lend: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Found>> {
        let Lookup { super_version, tracer, operator, .. } = self;
        let search = Search::new(super_version, key, self.reader, *operator);
        match rest {
            SearchedMemory::Known(found) => Ok(found),
            SearchedMemory::Unread(place) => search.unread_at(place).value(place, lend, tracer),
            SearchedMemory::Operand(merged, seq, place) => {
                lend(&search.join(merged, place, tracer)?);
                Ok(Some((seq, None)))
            }
        }
    }

    /// Returns whether a key was written after `since`, deletes included; see [`Lookup::changed`].
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub(crate) fn has_changed(&self, key: &[u8], since: Seq) -> Result<bool> {
        let only = || Bound::Included(key.to_vec());
        Ok(self.changed(&KeyRange { from: only(), to: only() }, since)?.is_some())
    }

    /// Returns a key of the range that was written after `since`, deletes included; `None` if there is none. A
    /// snapshot at `since` must be held: otherwise a merge may have dropped a tombstone.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub(crate) fn changed(&self, range: &KeyRange, since: Seq) -> Result<Option<Vec<u8>>> {
        let written = since + 1..=self.reader.at;
        if let Some(key) = self.deleted_in(range, &written) {
            return Ok(Some(key));
        }
        for memtable in self.super_version.memtables() {
            if memtable.last_seq().is_some_and(|last| last > since)
                && let Some(key) = find_written(&mut memtable.cursor(), range, &written)?
            {
                return Ok(Some(key));
            }
        }
        for table in self.super_version.tree.tables().map(|live| live.table()) {
            let info = table.info();
            if info.last_seq > since
                && range.above_start(&info.largest)
                && range.below_end(&info.smallest)
                && let Some(key) =
                    find_written(&mut table.cursor(ReadPattern::Scan), range, &written)?
            {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Returns the first key that the range shares with a range delete whose number is in `written`.
    fn deleted_in(&self, range: &KeyRange, written: &RangeInclusive<Seq>) -> Option<Vec<u8>> {
        let (from, to) = range.half_open()?;
        let end = End::before(to.as_deref());
        let mut first: Option<Vec<u8>> = None;
        for list in self.super_version.range_deletes() {
            let mut shared = list.overlapping(&from, &end).iter();
            let is_new = |fragment: &&Fragment| fragment.seqs().any(|seq| written.contains(&seq));
            let found =
                shared.find(is_new).map(|fragment| from.as_slice().max(&fragment.from).to_vec());
            first = first.into_iter().chain(found).min();
        }
        first
    }
}

impl Drop for Lookup<'_> {
    fn drop(&mut self) {
        self.sums.add(self.tracer.counts());
    }
}

/// Returns the first key of the range with an entry whose sequence number is in `written`.
fn find_written(
    cursor: &mut dyn TableCursor,
    range: &KeyRange,
    written: &RangeInclusive<Seq>,
) -> Result<Option<Vec<u8>>> {
    match &range.from {
        Bound::Included(from) | Bound::Excluded(from) => cursor.seek(from, Tag(u64::MAX))?,
        Bound::Unbounded => cursor.seek_first()?,
    }
    while cursor.valid() && range.below_end(cursor.key()) {
        if written.contains(&cursor.tag().seq()) && range.above_start(cursor.key()) {
            return Ok(Some(cursor.key().to_vec()));
        }
        cursor.next()?;
    }
    Ok(None)
}

/// Returns a cursor over a super version, with a read tracer for the whole and one for each part.
fn mvcc_cursor(
    super_version: &SuperVersion,
    range: KeyRange,
    reader: Reader,
    operator: Option<&MergeOperator>,
    whole: ReadTracer,
    tracer: impl Fn() -> ReadTracer,
) -> MvccCursor {
    let runs = super_version.tree.cursors(ReadPattern::Scan, &tracer);
    let mut sources = Vec::with_capacity(1 + super_version.sealed.len() + runs.len());
    for (place, memtable) in super_version.memtables().enumerate() {
        let mut tracer = tracer();
        // A memtable without an entry that the reader sees is a source less to merge. A trace shows it all the same.
        let is_newer = memtable.first_seq().is_none_or(|first| first > reader.at);
        if !is_newer || tracer.is_recording() {
            tracer.memtable(place);
            sources.push(Source::Memtable(memtable.cursor(), tracer));
        }
    }
    sources.extend(runs.map(Source::Run));
    MvccCursor::new(sources, range, reader, whole)
        .hiding(super_version.range_deletes())
        .merging(operator.cloned())
}

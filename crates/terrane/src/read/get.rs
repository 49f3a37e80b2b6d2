//! A get of one key.
//!
//! Natively it searches memory first, under one pin of the epoch, and takes no lock and no count:
//! 1. It borrows what the keyspace's handle shows, and only then takes the moment to read at, as a lookup does.
//! 2. Memtables and runs are searched, newest first, up to a run of which memory has too little, or an operand.
//! 3. There the get takes the super version, which keeps the files, and then ends the pin. If it has what was searched,
//!    the search continues where it stopped; otherwise the get starts again.

use super::lookup::{Lookup, Versioned, lookup};
#[cfg(not(target_arch = "wasm32"))]
use super::lookup::{missing, moment};
use super::search::Found;
#[cfg(not(target_arch = "wasm32"))]
use super::search::{Search, SearchedMemory};
use crate::engine::{Engine, KeyspaceReads};
use crate::error::Result;
use crate::keyspace::KeyspaceId;
#[cfg(not(target_arch = "wasm32"))]
use crate::sync::Pin;
#[cfg(not(target_arch = "wasm32"))]
use crate::version::{OperationKind, SharedSamples};
#[cfg(not(target_arch = "wasm32"))]
use std::ptr;
use terrane_table::read::Reader;
#[cfg(not(target_arch = "wasm32"))]
use terrane_table::read::{ReadCounts, ReadTracer};

/// A get in a keyspace, through a handle, as it is now or was at a snapshot's sequence.
pub(crate) struct Get<'a> {
    pub engine: &'a Engine,
    pub keyspace: KeyspaceId,
    #[cfg_attr(target_arch = "wasm32", allow(dead_code))] // for gets in memory, which are native
    pub reads: &'a KeyspaceReads,
    pub at: Option<Reader>,
}

impl<'a> Get<'a> {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped.
    pub fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with(key, <[u8]>::to_vec)
    }

    /// Calls `work` with the value of a key, if there is one, and returns what it returned.
    ///
    /// # Errors
    /// The errors of [`Get::value`].
    #[inline]
    pub fn with<R>(&self, key: &[u8], work: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let (mut work, mut worked) = (Some(work), None);
        let lend = &mut |value: &[u8]| worked = work.take().map(|work| work(value));
        self.find(key, lend)?;
        Ok(worked)
    }

    /// Returns the value of a key and its version.
    ///
    /// # Errors
    /// The errors of [`Get::value`].
    pub fn versioned(&self, key: &[u8]) -> Result<Option<Versioned>> {
        let mut value = Vec::new();
        let found = self.find(key, &mut |found| value.extend_from_slice(found))?;
        Ok(found.map(|(seq, expires_at)| Versioned { value, seq, expires_at }))
    }

    fn lookup(&self) -> Result<Lookup<'a>> {
        lookup(self.engine, self.keyspace, 1, self.at)
    }

    #[cfg(target_arch = "wasm32")]
    fn find(&self, key: &[u8], lend: &mut dyn FnMut(&[u8])) -> Result<Option<Found>> {
        self.lookup()?.find(key, lend)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn find(&self, key: &[u8], lend: &mut dyn FnMut(&[u8])) -> Result<Option<Found>> {
        let mut sampled = None;
        let found = self.search(key, lend, &mut sampled);
        if let Some((samples, began)) = sampled
            && found.is_ok()
        {
            samples.end(OperationKind::Get, began, key, &self.engine.jobs.events);
        }
        found
    }

    /// [`Get::find`]. Sets `sampled` to the samples and the time of the start, if the get is sampled. The caller adds
    /// it after the pin ends, since a listener may take long.
    #[cfg(not(target_arch = "wasm32"))]
    fn search(
        &self,
        key: &[u8],
        lend: &mut dyn FnMut(&[u8]),
        sampled: &mut Option<(SharedSamples, u64)>,
    ) -> Result<Option<Found>> {
        let Get { engine, reads, .. } = *self;
        let events = &engine.jobs.events;
        let mut pin = Pin::default();
        let pinned = pin.pinned();
        let Some(sources) = reads.sources.peek(pinned) else {
            drop(pin);
            return self.lookup()?.find(key, lend);
        };
        let samples = &sources.samples;
        *sampled = samples.start(OperationKind::Get, events).map(|began| (samples.clone(), began));
        if reads.access_stats.looked_up(1) {
            engine.background.notify_reads_due();
        }
        let watching = reads.access_stats.watched();
        let reader = moment(&engine.snapshots, &engine.background, self.at);
        let operator = engine.options.merge_operator.as_ref();
        let search = Search::new(sources, key, reader, operator);
        let mut counts = ReadCounts::default();
        let shown = search.shown(lend, watching, &mut counts, pinned);
        let rest = match shown? {
            SearchedMemory::Known(found) => {
                engine.counters.gets.add(&counts);
                return Ok(found);
            }
            rest => rest,
        };
        // The super version is taken before the pin ends, so that no other can have its address.
        let (mut lookup, is_same) = {
            let keyspaces = engine.keyspaces.load();
            let keyspace = keyspaces.get(&self.keyspace).ok_or_else(|| missing(&engine.state))?;
            let super_version = keyspace.super_version.load();
            let is_same = ptr::eq(&*super_version.sources, sources);
            let tracer = ReadTracer::default().watching(watching);
            let sums = &engine.counters.gets;
            (Lookup { super_version, reader, tracer, sums, operator, events }, is_same)
        };
        drop(pin);
        // A get that starts again is one operation.
        counts.operations *= u64::from(is_same);
        engine.counters.gets.add(&counts);
        if !is_same {
            lookup.reader = moment(&engine.snapshots, &engine.background, self.at);
            return lookup.search(key, lend);
        }
        lookup.find_rest(key, rest, lend)
    }
}

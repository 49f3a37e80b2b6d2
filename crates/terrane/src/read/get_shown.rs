//! Gets that search memory first, natively, under one pin of the epoch and without a lock or a count:
//!
//! 1. A get borrows what the keyspace's handle shows, and only then takes the moment to read at, as a lookup does.
//! 2. Memtables and runs are searched, newest first, up to a run of which memory has too little, or an operand.
//! 3. There the get takes the super version, which keeps the files, and then ends the pin. If it has what was searched,
//!    the search continues where it stopped; otherwise the get starts again.

use super::get::Get;
use super::lookup::{Lookup, missing, moment};
use super::search::{Found, Search, SearchedMemory};
use crate::error::Result;
use crate::sync::Pin;
use crate::version::{OperationKind, SharedSamples};
use std::ptr;
use terrane_table::read::{ReadCounts, ReadTracer};

impl Get<'_> {
    /// Finds a key and lends its value.
    pub(super) fn find(&self, key: &[u8], lend: &mut dyn FnMut(&[u8])) -> Result<Option<Found>> {
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

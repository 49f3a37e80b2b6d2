//! Point lookups in a table.
//!
//! 1. The top level of the index selects a partition.
//! 2. The partition's filter rules out most absent keys, at the cost of one cache line.
//! 3. The partition's index leads to one block, read through the cache.
//!
//! Keys are compared in their prefix-compressed form, and the value is lent. Natively `get_peeked` runs first.

use super::block::Located;
use super::open_table::{OpenTable, Partition};
use super::reader::Table;
use crate::coding::key_hash;
use crate::entry::{MAX_SEQ, Seq, Tag};
use crate::error::Result;
#[cfg(not(target_arch = "wasm32"))]
use crate::sync::Pin;
use crate::trace::ReadTracer;

impl Table {
    /// The newest version of `key` at or below sequence number `at`: its tag and value.
    ///
    /// # Errors
    /// Corruption and I/O failures.
    pub fn get(&self, key: &[u8], at: Seq) -> Result<Option<(Tag, Vec<u8>)>> {
        let (hash, mut value) = (key_hash(key), Vec::new());
        let copy = &mut |_, stored: &[u8]| value.extend_from_slice(stored);
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(found) = self.find_peeked(key, hash, at, copy, false, Pin::default().pinned()) {
            return Ok(found.tag().map(|tag| (tag, value)));
        }
        let found = self.find(key, hash, at, copy, &mut ReadTracer::default())?;
        Ok(found.map(|tag| (tag, value)))
    }

    /// Like [`Table::get`], with the key's [`key_hash`] given; what is found is lent to `lend`. Counts
    /// as a read, if reads are watched, unless the filter rules the key out. A file may be read, so this
    /// thread must not be pinned; natively [`Table::find_peeked`] runs first.
    ///
    /// # Errors
    /// The errors of [`Table::get`].
    pub fn find(
        &self,
        key: &[u8],
        hash: u64,
        at: Seq,
        lend: &mut dyn FnMut(Tag, &[u8]),
        tracer: &mut ReadTracer,
    ) -> Result<Option<Tag>> {
        let only_opened = tracer.only_cached();
        self.with_opened_if(only_opened, |opened| {
            let partition = opened.partition_for(key, Tag::at(at))?;
            let Some(partition) = opened.partitions.get(partition) else {
                self.watch(tracer.watches());
                return self.absent(opened, key, false, tracer);
            };
            let filtered = partition.handle.filter_len > 0;
            if filtered {
                let passes = self.may_contain(opened, partition, hash, tracer)?;
                tracer.filter(passes);
                if !passes {
                    return Ok(None);
                }
            }
            self.watch(tracer.watches());
            match self.search(opened, partition, key, at, lend, tracer)? {
                Some(tag) => Ok(Some(tag)),
                None => self.absent(opened, key, filtered, tracer),
            }
        })
    }

    #[inline]
    fn may_contain(
        &self,
        opened: &OpenTable,
        partition: &Partition,
        hash: u64,
        tracer: &mut ReadTracer,
    ) -> Result<bool> {
        let load = || {
            tracer.may_load()?;
            self.load_filter(partition, || {
                tracer.read(partition.handle.filter_len);
                opened.read_filter(partition)
            })
        };
        partition.filter.with(load, |filter| Ok(filter.may_contain(hash)))
    }

    /// Traces that the reader sees no version here.
    fn absent(
        &self,
        opened: &OpenTable,
        key: &[u8],
        filtered: bool,
        tracer: &mut ReadTracer,
    ) -> Result<Option<Tag>> {
        tracer.absent(filtered, || {
            let newer = &mut ReadTracer::default();
            let partition = opened.partition_for(key, Tag::at(MAX_SEQ))?;
            let Some(partition) = opened.partitions.get(partition) else { return Ok(false) };
            let found = self.search(opened, partition, key, MAX_SEQ, &mut |_, _| (), newer)?;
            Ok(found.is_some())
        })?;
        Ok(None)
    }

    /// Searches a partition's index and the block that it leads to.
    #[inline]
    fn search(
        &self,
        opened: &OpenTable,
        partition: &Partition,
        key: &[u8],
        at: Seq,
        lend: &mut dyn FnMut(Tag, &[u8]),
        tracer: &mut ReadTracer,
    ) -> Result<Option<Tag>> {
        let target = Tag::at(at);
        let load = || {
            tracer.may_load()?;
            self.load_index(partition, || {
                tracer.read(partition.handle.index_len);
                opened.read_index(partition)
            })
        };
        let found = partition.index.with(load, |index| {
            let place = index.restarts_below(key, target);
            let found = place.and_then(|place| Ok((place, index.nth(place)?)));
            let found = found.map_err(|e| opened.damage(e, partition.handle.index_offset()))?;
            let (place, Some(entry)) = found else { return Ok(None) };
            Ok(Some((place, opened.handle(entry.value, partition)?)))
        })?;
        let Some((place, handle)) = found else { return Ok(None) };
        let block = self.block(opened, handle, (partition, place), tracer)?;
        let found =
            block.lower_bound(key, target, None).map_err(|e| opened.damage(e, handle.offset))?;
        Ok(match found {
            Some(Located { entry, same_key: true, .. }) => {
                tracer.found(entry.tag, entry.value.len());
                lend(entry.tag, entry.value);
                Some(entry.tag)
            }
            _ => None,
        })
    }
}

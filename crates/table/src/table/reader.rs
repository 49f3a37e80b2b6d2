//! A table that opens on first use and loads its parts on demand.
//!
//! What an open table keeps in memory, and each partition of its index and filter, sits in a
//! [`Slot`] that readers reach by a pointer. The block cache accounts for all of it and may evict
//! any of it; the next reader loads it again.

use super::block::Block;
use super::cache::{BlockCache, OPEN_TABLE};
use super::filter::Filter;
use super::index::BlockHandle;
use super::open_table::{OpenTable, Partition};
use super::partition_index::PartitionIndex;
use super::properties::Properties;
use super::slot::Slot;
use crate::error::{ErrorKind, Result};
use crate::file::File;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[cfg(not(target_arch = "wasm32"))]
use crate::sync::swap::Pinned;
use crate::trace::{Origin, ReadTracer};
use std::sync::Arc;
use terrane_types::{TableId, TableInfo};

/// Opens table files.
pub trait TableFiles: Send + Sync {
    /// Opens a table's file for reading.
    ///
    /// # Errors
    /// Those of the storage.
    fn open(&self, table: TableId) -> Result<Arc<dyn File>>;
}

/// An immutable sorted file of entries.
///
/// It takes little memory until it is used. Its index and filter count against the block cache; when
/// they are evicted, the next read loads them again.
pub struct Table {
    info: Arc<TableInfo>,
    files: Arc<dyn TableFiles>,
    cache: Arc<BlockCache>,
    opened: Arc<Slot<OpenTable>>,
    reads: AtomicU64,
}

impl Table {
    /// The table that `info` describes. No file is opened yet.
    #[must_use]
    pub fn new(info: Arc<TableInfo>, files: Arc<dyn TableFiles>, cache: Arc<BlockCache>) -> Self {
        Table { info, files, cache, opened: Slot::empty(), reads: AtomicU64::new(0) }
    }

    /// Opens the table unless it is open, and verifies everything but blocks and partitions, which
    /// are verified as they are read.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Corrupt`] if the file is another table or is damaged,
    /// [`crate::error::ErrorKind::NewerFormat`] if a later release wrote it, and I/O
    /// failures.
    pub fn open(&self) -> Result<()> {
        self.with_opened(|_| Ok(()))
    }

    /// Opens the table from `file`, for a table that the manifest does not name yet.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_in(&self, file: Arc<dyn File>) -> Result<()> {
        self.load(|| Ok(file)).map(|_| ())
    }

    /// The table's entry in the manifest.
    #[must_use]
    pub fn info(&self) -> &Arc<TableInfo> {
        &self.info
    }

    /// Reads while they were watched: point reads that passed the filter, and cursors that came here.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads.load(Relaxed)
    }

    /// Counts a read, if reads are watched.
    #[inline]
    pub(super) fn watch(&self, watching: bool) {
        if watching {
            self.reads.fetch_add(1, Relaxed);
        }
    }

    /// The table's properties, read from its file.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn properties(&self) -> Result<Properties> {
        self.with_opened(OpenTable::read_properties)
    }

    /// Reads bytes of the file as they are, past the cache. Returns how many, which are fewer only at its end.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn read_raw(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.with_opened(|opened| opened.file.read_at(buf, offset))
    }

    /// The open table; opens it if needed.
    pub(super) fn opened(&self) -> Result<Arc<OpenTable>> {
        match self.opened.get() {
            Some(opened) => Ok(opened),
            None => self.load(|| self.files.open(self.info.id)),
        }
    }

    /// The open table, if it is open.
    pub(super) fn if_opened(&self) -> Option<Arc<OpenTable>> {
        self.opened.get()
    }

    /// The open table, if it is open, for as long as this thread stays pinned.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub(super) fn peek<'p>(&'p self, pinned: &'p Pinned) -> Option<&'p OpenTable> {
        self.opened.peek(pinned)
    }

    pub(super) fn file(&self) -> Result<Arc<dyn File>> {
        match self.if_opened() {
            Some(opened) => Ok(Arc::clone(&opened.file)),
            None => self.files.open(self.info.id),
        }
    }

    #[inline]
    pub(super) fn with_opened<R>(&self, work: impl FnOnce(&OpenTable) -> Result<R>) -> Result<R> {
        self.opened.with(|| self.load(|| self.files.open(self.info.id)), work)
    }

    /// The same; if `only_opened`, a table that is not open is an error.
    #[inline]
    pub(super) fn with_opened_if<R>(
        &self,
        only_opened: bool,
        work: impl FnOnce(&OpenTable) -> Result<R>,
    ) -> Result<R> {
        let load = || match only_opened {
            true => Err(ErrorKind::WouldRead.into()),
            false => self.load(|| self.files.open(self.info.id)),
        };
        self.opened.with(load, work)
    }

    #[cold]
    fn load(&self, file: impl FnOnce() -> Result<Arc<dyn File>>) -> Result<Arc<OpenTable>> {
        let read = || {
            let mut keep = |opened: &OpenTable, n: usize, stored: &[u8]| {
                if let Some(partition) = opened.partitions.get(n) {
                    self.load_partition(opened, partition, stored);
                }
            };
            let (opened, _) = OpenTable::read(file()?, &self.info, &mut keep)?;
            let weight = opened.memory();
            Ok((opened, weight))
        };
        let slot = Arc::clone(&self.opened);
        self.opened.load(read, |weight| {
            self.cache.keep(self.info.id, OPEN_TABLE, slot, weight);
        })
    }

    /// Loads a partition from bytes that are already in memory. Damage is left for its first reader
    /// to report.
    fn load_partition(&self, opened: &OpenTable, partition: &Partition, stored: &[u8]) {
        let (filter, index) = stored.split_at(partition.handle.filter_len as usize);
        if !filter.is_empty() {
            let _ =
                self.load_filter(partition, || opened.decode_filter(partition, filter.to_vec()));
        }
        let _ = self.load_index(partition, || opened.decode_index(partition, index.to_vec()));
    }

    pub(super) fn load_filter(
        &self,
        partition: &Partition,
        read: impl FnOnce() -> Result<(Filter, usize)>,
    ) -> Result<Arc<Filter>> {
        let slot = Arc::clone(&partition.filter);
        partition.filter.load(read, |weight| {
            self.cache.keep(self.info.id, partition.handle.offset, slot, weight);
        })
    }

    pub(super) fn load_index(
        &self,
        partition: &Partition,
        read: impl FnOnce() -> Result<(PartitionIndex, usize)>,
    ) -> Result<Arc<PartitionIndex>> {
        let slot = Arc::clone(&partition.index);
        partition.index.load(read, |weight| {
            self.cache.keep(self.info.id, partition.handle.index_offset(), slot, weight);
        })
    }

    /// A block to search, from the cache or else from the file and then cached. Its place among those of its partition
    /// is given: what is found in the cache is shown there.
    pub(super) fn block(
        &self,
        opened: &OpenTable,
        handle: BlockHandle,
        (partition, place): (&Partition, usize),
        tracer: &mut ReadTracer,
    ) -> Result<Arc<Block>> {
        if let Some(block) = self.cached_block(handle) {
            tracer.block(handle.offset, handle.len, Origin::Cache, 0);
            block.prepare();
            if let Some(index) = partition.index.get() {
                self.show(handle, &index, place);
            }
            return Ok(block);
        }
        tracer.may_load()?;
        let block = opened.read_block(handle)?;
        tracer.block(handle.offset, handle.len, Origin::Vfs, handle.len);
        let block = Arc::new(block);
        self.cache_block(handle, &block);
        Ok(block)
    }

    /// A block, if the cache has it.
    #[inline]
    pub(super) fn cached_block(&self, handle: BlockHandle) -> Option<Arc<Block>> {
        self.cache.get(self.info.id, handle.offset)
    }

    /// A block, if the index of its partition shows it or the cache has it.
    pub(super) fn shown_block(
        &self,
        handle: BlockHandle,
        index: &Arc<PartitionIndex>,
        place: usize,
    ) -> Option<Arc<Block>> {
        if let Some(block) = index.load(place) {
            block.touch();
            return Some(block);
        }
        let block = self.cached_block(handle)?;
        self.show(handle, index, place);
        Some(block)
    }

    /// Shows a block at its place in the index of its partition for as long as the cache has it.
    fn show(&self, handle: BlockHandle, index: &Arc<PartitionIndex>, place: usize) {
        if cfg!(not(target_arch = "wasm32")) {
            self.cache.show(self.info.id, handle.offset, index, place);
        }
    }

    /// Adds a block to the cache.
    pub(super) fn cache_block(&self, handle: BlockHandle, block: &Arc<Block>) {
        self.cache.insert(self.info.id, handle.offset, block);
    }
}

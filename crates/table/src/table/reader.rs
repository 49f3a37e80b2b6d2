//! A table, which is opened when it is first used, and reading one key of it.
//!
//! A point read: the top level of the index says which partition, then its filter (one cache line),
//! its index, and one block, from the cache or the file. No key is put together on the way, and
//! nothing but the value is copied. What a table keeps open, and its partitions, are reached by
//! pointers ([`Slot`]); the cache may take all of it back.

use super::block::{Block, Located};
use super::cache::{BlockCache, OPEN_TABLE};
use super::check::TableCheck;
use super::cursor::TableCursor;
use super::fetch::Access;
use super::filter::{Filter, key_hash};
use super::index::Handle;
use super::opened::{Opened, Partition};
use super::properties::Properties;
use super::slot::Slot;
use crate::entry::{MAX_SEQ, Seq, Tag};
use crate::error::{Corruption, Result};
use crate::file::File;
use crate::read::{Origin, ReadTracer};
use std::sync::Arc;
use terrane_policy::{TableId, TableInfo};

/// Where tables lie.
pub trait TableFiles: Send + Sync {
    /// Opens a table's file for reading.
    ///
    /// # Errors
    /// What the storage says.
    fn open(&self, table: TableId) -> Result<Arc<dyn File>>;
}

/// A table. It takes little memory until it is used, and gives back what it took when the cache
/// needs the room: it is opened again then.
pub struct Table {
    info: Arc<TableInfo>,
    files: Arc<dyn TableFiles>,
    cache: Arc<BlockCache>,
    opened: Arc<Slot<Opened>>,
}

impl Table {
    /// The table that `info` describes, not opened yet.
    #[must_use]
    pub fn new(info: Arc<TableInfo>, files: Arc<dyn TableFiles>, cache: Arc<BlockCache>) -> Self {
        Table { info, files, cache, opened: Slot::empty() }
    }

    /// Opens the table if it is not, which verifies everything but blocks and partitions: those are
    /// verified as they are read.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::error::Error::Corrupt) where the file is not that table or is
    /// damaged, [`Error::NewerFormat`](crate::error::Error::NewerFormat)
    /// where a later release wrote it, and a failing file system.
    pub fn open(&self) -> Result<()> {
        self.with_opened(|_| Ok(()))
    }

    /// As [`open`](Self::open), in `file`, which the store does not name yet.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_in(&self, file: Arc<dyn File>) -> Result<()> {
        self.bring(|| Ok(file)).map(|_| ())
    }

    /// What the table is known by.
    #[must_use]
    pub fn info(&self) -> &Arc<TableInfo> {
        &self.info
    }

    /// What the table says of itself, read from its file.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn properties(&self) -> Result<Properties> {
        self.with_opened(Opened::read_properties)
    }

    /// What is kept of an open table, to be held: it is opened if it is not.
    pub(super) fn opened(&self) -> Result<Arc<Opened>> {
        match self.opened.get() {
            Some(opened) => Ok(opened),
            None => self.bring(|| self.files.open(self.info.id)),
        }
    }

    /// What is kept, if the table is open.
    pub(super) fn if_opened(&self) -> Option<Arc<Opened>> {
        self.opened.get()
    }

    /// The file.
    pub(super) fn file(&self) -> Result<Arc<dyn File>> {
        match self.if_opened() {
            Some(opened) => Ok(Arc::clone(&opened.file)),
            None => self.files.open(self.info.id),
        }
    }

    #[inline]
    fn with_opened<R>(&self, work: impl FnOnce(&Opened) -> Result<R>) -> Result<R> {
        self.opened.with(|| self.bring(|| self.files.open(self.info.id)), work)
    }

    #[cold]
    fn bring(&self, file: impl FnOnce() -> Result<Arc<dyn File>>) -> Result<Arc<Opened>> {
        let read = || {
            let mut keep = |opened: &Opened, n: usize, stored: &[u8]| {
                if let Some(partition) = opened.partitions.get(n) {
                    self.keep(opened, partition, stored);
                }
            };
            let (opened, _) = Opened::read(file()?, &self.info, &mut keep)?;
            let weight = opened.memory();
            Ok((opened, weight))
        };
        let slot = Arc::clone(&self.opened);
        self.opened.bring(read, |weight| {
            self.cache.keep(self.info.id, OPEN_TABLE, slot, weight);
        })
    }

    /// Keeps a partition whose stored bytes are at hand. Where it is damaged its readers will say so.
    fn keep(&self, opened: &Opened, partition: &Partition, stored: &[u8]) {
        let (filter, index) = stored.split_at(partition.handle.filter_len as usize);
        if !filter.is_empty() {
            let _ =
                self.bring_filter(partition, || opened.decode_filter(partition, filter.to_vec()));
        }
        let _ = self.bring_index(partition, || opened.decode_index(partition, index.to_vec()));
    }

    fn bring_filter(
        &self,
        partition: &Partition,
        read: impl FnOnce() -> Result<(Filter, usize)>,
    ) -> Result<Arc<Filter>> {
        let slot = Arc::clone(&partition.filter);
        partition.filter.bring(read, |weight| {
            self.cache.keep(self.info.id, partition.handle.offset, slot, weight);
        })
    }

    fn bring_index(
        &self,
        partition: &Partition,
        read: impl FnOnce() -> Result<(Block, usize)>,
    ) -> Result<Arc<Block>> {
        let slot = Arc::clone(&partition.index);
        partition.index.bring(read, |weight| {
            self.cache.keep(self.info.id, partition.handle.index_offset(), slot, weight);
        })
    }

    /// The newest version of `key` at or below sequence `at`: its tag and value.
    ///
    /// # Errors
    /// Damage or a failing file system.
    pub fn get(&self, key: &[u8], at: Seq) -> Result<Option<(Tag, Vec<u8>)>> {
        let mut value = Vec::new();
        let tracer = &mut ReadTracer::default();
        let found = self.find(key, key_hash(key), at, &mut value, tracer, || ())?;
        Ok(found.map(|tag| (tag, value)))
    }

    /// As [`Table::get`], for a key with this [`key_hash`]; the value is appended to `out`. Where the
    /// filter lets the key pass, `passed` is told.
    ///
    /// # Errors
    /// As for [`Table::get`].
    #[inline]
    pub fn find(
        &self,
        key: &[u8],
        hash: u64,
        at: Seq,
        out: &mut Vec<u8>,
        tracer: &mut ReadTracer,
        passed: impl FnOnce(),
    ) -> Result<Option<Tag>> {
        self.with_opened(|opened| {
            let partition = opened.partition_for(key, Tag::at(at))?;
            let Some(partition) = opened.partitions.get(partition) else {
                passed();
                return self.absent(opened, key, at, false, tracer);
            };
            let filtered = partition.handle.filter_len > 0;
            if filtered {
                let passes = self.may_contain(opened, partition, hash, tracer)?;
                tracer.filter(passes);
                if !passes {
                    return Ok(None);
                }
            }
            passed();
            let before = out.len();
            let found = self.search(opened, partition, key, at, out, tracer)?;
            let Some(tag) = found else {
                return self.absent(opened, key, at, filtered, tracer);
            };
            tracer.found(tag, out.len() - before);
            Ok(Some(tag))
        })
    }

    #[inline]
    fn may_contain(
        &self,
        opened: &Opened,
        partition: &Partition,
        hash: u64,
        tracer: &mut ReadTracer,
    ) -> Result<bool> {
        let load = || {
            self.bring_filter(partition, || {
                tracer.read(partition.handle.filter_len);
                opened.read_filter(partition)
            })
        };
        partition.filter.with(load, |filter| Ok(filter.may_contain(hash)))
    }

    /// There is no version that the reader may see.
    fn absent(
        &self,
        opened: &Opened,
        key: &[u8],
        at: Seq,
        filtered: bool,
        tracer: &mut ReadTracer,
    ) -> Result<Option<Tag>> {
        tracer.absent(filtered, || {
            let newer = &mut ReadTracer::default();
            let partition = opened.partition_for(key, Tag::at(MAX_SEQ))?;
            let Some(partition) = opened.partitions.get(partition) else { return Ok(false) };
            let mut value = Vec::new();
            let found = self.search(opened, partition, key, MAX_SEQ, &mut value, newer)?;
            Ok(at < MAX_SEQ && found.is_some())
        })?;
        Ok(None)
    }

    /// Index and block.
    #[inline]
    fn search(
        &self,
        opened: &Opened,
        partition: &Partition,
        key: &[u8],
        at: Seq,
        out: &mut Vec<u8>,
        tracer: &mut ReadTracer,
    ) -> Result<Option<Tag>> {
        let target = Tag::at(at);
        let load = || {
            self.bring_index(partition, || {
                tracer.read(partition.handle.index_len);
                opened.read_index(partition)
            })
        };
        let handle = partition.index.with(load, |index| {
            let place = index.restarts_below(key, target).and_then(|n| index.nth(n));
            let place = place.map_err(|e| opened.damage(e, partition.handle.index_offset()))?;
            place.map(|entry| opened.handle(entry.value, partition)).transpose()
        })?;
        let Some(handle) = handle else { return Ok(None) };
        let block = self.block(opened, handle, tracer)?;
        let found = block.lower_bound(key, target).map_err(|e| opened.damage(e, handle.offset))?;
        Ok(match found {
            Some(Located { entry, same_key: true, .. }) => {
                out.extend_from_slice(entry.value);
                Some(entry.tag)
            }
            _ => None,
        })
    }

    /// The index of a partition. It is left in the cache for `Random` access alone.
    pub(super) fn index(
        &self,
        opened: &Opened,
        partition: &Partition,
        access: Access,
        tracer: &mut ReadTracer,
    ) -> Result<Arc<Block>> {
        if let Some(index) = partition.index.get() {
            return Ok(index);
        }
        let mut read = || {
            tracer.read(partition.handle.index_len);
            opened.read_index(partition)
        };
        match access {
            Access::Random => self.bring_index(partition, read),
            Access::Scan(_) => read().map(|(index, _)| Arc::new(index)),
        }
    }

    /// A cursor over the table.
    #[must_use]
    pub fn cursor(self: &Arc<Self>, access: Access) -> TableCursor {
        self.observed(access, ReadTracer::default())
    }

    /// A cursor that tells an read tracer what it does.
    pub(super) fn observed(self: &Arc<Self>, access: Access, tracer: ReadTracer) -> TableCursor {
        TableCursor::new(Arc::clone(self), access, tracer)
    }

    /// Every damage there is: each byte of the file is read again and checked against every other
    /// statement about it. A file that cannot be read is reported as well.
    ///
    /// # Errors
    /// As for [`TableCheck::into_found`].
    pub fn check(self: &Arc<Self>) -> Result<Vec<Corruption>> {
        let mut check = TableCheck::begin(Arc::clone(self));
        while check.step(u64::MAX) {}
        check.into_found()
    }

    /// A block, through the cache.
    fn block(
        &self,
        opened: &Opened,
        handle: Handle,
        tracer: &mut ReadTracer,
    ) -> Result<Arc<Block>> {
        if let Some(block) = self.cached(handle) {
            tracer.block(handle.offset, handle.len, Origin::Cache, 0);
            return Ok(block);
        }
        let block = opened.read_block(handle)?;
        tracer.block(handle.offset, handle.len, Origin::Vfs, handle.len);
        let block = Arc::new(block);
        self.cache(handle, &block);
        Ok(block)
    }

    /// A block, if the cache has it.
    #[inline]
    pub(super) fn cached(&self, handle: Handle) -> Option<Arc<Block>> {
        self.cache.get(self.info.id, handle.offset)
    }

    /// Leaves a block in the cache.
    pub(super) fn cache(&self, handle: Handle, block: &Arc<Block>) {
        self.cache.insert(self.info.id, handle.offset, block);
    }
}

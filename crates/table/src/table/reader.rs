//! Opening a table, and reading one key of it.
//!
//! A point read: the filter first (one cache line), then the index, then one block, from the cache
//! or the file. No key is put together on the way, and nothing but the value is copied.

use super::Malformed;
use super::block::{Block, Located};
use super::block_cursor::BlockCursor;
use super::cache::BlockCache;
use super::check::TableCheck;
use super::cursor::TableCursor;
use super::fetch::Access;
use super::filter::{Filter, key_hash};
use super::footer::{FOOTER_BYTES, Footer, Section, decode_directory, kind};
use super::index::Handle;
use super::properties::Properties;
use super::stored::{TRAILER_BYTES, unseal, unseal_into};
use crate::entry::{MAX_SEQ, Seq, Tag};
use crate::error::{Corruption, Error, Result};
use crate::file::{File, read_exact_at};
use crate::read::{Observer, Origin};
use std::fmt::Display;
use std::sync::Arc;
use terrane_policy::TableInfo;

/// An open table.
pub struct Table {
    file: Arc<dyn File>,
    info: Arc<TableInfo>,
    cache: Arc<BlockCache>,
    pub(super) meta: Meta,
}

/// What an open table keeps in memory.
pub(super) struct Meta {
    pub data_len: u64,
    pub index: Arc<Block>,
    pub index_offset: u64,
    pub filter: Option<Filter>,
    pub properties: Properties,
    pub properties_offset: u64,
}

impl Table {
    /// Opens the table that `info` describes and verifies all of `file` but its data blocks, which
    /// are verified as they are read. What the table is known by has its histogram from then on.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the file is not that table or is damaged, [`Error::NewerFormat`]
    /// where a later release wrote it, and what the file answers to a read.
    pub fn open(
        file: Arc<dyn File>,
        mut info: Arc<TableInfo>,
        cache: Arc<BlockCache>,
    ) -> Result<Table> {
        let meta = Meta::read(file.as_ref(), &info)?;
        Arc::make_mut(&mut info).histogram = meta.properties.histogram.clone();
        Ok(Table { file, info, cache, meta })
    }

    /// What the table is known by.
    #[must_use]
    pub fn info(&self) -> &Arc<TableInfo> {
        &self.info
    }

    /// What the table says of itself.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        &self.meta.properties
    }

    /// Bytes held in memory for as long as the table is open.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.meta.index.memory()
            + self.meta.filter.as_ref().map_or(0, Filter::memory)
    }

    /// The newest version of `key` at or below sequence `at`: its tag and value.
    ///
    /// # Errors
    /// Damage or a failing medium.
    pub fn get(&self, key: &[u8], at: Seq) -> Result<Option<(Tag, Vec<u8>)>> {
        let observer = &mut Observer::default();
        if !self.may_contain(key_hash(key), observer) {
            return Ok(None);
        }
        let mut value = Vec::new();
        Ok(self.find(key, at, &mut value, observer)?.map(|tag| (tag, value)))
    }

    /// Whether the filter lets a key with this [`key_hash`] pass; `false` is certain.
    #[inline]
    pub fn may_contain(&self, hash: u64, observer: &mut Observer) -> bool {
        let Some(filter) = &self.meta.filter else { return true };
        let passed = filter.may_contain(hash);
        observer.filter(passed);
        passed
    }

    /// As [`Table::get`], for a key that the filter let pass; the value is appended to `out`.
    ///
    /// # Errors
    /// As for [`Table::get`].
    pub fn find(
        &self,
        key: &[u8],
        at: Seq,
        out: &mut Vec<u8>,
        observer: &mut Observer,
    ) -> Result<Option<Tag>> {
        let before = out.len();
        let found = self.search(key, at, out, observer)?;
        match found {
            Some(tag) => observer.found(tag, out.len() - before),
            None => observer.absent(self.meta.filter.is_some(), || {
                let newer = &mut Observer::default();
                Ok(at < MAX_SEQ && self.search(key, MAX_SEQ, &mut Vec::new(), newer)?.is_some())
            })?,
        }
        Ok(found)
    }

    /// Index and block.
    #[inline]
    fn search(
        &self,
        key: &[u8],
        at: Seq,
        out: &mut Vec<u8>,
        observer: &mut Observer,
    ) -> Result<Option<Tag>> {
        let target = Tag::at(at);
        let place = self.meta.index.lower_bound(key, target);
        let Some(place) = place.map_err(|e| self.index_damage(e))? else { return Ok(None) };
        let handle = self.handle(place.entry.value)?;
        let block = self.block(handle, observer)?;
        let found = block.lower_bound(key, target).map_err(|e| self.damage(e, handle.offset))?;
        Ok(match found {
            Some(Located { entry, same_key: true, .. }) => {
                out.extend_from_slice(entry.value);
                Some(entry.tag)
            }
            _ => None,
        })
    }

    /// A cursor over the table.
    #[must_use]
    pub fn cursor(self: &Arc<Self>, access: Access) -> TableCursor {
        self.observed(access, Observer::default())
    }

    /// A cursor that tells an observer what it does.
    pub(super) fn observed(self: &Arc<Self>, access: Access, observer: Observer) -> TableCursor {
        TableCursor::new(Arc::clone(self), access, observer)
    }

    /// Takes the table's blocks out of the cache: nobody will ask for them again.
    pub fn leave_cache(&self) {
        let mut index = BlockCursor::new(Arc::clone(&self.meta.index));
        let mut moved = index.seek_first();
        while moved.is_ok() && index.valid() {
            if let Some(handle) = Handle::decode(index.value()) {
                self.cache.remove(self.info.id, handle.offset);
            }
            moved = index.advance();
        }
    }

    /// Every damage there is: each byte of the file is read again and held against every other
    /// statement about it. A file that cannot be read is reported as well.
    #[must_use]
    pub fn check(self: &Arc<Self>) -> Vec<Corruption> {
        let mut check = TableCheck::begin(Arc::clone(self));
        while check.step(u64::MAX) {}
        check.into_found()
    }

    pub(super) fn file(&self) -> &dyn File {
        self.file.as_ref()
    }

    /// The block that an index entry's value leads to.
    #[inline]
    pub(super) fn handle(&self, value: &[u8]) -> Result<Handle> {
        let handle = Handle::decode(value).filter(|handle| {
            let end = handle.offset.checked_add(handle.len);
            handle.len >= TRAILER_BYTES as u64 && end.is_some_and(|end| end <= self.meta.data_len)
        });
        handle.ok_or_else(|| {
            let expected = format_args!("a data block within {} bytes", self.meta.data_len);
            self.index_damage(Malformed::new(0, expected, value.escape_ascii()))
        })
    }

    /// A block, through the cache.
    fn block(&self, handle: Handle, observer: &mut Observer) -> Result<Arc<Block>> {
        if let Some(block) = self.cached(handle) {
            observer.block(handle.offset, handle.len, Origin::Cache, 0);
            return Ok(block);
        }
        let stored = read(self.file(), handle.offset, handle.len)?;
        observer.block(handle.offset, handle.len, Origin::Medium, handle.len);
        let block = unseal(stored, self.info.id.0, handle.offset).and_then(Block::decode);
        let block = Arc::new(block.map_err(|e| self.damage(e, handle.offset))?);
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

    /// The block stored as `stored`, in the memory of `buffer`.
    pub(super) fn unseal_block(
        &self,
        stored: &[u8],
        offset: u64,
        mut buffer: Vec<u8>,
    ) -> Result<Block> {
        unseal_into(stored, self.info.id.0, offset, &mut buffer)
            .and_then(|()| Block::decode(buffer))
            .map_err(|e| self.damage(e, offset))
    }

    /// Damage in the part of the file at `offset`.
    #[cold]
    pub(super) fn damage(&self, what: Malformed, offset: u64) -> Error {
        what.within(self.file.name(), offset).into()
    }

    /// Damage in the index.
    #[cold]
    pub(super) fn index_damage(&self, what: Malformed) -> Error {
        self.damage(what, self.meta.index_offset)
    }
}

impl Meta {
    /// Reads and verifies everything behind the data: two reads.
    pub fn read(file: &dyn File, info: &TableInfo) -> Result<Self> {
        let name = file.name();
        let damage = |offset: u64, expected: &dyn Display, found: &dyn Display| {
            Error::from(Corruption::new(name, offset, expected, found))
        };
        let file_len = file.len()?;
        if file_len != info.bytes || file_len < FOOTER_BYTES as u64 {
            let expected = format_args!("a table of {} bytes", info.bytes);
            return Err(damage(file_len, &expected, &format_args!("{file_len} bytes")));
        }
        let footer_offset = file_len - FOOTER_BYTES as u64;
        let mut footer = [0; FOOTER_BYTES];
        read_exact_at(file, &mut footer, footer_offset)?;
        let footer = Footer::decode(&footer, name, file_len)?;
        if footer.table != info.id.0 {
            let expected = format_args!("table {}", info.id.0);
            return Err(damage(footer_offset, &expected, &format_args!("table {}", footer.table)));
        }

        let tail = read(file, footer.data_len, footer_offset - footer.data_len)?;
        let load = |offset: u64, len: u64| {
            let start = (offset - footer.data_len) as usize;
            let stored = tail.get(start..).and_then(|rest| rest.get(..len as usize));
            let mut part = Vec::new();
            unseal_into(stored.unwrap_or_default(), info.id.0, offset, &mut part)
                .map_err(|e| e.within(name, offset))?;
            Ok::<_, Error>(part)
        };
        let directory = load(footer.directory_offset, footer.directory_len.into())?;
        let sections = decode_directory(&directory, &footer)
            .map_err(|e| e.within(name, footer.directory_offset))?;

        let (mut index, mut filter, mut properties) = (None, None, None);
        for Section { kind, offset, len } in sections {
            let bytes = load(offset, len)?;
            let within = |e: Malformed| Error::from(e.within(name, offset));
            match kind {
                kind::INDEX => {
                    let block = Block::decode(bytes).map_err(within)?;
                    index = Some((block.with_heads(), offset));
                }
                kind::FILTER => filter = Some(Filter::decode(&bytes).map_err(within)?),
                kind::PROPERTIES => {
                    properties = Some((Properties::decode(&bytes).map_err(within)?, offset));
                }
                _ => {}
            }
        }
        let missing = |what: &str| {
            damage(footer.directory_offset, &format_args!("a section of {what}"), &"none")
        };
        let (index, index_offset) = index.ok_or_else(|| missing("index"))?;
        let (properties, properties_offset) = properties.ok_or_else(|| missing("properties"))?;
        if let Some((expected, found)) = properties.differs_from(info) {
            return Err(damage(properties_offset, &expected, &found));
        }
        Ok(Meta {
            data_len: footer.data_len,
            index: Arc::new(index),
            index_offset,
            filter,
            properties,
            properties_offset,
        })
    }
}

/// Reads `len` bytes, which lie within the file.
fn read(file: &dyn File, offset: u64, len: u64) -> Result<Vec<u8>> {
    let len = usize::try_from(len).map_err(|_| {
        Corruption::new(file.name(), offset, "a part that fits memory", format_args!("{len} bytes"))
    })?;
    let mut bytes = vec![0; len];
    read_exact_at(file, &mut bytes, offset)?;
    Ok(bytes)
}

//! Reading what a damaged table still holds, with nothing but its file.
//!
//! 1. The footer leads to the directory, that to the index, and the index to the partitions. These
//!    must be sound: without them nobody knows where a partition begins. What else the tree or the
//!    table itself says of the table is not asked.
//! 2. A partition whose index cannot be read is passed over, and noted with the keys that lay there;
//!    so is a block that cannot be read.

use super::block::Block;
use super::block_codec::decode;
use super::block_cursor::BlockCursor;
use super::footer::{FOOTER_BYTES, Footer, decode_directory, kind};
use super::index::{BlockHandle, PartitionHandle};
use super::properties::Properties;
use crate::entry::Tag;
use crate::error::{Corruption, Error, Result};
use crate::file::{File, read_exact_at};
use std::sync::Arc;

/// A block whose entries are lost, or all blocks of a partition.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LostBlock {
    /// What is wrong with it.
    pub damage: Corruption,
    /// Its keys lie at or after this one; none where it is the first.
    pub from: Option<Vec<u8>>,
    /// And at or before this one.
    pub through: Vec<u8>,
    /// How many entries it had; 0 where that is not known either, of a partition.
    pub entries: u64,
}

/// A walk over what a table file holds, from the first entry to the last.
pub struct Salvage {
    file: Arc<dyn File>,
    footer: Footer,
    properties: Option<Properties>,
    /// The partitions that are left to read, the next one last: its last separator and where it lies.
    partitions: Vec<(Vec<u8>, PartitionHandle)>,
    /// The same of the blocks of the partition that is read.
    blocks: Vec<(Vec<u8>, BlockHandle)>,
    /// The separator of the last block or partition that was passed.
    below: Option<Vec<u8>>,
    block: Option<Reading>,
    entries: u64,
    lost: Vec<LostBlock>,
}

/// The block that is read.
struct Reading {
    cursor: BlockCursor,
    separator: Vec<u8>,
    handle: BlockHandle,
    /// Entries read of it.
    entries: u64,
}

impl Salvage {
    /// Begins before the first entry that can be read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where footer, directory or index are damaged, [`Error::NewerFormat`],
    /// and a failing file system.
    pub fn open(file: Arc<dyn File>) -> Result<Salvage> {
        let len = file.len()?;
        let short = || Corruption::new(file.name(), 0, "a table", format_args!("{len} bytes"));
        let at = len.checked_sub(FOOTER_BYTES as u64).ok_or_else(short)?;
        let mut bytes = [0; FOOTER_BYTES];
        read_exact_at(&*file, &mut bytes, at)?;
        let footer = Footer::decode(&bytes, file.name(), len)?;
        let mut salvage = Salvage {
            file,
            footer,
            properties: None,
            partitions: Vec::new(),
            blocks: Vec::new(),
            below: None,
            block: None,
            entries: 0,
            lost: Vec::new(),
        };
        let directory = salvage.part(footer.directory_offset, footer.directory_len.into())?;
        let name = salvage.file.name();
        let sections = decode_directory(&directory, &footer)
            .map_err(|e| e.within(name, footer.directory_offset))?;
        let section = |wanted| sections.iter().find(|section| section.kind == wanted);
        if let Some(section) = section(kind::PROPERTIES) {
            let stored = salvage.part(section.offset, section.len);
            salvage.properties = stored.ok().and_then(|bytes| Properties::decode(&bytes).ok());
        }
        let index = section(kind::INDEX).ok_or_else(|| {
            let name = salvage.file.name();
            Corruption::new(name, footer.directory_offset, "a section of index", "none")
        })?;
        salvage.partitions =
            salvage.read_index(index.offset, index.len, PartitionHandle::decode)?;
        salvage.next();
        Ok(salvage)
    }

    /// The number under which the table was written.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.footer.table
    }

    /// The salt of the store that wrote it.
    #[must_use]
    pub fn salt(&self) -> u64 {
        self.footer.salt
    }

    /// What the table says of itself, where that can be read.
    #[must_use]
    pub fn properties(&self) -> Option<&Properties> {
        self.properties.as_ref()
    }

    /// The entry where the walk stands: key, tag and value; none at its end.
    #[must_use]
    pub fn entry(&self) -> Option<(&[u8], Tag, &[u8])> {
        let block = &self.block.as_ref()?.cursor;
        Some((block.key(), block.tag(), block.value()))
    }

    /// To the next entry that can be read.
    pub fn next(&mut self) {
        if let Some(mut block) = self.block.take() {
            match block.cursor.advance() {
                Ok(()) if block.cursor.valid() => {
                    block.entries += 1;
                    self.entries += 1;
                    self.block = Some(block);
                    return;
                }
                Ok(()) => self.below = Some(block.separator),
                // What is malformed under a sound checksum was written so: the rest is lost.
                Err(e) => {
                    let Reading { separator, handle, entries, .. } = block;
                    let damage = e.within(self.file.name(), handle.offset).into();
                    let left = handle.entries.saturating_sub(entries);
                    self.lose(damage, handle.offset, separator, left);
                }
            }
        }
        while let Some((separator, handle)) = self.next_block() {
            match self.load(handle) {
                Ok(cursor) => {
                    self.block = Some(Reading { cursor, separator, handle, entries: 1 });
                    self.entries += 1;
                    return;
                }
                Err(e) => self.lose(e, handle.offset, separator, handle.entries),
            }
        }
    }

    /// The next block, of the next partition that can be read.
    fn next_block(&mut self) -> Option<(Vec<u8>, BlockHandle)> {
        loop {
            if let Some(block) = self.blocks.pop() {
                return Some(block);
            }
            let (separator, handle) = self.partitions.pop()?;
            match self.read_index(handle.index_offset(), handle.index_len, BlockHandle::decode) {
                Ok(blocks) => self.blocks = blocks,
                Err(e) => self.lose(e, handle.index_offset(), separator, 0),
            }
        }
    }

    /// Notes what was lost up to a separator.
    fn lose(&mut self, error: Error, offset: u64, through: Vec<u8>, entries: u64) {
        let damage = as_damage(error, self.file.name(), offset);
        let from = self.below.replace(through.clone());
        self.lost.push(LostBlock { damage, from, through, entries });
    }

    /// Entries that were read so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Blocks that could not be read so far.
    #[must_use]
    pub fn lost(&self) -> &[LostBlock] {
        &self.lost
    }

    /// The contents of a part.
    fn part(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let name = self.file.name();
        let end = offset.checked_add(len).filter(|end| *end <= self.file.len().unwrap_or(0));
        let len = end.and(usize::try_from(len).ok()).ok_or_else(|| {
            let found = format_args!("{len} bytes from {offset}");
            Corruption::new(name, offset, "a part within the file", found)
        })?;
        let mut stored = vec![0; len];
        read_exact_at(&*self.file, &mut stored, offset)?;
        decode(stored, self.footer.seed(), offset).map_err(|e| e.within(name, offset).into())
    }

    /// What an index leads to, the first one last: its separator, and where it lies.
    fn read_index<H>(
        &self,
        offset: u64,
        len: u64,
        decode: fn(&[u8]) -> Option<H>,
    ) -> Result<Vec<(Vec<u8>, H)>> {
        let within = |e: super::Malformed| Error::from(e.within(self.file.name(), offset));
        let index = Block::decode(self.part(offset, len)?).map_err(within)?;
        let mut index = BlockCursor::new(Arc::new(index));
        let mut places = Vec::new();
        index.seek_first().map_err(within)?;
        while index.valid() {
            let handle = decode(index.value()).ok_or_else(|| {
                Corruption::new(self.file.name(), offset, "the place of a part", "none")
            })?;
            places.push((index.key().to_vec(), handle));
            index.advance().map_err(within)?;
        }
        places.reverse();
        Ok(places)
    }

    fn load(&self, handle: BlockHandle) -> Result<BlockCursor> {
        let within = |e: super::Malformed| Error::from(e.within(self.file.name(), handle.offset));
        let block = Block::decode(self.part(handle.offset, handle.len)?).map_err(within)?;
        let mut cursor = BlockCursor::new(Arc::new(block));
        cursor.seek_first().map_err(within)?;
        Ok(cursor)
    }
}

/// A part that cannot be read is lost, whatever the reason.
fn as_damage(error: Error, file: &str, offset: u64) -> Corruption {
    match error {
        Error::Corrupt(damage) => *damage,
        e => Corruption::new(file, offset, "bytes that can be read", e),
    }
}

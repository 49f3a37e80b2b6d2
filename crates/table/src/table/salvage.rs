//! Reads what is left of a damaged table, from its file alone.
//!
//! 1. The footer leads to the directory, the directory to the index, the index to the partitions.
//!    These must be sound, since without them nothing tells where a partition begins. Nothing else
//!    that the manifest or the table says about the table is used.
//! 2. A partition whose index cannot be read is skipped, and recorded with its key range; so is a
//!    block that cannot be read.

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

/// A lost block, or all blocks of a lost partition.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LostBlock {
    /// What is wrong with it.
    pub damage: Corruption,
    /// Its keys are at or after this one; `None` if it is the first.
    pub from: Option<Vec<u8>>,
    /// Its keys are at or before this one.
    pub through: Vec<u8>,
    /// How many entries it had; 0 if unknown, for a partition.
    pub entries: u64,
}

/// Iterates over the readable entries of a table file.
pub struct Salvage {
    file: Arc<dyn File>,
    footer: Footer,
    properties: Option<Properties>,
    /// The remaining partitions, the next one last: last separator and handle.
    partitions: Vec<(Vec<u8>, PartitionHandle)>,
    /// The same for the remaining blocks of the current partition.
    blocks: Vec<(Vec<u8>, BlockHandle)>,
    /// The separator of the previous block or partition.
    below: Option<Vec<u8>>,
    block: Option<CurrentBlock>,
    entries: u64,
    lost: Vec<LostBlock>,
}

/// The current block.
struct CurrentBlock {
    cursor: BlockCursor,
    separator: Vec<u8>,
    handle: BlockHandle,
    /// Entries read from it.
    entries: u64,
}

impl Salvage {
    /// Opens a table and moves to its first readable entry.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Corrupt`] if the footer, the directory or the index is damaged,
    /// [`crate::error::ErrorKind::NewerFormat`], and I/O failures.
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
            Corruption::new(name, footer.directory_offset, "an index section", "none")
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

    /// The table's properties, if they can be read.
    #[must_use]
    pub fn properties(&self) -> Option<&Properties> {
        self.properties.as_ref()
    }

    /// The current entry: key, tag and value; `None` at the end.
    #[must_use]
    pub fn entry(&self) -> Option<(&[u8], Tag, &[u8])> {
        let block = &self.block.as_ref()?.cursor;
        Some((block.key(), block.tag(), block.value()))
    }

    /// Moves to the next readable entry.
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
                // Malformed under a valid checksum: the rest of the block is lost.
                Err(e) => {
                    let CurrentBlock { separator, handle, entries, .. } = block;
                    let damage = e.within(self.file.name(), handle.offset).into();
                    let left = handle.entries.saturating_sub(entries);
                    self.lose(damage, handle.offset, separator, left);
                }
            }
        }
        while let Some((separator, handle)) = self.next_block() {
            match self.load(handle) {
                Ok(cursor) => {
                    self.block = Some(CurrentBlock { cursor, separator, handle, entries: 1 });
                    self.entries += 1;
                    return;
                }
                Err(e) => self.lose(e, handle.offset, separator, handle.entries),
            }
        }
    }

    /// The next block, from the next readable partition if needed.
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

    /// Records a loss up to a separator.
    fn lose(&mut self, error: Error, offset: u64, through: Vec<u8>, entries: u64) {
        let damage = as_damage(error, self.file.name(), offset);
        let from = self.below.replace(through.clone());
        self.lost.push(LostBlock { damage, from, through, entries });
    }

    /// Entries read so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Losses so far.
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

    /// The entries of an index, the first one last: separator and handle.
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
            let handle = decode(index.value())
                .ok_or_else(|| Corruption::new(self.file.name(), offset, "a handle", "none"))?;
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

/// Any error that makes a part unreadable, as corruption.
fn as_damage(error: Error, file: &str, offset: u64) -> Corruption {
    let found = error.into_corruption();
    found.unwrap_or_else(|e| Corruption::new(file, offset, "readable bytes", e))
}

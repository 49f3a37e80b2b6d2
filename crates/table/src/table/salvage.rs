//! Reads what is left of a damaged table.
//!
//! 1. The footer leads to the directory, the directory to the index, the index to the partitions,
//!    these to the blocks. A block that cannot be read is skipped, and recorded.
//! 2. Where the index of a partition or anything before it in that order cannot be read, blocks are
//!    found one after another by their checksums (`block_walk`). What follows one that is damaged
//!    there is lost, up to the next partition with an index.
//! 3. What the store knows of the table ([`KnownTable`]) stands in for a footer that is lost, and
//!    knows the number of entries.

use super::block::Block;
use super::block_codec::{decode, seed};
use super::block_cursor::BlockCursor;
use super::block_walk::{BlockWalk, Walked};
use super::footer::{FOOTER_BYTES, Footer, decode_directory, kind};
use super::index::{BlockHandle, PartitionHandle};
use super::properties::Properties;
use crate::entry::Tag;
use crate::error::{Corruption, Error, ErrorKind, Result};
use crate::file::{File, read_exact_at};
use std::sync::Arc;
use terrane_types::TableInfo;

/// Knowledge of a table before its file is read.
#[derive(Clone, Copy, Debug)]
pub struct KnownTable<'a> {
    /// Its number, unless its footer has another.
    pub number: u64,
    /// The salts that it may have, unless its footer has one.
    pub salts: &'a [u64],
    /// The manifest's record of it.
    pub info: Option<&'a TableInfo>,
}

/// A lost block, or all blocks of a stretch that no index leads to.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LostBlock {
    /// Its damage.
    pub damage: Corruption,
    /// Its keys are at or after this one; `None` if it is the first.
    pub from: Option<Vec<u8>>,
    /// Its keys are at or before this one; `None` if it is the last.
    pub through: Option<Vec<u8>>,
    /// Number of its entries, if known.
    pub entries: Option<u64>,
}

/// Iterates over the readable entries of a table file.
pub struct Salvage {
    file: Arc<dyn File>,
    number: u64,
    salt: u64,
    properties: Option<Properties>,
    /// Number of the table's entries, and its greatest key, if known.
    expected: Option<(u64, Vec<u8>)>,
    /// End of the data, if known.
    data_end: Option<u64>,
    /// The remaining partitions, the next one last: last separator and handle.
    partitions: Vec<(Vec<u8>, PartitionHandle)>,
    /// The same for the remaining blocks of the current partition.
    blocks: Vec<(Vec<u8>, BlockHandle)>,
    /// Blocks without an index, which come before these, and the last separator of their partitions.
    walk: Option<(BlockWalk, Option<Vec<u8>>)>,
    /// End of the last block.
    end: u64,
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
    /// [`crate::error::ErrorKind::Corrupt`] if the footer is damaged and nothing can be read without
    /// it, [`crate::error::ErrorKind::NewerFormat`], and I/O failures.
    pub fn open(file: Arc<dyn File>, known: &KnownTable<'_>) -> Result<Salvage> {
        let damage = match read_footer(&*file, known.info) {
            Ok(footer) => {
                let mut salvage = Salvage::new(file, footer.table, footer.salt, known.info);
                salvage.data_end = Some(footer.data_len);
                if salvage.read_sections(&footer).is_err() {
                    salvage.walk(None);
                }
                salvage.next();
                return Ok(salvage);
            }
            Err(e) if matches!(e.kind(), ErrorKind::NewerFormat(_)) => return Err(e),
            Err(e) => e,
        };
        let opened = known.salts.iter().find_map(|salt| {
            let mut salvage = Salvage::new(file.clone(), known.number, *salt, known.info);
            salvage.walk(None);
            salvage.next();
            salvage.entry().is_some().then_some(salvage)
        });
        opened.ok_or(damage)
    }

    fn new(file: Arc<dyn File>, number: u64, salt: u64, info: Option<&TableInfo>) -> Salvage {
        let info = info.filter(|info| (info.id.0, info.salt) == (number, salt));
        Salvage {
            file,
            number,
            salt,
            properties: None,
            expected: info.map(|info| (info.entries, info.largest.clone())),
            data_end: None,
            partitions: Vec::new(),
            blocks: Vec::new(),
            walk: None,
            end: 0,
            below: None,
            block: None,
            entries: 0,
            lost: Vec::new(),
        }
    }

    /// Reads the properties, if they are sound, and the index.
    fn read_sections(&mut self, footer: &Footer) -> Result<()> {
        let directory = self.part(footer.directory_offset, footer.directory_len.into())?;
        let within = |e: super::Malformed| e.within(self.file.name(), footer.directory_offset);
        let sections = decode_directory(&directory, footer).map_err(within)?;
        let section = |wanted| sections.iter().find(|section| section.kind == wanted);
        if let Some(section) = section(kind::PROPERTIES) {
            let stored = self.part(section.offset, section.len);
            self.properties = stored.ok().and_then(|bytes| Properties::decode(&bytes).ok());
            let said = self.properties.as_ref().map(|said| (said.entries, said.largest.clone()));
            self.expected = self.expected.take().or(said);
        }
        let index = section(kind::INDEX).ok_or_else(|| {
            let name = self.file.name();
            Corruption::new(name, footer.directory_offset, "an index section", "none")
        })?;
        self.partitions = self.read_index(index.offset, index.len, PartitionHandle::decode)?;
        Ok(())
    }

    /// The number under which the table was written.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The salt of the store that wrote it.
    #[must_use]
    pub fn salt(&self) -> u64 {
        self.salt
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
                    self.lose(damage, handle.offset, Some(separator), Some(left));
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
                Err(e) => self.lose(e, handle.offset, Some(separator), Some(handle.entries)),
            }
        }
        self.settle();
    }

    /// The next block, from the next readable partition if needed.
    fn next_block(&mut self) -> Option<(Vec<u8>, BlockHandle)> {
        loop {
            if let Some((mut walk, through)) = self.walk.take() {
                match if self.is_accounted_for() { Walked::End } else { walk.next() } {
                    Walked::Block(last, handle) => {
                        self.walk = Some((walk, through));
                        return Some((last, handle));
                    }
                    Walked::End => self.below = through.or(self.below.take()),
                    Walked::Damage => {
                        let (name, at) = (self.file.name(), walk.offset());
                        let found = "none, and no index of those that follow";
                        let damage = Corruption::new(name, at, "a data block", found);
                        self.lose(damage.into(), at, through, None);
                    }
                }
            }
            if let Some((separator, handle)) = self.blocks.pop() {
                self.end = handle.offset.saturating_add(handle.len);
                return Some((separator, handle));
            }
            let mut lost = None;
            while self.blocks.is_empty()
                && let Some((separator, partition)) = self.partitions.pop()
            {
                let (at, len) = (partition.index_offset(), partition.index_len);
                match self.read_index(at, len, BlockHandle::decode) {
                    Ok(blocks) => self.blocks = blocks,
                    Err(_) => lost = Some(separator),
                }
            }
            match lost {
                None if self.blocks.is_empty() => return None,
                None => {}
                through => self.walk(through),
            }
        }
    }

    /// Walks from the end of the last block to the next one in the index, or to the end of the data.
    fn walk(&mut self, through: Option<Vec<u8>>) {
        let end = self.blocks.last().map(|(_, block)| block.offset).or(self.data_end);
        let walk = BlockWalk::new(self.file.clone(), self.seed(), self.end, end);
        let largest = || self.expected.as_ref().map(|(_, largest)| largest.clone());
        self.walk = Some((walk, through.or_else(largest)));
    }

    /// Records a loss up to a separator.
    fn lose(&mut self, error: Error, at: u64, through: Option<Vec<u8>>, entries: Option<u64>) {
        let damage = as_damage(error, self.file.name(), at);
        let from = self.below.clone();
        self.below = through.clone().or(self.below.take());
        self.lost.push(LostBlock { damage, from, through, entries });
    }

    /// Returns the number of the table's entries beside those that were read and those known to be
    /// lost.
    fn missing(&self) -> Option<u64> {
        let lost: u64 = self.lost.iter().filter_map(|lost| lost.entries).sum();
        self.expected.as_ref()?.0.checked_sub(self.entries + lost)
    }

    fn is_accounted_for(&self) -> bool {
        self.missing() == Some(0)
    }

    /// Counts the entries of the one loss of unknown size, if all others are known.
    fn settle(&mut self) {
        let missing = self.missing();
        let mut unknown = self.lost.iter_mut().filter(|lost| lost.entries.is_none());
        if let (Some(lost), None) = (unknown.next(), unknown.next()) {
            lost.entries = missing;
        }
    }

    /// The seed of the checksums of its parts.
    fn seed(&self) -> u64 {
        seed(self.salt, self.number)
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
        decode(stored, self.seed(), offset).map_err(|e| e.within(name, offset).into())
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

/// The footer at the length that the manifest says or, failing that, at the end of the file.
fn read_footer(file: &dyn File, info: Option<&TableInfo>) -> Result<Footer> {
    let at = |len: u64| {
        let short = || Corruption::new(file.name(), 0, "a table", format_args!("{len} bytes"));
        let at = len.checked_sub(FOOTER_BYTES as u64).ok_or_else(short)?;
        let mut bytes = [0; FOOTER_BYTES];
        read_exact_at(file, &mut bytes, at)?;
        Footer::decode(&bytes, file.name(), len)
    };
    match info.map(|info| at(info.bytes)) {
        Some(Ok(footer)) => Ok(footer),
        _ => at(file.len()?),
    }
}

/// Any error that makes a part unreadable, as corruption.
fn as_damage(error: Error, file: &str, offset: u64) -> Corruption {
    let found = error.into_corruption();
    found.unwrap_or_else(|e| Corruption::new(file, offset, "readable bytes", e))
}

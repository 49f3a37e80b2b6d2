//! An open table: the fields of its footer, the top level of its index, and a slot for the filter and
//! the index of each partition.
//!
//! 1. One read takes the end of the file. In a small table that covers everything after the data, so
//!    its partitions are loaded; in a large one the rest is read part by part.
//! 2. All of it is verified, also against the manifest's entry for the table, before it is used.
//!    Partitions are verified when they are loaded.

use super::Malformed;
use super::block::{Block, offset};
use super::block_codec::{TRAILER_BYTES, decode, decode_into};
use super::filter::Filter;
use super::footer::{FOOTER_BYTES, Footer, Section, decode_directory, kind};
use super::index::{BlockHandle, PartitionHandle};
use super::partition_index::PartitionIndex;
use super::properties::Properties;
use super::slot::Slot;
use crate::coding::escaped;
use crate::entry::Tag;
use crate::error::{Corruption, Error, Result};
use crate::file::{File, read_exact_at};
use std::fmt::Display;
use std::sync::Arc;
use terrane_types::TableInfo;

/// Bytes that the first read takes.
const END_BYTES: u64 = 32 << 10;
/// The memory that an open file takes apart from the table's parts, about.
const FILE_BYTES: usize = 512;

/// An open table.
pub(super) struct OpenTable {
    pub file: Arc<dyn File>,
    /// The seed of its checksums.
    seed: u64,
    /// Bytes of data blocks, from the start of the file.
    pub data_len: u64,
    top: Block,
    pub top_offset: u64,
    pub partitions: Vec<Partition>,
    pub properties: Section,
}

/// The filter and index of some blocks, loaded on demand.
pub(super) struct Partition {
    pub handle: PartitionHandle,
    pub filter: Arc<Slot<Filter>>,
    pub index: Arc<Slot<PartitionIndex>>,
}

/// The bytes at the end of a file.
struct End<'a> {
    file: &'a dyn File,
    seed: u64,
    offset: u64,
    bytes: Vec<u8>,
}

impl End<'_> {
    /// The stored part, if it was read.
    fn get(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..)?.get(..usize::try_from(len).ok()?)
    }

    /// The contents of a part.
    fn load(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let stored = match self.get(offset, len) {
            Some(stored) => stored.to_vec(),
            None => read(self.file, offset, len)?,
        };
        let name = self.file.name();
        decode(stored, self.seed, offset).map_err(|e| e.within(name, offset).into())
    }
}

impl OpenTable {
    /// Opens a table: reads and verifies it, and returns it with its properties. Calls `keep` with the
    /// number and stored bytes of each partition that was read along.
    pub fn read(
        file: Arc<dyn File>,
        info: &TableInfo,
        keep: &mut dyn FnMut(&OpenTable, usize, &[u8]),
    ) -> Result<(Self, Properties)> {
        let name = file.name();
        let damage = |offset: u64, expected: &dyn Display, found: &dyn Display| {
            Error::from(Corruption::new(name, offset, expected, found))
        };
        let file_len = file.len()?;
        if file_len != info.bytes || file_len < FOOTER_BYTES as u64 {
            let expected = format_args!("a table of {} bytes", info.bytes);
            return Err(damage(file_len, &expected, &format_args!("{file_len} bytes")));
        }
        let offset = file_len.saturating_sub(END_BYTES);
        let bytes = read(&*file, offset, file_len - offset)?;
        let footer_offset = file_len - FOOTER_BYTES as u64;
        let footer = bytes.last_chunk().ok_or_else(|| damage(0, &"a footer", &"none"))?;
        let footer = Footer::decode(footer, name, file_len)?;
        if (footer.table, footer.salt) != (info.id.0, info.salt) {
            let expected = format_args!("table {} under salt {:016x}", info.id.0, info.salt);
            let found = format_args!("table {} under salt {:016x}", footer.table, footer.salt);
            return Err(damage(footer_offset, &expected, &found));
        }
        let end = End { file: &*file, seed: footer.seed(), offset, bytes };
        let directory = end.load(footer.directory_offset, footer.directory_len.into())?;
        let sections = decode_directory(&directory, &footer)
            .map_err(|e| e.within(name, footer.directory_offset))?;
        let section = |wanted: u64, what: &str| {
            sections.iter().find(|s| s.kind == wanted).copied().ok_or_else(|| {
                let expected = format_args!("a section of {what}");
                damage(footer.directory_offset, &expected, &"none")
            })
        };
        let partitions = section(kind::PARTITIONS, "partitions")?;
        let index = section(kind::INDEX, "index")?;
        let properties = section(kind::PROPERTIES, "properties")?;

        let within = |e: Malformed, section: Section| Error::from(e.within(name, section.offset));
        let top =
            Block::decode(end.load(index.offset, index.len)?).map_err(|e| within(e, index))?;
        let handles = decode_top(&top, partitions).map_err(|e| within(e, index))?;
        let found = Properties::decode(&end.load(properties.offset, properties.len)?)
            .map_err(|e| within(e, properties))?;
        if let Some((expected, found)) = found.differs_from(info) {
            return Err(damage(properties.offset, &expected, &found));
        }
        let partition = |handle| Partition { handle, filter: Slot::empty(), index: Slot::empty() };
        let opened = OpenTable {
            file: Arc::clone(&file),
            seed: footer.seed(),
            data_len: footer.data_len,
            top: if handles.len() > 1 { top.with_key_prefixes() } else { top },
            top_offset: index.offset,
            partitions: handles.into_iter().map(partition).collect(),
            properties,
        };
        if offset <= partitions.offset {
            for (n, partition) in opened.partitions.iter().enumerate() {
                let PartitionHandle { offset, filter_len, index_len } = partition.handle;
                if let Some(stored) = end.get(offset, filter_len + index_len) {
                    keep(&opened, n, stored);
                }
            }
        }
        Ok((opened, found))
    }

    /// Bytes held in memory, without loaded partitions.
    pub fn memory(&self) -> usize {
        let slots = size_of::<Slot<PartitionIndex>>() + size_of::<Slot<Filter>>() + 64;
        let partitions = self.partitions.len() * (size_of::<Partition>() + slots);
        size_of::<Self>() + self.top.memory() + partitions + FILE_BYTES
    }

    /// The number of the partition with the first entry at or after (`key`, `tag`); past the last one
    /// if all entries are before.
    #[inline]
    pub fn partition_for(&self, key: &[u8], tag: Tag) -> Result<usize> {
        if self.partitions.len() == 1 {
            return Ok(0);
        }
        self.top.restarts_below(key, tag).map_err(|e| self.damage(e, self.top_offset))
    }

    /// The last separator of partition `n`.
    pub fn separator(&self, n: usize) -> Result<Option<(&[u8], Tag)>, Malformed> {
        Ok(self.top.nth(n)?.map(|entry| (entry.delta, entry.tag)))
    }

    /// Reads the properties.
    pub fn read_properties(&self) -> Result<Properties> {
        let Section { offset, len, .. } = self.properties;
        let bytes = decode(read(&*self.file, offset, len)?, self.seed, offset);
        bytes.and_then(|bytes| Properties::decode(&bytes)).map_err(|e| self.damage(e, offset))
    }

    /// Reads the filter of a partition that has one; returns it with its memory use.
    pub fn read_filter(&self, partition: &Partition) -> Result<(Filter, usize)> {
        let PartitionHandle { offset, filter_len, .. } = partition.handle;
        self.decode_filter(partition, read(&*self.file, offset, filter_len)?)
    }

    /// Reads the index of a partition; returns it with its memory use.
    pub fn read_index(&self, partition: &Partition) -> Result<(PartitionIndex, usize)> {
        let offset = partition.handle.index_offset();
        self.decode_index(partition, read(&*self.file, offset, partition.handle.index_len)?)
    }

    pub fn decode_filter(&self, partition: &Partition, stored: Vec<u8>) -> Result<(Filter, usize)> {
        let offset = partition.handle.offset;
        let filter = decode(stored, self.seed, offset).and_then(|bytes| Filter::decode(&bytes));
        let filter = filter.map_err(|e| self.damage(e, offset))?;
        let weight = filter.memory();
        Ok((filter, weight))
    }

    pub fn decode_index(
        &self,
        partition: &Partition,
        stored: Vec<u8>,
    ) -> Result<(PartitionIndex, usize)> {
        let offset = partition.handle.index_offset();
        let index = decode(stored, self.seed, offset).and_then(Block::decode);
        let index = index.map_err(|e| self.damage(e, offset))?.with_key_prefixes();
        let index = PartitionIndex::new(index);
        let weight = index.memory();
        Ok((index, weight))
    }

    /// The block that an entry of a partition's index leads to.
    #[inline]
    pub fn handle(&self, value: &[u8], partition: &Partition) -> Result<BlockHandle> {
        let handle = BlockHandle::decode(value).filter(|handle| {
            let end = handle.offset.checked_add(handle.len);
            handle.len >= TRAILER_BYTES as u64 && end.is_some_and(|end| end <= self.data_len)
        });
        handle.ok_or_else(|| {
            let expected = format_args!("a data block within {} bytes", self.data_len);
            let found = Malformed::new(0, expected, escaped(value));
            self.damage(found, partition.handle.index_offset())
        })
    }

    /// Reads a block.
    pub fn read_block(&self, handle: BlockHandle) -> Result<Block> {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(stored) = self.mapped(handle) {
            return self.decode_block(stored, handle.offset, Vec::new());
        }
        let stored = read(&*self.file, handle.offset, handle.len)?;
        let block = decode(stored, self.seed, handle.offset).and_then(Block::decode);
        block.map_err(|e| self.damage(e, handle.offset))
    }

    /// The stored bytes of a block, if the file is mapped.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub fn mapped(&self, handle: BlockHandle) -> Option<&[u8]> {
        let (offset, len) = (handle.offset.try_into().ok()?, handle.len.try_into().ok()?);
        self.file.mapped()?.get::<std::ops::RangeFrom<usize>>(offset..)?.get(..len)
    }

    /// Decodes a stored block into the memory of `buffer`.
    pub fn decode_block(&self, stored: &[u8], offset: u64, mut buffer: Vec<u8>) -> Result<Block> {
        decode_into(stored, self.seed, offset, &mut buffer)
            .and_then(|()| Block::decode(buffer))
            .map_err(|e| self.damage(e, offset))
    }

    /// Corruption of the part at `offset`.
    #[cold]
    pub fn damage(&self, what: Malformed, offset: u64) -> Error {
        what.within(self.file.name(), offset).into()
    }
}

/// Decodes the top level of the index, whose partitions must fill their section without a gap.
fn decode_top(top: &Block, section: Section) -> Result<Vec<PartitionHandle>, Malformed> {
    let mut handles = Vec::with_capacity(top.restarts().len());
    let (mut at, mut end) = (0, section.offset);
    for point in top.restarts() {
        let entry = top.entry(at)?;
        if entry.shared != 0 || offset(point) != at {
            return Err(Malformed::new(at, "an entry that shares nothing", "another"));
        }
        let handle = PartitionHandle::decode(entry.value).filter(|handle| {
            let least = TRAILER_BYTES as u64;
            let sound = handle.filter_len == 0 || handle.filter_len > least;
            handle.offset == end && sound && handle.index_len > least
        });
        let handle = handle.and_then(|handle| Some((handle, handle.end()?)));
        let Some((handle, to)) = handle else {
            let expected = format_args!("a partition from {end}");
            return Err(Malformed::new(at, expected, escaped(entry.value)));
        };
        (at, end) = (entry.end, to);
        handles.push(handle);
    }
    let all = section.offset.checked_add(section.len);
    if Some(end) != all || at != top.entries().len() {
        let expected = format_args!("partitions of {} bytes, and no more entries", section.len);
        return Err(Malformed::new(at, expected, format_args!("an end at {end}")));
    }
    Ok(handles)
}

/// Reads `len` bytes, which are within the file.
fn read(file: &dyn File, offset: u64, len: u64) -> Result<Vec<u8>> {
    let len = usize::try_from(len).map_err(|_| {
        Corruption::new(file.name(), offset, "a part that fits memory", format_args!("{len} bytes"))
    })?;
    let mut bytes = vec![0; len];
    read_exact_at(file, &mut bytes, offset)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::block_writer::BlockWriter;
    use super::*;

    /// Partitions as (offset, length of the filter, length of the index), with a restart point every
    /// `interval` entries, of which the last is moved by `moved` bytes, in a section of `len` bytes
    /// from 100.
    fn decode(handles: &[(u64, u64, u64)], interval: u32, moved: u32, len: u64) -> Option<usize> {
        let mut top = BlockWriter::new(interval);
        for (n, &(offset, filter_len, index_len)) in (0u8..).zip(handles) {
            let mut handle = Vec::new();
            PartitionHandle { offset, filter_len, index_len }.encode(&mut handle);
            top.add(0, &[n], Tag(0), &handle);
        }
        let mut bytes = top.finish().to_vec();
        let at = bytes.len() - 8;
        let point: &mut [u8; 4] = bytes[at..].first_chunk_mut().unwrap();
        *point = (u32::from_le_bytes(*point) + moved).to_le_bytes();
        let section = Section { kind: kind::PARTITIONS, offset: 100, len };
        decode_top(&Block::decode(bytes).unwrap(), section).ok().map(|handles| handles.len())
    }

    #[test]
    fn partitions_fill_their_section_without_a_gap() {
        assert_eq!(decode(&[(100, 10, 10), (120, 0, 30)], 1, 0, 50), Some(2));
        for (what, handles, interval, moved, len) in [
            ("a section too long", &[(100, 10, 10)][..], 1, 0, 21),
            ("a gap", &[(100, 10, 10), (121, 0, 29)], 1, 0, 50),
            ("a filter too short for a checksum", &[(100, 9, 11)], 1, 0, 20),
            ("an index too short for a checksum", &[(100, 11, 9)], 1, 0, 20),
            ("an index of a byte", &[(100, 19, 1)], 1, 0, 20),
            ("a partition elsewhere", &[(101, 10, 10)], 1, 0, 21),
            ("an entry without a restart point", &[(100, 10, 10), (120, 0, 30)], 2, 0, 20),
            ("a restart point inside an entry", &[(100, 10, 10), (120, 0, 30)], 1, 1, 50),
            ("an end past all numbers", &[(100, u64::MAX, 10)], 1, 0, 50),
        ] {
            assert_eq!(decode(handles, interval, moved, len), None, "{what}");
        }
    }
}

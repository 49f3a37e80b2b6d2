//! Verifying a whole table against itself.
//!
//! 1. What an open table keeps is read again. If it is damaged, the check goes on with the copy in
//!    memory, if there is one: it was sound when the table was opened.
//! 2. The partitions fill their section without a gap, and each is read again. Its index must tile
//!    the data with blocks, from partition to partition too, have a restart point at every entry, and
//!    end with the separator that the top level says.
//! 3. Each block is read and its checksum verified. Its entries must ascend, from block to block
//!    too, lie above the separator of the block before and not above their own (so that separators
//!    ascend), and pass the partition's filter; restart points must be entries that share nothing.
//! 4. Where all of it is sound, the sums must be those of the properties and of the tree.

use super::Malformed;
use super::block::{Block, offset};
use super::block_cursor::BlockCursor;
use super::fetch::{AHEAD_BYTES_MAX, Direction, ReadAhead};
use super::filter::{Filter, key_hash};
use super::index::Handle;
use super::opened::{Opened, Partition};
use super::properties::Properties;
use super::reader::Table;
use crate::entry::{Kind, Tag, compare};
use crate::error::{Corruption, Error, Result};
use std::cmp::Ordering;
use std::sync::Arc;

/// The check of a table on its way.
pub struct TableCheck {
    table: Arc<Table>,
    /// What the table says of itself, where it is sound.
    said: Option<Properties>,
    /// What is kept of the table; none when the check has ended.
    opened: Option<Arc<Opened>>,
    /// The number of the partition that is next, and the one that is walked.
    next: usize,
    walked: Option<Walked>,
    /// Where the last block ends, and the separator above it; not known behind a damaged partition.
    end: Option<u64>,
    below: Bound,
    ahead: ReadAhead,
    /// What the sound blocks add up to.
    sums: Properties,
    /// Points of the histogram that blocks have borne out.
    points: usize,
    /// The last entry of the blocks so far.
    last: Bound,
    found: Vec<Corruption>,
    /// What a later release wrote there, which this one does not know.
    newer: Option<Error>,
}

/// A partition that is walked.
struct Walked {
    index: BlockCursor,
    filter: Option<Filter>,
    number: usize,
}

/// A place in the order of entries; at first before all of them.
struct Bound {
    set: bool,
    key: Vec<u8>,
    tag: Tag,
}

impl Bound {
    const START: Self = Bound { set: false, key: Vec::new(), tag: Tag(0) };

    fn set(&mut self, key: &[u8], tag: Tag) {
        self.set = true;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.tag = tag;
    }

    fn is_before(&self, key: &[u8], tag: Tag) -> bool {
        !self.set || compare(&self.key, self.tag, key, tag) == Ordering::Less
    }
}

impl TableCheck {
    /// Reads what an open table keeps again.
    #[must_use]
    pub fn begin(table: Arc<Table>) -> Self {
        let mut check = TableCheck {
            said: None,
            opened: None,
            next: 0,
            walked: None,
            end: Some(0),
            below: Bound::START,
            ahead: ReadAhead::default(),
            sums: Properties::default(),
            points: 0,
            last: Bound::START,
            found: Vec::new(),
            newer: None,
            table,
        };
        let info = check.table.info();
        let fresh = check.table.file().and_then(|file| Opened::read(file, info, &mut |_, _, _| ()));
        match fresh {
            Ok((opened, said)) => {
                (check.opened, check.said) = (Some(Arc::new(opened)), Some(said));
            }
            Err(e) => {
                check.report(e);
                check.opened = check.table.if_opened();
            }
        }
        check
    }

    /// Checks about `bytes` bytes of blocks; returns whether more is left.
    pub fn step(&mut self, bytes: u64) -> bool {
        let Some(opened) = self.opened.take() else { return false };
        let enough = self.end.unwrap_or(0).saturating_add(bytes);
        while let Some(walked) = self.enter(&opened) {
            match self.check_partition(&opened, walked, enough) {
                Ok(true) => {
                    self.opened = Some(opened);
                    return true;
                }
                Ok(false) => {}
                Err(e) => {
                    self.report(e);
                    self.end = None;
                }
            }
        }
        if self.end.is_some_and(|end| end != opened.data_len) {
            let expected = format_args!("blocks up to {}", opened.data_len);
            let found = format_args!("an end at {}", self.end.unwrap_or_default());
            self.report(opened.damage(Malformed::new(0, expected, found), opened.top_offset));
        }
        if self.found.is_empty() {
            self.check_sums(&opened);
        }
        false
    }

    /// The damage that was found.
    ///
    /// # Errors
    /// [`Error::NewerFormat`] where a later release wrote something that this one does not know.
    pub fn into_found(self) -> Result<Vec<Corruption>> {
        self.newer.map_or(Ok(self.found), Err)
    }

    /// Notes a failure. An error that is neither damage nor a later release's format is reported as
    /// a table that cannot be read.
    fn report(&mut self, error: Error) {
        self.found.push(match error {
            Error::Corrupt(corruption) => *corruption,
            Error::NewerFormat(_) => return self.newer = Some(error),
            e => {
                let file = format!("table {}", self.table.info().id.0);
                Corruption::new(&file, 0, "a table that can be read", e)
            }
        });
    }

    /// The partition that is walked, or else the next that can be read.
    fn enter(&mut self, opened: &Opened) -> Option<Walked> {
        if let Some(walked) = self.walked.take() {
            return Some(walked);
        }
        while let Some(partition) = opened.partitions.get(self.next) {
            let number = self.next;
            self.next += 1;
            let filter = match partition.handle.filter_len {
                0 => None,
                _ => match opened.read_filter(partition) {
                    Ok((filter, _)) => Some(filter),
                    Err(e) => {
                        self.report(e);
                        None
                    }
                },
            };
            let index = opened.read_index(partition).and_then(|(index, _)| {
                let mut index = BlockCursor::new(Arc::new(index));
                let first = index.seek_first();
                first.map_err(|e| opened.damage(e, partition.handle.index_offset()))?;
                Ok(index)
            });
            match index {
                Ok(index) => return Some(Walked { index, filter, number }),
                Err(e) => {
                    self.report(e);
                    self.end = None;
                }
            }
        }
        None
    }

    /// Walks a partition's index and its blocks up to `enough` in the file; returns whether more is
    /// left. An error is damage of the index; damage of blocks is reported on the way.
    fn check_partition(
        &mut self,
        opened: &Opened,
        mut walked: Walked,
        enough: u64,
    ) -> Result<bool> {
        let Some(partition) = opened.partitions.get(walked.number) else { return Ok(false) };
        let index = &mut walked.index;
        let on_index = |e: Malformed| opened.damage(e, partition.handle.index_offset());
        while index.valid() {
            if self.end.is_some_and(|end| end >= enough) {
                self.walked = Some(walked);
                return Ok(true);
            }
            let handle = opened.handle(index.value(), partition)?;
            if let Some(end) = self.end.filter(|end| *end != handle.offset) {
                let expected = format_args!("a block at {end} after the one before");
                let found = format_args!("one at {}", handle.offset);
                return Err(on_index(Malformed::new(index.start(), expected, found)));
            }
            let checked =
                self.check_block(opened, handle, walked.filter.as_ref(), index.key(), index.tag());
            if let Err(e) = checked {
                self.report(e);
            }
            self.below.set(index.key(), index.tag());
            self.end = Some(handle.offset + handle.len);
            index.advance().map_err(on_index)?;
        }
        self.check_index(opened, partition, walked).map_err(on_index)?;
        Ok(false)
    }

    /// Checks the index of a partition that was walked against the top level.
    fn check_index(
        &self,
        opened: &Opened,
        partition: &Partition,
        Walked { index, number, .. }: Walked,
    ) -> Result<(), Malformed> {
        let mut at = 0;
        for point in index.block().restarts() {
            let entry = index.block().entry(at)?;
            if offset(point) != at || entry.shared != 0 {
                return Err(Malformed::new(at, "a restart point at every entry", "another"));
            }
            at = entry.end;
        }
        if at != index.block().entries().len() {
            return Err(Malformed::new(at, "no entry without a restart point", "one"));
        }
        match opened.separator(number)? {
            Some((key, tag)) if (key, tag) == (&self.below.key, self.below.tag) => Ok(()),
            other => {
                let said = other.map(|(key, tag)| (key.escape_ascii().to_string(), tag.seq()));
                let expected = format_args!("{said:?} as last separator of {:?}", partition.handle);
                Err(Malformed::new(0, expected, self.below.key.escape_ascii()))
            }
        }
    }

    /// Checks the block at `handle`, whose entries lie up to the separator.
    fn check_block(
        &mut self,
        opened: &Opened,
        handle: Handle,
        filter: Option<&Filter>,
        separator: &[u8],
        separator_tag: Tag,
    ) -> Result<()> {
        let (stored, _) = self.ahead.stored(opened, handle, Direction::Forward, AHEAD_BYTES_MAX)?;
        let block = opened.decode_block(stored, handle.offset, Vec::new())?;
        let mut cursor = BlockCursor::new(Arc::new(block));
        let result =
            self.check_entries(&mut cursor, opened, handle, filter, separator, separator_tag);
        result.map_err(|e| opened.damage(e, handle.offset))
    }

    fn check_entries(
        &mut self,
        cursor: &mut BlockCursor,
        opened: &Opened,
        handle: Handle,
        filter: Option<&Filter>,
        separator: &[u8],
        separator_tag: Tag,
    ) -> Result<(), Malformed> {
        let mut entries = 0;
        let mut restarts = restart_offsets(cursor.block()).into_iter().peekable();
        cursor.seek_first()?;
        while cursor.valid() {
            let (at, key, tag) = (cursor.start(), cursor.key(), cursor.tag());
            let wrong = |expected: &str| {
                let found = format_args!("{} at sequence {}", key.escape_ascii(), tag.seq());
                Err(Malformed::new(at, expected, found))
            };
            if !self.last.is_before(key, tag) {
                return wrong("an entry after the one before");
            }
            if !self.below.is_before(key, tag) {
                return wrong("an entry above the separator of the block before");
            }
            if compare(key, tag, separator, separator_tag) == Ordering::Greater {
                return wrong("an entry at or below the block's separator");
            }
            if tag.kind().is_none() {
                self.report(Kind::newer(opened.file.name(), tag.kind_byte()));
            }
            if restarts.next_if_eq(&at).is_some() && cursor.block().entry(at)?.shared != 0 {
                return wrong("an entry that shares nothing at a restart point");
            }
            if filter.is_some_and(|f| !f.may_contain(key_hash(key))) {
                return wrong("an entry whose key passes the filter");
            }
            if self.sums.entries == 0 {
                self.sums.smallest = key.to_vec();
            }
            self.sums.count(key, tag, cursor.value());
            self.last.set(key, tag);
            entries += 1;
            cursor.advance()?;
        }
        if let Some(at) = restarts.next() {
            return Err(Malformed::new(at, "an entry at a restart point", "none"));
        }
        if entries != handle.entries {
            let expected = format_args!("{} entries, as the index says", handle.entries);
            return Err(Malformed::new(0, expected, entries));
        }
        self.sums.blocks += 1;
        let end = handle.offset + handle.len;
        let point = self.said.as_ref().and_then(|said| said.histogram.get(self.points));
        self.points += usize::from(point.is_some_and(|p| p.bytes == end && p.key == self.last.key));
        Ok(())
    }

    /// Checks the sums against the properties and what the tree knows of the table.
    fn check_sums(&mut self, opened: &Opened) {
        let Some(said) = &self.said else { return };
        self.sums.largest = std::mem::take(&mut self.last.key);
        let pairs = [
            ("bytes of keys", said.key_bytes, self.sums.key_bytes),
            ("bytes of values", said.value_bytes, self.sums.value_bytes),
            ("blocks", said.blocks, self.sums.blocks),
            ("points of the histogram", said.histogram.len() as u64, self.points as u64),
            (
                "bytes at the histogram's end",
                opened.data_len,
                said.histogram.last().map_or(0, |p| p.bytes),
            ),
        ];
        let (file, offset) = (opened.file.name(), opened.properties.offset);
        for (what, expected, found) in pairs {
            if expected != found {
                let expected = format_args!("{expected} {what}");
                self.found.push(Corruption::new(file, offset, expected, found));
            }
        }
        if let Some((expected, found)) = self.sums.differs_from(self.table.info()) {
            self.found.push(Corruption::new(file, offset, expected, found));
        }
    }
}

fn restart_offsets(block: &Block) -> Vec<usize> {
    block.restarts().iter().map(offset).collect()
}

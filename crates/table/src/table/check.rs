//! Verifying a whole table against itself.
//!
//! 1. What an open table keeps in memory is read again. If the file is damaged there, the check
//!    continues with the copy in memory, if there is one: it was sound when the table was opened.
//! 2. The partitions must fill their section without a gap, and each is read again. Its index must
//!    tile the data with blocks, also across partitions, have a restart point at every entry, and end
//!    with the separator that the top level has for it.
//! 3. Each block is read and its checksum verified. Its entries must ascend, also across blocks; be
//!    above the previous block's separator and not above their own (so that separators ascend); and
//!    pass the partition's filter. Restart points must be at entries that share nothing.
//! 4. If all of that holds, the totals must be those of the properties and of the manifest.
//!
//! All of it is `#[inline]`, so that it is compiled with the crate that checks: in the browser for
//! size, unlike the rest of this crate.

use super::Malformed;
use super::block::{Block, offset};
use super::block_cursor::BlockCursor;
use super::block_fetcher::{Direction, MAX_READAHEAD_BYTES, Prefetched};
use super::filter::Filter;
use super::index::BlockHandle;
use super::open_table::OpenTable;
use super::properties::Properties;
use super::reader::Table;
use crate::coding::{escaped, key_hash};
use crate::entry::{EXPIRY_BYTES, Kind, Tag, compare, newer_kind};
use crate::error::{Corruption, Error, ErrorKind, Result};
use crate::operand::Merged;
use crate::read::is_operand;
use std::cmp::Ordering;
use std::sync::Arc;
use terrane_types::PrefixBuilder;
use terrane_types::range_deletes::RangeDeletes;

/// A check of a table in progress.
pub struct TableCheck {
    table: Arc<Table>,
    /// The table's properties, if they could be read.
    properties: Option<Properties>,
    /// `None` when the check has ended.
    opened: Option<Arc<OpenTable>>,
    /// The number of the next partition, and the partition being checked.
    next: usize,
    current: Option<CurrentPartition>,
    /// End of the last block, and its separator; unknown after a damaged partition.
    end: Option<u64>,
    below: Bound,
    prefetched: Prefetched,
    /// The totals of the sound blocks.
    sums: Properties,
    /// The prefixes of the sound blocks, by the rule of the properties.
    prefixes: Option<PrefixBuilder>,
    /// Points of the histogram that blocks have confirmed.
    points: usize,
    /// The last entry of the blocks so far.
    last: Bound,
    /// Range deletes over the table.
    range_deletes: RangeDeletes,
    found: Vec<Corruption>,
    /// Something that only a later release can read.
    newer: Option<Error>,
}

/// The partition being checked.
struct CurrentPartition {
    index: BlockCursor,
    filter: Option<Filter>,
    number: usize,
}

/// A position in the order of entries; before all of them at first.
struct Bound {
    set: bool,
    key: Vec<u8>,
    tag: Tag,
}

impl Bound {
    const START: Self = Bound { set: false, key: Vec::new(), tag: Tag(0) };

    #[inline]
    fn set(&mut self, key: &[u8], tag: Tag) {
        self.set = true;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.tag = tag;
    }

    #[inline]
    fn is_before(&self, key: &[u8], tag: Tag) -> bool {
        !self.set || compare(&self.key, self.tag, key, tag) == Ordering::Less
    }
}

impl Table {
    /// Reads every byte of the file and checks it against everything else the table says; returns
    /// all damage found. A file that cannot be read is reported as damage.
    ///
    /// # Errors
    /// The errors of [`TableCheck::into_found`].
    #[inline]
    pub fn check(self: &Arc<Self>) -> Result<Vec<Corruption>> {
        let mut check = TableCheck::begin(Arc::clone(self));
        while check.step(u64::MAX) {}
        check.into_found()
    }
}

impl TableCheck {
    /// Starts a check: reads again what an open table keeps in memory.
    #[must_use]
    #[inline]
    pub fn begin(table: Arc<Table>) -> Self {
        let mut check = TableCheck {
            properties: None,
            opened: None,
            next: 0,
            current: None,
            end: Some(0),
            below: Bound::START,
            prefetched: Prefetched::default(),
            sums: Properties::default(),
            prefixes: None,
            points: 0,
            last: Bound::START,
            range_deletes: RangeDeletes::default(),
            found: Vec::new(),
            newer: None,
            table,
        };
        let info = check.table.info();
        let read =
            check.table.file().and_then(|file| OpenTable::read(file, info, &mut |_, _, _| ()));
        match read {
            Ok((opened, properties)) => {
                let rule = properties.prefixes.set().map(|set| set.rule());
                check.prefixes = rule.map(PrefixBuilder::new);
                (check.opened, check.properties) = (Some(Arc::new(opened)), Some(properties));
            }
            Err(e) => {
                check.report(e);
                check.opened = check.table.if_opened();
            }
        }
        check
    }

    /// The same, with the range deletes over the table: those that were applied to it left nothing that they hide.
    #[must_use]
    #[inline]
    pub fn under(mut self, range_deletes: RangeDeletes) -> Self {
        self.range_deletes = range_deletes;
        self
    }

    /// Checks about `bytes` bytes of blocks; returns whether any are left.
    #[inline]
    pub fn step(&mut self, bytes: u64) -> bool {
        let Some(opened) = self.opened.take() else { return false };
        let enough = self.end.unwrap_or(0).saturating_add(bytes);
        while let Some(current) = self.enter(&opened) {
            match self.check_partition(&opened, current, enough) {
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
    /// [`ErrorKind::NewerFormat`] if the table has something that only a later release can read.
    #[inline]
    pub fn into_found(self) -> Result<Vec<Corruption>> {
        self.newer.map_or(Ok(self.found), Err)
    }

    /// Records an error. One that is neither corruption nor a newer format is recorded as a table
    /// that cannot be read.
    #[inline]
    fn report(&mut self, error: Error) {
        if matches!(error.kind(), ErrorKind::NewerFormat(_)) {
            self.newer = Some(error);
            return;
        }
        self.found.push(error.into_corruption().unwrap_or_else(|e| {
            let file = format!("table {}", self.table.info().id.0);
            Corruption::new(&file, 0, "a table that can be read", e)
        }));
    }

    /// The current partition, or else the next one that can be read.
    #[inline]
    fn enter(&mut self, opened: &OpenTable) -> Option<CurrentPartition> {
        if let Some(current) = self.current.take() {
            return Some(current);
        }
        while let Some(partition) = opened.partitions.get(self.next) {
            let number = self.next;
            self.next += 1;
            let filter = match partition.handle.filter_len {
                0 => None,
                _ => match opened.read_filter(partition) {
                    Ok((filter, bytes)) => {
                        self.sums.filter_bytes += bytes as u64;
                        Some(filter)
                    }
                    Err(e) => {
                        self.report(e);
                        None
                    }
                },
            };
            let index = opened.read_index(partition).and_then(|(index, _)| {
                let mut index = BlockCursor::new(Arc::new(index.into_block()));
                let first = index.seek_first();
                first.map_err(|e| opened.damage(e, partition.handle.index_offset()))?;
                Ok(index)
            });
            match index {
                Ok(index) => return Some(CurrentPartition { index, filter, number }),
                Err(e) => {
                    self.report(e);
                    self.end = None;
                }
            }
        }
        None
    }

    /// Checks the current partition's index and its blocks, up to offset `enough` in the file;
    /// returns whether any are left. An error is damage to the index; damage to blocks is recorded.
    #[inline]
    fn check_partition(
        &mut self,
        opened: &OpenTable,
        mut current: CurrentPartition,
        enough: u64,
    ) -> Result<bool> {
        let Some(partition) = opened.partitions.get(current.number) else { return Ok(false) };
        let index = &mut current.index;
        let on_index = |e: Malformed| opened.damage(e, partition.handle.index_offset());
        while index.valid() {
            if self.end.is_some_and(|end| end >= enough) {
                self.current = Some(current);
                return Ok(true);
            }
            let handle = opened.handle(index.value(), partition)?;
            if let Some(end) = self.end.filter(|end| *end != handle.offset) {
                let expected = format_args!("a block at {end} after the one before");
                let found = format_args!("one at {}", handle.offset);
                return Err(on_index(Malformed::new(index.start(), expected, found)));
            }
            let checked =
                self.check_block(opened, handle, current.filter.as_ref(), index.key(), index.tag());
            if let Err(e) = checked {
                self.report(e);
            }
            self.below.set(index.key(), index.tag());
            self.end = Some(handle.offset + handle.len);
            index.advance().map_err(on_index)?;
        }
        self.check_index(opened, current).map_err(on_index)?;
        Ok(false)
    }

    /// Checks the index of a partition, all of whose blocks were checked, against the top level.
    #[inline]
    fn check_index(
        &self,
        opened: &OpenTable,
        CurrentPartition { index, number, .. }: CurrentPartition,
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
            // There is one for each partition.
            other => {
                let (key, tag) = other.unwrap_or((&[], Tag(0)));
                let last = entry_name(key, tag);
                let expected = format_args!("{last} as last separator");
                Err(Malformed::new(0, expected, entry_name(&self.below.key, self.below.tag)))
            }
        }
    }

    /// Checks the block at `handle`, whose last entry is at or below the separator.
    #[inline]
    fn check_block(
        &mut self,
        opened: &OpenTable,
        handle: BlockHandle,
        filter: Option<&Filter>,
        separator: &[u8],
        separator_tag: Tag,
    ) -> Result<()> {
        let (stored, _) =
            self.prefetched.block(opened, handle, Direction::Forward, MAX_READAHEAD_BYTES)?;
        let block = opened.decode_block(stored, handle.offset, Vec::new())?;
        let mut cursor = BlockCursor::new(Arc::new(block));
        let result =
            self.check_entries(&mut cursor, opened, handle, filter, separator, separator_tag);
        result.map_err(|e| opened.damage(e, handle.offset))
    }

    #[inline]
    fn check_entries(
        &mut self,
        cursor: &mut BlockCursor,
        opened: &OpenTable,
        handle: BlockHandle,
        filter: Option<&Filter>,
        separator: &[u8],
        separator_tag: Tag,
    ) -> Result<(), Malformed> {
        let mut entries = 0;
        let mut restarts = restart_offsets(cursor.block()).into_iter().peekable();
        cursor.seek_first()?;
        while cursor.valid() {
            let (at, key, tag) = (cursor.start(), cursor.key(), cursor.tag());
            let wrong = |expected: &str| Err(Malformed::new(at, expected, entry_name(key, tag)));
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
                self.report(newer_kind(opened.file.name(), tag.kind_byte()));
            }
            let is_cut = cursor.value().len() < EXPIRY_BYTES;
            if tag.kind() == Some(Kind::PutExpiring) && is_cut {
                return wrong("the time at which a value expires");
            }
            if is_operand(tag) && Merged::decode(tag, cursor.value()).is_err() {
                return wrong("an operand after the age of the oldest one in it");
            }
            let deleted = self.range_deletes.over(key).and_then(|over| over.first_after(tag.seq()));
            if deleted.is_some_and(|deleted| deleted <= self.table.info().cleared) {
                return wrong("no entry hidden by a range delete that is applied to this table");
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
            if let Some(prefixes) = &mut self.prefixes {
                prefixes.add(key);
            }
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
        let point =
            self.properties.as_ref().and_then(|properties| properties.histogram.get(self.points));
        self.points += usize::from(point.is_some_and(|p| p.bytes == end && p.key == self.last.key));
        Ok(())
    }

    /// Checks the totals against the properties and the manifest.
    #[inline]
    fn check_sums(&mut self, opened: &OpenTable) {
        let Some(properties) = &self.properties else { return };
        // Filters do not say for how many bits of a key they were built.
        self.sums.filter_bits = properties.filter_bits;
        self.sums.largest = std::mem::take(&mut self.last.key);
        let pairs = [
            ("bytes of keys", properties.key_bytes, self.sums.key_bytes),
            ("bytes of values", properties.value_bytes, self.sums.value_bytes),
            ("blocks", properties.blocks, self.sums.blocks),
            ("points of the histogram", properties.histogram.len() as u64, self.points as u64),
            (
                "bytes at the histogram's end",
                opened.data_len,
                properties.histogram.last().map_or(0, |p| p.bytes),
            ),
        ];
        let (file, offset) = (opened.file.name(), opened.properties.offset);
        for (what, expected, found) in pairs {
            if expected != found {
                let expected = format_args!("{expected} {what}");
                self.found.push(Corruption::new(file, offset, expected, found));
            }
        }
        if properties.kept.is_some_and(|kept| kept.entries > self.sums.entries) {
            let expected = "entries kept for snapshots within the counts of the table";
            self.found.push(Corruption::new(file, offset, expected, "more"));
        }
        let prefixes = self.prefixes.take().map(PrefixBuilder::finish).unwrap_or_default();
        if prefixes.set() != properties.prefixes.set() {
            let (expected, found) = ("the prefixes of the keys", "others");
            self.found.push(Corruption::new(file, offset, expected, found));
        }
        if let Some((expected, found)) = self.sums.differs_from(self.table.info()) {
            self.found.push(Corruption::new(file, offset, expected, found));
        }
    }
}

/// Returns the name of an entry in a report.
#[inline]
fn entry_name(key: &[u8], tag: Tag) -> String {
    format!("{} at sequence {}", escaped(key), tag.seq())
}

#[inline]
fn restart_offsets(block: &Block) -> Vec<usize> {
    block.restarts().iter().map(offset).collect()
}

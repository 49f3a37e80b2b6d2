//! Verifying a whole table against itself.
//!
//! 1. Everything behind the data is read anew. If it is damaged, the check goes on with the copies
//!    in memory, which were sound when the table was opened.
//! 2. The index must tile the data with blocks.
//! 3. Each block is read and its checksum verified. Its entries must ascend, from block to block
//!    too, lie above the separator of the block before and not above their own (so that separators
//!    ascend), and pass the filter; restart points must be entries that share nothing.
//! 4. Where all blocks are sound, the sums must be those of the properties and of the tree.

use super::Malformed;
use super::block::{Block, offset};
use super::block_cursor::BlockCursor;
use super::fetch::{AHEAD_BYTES_MAX, Direction, ReadAhead};
use super::filter::key_hash;
use super::index::Handle;
use super::properties::Properties;
use super::reader::{Meta, Table};
use crate::entry::{Tag, compare};
use crate::error::{Corruption, Error, Result};
use std::cmp::Ordering;
use std::sync::Arc;

/// The check of a table on its way.
pub struct TableCheck {
    table: Arc<Table>,
    /// What was read anew, where it is sound.
    fresh: Option<Meta>,
    /// At the next block; none when all were checked.
    index: Option<BlockCursor>,
    /// Where the last block ends, and the separator above it.
    end: u64,
    below: Bound,
    ahead: ReadAhead,
    /// What the sound blocks add up to.
    sums: Properties,
    /// Points of the histogram that blocks have borne out.
    points: usize,
    /// The last entry of the blocks so far.
    last: Bound,
    found: Vec<Corruption>,
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

/// What is known of a table: as it was read anew, or else as it was when the table was opened.
fn meta<'a>(fresh: &'a Option<Meta>, table: &'a Table) -> &'a Meta {
    fresh.as_ref().unwrap_or(&table.meta)
}

impl TableCheck {
    /// Reads everything behind the data anew.
    #[must_use]
    pub fn begin(table: Arc<Table>) -> Self {
        let (fresh, damage) = match Meta::read(table.file(), table.info()) {
            Ok(meta) => (Some(meta), None),
            Err(e) => (None, Some(e)),
        };
        let mut index = BlockCursor::new(Arc::clone(&meta(&fresh, &table).index));
        let first = index.seek_first();
        let mut check = TableCheck {
            table,
            fresh,
            index: None,
            end: 0,
            below: Bound::START,
            ahead: ReadAhead::default(),
            sums: Properties::default(),
            points: 0,
            last: Bound::START,
            found: Vec::new(),
        };
        damage.into_iter().for_each(|e| check.report(e));
        match check.on_index(first) {
            Ok(()) => check.index = Some(index),
            Err(e) => check.report(e),
        }
        check
    }

    /// Checks about `bytes` bytes of blocks; answers whether more is left.
    pub fn step(&mut self, bytes: u64) -> bool {
        let Some(mut index) = self.index.take() else { return false };
        match self.check_data(&mut index, bytes) {
            Ok(true) => {
                self.index = Some(index);
                return true;
            }
            Ok(false) => {}
            Err(e) => self.report(e),
        }
        if self.found.is_empty() {
            self.check_sums();
        }
        false
    }

    /// The damage that was found.
    #[must_use]
    pub fn into_found(self) -> Vec<Corruption> {
        self.found
    }

    /// Takes down a failure. What is not damage is a part that cannot be read, which is reported
    /// as such.
    fn report(&mut self, error: Error) {
        self.found.push(match error {
            Error::Corrupt(corruption) => *corruption,
            e => {
                let file = self.table.file().name();
                Corruption::new(file, 0, "a table that can be read", e)
            }
        });
    }

    /// Walks the index and its blocks; answers whether more is left. An error is damage of the
    /// index; damage of blocks is reported on the way.
    fn check_data(&mut self, index: &mut BlockCursor, bytes: u64) -> Result<bool> {
        let enough = self.end.saturating_add(bytes);
        while index.valid() {
            if self.end >= enough {
                return Ok(true);
            }
            let handle = self.table.handle(index.value())?;
            if handle.offset != self.end {
                let expected = format_args!("a block at {} after the one before", self.end);
                let found = format_args!("one at {}", handle.offset);
                self.on_index(Err(Malformed::new(index.start(), expected, found)))?;
            }
            if let Err(e) = self.check_block(handle, index.key(), index.tag()) {
                self.report(e);
            }
            self.below.set(index.key(), index.tag());
            self.end = handle.offset + handle.len;
            self.on_index(index.advance())?;
        }
        let data_len = meta(&self.fresh, &self.table).data_len;
        if self.end != data_len {
            let expected = format_args!("blocks up to {data_len}");
            let found = format_args!("an end at {}", self.end);
            self.on_index(Err(Malformed::new(0, expected, found)))?;
        }
        Ok(false)
    }

    fn on_index(&self, step: Result<(), Malformed>) -> Result<()> {
        let offset = meta(&self.fresh, &self.table).index_offset;
        step.map_err(|e| self.table.damage(e, offset))
    }

    /// Checks the block at `handle`, whose entries lie up to the separator.
    fn check_block(&mut self, handle: Handle, separator: &[u8], separator_tag: Tag) -> Result<()> {
        let (stored, _) =
            self.ahead.stored(&self.table, handle, Direction::Forward, AHEAD_BYTES_MAX)?;
        let block = self.table.unseal_block(stored, handle.offset, Vec::new())?;
        let mut cursor = BlockCursor::new(Arc::new(block));
        let result = self.check_entries(&mut cursor, handle, separator, separator_tag);
        result.map_err(|e| self.table.damage(e, handle.offset))
    }

    fn check_entries(
        &mut self,
        cursor: &mut BlockCursor,
        handle: Handle,
        separator: &[u8],
        separator_tag: Tag,
    ) -> Result<(), Malformed> {
        let mut entries = 0;
        let known = meta(&self.fresh, &self.table);
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
                return wrong("an entry of a known kind");
            }
            if restarts.next_if_eq(&at).is_some() && cursor.block().entry(at)?.shared != 0 {
                return wrong("an entry that shares nothing at a restart point");
            }
            if known.filter.as_ref().is_some_and(|f| !f.may_contain(key_hash(key))) {
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
        let point = known.properties.histogram.get(self.points);
        self.points += usize::from(point.is_some_and(|p| p.bytes == end && p.key == self.last.key));
        Ok(())
    }

    /// Holds the sums against the properties and what the tree knows of the table.
    fn check_sums(&mut self) {
        self.sums.largest = std::mem::take(&mut self.last.key);
        let known = meta(&self.fresh, &self.table);
        let said = &known.properties;
        let pairs = [
            ("bytes of keys", said.key_bytes, self.sums.key_bytes),
            ("bytes of values", said.value_bytes, self.sums.value_bytes),
            ("blocks", said.blocks, self.sums.blocks),
            ("points of the histogram", said.histogram.len() as u64, self.points as u64),
            (
                "bytes at the histogram's end",
                known.data_len,
                said.histogram.last().map_or(0, |p| p.bytes),
            ),
        ];
        let (file, offset) = (self.table.file().name(), known.properties_offset);
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

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
use super::block::Block;
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

/// Every damage of `table`.
pub(super) fn check(table: &Table) -> Vec<Corruption> {
    let fresh = Meta::read(table.file(), table.info());
    let (meta, damage) = match &fresh {
        Ok(meta) => (meta, None),
        Err(e) => (&table.meta, Some(e.clone())),
    };
    let mut checker = Checker {
        table,
        meta,
        ahead: ReadAhead::default(),
        sums: Properties::default(),
        points: 0,
        last: Bound::START,
        found: Vec::new(),
    };
    if let Some(e) = damage {
        checker.report(e);
    }
    if let Err(e) = checker.check_data() {
        checker.report(e);
    }
    if checker.found.is_empty() {
        checker.check_sums();
    }
    checker.found
}

struct Checker<'a> {
    table: &'a Table,
    meta: &'a Meta,
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

impl Checker<'_> {
    /// Takes down a failure. What is not damage is a part that cannot be read, which is reported
    /// as such.
    fn report(&mut self, error: Error) {
        self.found.push(match error {
            Error::Corrupt(corruption) => *corruption,
            e => {
                let file = self.table.file().name();
                Corruption::new(file, 0, "a table that can be read", e.to_string())
            }
        });
    }

    /// Walks the index and every block. An error is damage of the index; damage of blocks is
    /// reported on the way.
    fn check_data(&mut self) -> Result<()> {
        let mut index = BlockCursor::new(Arc::clone(&self.meta.index));
        let mut end = 0;
        let mut below = Bound::START;
        self.on_index(index.seek_first())?;
        while index.valid() {
            let handle = self.table.handle(index.value())?;
            if handle.offset != end {
                let expected = format!("a block at {end} after the one before");
                return self.on_index(Err(Malformed::new(
                    index.start(),
                    expected,
                    format!("one at {}", handle.offset),
                )));
            }
            if let Err(e) = self.check_block(handle, &below, index.key(), index.tag()) {
                self.report(e);
            }
            below.set(index.key(), index.tag());
            end = handle.offset + handle.len;
            self.on_index(index.advance())?;
        }
        if end != self.meta.data_len {
            let expected = format!("blocks up to {}", self.meta.data_len);
            self.on_index(Err(Malformed::new(0, expected, format!("an end at {end}"))))?;
        }
        Ok(())
    }

    fn on_index(&self, step: Result<(), Malformed>) -> Result<()> {
        step.map_err(|e| self.table.damage(e, self.meta.index_offset))
    }

    /// Checks the block at `handle`, whose entries lie above `below` and up to the separator.
    fn check_block(
        &mut self,
        handle: Handle,
        below: &Bound,
        separator: &[u8],
        separator_tag: Tag,
    ) -> Result<()> {
        let (stored, _) =
            self.ahead.stored(self.table, handle, Direction::Forward, AHEAD_BYTES_MAX)?;
        let block = self.table.unseal_block(stored, handle.offset, Vec::new())?;
        let mut cursor = BlockCursor::new(Arc::new(block));
        let result = self.check_entries(&mut cursor, handle, below, separator, separator_tag);
        result.map_err(|e| self.table.damage(e, handle.offset))
    }

    fn check_entries(
        &mut self,
        cursor: &mut BlockCursor,
        handle: Handle,
        below: &Bound,
        separator: &[u8],
        separator_tag: Tag,
    ) -> Result<(), Malformed> {
        let mut entries = 0;
        let mut restarts = restart_offsets(cursor.block()).into_iter().peekable();
        cursor.seek_first()?;
        while cursor.valid() {
            let (at, key, tag) = (cursor.start(), cursor.key(), cursor.tag());
            let wrong = |expected: &str| {
                let found = format!("{} at sequence {}", key.escape_ascii(), tag.seq());
                Err(Malformed::new(at, expected, found))
            };
            if !self.last.is_before(key, tag) {
                return wrong("an entry after the one before");
            }
            if !below.is_before(key, tag) {
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
            if self.meta.filter.as_ref().is_some_and(|f| !f.may_contain(key_hash(key))) {
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
            let expected = format!("{} entries, as the index says", handle.entries);
            return Err(Malformed::new(0, expected, entries.to_string()));
        }
        self.sums.blocks += 1;
        let end = handle.offset + handle.len;
        let point = self.meta.properties.histogram.get(self.points);
        self.points += usize::from(point.is_some_and(|p| p.bytes == end && p.key == self.last.key));
        Ok(())
    }

    /// Holds the sums against the properties and what the tree knows of the table.
    fn check_sums(&mut self) {
        self.sums.largest = std::mem::take(&mut self.last.key);
        let said = &self.meta.properties;
        let pairs = [
            ("bytes of keys", said.key_bytes, self.sums.key_bytes),
            ("bytes of values", said.value_bytes, self.sums.value_bytes),
            ("blocks", said.blocks, self.sums.blocks),
            ("points of the histogram", said.histogram.len() as u64, self.points as u64),
            (
                "bytes at the histogram's end",
                self.meta.data_len,
                said.histogram.last().map_or(0, |p| p.bytes),
            ),
        ];
        let differing = pairs.iter().filter(|(_, expected, found)| expected != found);
        let sums = differing.map(|(what, a, b)| (format!("{a} {what}"), b.to_string()));
        let (file, offset) = (self.table.file().name(), self.meta.properties_offset);
        let damage = sums
            .chain(self.sums.differs_from(self.table.info()))
            .map(|(expected, found)| Corruption::new(file, offset, expected, found));
        self.found.extend(damage);
    }
}

fn restart_offsets(block: &Block) -> Vec<usize> {
    block.restarts().iter().map(|point| u32::from_le_bytes(*point) as usize).collect()
}

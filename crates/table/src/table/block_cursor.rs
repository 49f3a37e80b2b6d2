//! The cursor over the entries of a block, in both directions.
//!
//! Forward, each key is built from the previous one in a reusable buffer. Backward, the entries of a
//! restart interval are decoded forward once and kept, then returned from last to first.

use super::Malformed;
use super::block::{Block, too_much_shared};
use super::key_heads::Found;
use crate::entry::{MAX_KEY_BYTES, Tag};
use crate::key_buffer::KeyBuffer;
use std::sync::Arc;

/// The most entries kept when moving backward: several restart intervals as they are written.
const MAX_PASSED: usize = 64;
/// The block of a cursor that has none yet.
static NO_BLOCK: Block = Block::empty();

/// A position in a block. It is not positioned at first, nor after an error.
#[derive(Debug, Default)]
pub struct BlockCursor {
    /// `None` in a cursor that has no block yet.
    block: Option<Arc<Block>>,
    valid: bool,
    /// The entry's bounds in the block, and the start of its value, which ends with the entry.
    start: usize,
    end: usize,
    value: usize,
    tag: Tag,
    key: KeyBuffer,
    /// Entries just before this one, when moving backward, and their keys.
    passed: Vec<Passed>,
    passed_keys: Vec<u8>,
}

/// An entry that was passed and is returned to.
#[derive(Debug)]
struct Passed {
    start: usize,
    end: usize,
    value: usize,
    tag: Tag,
    /// Start of its key in the buffer of keys. It ends with the buffer once the keys of later
    /// entries are truncated.
    key: usize,
}

impl BlockCursor {
    /// A cursor over `block`.
    #[must_use]
    pub fn new(block: Arc<Block>) -> Self {
        BlockCursor { block: Some(block), ..BlockCursor::default() }
    }

    /// Moves to another block, not positioned in it.
    pub(super) fn replace(&mut self, block: Arc<Block>) {
        self.valid = false;
        self.block = Some(block);
    }

    /// Takes the block out.
    pub(super) fn take_block(&mut self) -> Option<Arc<Block>> {
        self.valid = false;
        self.block.take()
    }

    /// Leaves the cursor without a position.
    pub(super) fn invalidate(&mut self) {
        self.valid = false;
    }

    /// The block.
    #[inline]
    pub(super) fn block(&self) -> &Block {
        self.block.as_deref().unwrap_or(&NO_BLOCK)
    }

    /// The entry's offset in the block.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Moves to the first entry.
    pub fn seek_first(&mut self) -> Result<(), Malformed> {
        self.valid = false;
        self.passed.clear();
        self.key.clear();
        match self.block().entries() {
            [] => Ok(()),
            _ => self.read(0).map(|_| ()),
        }
    }

    /// Moves to the last entry.
    pub fn seek_last(&mut self) -> Result<(), Malformed> {
        self.read_before(self.block().entries().len())
    }

    /// Moves to the first entry at or after (`key`, `tag`).
    pub fn seek(&mut self, key: &[u8], tag: Tag) -> Result<(), Malformed> {
        self.seek_known(key, tag, None)
    }

    /// Moves to the first entry at or after (`key`, `tag`). `known` is the result of the block's heads for `key`, if
    /// they were searched before.
    pub(super) fn seek_known(
        &mut self,
        key: &[u8],
        tag: Tag,
        known: Option<Found>,
    ) -> Result<(), Malformed> {
        self.valid = false;
        self.passed.clear();
        let block = self.block.as_deref().unwrap_or(&NO_BLOCK);
        if let Some(found) = block.lower_bound(key, tag, known)? {
            let entry = found.entry;
            self.value = entry.end - entry.value.len();
            let delta = block.entries().get(self.value - entry.delta.len()..);
            self.key.replace(0, key, entry.shared.min(key.len()));
            self.key.replace(self.key.len(), delta.unwrap_or_default(), entry.delta.len());
            (self.start, self.end, self.tag) = (found.at, entry.end, entry.tag);
            self.valid = true;
        }
        Ok(())
    }

    /// Moves to the last entry before (`key`, `tag`).
    pub fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<(), Malformed> {
        self.valid = false;
        let goal = self.block().lower_bound(key, tag, None)?.map(|found| found.at);
        self.read_before(goal.unwrap_or(self.block().entries().len()))
    }

    /// Moves to the next entry; past the last one the cursor is not valid.
    #[inline]
    pub fn advance(&mut self) -> Result<(), Malformed> {
        if self.advance_within()?.is_none() {
            self.passed.clear();
            self.valid = false;
        }
        Ok(())
    }

    /// Moves to the next entry of the block and returns whether its key is another. `None`, and no move, if there is
    /// none.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn advance_within(&mut self) -> Result<Option<bool>, Malformed> {
        match self.advance_short() {
            Some(moved) => Ok(Some(moved)),
            None if self.valid => self.advance_to(self.end),
            None => Ok(None),
        }
    }

    /// Moves to the next entry of the block, if it is short and extends a short key, and returns whether its key is
    /// another. `None`, and no move, otherwise.
    #[inline(always)]
    pub(super) fn advance_short(&mut self) -> Option<bool> {
        if !self.valid {
            return None;
        }
        let at = self.end;
        let block = self.block.as_deref().unwrap_or(&NO_BLOCK);
        let entry = block.short_entry(at)?;
        let is_same = self.key.extend_short(entry.shared, entry.rest, entry.unshared)?;
        self.passed.clear();
        self.value = entry.value;
        (self.start, self.end, self.tag) = (at, entry.end, entry.tag);
        Some(!is_same)
    }

    /// Takes the step of [`BlockCursor::advance_within`] to `at`, where no short entry lies.
    #[inline(never)]
    fn advance_to(&mut self, at: usize) -> Result<Option<bool>, Malformed> {
        if at >= self.block().entries().len() {
            return Ok(None);
        }
        self.passed.clear();
        self.read(at).map(Some)
    }

    /// Stands for an entry that is not read yet: the one with this key and tag, and without a value. No step is
    /// possible within the block.
    pub(super) fn promise(&mut self, key: &[u8], tag: Tag) {
        self.passed.clear();
        self.key.set(key);
        (self.tag, self.start, self.end, self.value) = (tag, 0, usize::MAX, usize::MAX);
        self.valid = true;
    }

    /// Moves to the previous entry; before the first one the cursor is not valid.
    pub fn retreat(&mut self) -> Result<(), Malformed> {
        if !self.valid {
            return Ok(());
        }
        let Some(before) = self.passed.pop() else { return self.read_before(self.start) };
        self.key.set(self.passed_keys.get(before.key..).unwrap_or_default());
        self.passed_keys.truncate(before.key);
        (self.start, self.end, self.value) = (before.start, before.end, before.value);
        self.tag = before.tag;
        Ok(())
    }

    /// Whether the cursor is on an entry.
    #[must_use]
    #[inline(always)]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// The user key.
    #[must_use]
    #[inline(always)]
    pub fn key(&self) -> &[u8] {
        if self.valid { self.key.as_slice() } else { &[] }
    }

    /// The sequence number and kind.
    #[must_use]
    #[inline(always)]
    pub fn tag(&self) -> Tag {
        if self.valid { self.tag } else { Tag(0) }
    }

    /// The value.
    #[must_use]
    #[inline(always)]
    pub fn value(&self) -> &[u8] {
        let value = self.block().entries().get(self.value..self.end).filter(|_| self.valid);
        value.unwrap_or_default()
    }

    /// Moves to the entry at `at`; `key` holds the previous key. Returns whether the entry's is another.
    #[inline(never)]
    fn read(&mut self, at: usize) -> Result<bool, Malformed> {
        self.valid = false;
        let block = self.block.as_deref().unwrap_or(&NO_BLOCK);
        let entry = block.entry(at)?;
        if entry.shared > self.key.len() {
            return Err(too_much_shared(at, entry.shared, self.key.len()));
        }
        if entry.shared + entry.delta.len() > MAX_KEY_BYTES {
            return Err(Malformed::new(
                at,
                format_args!("a key of at most {MAX_KEY_BYTES} bytes"),
                format_args!("{} and {} more", entry.shared, entry.delta.len()),
            ));
        }
        let is_same = self.key.as_slice().get(entry.shared..) == Some(entry.delta);
        self.value = entry.end - entry.value.len();
        let delta = block.entries().get(self.value - entry.delta.len()..);
        self.key.replace(entry.shared, delta.unwrap_or_default(), entry.delta.len());
        (self.start, self.end, self.tag) = (at, entry.end, entry.tag);
        self.valid = true;
        Ok(!is_same)
    }

    /// Moves to the entry that ends at `goal`, and keeps those before it back to the restart point;
    /// the cursor is not valid if `goal` is 0.
    fn read_before(&mut self, goal: usize) -> Result<(), Malformed> {
        self.valid = false;
        self.passed.clear();
        self.passed_keys.clear();
        if goal == 0 {
            return Ok(());
        }
        self.key.clear();
        let mut at = self.block().restart_before(goal);
        loop {
            self.read(at)?;
            if self.end == goal {
                return Ok(());
            }
            if self.passed.len() == MAX_PASSED {
                self.passed.clear();
                self.passed_keys.clear();
            }
            let (start, end, value) = (self.start, self.end, self.value);
            self.passed.push(Passed {
                start,
                end,
                value,
                tag: self.tag,
                key: self.passed_keys.len(),
            });
            self.passed_keys.extend_from_slice(self.key.as_slice());
            at = end;
        }
    }
}

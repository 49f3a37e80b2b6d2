//! The mapping through which a file is written, if it has one.

use terrane_table::file::{File, MappedFile};

/// A file's mapping, or none.
pub struct WriteMapping(Option<Box<dyn MappedFile>>);

impl WriteMapping {
    /// Maps `file`, whose first `len` bytes are allocated, for appends from offset `from` on, if that is allowed and
    /// the system can.
    #[must_use]
    pub fn of(file: &dyn File, from: u64, len: u64) -> Self {
        WriteMapping(file.map(from, len))
    }

    /// Writes `head` at `offset` and `rest` after it, storing `head` last. Returns whether it did.
    #[inline]
    pub fn append(&mut self, head: &[u8], rest: &[u8], offset: u64) -> bool {
        self.0.as_mut().is_some_and(|mapped| mapped.append(head, rest, offset))
    }
}

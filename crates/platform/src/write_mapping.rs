//! The mapping through which a file is written, if it has one.

use terrane_table::file::{File, MappedFile};

/// A file's mapping, or none.
#[derive(Default)]
pub struct WriteMapping(Option<Box<dyn MappedFile>>);

impl WriteMapping {
    /// Maps the first `len` bytes of `file`, to be written from offset `from` on, if that is allowed and the system
    /// can.
    #[must_use]
    pub fn of(file: &dyn File, from: u64, len: u64) -> Self {
        WriteMapping(file.map(from, len))
    }

    /// Writes `bytes` at `offset`; returns whether it did. Without a mapping nothing is written.
    #[inline]
    pub fn write(&mut self, bytes: &[u8], offset: u64) -> bool {
        self.0.as_mut().is_some_and(|mapped| mapped.write(bytes, offset))
    }

    /// Whether there is a mapping.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Takes the mapping, to be dropped elsewhere.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

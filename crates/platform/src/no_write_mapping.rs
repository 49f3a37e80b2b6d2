//! The mapping through which a file is written, in a browser, which maps none.

use terrane_table::file::File;

/// No mapping.
pub struct WriteMapping(());

impl WriteMapping {
    /// Returns no mapping.
    #[must_use]
    pub fn of(_: &dyn File, _from: u64, _len: u64) -> Self {
        WriteMapping(())
    }

    /// Returns `false`: nothing is written.
    pub fn append(&mut self, _head: &[u8], _rest: &[u8], _offset: u64) -> bool {
        false
    }
}

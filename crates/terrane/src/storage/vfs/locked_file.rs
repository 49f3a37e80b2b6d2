//! A file that this process holds alone, or shares with other readers, until it is closed.
//!
//! Closing it lets others have it while handles to it still exist: every later call on them fails.

use crate::error::{Closed, Error, Result};
use crate::storage::File;
use crate::storage::vfs::native::NativeFile;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct LockedFile {
    file: NativeFile,
    is_closed: AtomicBool,
}

impl LockedFile {
    /// `file`, on which this process holds a lock.
    pub(super) fn new(file: NativeFile) -> Self {
        LockedFile { file, is_closed: AtomicBool::new(false) }
    }

    fn opened(&self) -> Result<&NativeFile> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed(Closed::File));
        }
        Ok(&self.file)
    }
}

impl File for LockedFile {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.opened()?.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.opened()?.write_at(buf, offset)
    }

    fn sync(&self) -> Result<()> {
        self.opened()?.sync()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.opened()?.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.opened()?.allocate(len)
    }

    fn len(&self) -> Result<u64> {
        self.opened()?.len()
    }

    fn allocated(&self) -> Result<u64> {
        self.opened()?.allocated()
    }

    fn next_data(&self, offset: u64) -> Result<u64> {
        self.opened()?.next_data(offset)
    }

    fn close(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            self.file.unlock();
        }
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        self.close();
    }
}

//! Files in memory of which some bytes cannot be read.

use crate::error::{Error, Result};
use crate::storage::vfs::{MemoryVfs, Vfs};
use crate::storage::{File, StoreId};
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

/// A file system with a file of which `bad` cannot be read, nor what is read together with it.
pub(crate) struct BadSectors {
    pub(crate) vfs: MemoryVfs,
    pub(crate) name: String,
    pub(crate) bad: Range<u64>,
}

struct BadFile {
    file: Arc<dyn File>,
    bad: Range<u64>,
}

impl Vfs for BadSectors {
    fn place(&self) -> String {
        self.vfs.place()
    }
    fn draw_id(&self) -> Result<StoreId> {
        self.vfs.draw_id()
    }
    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        self.vfs.create(name)
    }
    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        let file = self.vfs.open(name)?;
        if name != self.name {
            return Ok(file);
        }
        Ok(Arc::new(BadFile { file, bad: self.bad.clone() }))
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.vfs.remove(name)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.vfs.rename(from, to)
    }
    fn list(&self) -> Result<Vec<String>> {
        self.vfs.list()
    }
    fn sync_names(&self) -> Result<()> {
        self.vfs.sync_names()
    }
}

impl File for BadFile {
    fn name(&self) -> &str {
        self.file.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        if offset < self.bad.end && self.bad.start < offset + buf.len() as u64 {
            let error = ErrorKind::InvalidData.into();
            return Err(Error::io("read", self.name(), buf.len() as u64, error));
        }
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.file.write_at(buf, offset)
    }
    fn sync(&self) -> Result<()> {
        self.file.sync()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_len(len)
    }
    fn len(&self) -> Result<u64> {
        self.file.len()
    }
}

//! A file system in memory that counts the bytes read and written, and the size of all table files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use terrane::Result;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::{File, StoreId};

/// The file system; clones share it.
#[derive(Clone, Default)]
pub struct CountingVfs {
    inner: Arc<MemoryVfs>,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    moved_bytes: u64,
    /// Bytes of each table file, of all together, and the peak of that.
    tables: HashMap<String, u64>,
    tables_bytes: u64,
    table_bytes_peak: u64,
}

impl Counts {
    /// A file now has this length; 0 if it was removed.
    fn resize(&mut self, name: &str, len: u64) {
        if !name.ends_with(".sst") {
            return;
        }
        let before = self.tables.insert(name.to_owned(), len).unwrap_or(0);
        self.tables_bytes = self.tables_bytes - before + len;
        self.table_bytes_peak = self.table_bytes_peak.max(self.tables_bytes);
    }
}

impl CountingVfs {
    /// Bytes read and written so far.
    #[must_use]
    pub fn moved_bytes(&self) -> u64 {
        self.with(|counts| counts.moved_bytes)
    }

    /// The peak size of all table files together, including those being written.
    #[must_use]
    pub fn table_bytes_peak(&self) -> u64 {
        self.with(|counts| counts.table_bytes_peak)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Counts) -> T) -> T {
        f(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn file(&self, inner: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(CountingFile { inner, vfs: self.clone() })
    }
}

impl Vfs for CountingVfs {
    fn place(&self) -> String {
        self.inner.place()
    }
    fn draw_id(&self) -> Result<StoreId> {
        self.inner.draw_id()
    }
    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        Ok(self.file(self.inner.create(name)?))
    }
    fn path_of(&self, name: &str) -> Option<PathBuf> {
        self.inner.path_of(name)
    }
    fn link(&self, from: &Path, name: &str) -> Result<bool> {
        self.inner.link(from, name)
    }
    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        Ok(self.file(self.inner.open(name)?))
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)?;
        self.with(|counts| counts.resize(name, 0));
        Ok(())
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename(from, to)
    }
    fn list(&self) -> Result<Vec<String>> {
        self.inner.list()
    }
    fn sync_names(&self) -> Result<()> {
        self.inner.sync_names()
    }
}

struct CountingFile {
    inner: Arc<dyn File>,
    vfs: CountingVfs,
}

impl CountingFile {
    fn count(&self, moved: usize) -> Result<()> {
        let len = self.inner.len()?;
        self.vfs.with(|counts| {
            counts.moved_bytes += moved as u64;
            counts.resize(self.inner.name(), len);
        });
        Ok(())
    }
}

impl File for CountingFile {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.vfs.with(|counts| counts.moved_bytes += buf.len() as u64);
        self.inner.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let written = self.inner.write_at(buf, offset)?;
        self.count(written)?;
        Ok(written)
    }
    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)?;
        self.count(0)
    }
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }
}

//! A file system of one's own under the store: it wraps another and counts what the store does with
//! it. `cargo run --example own_storage`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::{Directory, File, StoreId};
use terrane::{Db, Durability, Options, Result};

#[derive(Default)]
struct Counts {
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    syncs: AtomicU64,
}

/// A flat set of files, all of whose reads and writes are counted.
struct Counting {
    inner: MemoryVfs,
    counts: Arc<Counts>,
}

impl Counting {
    fn counted(&self, inner: Result<Arc<dyn File>>) -> Result<Arc<dyn File>> {
        Ok(Arc::new(CountingFile { inner: inner?, counts: self.counts.clone() }))
    }
}

impl Vfs for Counting {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn draw_id(&self) -> Result<StoreId> {
        StoreId::random()
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        self.counted(self.inner.create(name))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        self.counted(self.inner.open(name))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_names(&self) -> Result<()> {
        self.counts.syncs.fetch_add(1, Relaxed);
        self.inner.sync_names()
    }
}

struct CountingFile {
    inner: Arc<dyn File>,
    counts: Arc<Counts>,
}

impl File for CountingFile {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let read = self.inner.read_at(buf, offset)?;
        self.counts.read_bytes.fetch_add(read as u64, Relaxed);
        Ok(read)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let written = self.inner.write_at(buf, offset)?;
        self.counts.written_bytes.fetch_add(written as u64, Relaxed);
        Ok(written)
    }

    fn sync(&self) -> Result<()> {
        self.counts.syncs.fetch_add(1, Relaxed);
        self.inner.sync()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }

    fn len(&self) -> Result<u64> {
        self.inner.len()
    }
}

fn main() -> Result<()> {
    let counts = Arc::new(Counts::default());
    let files = Counting { inner: MemoryVfs::new(), counts: counts.clone() };
    let storage = Arc::new(Directory::open(Arc::new(files))?);
    let db = Db::open_storage(storage, Options::default(), Arc::new(SliceExecutor::default()))?;
    let rows = db.default_keyspace();

    for n in 0..10_000u32 {
        rows.put(n.to_be_bytes(), [7; 100], Durability::Buffered)?;
    }
    let before = counts.syncs.load(Relaxed);
    rows.put("last", "of all", Durability::Sync)?;
    println!("a synced write: {} sync", counts.syncs.load(Relaxed) - before);

    db.flush()?;
    assert_eq!(rows.scan(..)?.count(), 10_001);
    let [read, written] = [&counts.read_bytes, &counts.written_bytes].map(|n| n.load(Relaxed));
    println!("in all: {written} bytes written, {read} read");
    assert!(written > 1_000_000 && read > 0);
    db.close()
}

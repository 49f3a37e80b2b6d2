//! On one thread a steady load pays for its background work as it goes: no write does much of it at
//! once, none must wait, and what waits in memory stays bounded. Told in bytes, not in time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use terrane::driver::SliceDriver;
use terrane::storage::medium::{Medium, MemoryMedium};
use terrane::storage::{Directory, File};
use terrane::table::{Compression, TableOptions};
use terrane::{Db, Durability, Options, Result};
use terrane_tests::rig::sized_policies;

/// A medium that counts the bytes that are read and written.
struct Metered {
    inner: MemoryMedium,
    bytes: Arc<AtomicU64>,
}

struct MeteredFile {
    inner: Arc<dyn File>,
    bytes: Arc<AtomicU64>,
}

impl Metered {
    fn file(&self, inner: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(MeteredFile { inner, bytes: self.bytes.clone() })
    }
}

impl Medium for Metered {
    fn place(&self) -> String {
        self.inner.place()
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
        self.inner.remove(name)
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

impl File for MeteredFile {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.bytes.fetch_add(buf.len() as u64, Relaxed);
        self.inner.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.bytes.fetch_add(buf.len() as u64, Relaxed);
        self.inner.write_at(buf, offset)
    }
    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }
}

/// Random puts into a store on one thread; answers the bytes that each write moved on the medium.
fn load(options: &Options, writes: u64) -> Vec<u64> {
    let bytes = Arc::new(AtomicU64::new(0));
    let medium = Metered { inner: MemoryMedium::new(), bytes: bytes.clone() };
    let storage = Directory::open(Arc::new(medium)).unwrap();
    let driver = Arc::new(SliceDriver::default());
    let db = Db::open_storage(Arc::new(storage), options.clone(), driver).unwrap();
    let keyspace = db.default_keyspace();
    let moved = (0..writes).map(|n| {
        let before = bytes.load(Relaxed);
        let key = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        keyspace.put(&key, &[7; 100], Durability::Buffered).unwrap();
        if n % 64 == 0 {
            let stats = db.stats().unwrap();
            let waiting = &stats.keyspaces[0];
            assert!(waiting.memtables_sealed <= options.memtables_max);
            assert!(waiting.levels.first().is_none_or(|l| l.runs <= options.level0_runs_max));
        }
        bytes.load(Relaxed) - before
    });
    let moved = moved.collect();
    let stats = db.stats().unwrap();
    let written = stats.flushed_bytes + stats.merge_written_bytes;
    assert!(written > 8 << 20, "the load makes work: {written}");
    assert_eq!(stats.stalls, 0, "{}", keyspace.policy().unwrap().name());
    moved
}

#[test]
fn a_steady_load_never_waits_and_no_write_does_much_at_once() {
    for policy in sized_policies(128 << 10, 32 << 10) {
        let name = policy.name();
        let options = Options {
            memtable_bytes: 64 << 10,
            memtables_max: 2,
            log_bytes: 256 << 10,
            logs_bytes_max: 1 << 20,
            policy,
            table: TableOptions { compression: Compression::None, ..TableOptions::default() },
            ..Options::default()
        };
        // A merge begins by reading of each of its inputs, of which level 0 may be many.
        let bound = options.level0_runs_max as u64 * options.memtable_bytes;
        let most = load(&options, 40_000).into_iter().max().unwrap();
        assert!(most < bound, "{name} moves {most} bytes in one write");
    }
}

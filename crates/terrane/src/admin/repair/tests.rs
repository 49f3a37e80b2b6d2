//! Repair of small stores in memory: any damage, against what is known to be intact (`model`); the
//! manifest and the keyspaces (`manifest`); tables (`tables`, `renamed`); logs (`logs`); what cannot be read
//! (`sectors`); rows that may not be what they were (`doubtful`); merges (`operands`).

mod doubtful;
mod logs;
mod manifest;
mod model;
mod operands;
mod renamed;
mod sectors;
mod tables;

use super::*;
use crate::batch::WriteBatch;
use crate::entry::{Kind, Tag};
use crate::executor::SliceExecutor;
use crate::keyspace::KeyspaceId;
use crate::options::{Durability, Options};
use crate::storage::vfs::{MemoryVfs, Vfs};
use crate::storage::volume::VolumeOptions;
use crate::storage::volume::superblock::{self, Slot};
use crate::storage::{Directory, Storage, StoreId, Volume, read_exact_at, salvage, write_all_at};
use crate::table::TableOptions;

/// Layout of a store in its file system.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Directory,
    Volume,
}

const LAYOUTS: [Layout; 2] = [Layout::Directory, Layout::Volume];
const BACKING: &str = "store";
/// Alignment of records in a mirror of the manifest.
const RECORD_ALIGN: u64 = 16 << 10;

/// A store in memory.
struct Store {
    layout: Layout,
    vfs: MemoryVfs,
}

impl Store {
    fn new(layout: Layout) -> Store {
        let vfs = MemoryVfs::new();
        if layout == Layout::Volume {
            vfs.create(BACKING).unwrap();
        }
        Store { layout, vfs }
    }

    /// A store with the same bytes.
    fn copy(&self) -> Store {
        let copy = Store { vfs: MemoryVfs::new(), ..*self };
        for (name, bytes) in contents(&self.vfs) {
            write_all_at(&*copy.vfs.create(&name).unwrap(), &bytes, 0).unwrap();
        }
        copy
    }

    fn storage(&self) -> Arc<dyn Storage> {
        if self.layout == Layout::Directory {
            return Arc::new(Directory::open(Arc::new(self.vfs.clone())).unwrap());
        }
        let backings = vec![self.vfs.open(BACKING).unwrap()];
        let new_id = StoreId::new([7; StoreId::BYTES]);
        let options = VolumeOptions { new_id, ..VolumeOptions::default() };
        Arc::new(Volume::open(backings, options).unwrap())
    }

    /// Opens it, with tables of many blocks and short logs. Nothing is merged unless it is asked for.
    fn open(&self) -> Db {
        let table = TableOptions { block_bytes: 256, partition_bytes: 64, ..Default::default() };
        let options = Options { wal_file_bytes: 4 << 10, table, ..Options::small() };
        Db::open_storage(self.storage(), options, Arc::new(SliceExecutor::default())).unwrap()
    }

    /// The state in its manifest, and its files.
    fn look(&self) -> (VersionSet, Arc<dyn Storage>) {
        let storage = self.storage();
        let recovered = storage.recover().unwrap().unwrap();
        (VersionSet::replay(&recovered.edits).unwrap(), storage)
    }

    fn remains(&self) -> Remains {
        match self.layout {
            Layout::Directory => salvage::directory(&self.vfs).unwrap(),
            Layout::Volume => salvage::volume(&self.vfs.open(BACKING).unwrap()).unwrap(),
        }
    }

    /// Repairs it into a new store, and checks that only this one was written to.
    fn repair(&self) -> (Db, Salvaged) {
        let before = contents(&self.vfs);
        let repaired = repaired(self.remains());
        assert!(contents(&self.vfs) == before, "the damaged store was changed");
        repaired
    }

    /// The raw file with the manifest, where its region starts, and how long that is.
    fn manifest(&self) -> (Arc<dyn File>, u64, u64) {
        if self.layout == Layout::Directory {
            let manifest = |name: &String| name.starts_with("MANIFEST");
            let name = self.vfs.list().unwrap().into_iter().find(manifest).unwrap();
            let file = self.vfs.open(&name).unwrap();
            let len = file.len().unwrap();
            return (file, 0, len);
        }
        let file = self.vfs.open(BACKING).unwrap();
        let Slot::Valid(slot) = superblock::decode(&bytes(&*file)[..512]) else {
            panic!("a sound superblock")
        };
        (file, slot.manifest_offset, slot.manifest_len)
    }

    /// Destroys both copies of a record of the manifest. The records must be short.
    fn lose_record(&self, index: u64) {
        let (file, base, len) = self.manifest();
        for mirror in [0, len / 2] {
            flip(&*file, base + mirror + index * RECORD_ALIGN + 20);
        }
    }

    /// Destroys all that leads to the store's files.
    fn lose_manifest(&self) {
        let (file, base, len) = self.manifest();
        write_all_at(&*file, &vec![0; len as usize], base).unwrap();
    }
}

fn repaired(remains: Remains) -> (Db, Salvaged) {
    let target = Store::new(Layout::Directory).open();
    let report = repair(remains, &target, DoubtfulRows::Together).unwrap();
    (target, report)
}

fn flip(file: &dyn File, at: u64) {
    let mut byte = [0];
    read_exact_at(file, &mut byte, at).unwrap();
    write_all_at(file, &[byte[0] ^ 1], at).unwrap();
}

fn bytes(file: &dyn File) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    read_exact_at(file, &mut bytes, 0).unwrap();
    bytes
}

fn contents(vfs: &MemoryVfs) -> BTreeMap<String, Vec<u8>> {
    let names = vfs.list().unwrap().into_iter();
    names.map(|name| (name.clone(), bytes(&*vfs.open(&name).unwrap()))).collect()
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows(db: &Db, keyspace: &str) -> Rows {
    db.create_keyspace(keyspace).unwrap().scan(..).unwrap().collect::<Result<_>>().unwrap()
}

/// All rows, by keyspace.
fn all_rows(db: &Db) -> BTreeMap<String, Rows> {
    db.keyspaces().into_iter().map(|name| (name.clone(), rows(db, &name))).collect()
}

fn put(db: &Db, keyspace: &str, key: &str, value: &str) -> Seq {
    db.create_keyspace(keyspace).unwrap().put(key, value, Durability::Buffered).unwrap()
}

/// The value of a key in the default keyspace.
fn get(db: &Db, key: &str) -> Option<String> {
    db.default_keyspace().get(key).unwrap().map(|value| String::from_utf8(value).unwrap())
}

fn of_file<'a>(report: &'a Salvaged, name: &str) -> &'a SalvagedFile {
    report.files.iter().find(|file| file.file == name).unwrap()
}

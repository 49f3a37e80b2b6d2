//! Fuzz targets that open an engine on what a decoder accepted, and write to it.
//!
//! 1. Two small stores are made once, one in a directory and one in a volume.
//! 2. A target replaces a part of one with arbitrary bytes and correct checksums
//!    ([`crate::checksum_fix`]): whatever passes the decoder's own checks must do no harm later.
//! 3. The store is opened, read, written, flushed, compacted, checked and reopened. Each call may
//!    return an error; none panics or runs forever, and a write acknowledged as durable reads back
//!    unchanged or is refused.

use crate::checksum_fix;
use crate::crash::play;
use crate::fixtures::{Kind, Rig, tiny};
use crate::fuzz::Target;
use crate::history::History;
use crate::image::Image;
use crate::workload::{Step, workload};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use terrane::storage::fuzz::{ManifestId, decode_record};
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::{FileId, write_all_at};
use terrane::table::footer::FOOTER_BYTES;
use terrane::version::{Edit, VersionSet};
use terrane::{Db, Durability, Result};

/// All targets; each takes the inputs of the decoder it is named after.
pub const ENGINES: [Target; 6] = [
    ("engine_log", log),
    ("engine_manifest", manifest),
    ("engine_edit", edit),
    ("engine_current", current),
    ("engine_superblock", superblock),
    ("engine_table", table),
];

/// Number of successful writes on stores that a target damaged.
pub static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Limit on entries read from a store whose tables may claim anything.
const ENTRIES_MAX: usize = 10_000;

/// A closed store, and the location of its parts.
struct Store {
    kind: Kind,
    image: Image,
    manifest: Manifest,
    version_set: VersionSet,
}

/// The manifest's region.
struct Manifest {
    file: String,
    base: u64,
    len: u64,
    /// End of its records in each mirror.
    end: u64,
    id: ManifestId,
}

impl Store {
    fn make(kind: Kind) -> Store {
        let image = small(kind);
        let (file, base, bytes, id) = image.manifest(kind, &mut Vec::new());
        let scanned =
            terrane::storage::fuzz::scan(bytes, id, file, base).expect("a sound manifest");
        let (len, end) = (bytes.len() as u64, scanned.end);
        let manifest = Manifest { file: file.to_owned(), base, len, end, id };
        let mut version_set = VersionSet::default();
        for (number, (_, record)) in scanned.records.iter().enumerate() {
            let edit = decode_record(record).expect("a sound record").edit;
            let edit = edit.map(|edit| Edit::decode(edit, number as u64).expect("a sound edit"));
            edit.iter().for_each(|edit| version_set.apply(edit).expect("an edit that fits"));
        }
        Store { kind, image, manifest, version_set }
    }

    fn get(kind: Kind) -> &'static Store {
        static DIRECTORY: OnceLock<Store> = OnceLock::new();
        static VOLUME: OnceLock<Store> = OnceLock::new();
        let store = if kind.backings().is_empty() { &DIRECTORY } else { &VOLUME };
        store.get_or_init(|| Store::make(kind))
    }

    /// A file system with the store, and these bytes in one of its files.
    fn with(&self, file: &str, offset: u64, bytes: &[u8]) -> MemoryVfs {
        let vfs = self.image.vfs();
        put(&vfs, file, offset, bytes);
        vfs
    }

    /// The first mirror of the manifest, up to its last record.
    fn records(&self) -> &[u8] {
        let Manifest { file, base, end, .. } = &self.manifest;
        &self.image.files[file][*base as usize..][..*end as usize]
    }

    /// A file system with the store and this manifest.
    fn with_manifest(&self, records: &[u8]) -> MemoryVfs {
        let Manifest { file, base, len, .. } = &self.manifest;
        let mirror = *len as usize / 2;
        let mut bytes = records.to_vec();
        checksum_fix::manifest(&mut bytes, self.manifest.id, *len);
        bytes.resize(mirror, 0);
        // The second mirror ends without a witness, so it does not count.
        self.with(file, *base, &[&bytes[..], &bytes[..]].concat())
    }
}

fn put(vfs: &MemoryVfs, file: &str, offset: u64, bytes: &[u8]) {
    let file = vfs.open(file).expect("a file of the store");
    write_all_at(&*file, bytes, offset).expect("room in memory");
}

/// A small closed store with some tables, and after them records and claims in the log. The manifest
/// has no closing claim: logs that end earlier are recovered.
pub(crate) fn small(kind: Kind) -> Image {
    let rig = Rig::new(kind);
    // So few that the manifest has room for another edit.
    let mut steps = workload(5, 30);
    steps.push(Step::Flush);
    steps.extend(workload(6, 12).into_iter().filter(|s| matches!(s, Step::Write { .. })));
    let db = rig.open(tiny(), 5).expect("a new store");
    play(db, &rig, 5, &steps, &mut History::default()).expect("nothing fails");
    let mut image = Image::of(&rig.vfs);
    let (file, base, bytes, _) = image.manifest(kind, &mut Vec::new());
    let (file, end) = (file.to_owned(), base as usize + bytes.len());
    let bytes = image.files.get_mut(&file).expect("the manifest's file");
    let witness = end - checksum_fix::MANIFEST_SLOT;
    bytes[witness + 16..witness + 32].fill(0);
    image
}

/// A log.
pub fn log(data: &[u8]) {
    let store = Store::get(Kind::MemoryDirectory);
    let log = store.version_set.logs.first().expect("a log");
    let (id, name) = (log.id(), FileId::log(log.file).to_string());
    let mut bytes = data.to_vec();
    checksum_fix::log(&mut bytes, id);
    bytes.truncate(store.image.files[&name].len());
    bytes.extend([0; 8]);
    work(store.kind, store.with(&name, 0, &bytes));
}

/// The start of a manifest, followed by the store's own records: a manifest that ends before what
/// the tables and logs refer to would be refused.
pub fn manifest(data: &[u8]) {
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        let store = Store::get(kind);
        let mut bytes = data[..data.len().min(store.manifest.len as usize / 4)].to_vec();
        bytes.resize(bytes.len().next_multiple_of(checksum_fix::MANIFEST_SLOT), 0);
        bytes.extend(store.records().get(bytes.len()..).unwrap_or_default());
        work(kind, store.with_manifest(&bytes));
    }
}

/// An edit after the store's own.
pub fn edit(data: &[u8]) {
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        let store = Store::get(kind);
        let mut bytes = store.records().to_vec();
        bytes.extend([0; 8]);
        bytes.extend((data.len() as u32 + 3).to_le_bytes());
        bytes.extend([0; 20]);
        bytes.extend([0, 0, 1]);
        bytes.extend(data);
        // The last slot of a mirror holds no record.
        if bytes.len() + checksum_fix::MANIFEST_SLOT <= store.manifest.len as usize / 2 {
            work(kind, store.with_manifest(&bytes));
        }
    }
}

/// A directory's `CURRENT`.
pub fn current(data: &[u8]) {
    let store = Store::get(Kind::MemoryDirectory);
    let mut bytes = data.to_vec();
    checksum_fix::head(&mut bytes, b"TRNCUR\r\n", 32);
    let vfs = store.with("CURRENT", 0, &[]);
    vfs.open("CURRENT").expect("a file").set_len(0).expect("a length");
    put(&vfs, "CURRENT", 0, &bytes);
    work(store.kind, vfs);
}

/// Both slots of a volume's superblock.
pub fn superblock(data: &[u8]) {
    let store = Store::get(Kind::MemoryVolume);
    let mut bytes = data.to_vec();
    checksum_fix::head(&mut bytes, b"TRNVOL\r\n", 64);
    bytes.resize(16 << 10, 0);
    let vfs = store.with(Kind::MemoryVolume.backings()[0], 0, &[&bytes[..], &bytes[..]].concat());
    work(store.kind, vfs);
}

/// A table in place of the one with its number, or of the first one.
pub fn table(data: &[u8]) {
    let store = Store::get(Kind::MemoryDirectory);
    let tables = store.version_set.tables();
    let number = data.len().checked_sub(FOOTER_BYTES).map(|end| data[end..end + 8].to_vec());
    let own = tables.iter().find(|t| number.as_ref().is_some_and(|n| *n == t.id.0.to_le_bytes()));
    let info = own.or(tables.first()).expect("a table");
    let mut bytes = data.to_vec();
    // The length is that of the manifest, and the footer is at the end.
    let len = info.bytes as usize;
    if bytes.len() != len && bytes.len() > FOOTER_BYTES {
        let footer = bytes.split_off(bytes.len() - FOOTER_BYTES);
        bytes.resize(len.saturating_sub(FOOTER_BYTES), 0);
        bytes.extend(footer);
    }
    checksum_fix::table(&mut bytes);
    work(store.kind, store.with(&FileId::table(info.id.0).to_string(), 0, &bytes));
}

/// Step 3.
fn work(kind: Kind, vfs: MemoryVfs) {
    let rig = Rig::over(kind, Arc::new(vfs));
    let key = b"written";
    for round in 0..3u8 {
        let Ok(db) = rig.open(tiny(), round.into()) else { return };
        let keyspace = db.default_keyspace();
        // What was acknowledged as durable, if nothing has failed since.
        let written = keyspace.get(key);
        assert!(round == 0 || !matches!(&written, Ok(value) if value.as_deref() != Some(&[round])));
        let _ = look(&db);
        if keyspace.put(key, &[round + 1], Durability::Sync).is_err() {
            return;
        }
        WRITTEN.fetch_add(1, Ordering::Relaxed);
        let read = keyspace.get(key);
        assert!(!matches!(&read, Ok(value) if value.as_deref() != Some(&[round + 1])), "{read:?}");
        let _ = db.check();
        // In the first round everything stays in the log, which is read on the next open.
        if round > 0 {
            let _ = change(&db);
        }
        let read = keyspace.get(key);
        assert!(!matches!(&read, Ok(value) if value.as_deref() != Some(&[round + 1])), "{read:?}");
        let _ = db.close();
    }
}

/// Reads in every way there is.
fn look(db: &Db) -> Result<()> {
    let snapshot = db.snapshot();
    for name in db.keyspaces() {
        let keyspace = db.create_keyspace(&name)?;
        let keys = keyspace.scan(..)?.take(ENTRIES_MAX).map(|row| row.map(|(key, _)| key));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        for key in &keys {
            let _ = keyspace.get(key);
        }
    }
    drop(snapshot);
    db.stats().map(drop)
}

/// Flushes and compacts.
fn change(db: &Db) -> Result<()> {
    db.create_keyspace("other")?.put(b"other", b"one", Durability::Buffered)?;
    db.flush()?;
    db.default_keyspace().compact_range(..)?;
    db.wait_until_idle()
}

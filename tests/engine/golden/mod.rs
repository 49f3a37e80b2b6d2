//! Stores written by earlier releases (`tests/golden`), which every later release must read.
//!
//! * `content` - the content of a store, as a list of rules kept next to it.
//! * `write` - writes a set of stores, one for each kind of storage.
//! * `format` - reads a store as FORMAT.md describes it, without the engine.

mod content;
mod format;
mod write;

use content::Content;
use format::{Files, Place, Store};
use std::path::{Path, PathBuf};
use terrane::{Db, Durability, Keyspace, Options};

/// The file of a volume; the files of a directory have their own names.
const VOLUME: &str = "store.volume";

/// One store of a set.
struct Golden {
    place: PathBuf,
    content: Content,
}

impl Golden {
    fn all() -> Vec<Golden> {
        let folders = |path: PathBuf| -> Vec<PathBuf> {
            let mut found: Vec<_> =
                std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
            found.sort();
            found
        };
        let stores = folders(golden()).into_iter().flat_map(folders);
        let open = |place: PathBuf| {
            let rules = std::fs::read_to_string(place.join("content.txt")).unwrap();
            Golden { content: Content::of(&rules), place: place.join("store") }
        };
        let all: Vec<_> = stores.map(open).collect();
        assert!(all.len() >= 2, "a set has two stores");
        all
    }

    fn is_volume(&self) -> bool {
        self.place.join(VOLUME).is_file()
    }

    /// A copy to write to.
    fn copy(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(&self.place).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
        copy
    }

    /// Reads the store, or a copy of it, as FORMAT.md describes it.
    fn read(&self, place: &Path) -> Store {
        let files = std::fs::read_dir(place).unwrap().map(|file| {
            let file = file.unwrap();
            (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())
        });
        let files: Files = files.collect();
        Store::read(&files, if self.is_volume() { Place::Volume } else { Place::Directory })
    }

    fn open(&self, copy: &Path) -> Db {
        let options = Options::default().create(false);
        if self.is_volume() {
            Db::open_file(copy.join(VOLUME), options).unwrap()
        } else {
            Db::open(copy, options).unwrap()
        }
    }
}

/// The folder of the sets.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// Checks gets, and scans in both directions.
fn holds(db: &Db, content: &Content) {
    let mut names = db.keyspaces();
    names.sort();
    assert!(names.iter().eq(content.keyspaces.keys()), "{names:?}");
    for (name, expected) in &content.keyspaces {
        let keyspace = db.create_keyspace(name).unwrap();
        for (key, value) in expected {
            assert_eq!(keyspace.get(key).unwrap().as_ref(), Some(value));
        }
        let entries = || expected.iter().map(|(key, value)| (key.clone(), value.clone()));
        assert!(scanned(&keyspace, false).eq(&entries().collect::<Vec<_>>()), "{name} forward");
        assert!(scanned(&keyspace, true).eq(&entries().rev().collect::<Vec<_>>()), "{name} back");
    }
}

type Entry = (Vec<u8>, Vec<u8>);

fn scanned(keyspace: &Keyspace, backward: bool) -> Vec<Entry> {
    let scan = keyspace.scan(..).unwrap();
    let rows: terrane::Result<_> = if backward { scan.rev().collect() } else { scan.collect() };
    rows.unwrap()
}

#[test]
fn every_golden_store_opens_reads_back_and_takes_writes() {
    for golden in Golden::all() {
        let copy = golden.copy();
        let mut content = golden.content.clone();
        let db = golden.open(copy.path());
        holds(&db, &content);
        assert_eq!(db.check().unwrap().damage, []);
        assert!(db.stats().unwrap().keyspaces.iter().all(|k| k.policy_problems.is_empty()));
        for (n, (name, entries)) in content.keyspaces.iter_mut().enumerate() {
            let keyspace = db.create_keyspace(name).unwrap();
            for key in entries.keys().step_by(5) {
                keyspace.delete(key, Durability::Buffered).unwrap();
            }
            entries.retain({
                let gone: Vec<_> = entries.keys().step_by(5).cloned().collect();
                move |key, _| !gone.contains(key)
            });
            keyspace.put(b"new", &[n as u8], Durability::Buffered).unwrap();
            entries.insert(b"new".to_vec(), vec![n as u8]);
        }
        holds(&db, &content);
        db.close().unwrap();
        let db = golden.open(copy.path());
        holds(&db, &content);
        db.wait_until_idle().unwrap();
        db.keyspaces().iter().for_each(|name| {
            db.create_keyspace(name).unwrap().compact_range(..).unwrap();
        });
        holds(&db, &content);
        assert_eq!(db.check().unwrap().damage, []);
    }
}

#[test]
fn format_md_suffices_to_read_every_golden_store() {
    for golden in Golden::all() {
        let store = golden.read(&golden.place);
        assert!(store.keyspaces == golden.content.keyspaces, "{}", golden.place.display());
        assert_eq!(lacks(&store), None, "{}", golden.place.display());
    }
}

#[test]
fn format_md_suffices_to_read_what_this_release_closes() {
    for golden in Golden::all() {
        let copy = golden.copy();
        let mut content = golden.content.clone();
        let db = golden.open(copy.path());
        for (name, entries) in &mut content.keyspaces {
            db.create_keyspace(name).unwrap().put(b"new", b"value", Durability::Buffered).unwrap();
            entries.insert(b"new".to_vec(), b"value".to_vec());
        }
        let last = db.snapshot().sequence();
        db.close().unwrap();
        let store = golden.read(copy.path());
        assert!(store.keyspaces == content.keyspaces, "{}", golden.place.display());
        assert_eq!(store.closed, last, "{}", golden.place.display());
    }
}

/// A feature that the store does not have. Without it in the set, that feature could break unnoticed.
fn lacks(store: &Store) -> Option<&'static str> {
    let shows = [
        (store.keyspaces.len() > 1, "several keyspaces"),
        (store.remaining > 0, "a compaction that is half installed"),
        (store.policy_states > 0, "a policy that remembers something"),
        (store.blocks.iter().all(|blocks| *blocks > 0), "every kind of block"),
        (store.named > 0, "tables that name their keyspace"),
        (store.partitioned > 0, "a table of several partitions"),
        (store.tombstones > 0 && store.old_versions > 0, "history in tables"),
        (store.records > store.torn && store.shared_records > 0, "records over keyspaces in logs"),
        (
            store.fragments > 0 && store.range_deletes > 0,
            "range deletes, in the manifest and in a log",
        ),
        (store.cleared > 0, "a table that range deletes were applied to"),
        (
            store.expiring > 0 && store.expiring_in_logs > 1,
            "values that expire, in tables and in logs",
        ),
        (store.expiring_tables > 0, "a table that says when all of it has expired"),
        (
            store.operands > store.bounded && store.bounded > 0 && store.operands_in_logs > 0,
            "operands of one operator and of several, in tables and in logs",
        ),
        (store.dropped > 0, "a dropped keyspace, in the manifest and in a log"),
        (store.claims > 0, "a claim"),
        (store.torn == 1, "one torn record"),
        (store.recycled > 0, "a log in the file of another"),
    ];
    shows.into_iter().find(|(shown, _)| !shown).map(|(_, what)| what)
}

//! Stores with small logs and memtables, what is written to them, and their rows.

use crate::faulty::Faulty;
use object_store::path::Path as Prefix;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use terrane::entry::{Millis, Seq};
use terrane::{Db, Durability, Operand, Options, WriteBatch};
use terrane_backup::{At, Backup, Error, Restored};

/// A row: value, sequence number and expiry.
pub type Row = (Vec<u8>, Seq, Option<Millis>);
pub type Rows = BTreeMap<(String, Vec<u8>), Row>;

/// A time that is far away.
const LATER: Millis = 1 << 50;

/// Returns options by which a few batches fill a memtable or a log.
pub fn small() -> Options {
    let mut options = Options::small().feed_bytes(1 << 20);
    options.memtable_bytes = 16 << 10;
    options.wal_file_bytes = 16 << 10;
    options
}

pub fn often() -> terrane_backup::Options {
    terrane_backup::Options::default().interval(Duration::from_millis(1))
}

/// A folder in an object store.
pub fn prefix() -> Prefix {
    Prefix::from("backups/notes")
}

pub fn folder() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("store");
    (dir, path)
}

pub async fn start(db: &Db, objects: &Faulty) -> Result<Backup, Error> {
    Backup::start(db, Arc::new(objects.clone()), prefix(), often()).await
}

pub async fn restore(objects: &Faulty, dir: &Path, at: At) -> Result<Restored, Error> {
    terrane_backup::restore(Arc::new(objects.clone()), prefix(), dir, at).await
}

/// Returns the rows of all keyspaces.
pub fn rows(db: &Db) -> Rows {
    let mut rows = Rows::new();
    for name in db.keyspaces() {
        let keyspace = db.open_keyspace(&name).unwrap().unwrap();
        for row in keyspace.scan(..).unwrap() {
            let (key, value) = row.unwrap();
            let found = keyspace.get_versioned(&key).unwrap().unwrap();
            assert_eq!(found.value, value);
            rows.insert((name.clone(), key), (value, found.seq, found.expires_at));
        }
    }
    rows
}

/// Restores a moment, checks the store, and returns its rows.
pub async fn restored(objects: &Faulty, at: At) -> (Restored, Rows) {
    let (_dir, path) = folder();
    let restored = restore(objects, &path, at).await.unwrap();
    assert_eq!(Db::inspect(&path).unwrap().damage, []);
    let db = Db::open(&path, small()).unwrap();
    assert_eq!(db.latest_sequence(), restored.sequence);
    db.wait_until_idle().unwrap();
    let rows = rows(&db);
    assert_eq!(db.check().unwrap().damage, []);
    db.close().unwrap();
    (restored, rows)
}

/// Writes batch `n`: puts, deletes, a range delete, counters and values that expire, in keyspaces that are created
/// meanwhile.
pub fn write(db: &Db, n: u64) -> Seq {
    let rows = db.default_keyspace();
    let name = format!("keyspace-{}", n / 40);
    let others = db.create_keyspace(&name).unwrap();
    let mut batch = WriteBatch::new();
    let key = |n: u64| format!("key-{:03}", n % 100);
    batch.put(&rows, key(n), vec![n as u8; 300]).unwrap();
    batch.put(&others, key(n * 7), format!("value {n}")).unwrap();
    match n % 10 {
        3 => batch.delete(&rows, key(n / 2)).unwrap(),
        5 => batch.delete_range(&rows, key(n + 20)..key(n + 23)).unwrap(),
        7 => {
            let counters = db.create_keyspace("counters").unwrap();
            batch.merge(&counters, "sum", Operand::Add(n as i64)).unwrap();
        }
        8 => {
            let expiring = db.create_keyspace("expiring").unwrap();
            batch.put_expiring_at(&expiring, key(n), "later", LATER + n).unwrap();
        }
        _ => {}
    }
    db.write(batch, Durability::Buffered).unwrap()
}

/// Writes batches.
pub fn write_all(db: &Db, batches: std::ops::Range<u64>) {
    for n in batches {
        write(db, n);
    }
}

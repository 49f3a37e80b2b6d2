//! Clean closes: others may have the store at once, and nothing in it looks cut short.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use terrane::executor::SliceExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::fault::Fault;
use terrane::storage::vfs::{FaultVfs, MemoryVfs};
use terrane::{Db, Durability, Error, ErrorKind, Event, Listener, Options};

#[test]
fn a_closed_file_may_be_opened_while_handles_to_it_remain() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let db = Db::open_file(&path, Options::default()).unwrap();
    let keyspace = db.default_keyspace();
    keyspace.put("a", "1", Durability::Buffered).unwrap();
    db.flush().unwrap();
    let mut scan = keyspace.scan(..).unwrap();
    db.close().unwrap();
    for _ in 0..20 {
        let again = Db::open_file(&path, Options::default()).unwrap();
        assert_eq!(again.default_keyspace().get("a").unwrap().as_deref(), Some(&b"1"[..]));
        again.close().unwrap();
    }
    assert!(matches!(keyspace.get("a").map_err(Error::into_kind), Err(ErrorKind::Closed(_))));
    // It may hold what it read before; from the file it gets nothing.
    let next = scan.next().and_then(Result::err);
    assert!(next.is_none_or(|e| matches!(e.kind(), ErrorKind::Closed(_))));
}

#[test]
fn a_clean_close_of_a_volume_leaves_nothing_to_discard() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let options = || Options::default().memtable_bytes(32 << 10).wal_file_bytes(64 << 10);
    for round in 0..60_u32 {
        let db = Db::open_file(&path, options()).unwrap();
        let keyspace = db.default_keyspace();
        for key in 0..round * 37 % 400 {
            let key = (key + round * 1000).to_be_bytes();
            keyspace.put(key, [7; 300], Durability::Buffered).unwrap();
        }
        match round % 3 {
            1 => db.flush().unwrap(),
            2 => {
                let dropped = db.create_keyspace("dropped").unwrap();
                for key in 0..200_u32 {
                    dropped.put(key.to_be_bytes(), [1; 500], Durability::Buffered).unwrap();
                }
                db.drop_keyspace("dropped").unwrap();
            }
            _ => {}
        }
        db.close().unwrap();
        let reader = Db::open_file(&path, Options::default().read_only(true)).unwrap();
        assert_eq!(reader.check().unwrap().discarded_bytes, 0, "round {round}");
    }
}

/// Bytes of puts in a store, how it is closed, and the records that the next opening replays.
fn replayed(bytes: usize, close: impl FnOnce(Db) -> Result<(), Error>) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let db = Db::open(&path, Options::default()).unwrap();
    let keyspace = db.default_keyspace();
    for key in 0..(bytes / 1024) as u32 {
        keyspace.put(key.to_be_bytes(), [7; 1024], Durability::Buffered).unwrap();
    }
    close(db).unwrap();
    let recovered = Arc::new(AtomicU64::new(u64::MAX));
    let records = recovered.clone();
    let listener: Listener = Arc::new(move |_, event: &Event| {
        if let Event::Recovered { records: found, .. } = event {
            records.store(*found, Ordering::Relaxed);
        }
    });
    let db = Db::open(&path, Options::default().listener(listener)).unwrap();
    assert_eq!(db.default_keyspace().scan(..).unwrap().count(), bytes / 1024);
    recovered.load(Ordering::Relaxed)
}

#[test]
fn a_close_flushes_what_the_next_opening_would_replay_for_long() {
    assert_eq!(replayed(3 << 20, Db::close), 3 << 10, "a small memtable is not worth a table");
    assert_eq!(replayed(5 << 20, Db::close), 0);
    let at_once = |db: Db| db.close_within(Duration::ZERO);
    assert_eq!(replayed(5 << 20, at_once), 5 << 10, "there is no time for a flush");
}

#[test]
fn a_close_flushes_by_the_memtables_that_hold_anything() {
    let vfs = Arc::new(MemoryVfs::new());
    // 5 MiB in one keyspace beside two that are empty, then in two beside one.
    for (written, flushes) in [(1, true), (2, false)] {
        let open = || {
            let storage = Arc::new(Directory::open(vfs.clone()).unwrap());
            Db::open_storage(storage, Options::default(), Arc::new(SliceExecutor::default()))
                .unwrap()
        };
        let db = open();
        let keyspaces = ["default", "one", "two"].map(|name| db.create_keyspace(name).unwrap());
        for n in 0..5_u32 << 10 {
            let keyspace = &keyspaces[n as usize % written];
            keyspace.put(n.to_be_bytes(), [7; 1024], Durability::Buffered).unwrap();
        }
        db.close().unwrap();
        let stats = open().stats().unwrap();
        let left: u64 = stats.keyspaces.iter().map(|keyspace| keyspace.memtable_entries).sum();
        assert_eq!(left, if flushes { 0 } else { 5 << 10 }, "in {written}");
    }
}

#[test]
fn a_close_that_cannot_flush_leaves_all_of_it_in_the_logs() {
    let vfs = Arc::new(FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap());
    let open = || {
        let storage = Arc::new(Directory::open(vfs.clone()).unwrap());
        Db::open_storage(storage, Options::default(), Arc::new(SliceExecutor::default())).unwrap()
    };
    let db = open();
    let keyspace = db.default_keyspace();
    for key in 0..5_u32 << 10 {
        keyspace.put(key.to_be_bytes(), [7; 1024], Durability::Buffered).unwrap();
    }
    vfs.set_capacity(0, Fault::NoSpace);
    db.close().unwrap();
    vfs.heal();
    assert_eq!(open().default_keyspace().scan(..).unwrap().count(), 5 << 10);
}

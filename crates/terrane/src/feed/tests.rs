//! The feed of one store: every batch once and in order, over rotations, retirements, recycled files and reopenings.

use super::*;
use crate::error::{CursorProblem, ErrorKind};
use crate::executor::{SliceExecutor, ThreadExecutor};
use crate::operand::Operand;
use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use crate::storage::{Directory, Storage, StoreId, Volume, volume::VolumeOptions};
use crate::{Db, Durability, Options, WriteBatch};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Size of logs: a few batches fill one.
const LOG_BYTES: u64 = 4096;

fn options(feed_bytes: u64) -> Options {
    Options { wal_file_bytes: LOG_BYTES, feed_bytes, ..Options::small() }
}

/// Files in which a store is opened several times, each with a storage of its own.
struct Place {
    vfs: Arc<MemoryVfs>,
    is_volume: bool,
}

impl Place {
    fn both() -> [Place; 2] {
        [Place::directory(), Place { is_volume: true, ..Place::directory() }]
    }

    /// A place whose file system draws other ids than others.
    fn directory() -> Place {
        static PLACES: AtomicU64 = AtomicU64::new(0);
        let vfs = MemoryVfs::new();
        for _ in 0..PLACES.fetch_add(1, Ordering::Relaxed) {
            vfs.draw_id().unwrap();
        }
        Place { vfs: Arc::new(vfs), is_volume: false }
    }

    fn storage(&self) -> Arc<dyn Storage> {
        if !self.is_volume {
            return Arc::new(Directory::open(self.vfs.clone()).unwrap());
        }
        let open = || self.vfs.open("volume").or_else(|_| self.vfs.create("volume"));
        let options = VolumeOptions { new_id: StoreId::random().unwrap(), ..Default::default() };
        Arc::new(Volume::open(vec![open().unwrap()], options).unwrap())
    }

    fn open(&self, options: Options) -> Db {
        let executor = Arc::new(SliceExecutor::default());
        Db::open_storage(self.storage(), options, executor).unwrap()
    }
}

/// Writes batch `n`, whose key and value say so.
fn put(db: &Db, n: u64) {
    let rows = db.default_keyspace();
    rows.put(n.to_be_bytes(), vec![n as u8; 400], Durability::Buffered).unwrap();
}

/// The numbers of the batches that are durable after those that were read.
fn read(changes: &mut Changes) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Some(batch) = changes.try_next().unwrap() {
        for (name, change) in batch.changes() {
            let Change::Put { key, value, expires: None } = change else { panic!("{change:?}") };
            let n = u64::from_be_bytes(key.try_into().unwrap());
            assert_eq!((name, value), ("default", &[n as u8; 400][..]));
            numbers.push(n);
        }
    }
    numbers
}

fn problem<T>(result: crate::Result<T>) -> CursorProblem {
    match result.err().unwrap().kind() {
        ErrorKind::Cursor(refused) => refused.problem,
        other => panic!("{other}"),
    }
}

#[test]
fn every_durable_batch_is_read_once_and_in_order() {
    for place in Place::both() {
        let db = place.open(options(1 << 20));
        let mut changes = db.changes(db.feed_cursor()).unwrap();
        for n in 0..100 {
            put(&db, n);
            if n % 7 == 0 {
                db.sync().unwrap();
            }
            if n % 23 == 0 {
                db.flush().unwrap();
            }
            if n % 31 == 0 {
                let next = read(&mut changes);
                assert!(next.is_sorted(), "{next:?}");
            }
        }
        db.sync().unwrap();
        let from_start = FeedCursor { sequence: 0, ..db.feed_cursor() };
        assert_eq!(db.oldest_feed_cursor(), from_start);
        let mut all = db.changes(from_start).unwrap();
        assert_eq!(read(&mut all), (0..100).collect::<Vec<_>>());
        assert_eq!(*read(&mut changes).last().unwrap(), 99);
        assert_eq!(changes.cursor(), db.feed_cursor());
        assert_eq!(read(&mut changes), []);
    }
}

#[test]
fn batches_that_are_not_durable_are_hidden() {
    let db = Place::directory().open(options(0));
    let mut changes = db.changes(db.feed_cursor()).unwrap();
    put(&db, 0);
    assert_eq!(read(&mut changes), []);
    db.sync().unwrap();
    assert_eq!(read(&mut changes), [0]);
}

#[test]
fn retained_logs_outlive_a_reopening() {
    for place in Place::both() {
        let db = place.open(options(1 << 20));
        let start = db.feed_cursor();
        for n in 0..50 {
            put(&db, n);
        }
        db.flush().unwrap();
        db.close().unwrap();
        let db = place.open(options(1 << 20));
        assert_eq!(read(&mut db.changes(start).unwrap()), (0..50).collect::<Vec<_>>());
        for n in 50..90 {
            put(&db, n);
        }
        db.flush().unwrap();
        db.sync().unwrap();
        assert_eq!(read(&mut db.changes(start).unwrap()), (0..90).collect::<Vec<_>>());
        let report = db.check().unwrap();
        assert!(report.damage.is_empty(), "{:?}", report.damage);
    }
}

#[test]
fn a_cursor_before_the_retained_logs_is_too_old() {
    for place in Place::both() {
        let db = place.open(options(3 * LOG_BYTES));
        let start = db.feed_cursor();
        let mut asleep = db.changes(start).unwrap();
        for n in 0..200 {
            put(&db, n);
            if n % 20 == 0 {
                db.flush().unwrap();
            }
        }
        db.flush().unwrap();
        assert_eq!(problem(db.changes(start)), CursorProblem::TooOld);
        assert_eq!(problem(asleep.try_next()), CursorProblem::TooOld);
        let oldest = db.oldest_feed_cursor();
        assert!(oldest.sequence > 100, "{oldest}");
        let rest = read(&mut db.changes(oldest).unwrap());
        assert_eq!(rest, (oldest.sequence..200).collect::<Vec<_>>());
        // Without bytes for it, nothing is retained once another log retires.
        db.close().unwrap();
        let db = place.open(options(0));
        for n in 200..230 {
            put(&db, n);
        }
        db.flush().unwrap();
        assert!(db.oldest_feed_cursor().sequence >= 200);
    }
}

#[test]
fn a_reader_in_a_recycled_file_notices() {
    let db = Place::directory().open(options(2 * LOG_BYTES));
    let start = db.feed_cursor();
    for n in 0..30 {
        put(&db, n);
    }
    db.sync().unwrap();
    let mut changes = db.changes(start).unwrap();
    // It has a place in the oldest log, whose file gets other logs.
    assert!(changes.try_next().unwrap().is_some());
    for n in 30..200 {
        put(&db, n);
        db.flush().unwrap();
    }
    let problem = problem(loop {
        match changes.try_next() {
            Ok(batch) => assert!(batch.unwrap().cursor().sequence < 30),
            refused => break refused,
        }
    });
    assert_eq!(problem, CursorProblem::TooOld);
}

#[test]
fn cursors_of_another_history_or_ahead_are_refused() {
    let place = Place::directory();
    let db = place.open(options(0));
    put(&db, 0);
    let now = FeedCursor { sequence: 1, ..db.feed_cursor() };
    // Written, if not durable yet: it can be waited from.
    assert!(db.changes(now).is_ok());
    let ahead = FeedCursor { sequence: 2, ..now };
    assert_eq!(problem(db.changes(ahead)), CursorProblem::TooNew);
    let other = Place::directory().open(options(0));
    assert_eq!(problem(other.changes(now)), CursorProblem::OtherLineage);
    let copy = Place::directory();
    db.checkpoint(&*copy.storage()).unwrap();
    let copy = copy.open(options(0));
    assert_eq!(problem(copy.changes(now)), CursorProblem::OtherLineage);
    assert_eq!(copy.feed_cursor().sequence, 1);
}

#[test]
fn a_new_lineage_refuses_cursors_from_before() {
    let place = Place::directory();
    let db = place.open(options(1 << 20));
    put(&db, 0);
    let old = db.feed_cursor();
    let mut changes = db.changes(old).unwrap();
    let promoted = db.begin_lineage().unwrap();
    assert_eq!(problem(changes.try_next()), CursorProblem::OtherLineage);
    assert_ne!(promoted.lineage, old.lineage);
    assert_eq!((promoted.sequence, db.oldest_feed_cursor()), (1, promoted));
    let earlier = FeedCursor { sequence: 0, ..promoted };
    assert_eq!(problem(db.changes(earlier)), CursorProblem::TooOld);
    db.close().unwrap();
    let db = place.open(options(1 << 20));
    assert_eq!(db.feed_cursor(), promoted);
}

/// The operations of the next batches, as text.
fn texts(changes: &mut Changes) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some(batch) = changes.try_next().unwrap() {
        texts.extend(batch.changes().map(|(name, change)| match change {
            Change::Put { key, .. } => format!("{name} {}", String::from_utf8_lossy(key)),
            Change::DropKeyspace => format!("no {name}"),
            other => format!("{other:?}"),
        }));
    }
    texts
}

#[test]
fn dropped_keyspaces_are_changes_with_their_names() {
    for place in Place::both() {
        let db = place.open(options(1 << 20));
        let start = db.feed_cursor();
        let mut changes = db.changes(start).unwrap();
        let write = |name: &str, key: &str| {
            let keyspace = db.create_keyspace(name).unwrap();
            keyspace.put(key, vec![7; 400], Durability::Buffered).unwrap();
        };
        write("users", "a");
        write("other", "a");
        assert!(db.drop_keyspace("users").unwrap());
        assert!(!db.drop_keyspace("users").unwrap());
        // Another one of the same name, which gets no write before it goes.
        db.create_keyspace("users").unwrap();
        assert!(db.drop_keyspace("users").unwrap());
        write("users", "b");
        db.sync().unwrap();
        let expected = ["users a", "other a", "no users", "no users", "users b"];
        assert_eq!(texts(&mut changes), expected);
        assert_eq!(changes.cursor().lineage, start.lineage);
        assert_eq!(db.feed_cursor(), changes.cursor());
        // Retained logs are read with the names of then, also by another opening.
        db.flush().unwrap();
        db.close().unwrap();
        let db = place.open(options(1 << 20));
        assert_eq!(texts(&mut db.changes(start).unwrap()), expected);
        assert_eq!(db.keyspaces(), ["default", "other", "users"]);
    }
}

#[test]
fn names_of_dropped_keyspaces_end_with_their_logs() {
    let db = Place::directory().open(options(3 * LOG_BYTES));
    let kept = || db.engine().state.lock().version_set.dropped.len();
    for n in 0..3 {
        db.create_keyspace("users").unwrap();
        put(&db, n);
        assert!(db.drop_keyspace("users").unwrap());
    }
    assert_eq!(kept(), 3);
    for n in 0..100 {
        put(&db, n);
        db.flush().unwrap();
    }
    assert_eq!(kept(), 0);
}

#[test]
fn a_keyspace_is_dropped_with_a_batch_of_others() {
    let db = Place::directory().open(options(0));
    let mut changes = db.changes(db.feed_cursor()).unwrap();
    let (rows, users) = (db.default_keyspace(), db.create_keyspace("users").unwrap());
    users.put("a", "1", Durability::Buffered).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&rows, "with", "1").unwrap();
    assert!(db.drop_keyspace_with("users", &batch).unwrap());
    assert_eq!(rows.get("with").unwrap(), Some("1".into()));
    assert_eq!(texts(&mut changes), ["users a", "no users", "default with"]);
    assert_eq!(changes.cursor().sequence, 2);
    assert!(!db.drop_keyspace_with("users", &batch).unwrap());
    assert_eq!(db.latest_sequence(), 2);
    // A batch that names the keyspace itself is refused, as one that names a keyspace which is gone.
    batch.put(&users, "b", "2").unwrap();
    db.create_keyspace("users").unwrap();
    assert!(db.drop_keyspace_with("users", &batch).is_err());
    assert!(db.open_keyspace("users").unwrap().is_some());
}

#[test]
fn operations_are_whole_and_reserved_keyspaces_are_hidden() {
    let db = Place::directory().open(options(0));
    let start = db.feed_cursor();
    let counts = db.create_keyspace("counts").unwrap();
    let hidden = db.reserved_keyspace("owner", true).unwrap().unwrap();
    let rows = db.default_keyspace();
    let mut batch = WriteBatch::new();
    batch.put_expiring_at(&rows, "a", "1", 1 << 50).unwrap();
    batch.merge(&counts, "n", Operand::Add(2)).unwrap();
    batch.put(&hidden, "secret", "1").unwrap();
    batch.delete(&rows, "b").unwrap();
    batch.delete_range(&rows, "c".."d").unwrap();
    batch.delete_range(&rows, "x"..).unwrap();
    db.write(batch, Durability::Sync).unwrap();
    let batch = db.changes(start).unwrap().next().unwrap().unwrap();
    let expected = [
        ("default", Change::Put { key: b"a", value: b"1", expires: Some(1 << 50) }),
        ("counts", Change::Merge { key: b"n", operand: Operand::Add(2) }),
        ("default", Change::Delete { key: b"b" }),
        ("default", Change::DeleteRange { from: b"c", to: Some(b"d") }),
        ("default", Change::DeleteRange { from: b"x", to: None }),
    ];
    assert_eq!(batch.changes().collect::<Vec<_>>(), expected);
}

#[test]
fn buffered_writes_are_synced_for_a_waiting_subscriber() {
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    // Nothing else syncs.
    let options = Options { sync_interval: Duration::from_secs(1 << 30), ..options(0) };
    let db = Db::open_storage(storage, options, Arc::new(ThreadExecutor::new(1))).unwrap();
    let subscribers: Vec<_> = (0..4)
        .map(|_| {
            let mut changes = db.changes(db.feed_cursor()).unwrap();
            thread::spawn(move || {
                let cursors = (0..20).map(|_| changes.next().unwrap().unwrap().cursor().sequence);
                cursors.collect::<Vec<_>>()
            })
        })
        .collect();
    for n in 0..20 {
        put(&db, n);
    }
    for subscriber in subscribers {
        assert_eq!(subscriber.join().unwrap(), (1..=20).collect::<Vec<_>>());
    }
}

#[test]
fn a_close_ends_subscribers_that_wait() {
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let db = Db::open_storage(storage, options(0), Arc::new(ThreadExecutor::new(1))).unwrap();
    let mut changes = db.changes(db.feed_cursor()).unwrap();
    let subscriber =
        thread::spawn(move || (changes.next().map(|next| next.is_err()), changes.count()));
    db.close().unwrap();
    assert_eq!(subscriber.join().unwrap(), (Some(true), 0));
}

#[test]
fn a_damaged_retained_log_leaves_the_feed_after_it() {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::default())).unwrap();
    let open = || {
        let storage = Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap());
        Db::open_storage(storage, options(1 << 20), Arc::new(SliceExecutor::default())).unwrap()
    };
    let db = open();
    let start = db.feed_cursor();
    for n in 0..50 {
        put(&db, n);
    }
    db.flush().unwrap();
    db.close().unwrap();
    let file = vfs.open("00000001.log").unwrap();
    file.write_at(&[0xff; 8], 600).unwrap();
    let db = open();
    let mut changes = db.changes(start).unwrap();
    let mut read = 0;
    let error = loop {
        match changes.try_next() {
            Ok(batch) => read += u64::from(batch.is_some()),
            Err(e) => break e,
        }
    };
    assert!(matches!(error.kind(), ErrorKind::Corrupt(_)), "{error}");
    assert!(read < 9);
    let later = FeedCursor { sequence: 20, ..start };
    assert_eq!(self::read(&mut db.changes(later).unwrap()), (20..50).collect::<Vec<_>>());
    assert_eq!(db.check().unwrap().damage.len(), 1);
}

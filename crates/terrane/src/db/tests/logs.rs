//! The logs of a store that is opened: which memtables they fill, and which of their files are written
//! again.

use super::{directory, entries, faulty, fill, open, slices, volume};
use crate::Durability::{Buffered, Sync};
use crate::entry::MAX_SEQ;
use crate::install;
use crate::keyspace::KeyspaceId;
use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use crate::storage::{FileId, FileKind, Storage};
use crate::write;
use crate::{Db, Error, ErrorKind, Options};
use std::sync::Arc;

/// A store whose memtables hold all, and whose logs have this size.
fn of_logs(storage: Arc<dyn Storage>, wal_file_bytes: u64) -> Db {
    let options = Options { memtable_bytes: 1 << 20, wal_file_bytes, ..Options::small() };
    Db::open_storage(storage, options, slices()).unwrap()
}

/// The files of the store's logs with their lengths.
fn log_files(vfs: &FaultVfs) -> Vec<(String, u64)> {
    let names = vfs.list().unwrap().into_iter();
    let logs = names.filter(|n| FileId::parse(n).is_some_and(|id| id.kind == FileKind::Log));
    logs.map(|name| (name.clone(), vfs.open(&name).unwrap().len().unwrap())).collect()
}

/// Whether each of the sealed logs may be written again.
fn reusable(db: &Db) -> Vec<bool> {
    db.engine().state.lock().logs.sealed().iter().map(|log| log.reusable).collect()
}

/// The files of the spare logs.
fn spares(db: &Db) -> Vec<String> {
    let state = db.engine().state.lock();
    state.logs.spares().iter().map(|log| FileId::log(log.file_number).to_string()).collect()
}

fn flush(db: &Db) {
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
}

#[test]
fn logs_fill_memtables_of_the_usual_size_again() {
    let vfs = faulty();
    let db = of_logs(directory(&vfs), 16 << 10);
    fill(&db, 1500, 1);
    let before = entries(&db);
    std::mem::forget(db);

    let db = open(directory(&vfs), slices()).unwrap();
    let size = db.engine().options.memtable_bytes;
    let keyspace = db.engine().keyspaces.load().get(&KeyspaceId(0)).unwrap().clone();
    let shown = keyspace.super_version.load_full();
    let bytes: Vec<_> = shown.sealed.iter().map(|memtable| memtable.bytes() as u64).collect();
    let active = shown.active.bytes() as u64;
    assert!(bytes.len() > 3 && active > 0 && active < size, "{bytes:?} {active}");
    assert!(bytes.iter().all(|bytes| (size..size + (16 << 10)).contains(bytes)), "{bytes:?}");
    let sealed: u64 = bytes.iter().sum();
    let counted = |db: &Db| (db.engine().memtables.sealed(), db.engine().memtables.all());
    assert_eq!(counted(&db), (sealed, sealed + active));
    // Each waits for its flush, the oldest first.
    let state = db.engine().state.lock();
    let waiting: Vec<_> = state.flushes.iter().collect();
    let same = waiting.iter().zip(shown.sealed.iter().rev());
    assert!(waiting.len() == bytes.len() && same.clone().all(|(s, m)| Arc::ptr_eq(&s.memtable, m)));
    assert!(same.clone().all(|(s, m)| Some(s.through) == m.last_seq()));
    drop(state);
    flush(&db);
    assert_eq!(counted(&db).0, 0);
    assert!(entries(&db) == before);
    assert_eq!(db.check().unwrap().damage, []);
}

#[test]
fn log_files_of_the_usual_size_are_written_again_and_no_others() {
    for size in [16 << 10, 32 << 10] {
        let vfs = faulty();
        let db = of_logs(directory(&vfs), 16 << 10);
        fill(&db, 600, 1);
        std::mem::forget(db);
        let before = log_files(&vfs);

        let db = of_logs(directory(&vfs), size);
        let usual = size == 16 << 10;
        assert_eq!(reusable(&db), vec![usual; before.len() - 1]);
        assert_eq!(db.engine().log.writer().is_reusable(), usual, "the log that is appended to");
        // It fills, and so does the next.
        fill(&db, 300, 2);
        assert_eq!(reusable(&db)[before.len() - 1], usual);
        assert!(*reusable(&db).last().unwrap() && db.engine().log.writer().is_reusable());
        flush(&db);
        let after = log_files(&vfs);
        assert!(after.iter().all(|(_, len)| *len == size) || size == 16 << 10, "{after:?}");
        let kept = spares(&db).into_iter().filter(|name| before.iter().any(|(b, _)| b == name));
        assert_eq!(kept.count(), if usual { 2 } else { 0 });
    }
}

#[test]
fn a_log_of_a_large_write_is_not_written_again() {
    let vfs = faulty();
    let db = of_logs(directory(&vfs), 16 << 10);
    fill(&db, 10, 1);
    db.default_keyspace().put(b"large", &[7; 40 << 10], Buffered).unwrap();
    assert!(!db.engine().log.writer().is_reusable());
    fill(&db, 300, 2);
    assert_eq!(reusable(&db).iter().filter(|reusable| !**reusable).count(), 1);
    flush(&db);
    let left = log_files(&vfs);
    assert!(left.iter().all(|(_, len)| *len == 16 << 10), "{left:?}");
    assert_eq!(db.default_keyspace().get(b"large").unwrap().unwrap().len(), 40 << 10);
}

#[test]
fn a_copy_continues_in_logs_of_its_own() {
    let vfs = faulty();
    let db = of_logs(directory(&vfs), 16 << 10);
    fill(&db, 600, 1);
    let before = entries(&db);
    let to = MemoryVfs::new().create("to").unwrap();
    db.checkpoint(&volume(&to)).unwrap();
    let copy = of_logs(Arc::new(volume(&to)), 16 << 10);
    assert!(entries(&copy) == before);
    let salt = copy.engine().storage.id().salt();
    let state = copy.engine().state.lock();
    assert!(state.logs.sealed().iter().all(|log| log.id.salt != salt && !log.reusable));
    assert!(!state.logs.sealed().is_empty());
    drop(state);
    assert_eq!(copy.engine().log.writer().log().id().salt, salt);
    fill(&copy, 300, 2);
    let after = entries(&copy);
    copy.close().unwrap();
    let again = of_logs(Arc::new(volume(&to)), 16 << 10);
    assert!(entries(&again) == after && after != before);
}

#[test]
fn a_spare_log_is_wanted_once_half_of_the_log_is_full() {
    let vfs = faulty();
    let db = of_logs(directory(&vfs), 64 << 10);
    let (wanted, spares) = (
        |db: &Db| db.engine().state.lock().logs.is_spare_wanted(),
        |db: &Db| db.engine().state.lock().logs.spares().len(),
    );
    let full = |db: &Db| db.engine().log.writer().log().bytes();
    while full(&db) < 40 << 10 {
        fill(&db, 1, 1);
        assert_eq!(wanted(&db), full(&db) > 32 << 10);
    }
    db.wait_until_idle().unwrap();
    assert_eq!((wanted(&db), spares(&db)), (false, 1));
    fill(&db, 20, 1);
    assert!(!wanted(&db) && full(&db) > 43 << 10);
}

#[test]
fn the_space_in_use_has_the_log_that_an_opening_continues() {
    let vfs = faulty();
    let db = of_logs(directory(&vfs), 64 << 10);
    let record = db.engine().log.writer().bytes();
    fill(&db, 100, 1);
    let written = db.stats().unwrap();
    assert_eq!(written.wal_bytes, db.engine().log.writer().bytes() - record);
    db.close().unwrap();
    let db = of_logs(directory(&vfs), 64 << 10);
    let opened = db.stats().unwrap();
    let in_files = db.engine().storage.space().unwrap().live;
    assert_eq!(opened.space.live, in_files + db.engine().log.writer().bytes());
    assert!(opened.space.live >= written.space.live, "{opened:?} after {written:?}");
}

#[test]
fn the_last_sequence_is_given_and_none_after_it() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    db.engine().log.writer().skip_to(MAX_SEQ);
    let rows = db.default_keyspace();
    assert_eq!(rows.put(b"last", b"1", Buffered).unwrap(), MAX_SEQ);
    assert!(matches!(
        rows.put(b"more", b"2", Buffered).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    assert_eq!(entries(&db), [(b"last".to_vec(), b"1".to_vec())]);
}

#[test]
fn a_spare_log_is_made_once() {
    let vfs = faulty();
    let db = of_logs(directory(&vfs), 16 << 10);
    for _ in 0..3 {
        install::add_spare_log(db.engine(), 16 << 10).unwrap();
        assert_eq!(spares(&db).len(), 1);
    }
    // One of its size does not hold a larger record.
    install::add_spare_log(db.engine(), 64 << 10).unwrap();
    assert_eq!(spares(&db).len(), 2);
    assert_eq!(db.engine().state.lock().logs.spares()[0].capacity, 64 << 10);
}

#[test]
fn a_log_stays_while_its_last_record_is_in_no_table() {
    let vfs = faulty();
    let db = of_logs(directory(&vfs), 16 << 10);
    let other = db.create_keyspace("other").unwrap();
    fill(&db, 10, 1);
    other.put(b"last of its log", b"value", Buffered).unwrap();
    db.default_keyspace().put(b"next", &[1; 15 << 10], Buffered).unwrap();
    assert_eq!(db.engine().state.lock().logs.sealed().len(), 1);
    // Only the one keyspace is flushed.
    let through = db.engine().log.writer().last();
    write::seal(db.engine(), &mut db.engine().state.lock(), KeyspaceId(0), through);
    db.wait_until_idle().unwrap();
    assert_eq!(db.engine().state.lock().logs.sealed().len(), 1);
    std::mem::forget(db);
    let db = of_logs(directory(&vfs), 16 << 10);
    let other = db.create_keyspace("other").unwrap();
    assert_eq!(other.get(b"last of its log").unwrap().unwrap(), b"value");
    assert_eq!(entries(&db).len(), 11);
}

#[test]
fn the_keyspace_with_the_oldest_record_is_sealed_for_log_space() {
    let vfs = faulty();
    let options = Options {
        memtable_bytes: 1 << 20,
        wal_file_bytes: 16 << 10,
        max_total_wal_bytes: 64 << 10,
        ..Options::small()
    };
    let db = Db::open_storage(directory(&vfs), options, slices()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    other.put(b"oldest", b"value", Buffered).unwrap();
    let sealed = |db: &Db| db.engine().state.lock().flushes.keyspaces();
    let mut seen = Vec::new();
    for _ in 0..1000 {
        fill(&db, 1, 1);
        let logs: u64 = db.engine().state.lock().logs.sealed().iter().map(|log| log.bytes).sum();
        let total = logs + db.engine().log.writer().log().bytes();
        seen = sealed(&db);
        assert_eq!(seen.is_empty(), total <= 64 << 10, "{total}");
        if !seen.is_empty() {
            break;
        }
    }
    assert!(seen.contains(&other.id()));
}

#[test]
fn a_batch_of_alternating_keyspaces_writes_each_to_its_own() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    let spaces = [db.default_keyspace(), db.create_keyspace("other").unwrap()];
    let mut batch = crate::WriteBatch::new();
    for n in 0..6u8 {
        batch.put(spaces[usize::from(n % 2)].id(), [n], [n]).unwrap();
    }
    db.write(batch, Buffered).unwrap();
    for (at, keyspace) in spaces.iter().enumerate() {
        let keys: Vec<_> = keyspace.scan(..).unwrap().map(|entry| entry.unwrap().0[0]).collect();
        assert_eq!(keys, [at as u8, at as u8 + 2, at as u8 + 4]);
    }
}

#[test]
fn a_full_log_waits_for_a_sync_if_its_records_are_not_durable() {
    for durability in [Buffered, Sync] {
        let vfs = faulty();
        let db = of_logs(directory(&vfs), 16 << 10);
        for n in 0..3u8 {
            db.default_keyspace().put([n], &[n; 10 << 10], durability).unwrap();
        }
        let waiting = db.engine().log.writer().unsynced();
        assert_eq!(waiting, if durability == Sync { 0 } else { 2 });
        db.sync().unwrap();
        let synced = db.engine().log.syncs.synced();
        assert!(db.engine().log.writer().appended(synced).files.len() == 1);
    }
}

#[test]
fn a_sync_leaves_one_claim_and_the_next_one_has_nothing_to_do() {
    let vfs = faulty();
    let db = of_logs(directory(&vfs), 16 << 10);
    let claimed = |db: &Db| db.engine().log.writer().claimed();
    fill(&db, 3, 1);
    assert_eq!(claimed(&db), 0);
    db.sync().unwrap();
    assert_eq!(claimed(&db), 3);
    let before = vfs.operations();
    db.sync().unwrap();
    assert_eq!((claimed(&db), vfs.operations()), (3, before));
    // The next record says it.
    fill(&db, 1, 2);
    assert_eq!(claimed(&db), 3);
}

//! Calls that wait for nothing: lookups that touch no file, and writes that are given back.

use super::*;
use crate::write;
use crate::{TryGet, TryWrite};

fn put(db: &Db, key: u8, len: usize) -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.put(&db.default_keyspace(), [key], vec![7; len]).unwrap();
    batch
}

fn is_written(tried: TryWrite) -> bool {
    matches!(tried, TryWrite::Written(_))
}

#[test]
fn a_lookup_finds_what_memory_has_and_touches_no_file() {
    let vfs = faulty();
    let db = Db::open_storage(directory(&vfs), Options::small(), slices()).unwrap();
    let keyspace = db.default_keyspace();
    let try_get = |key: u8| keyspace.lookup(1).unwrap().try_get([key]).unwrap();
    let value = || TryGet::Value(b"value".to_vec());
    keyspace.put([1], "value", Durability::Buffered).unwrap();
    keyspace.put([9], "value", Durability::Buffered).unwrap();
    keyspace.delete([9], Durability::Buffered).unwrap();
    assert_eq!([1, 9, 2].map(try_get), [value(), TryGet::Absent, TryGet::Absent]);
    db.flush().unwrap();
    db.close().unwrap();

    let db = Db::open_storage(directory(&vfs), Options::small(), slices()).unwrap();
    let keyspace = db.default_keyspace();
    let try_get = |key: u8| keyspace.lookup(1).unwrap().try_get([key]).unwrap();
    // No table is open yet; no table has keys above 9.
    let before = vfs.reads();
    assert_eq!([1, 9, 2].map(try_get), [(); 3].map(|()| TryGet::WouldRead));
    assert_eq!(try_get(10), TryGet::Absent);
    assert_eq!(vfs.reads(), before, "a file was touched");
    assert_eq!(keyspace.get([1]).unwrap(), Some(b"value".to_vec()));
    assert_eq!([1, 9, 2].map(try_get), [value(), TryGet::Absent, TryGet::Absent]);
    // A lookup that was refused may still read.
    let mut lookup = keyspace.lookup(2).unwrap();
    assert_eq!(lookup.get([1]).unwrap(), Some(b"value".to_vec()));
}

#[test]
fn a_cursor_finds_what_memory_has_and_touches_no_file() {
    let vfs = faulty();
    let opened = || Db::open_storage(directory(&vfs), Options::small(), slices()).unwrap();
    let db = opened();
    for key in [1, 3, 5] {
        db.default_keyspace().put([key], "in a table", Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();

    let db = opened();
    let keyspace = db.default_keyspace();
    keyspace.put([7], "in memory", Durability::Buffered).unwrap();
    let would_read = |step: Result<Option<(&[u8], &[u8])>>| {
        matches!(step.unwrap_err().kind(), ErrorKind::WouldRead)
    };
    let mut cursor = keyspace.cursor(..).unwrap();
    cursor.set_only_cached(true);
    let before = vfs.reads();
    // A step can be tried again, in either direction.
    let mut below = keyspace.cursor(..[6u8]).unwrap();
    below.set_only_cached(true);
    for _ in 0..2 {
        assert!(would_read(cursor.next()));
        assert!(would_read(below.next()) && would_read(below.prev()));
    }
    // The table ends before the key in memory.
    assert_eq!(cursor.prev().unwrap().unwrap().0, [7]);
    cursor.seek([2]);
    assert!(would_read(cursor.next()) && would_read(cursor.prev()) && would_read(cursor.next()));
    // No table has keys from here on.
    cursor.seek([6]);
    assert_eq!(cursor.next().unwrap().unwrap().0, [7]);
    assert_eq!(cursor.next().unwrap(), None);
    assert_eq!(vfs.reads(), before, "a file was touched");
    cursor.seek([2]);
    assert!(would_read(cursor.next()));
    cursor.set_only_cached(false);
    let keys = std::iter::from_fn(|| cursor.next().unwrap().map(|(key, _)| key.to_vec()));
    assert_eq!(keys.collect::<Vec<_>>(), [[3], [5], [7]]);
    cursor.set_only_cached(true);
    cursor.seek([0]);
    assert_eq!(cursor.next().unwrap().unwrap().0, [1]);
}

#[test]
fn a_write_that_would_wait_is_given_back() {
    let options = Options { memtable_bytes: 1, max_immutable_memtables: 1, ..Options::small() };
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    // Not through the handle, which would run the flush.
    write::commit(db.engine(), &[&put(&db, 1, 1)], Durability::Buffered, &|| Ok(())).unwrap();
    let stalled = put(&db, 2, 1);
    assert_eq!(db.try_write(stalled.clone()).unwrap(), TryWrite::WouldWait(stalled));
    assert_eq!(db.try_write(WriteBatch::new()).unwrap(), TryWrite::Written(1));
    db.flush().unwrap();
    {
        let _writer = db.engine().log.writer();
        assert!(!is_written(db.try_write(put(&db, 2, 1)).unwrap()));
    }
    assert!(is_written(db.try_write(put(&db, 2, 1)).unwrap()));
    assert_eq!(db.default_keyspace().scan(..).unwrap().count(), 2);
}

#[test]
fn a_write_that_needs_another_log_is_given_back() {
    let options = Options { wal_file_bytes: 4096, ..Options::small() };
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let written = (0..100).take_while(|n| is_written(db.try_write(put(&db, *n, 200)).unwrap()));
    let written = written.count();
    assert!((10..20).contains(&written), "{written}");
    db.write(put(&db, 100, 200), Durability::Buffered).unwrap();
    assert!(is_written(db.try_write(put(&db, 101, 200)).unwrap()));
}

#[test]
fn a_write_to_a_dropped_keyspace_fails_when_tried() {
    let db = Db::open_storage(directory(&faulty()), Options::small(), slices()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    db.drop_keyspace("other").unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&other, "key", "").unwrap();
    let refused = db.try_write(batch).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Closed(_)), "{refused}");
    assert!(is_written(db.try_write(put(&db, 1, 1)).unwrap()));
}

#[test]
fn batches_are_tried_together_with_numbers_of_their_own() {
    let db = Db::open_storage(directory(&faulty()), Options::small(), slices()).unwrap();
    let keyspace = db.default_keyspace();
    let batches = [put(&db, 1, 1), WriteBatch::new(), put(&db, 2, 1)];
    assert_eq!(db.try_write_all(&batches).unwrap(), Some(2));
    let seq = |key: u8| keyspace.get_versioned([key]).unwrap().map(|found| found.seq);
    assert_eq!([1, 2].map(seq), [Some(1), Some(2)]);
    let _writer = db.engine().log.writer();
    assert_eq!(db.try_write_all(&[put(&db, 3, 1)]).unwrap(), None);
}

fn add_one(keyspace: &Keyspace, tx: &mut crate::Transaction) -> Result<u8> {
    let before = tx.get(keyspace, [1])?.map_or(0, |value| value[0]);
    tx.put(keyspace, [1], [before + 1])?;
    Ok(before + 1)
}

#[test]
fn a_tried_transaction_reads_and_writes_at_one_moment() {
    let db = Db::open_storage(directory(&faulty()), Options::small(), slices()).unwrap();
    let keyspace = db.default_keyspace();
    for count in 1..=3 {
        let counted = db.try_transact(|tx| add_one(&keyspace, tx)).unwrap();
        assert_eq!(counted, Some(count));
    }
    assert_eq!(keyspace.get([1]).unwrap(), Some(vec![3]));
    let failed = db.try_transact(|tx| {
        tx.put(&keyspace, [1], [9])?;
        Result::<()>::Err(crate::error::Closed::File.into())
    });
    assert!(failed.is_err());
    assert_eq!(keyspace.get([1]).unwrap(), Some(vec![3]));
    assert!(db.stats().unwrap().oldest_snapshot.is_none());
}

#[test]
fn a_tried_transaction_waits_for_no_lock_and_no_file() {
    let vfs = faulty();
    let db = Db::open_storage(directory(&vfs), Options::small(), slices()).unwrap();
    db.default_keyspace().put([1], [7], Durability::Buffered).unwrap();
    db.flush().unwrap();
    db.close().unwrap();

    let db = Db::open_storage(directory(&vfs), Options::small(), slices()).unwrap();
    let keyspace = db.default_keyspace();
    let before = vfs.reads();
    assert_eq!(db.try_transact(|tx| add_one(&keyspace, tx)).unwrap(), None);
    // An error that the body hides counts all the same.
    let hidden: Result<_> = db.try_transact(|tx| Ok(tx.get(&keyspace, [1]).is_ok()));
    assert_eq!(hidden.unwrap(), None);
    let scanned: Result<_> = db.try_transact(|tx| Ok(tx.scan(&keyspace, ..)?.count()));
    assert_eq!(scanned.unwrap(), None);
    assert_eq!(vfs.reads(), before, "a file was touched");
    assert_eq!(keyspace.get([1]).unwrap(), Some(vec![7]));
    {
        let _writer = db.engine().log.writer();
        assert_eq!(db.try_transact(|tx| add_one(&keyspace, tx)).unwrap(), None);
    }
    assert_eq!(db.try_transact(|tx| add_one(&keyspace, tx)).unwrap(), Some(8));
}

#[test]
fn a_transaction_reads_versions_and_times_of_expiry() {
    let db = Db::open_storage(directory(&faulty()), Options::small(), slices()).unwrap();
    let keyspace = db.default_keyspace();
    let seq = keyspace.put([1], [1], Durability::Buffered).unwrap();
    db.transact(Durability::Buffered, |tx| -> Result<()> {
        let found = tx.get_versioned(&keyspace, [1])?.unwrap();
        assert_eq!((found.value, found.seq, found.expires_at), (vec![1], Some(seq), None));
        let at = tx.now() + 60_000;
        tx.put_expiring_at(&keyspace, [1], [2], at)?;
        let found = tx.get_versioned(&keyspace, [1])?.unwrap();
        assert_eq!((found.value, found.seq, found.expires_at), (vec![2], None, Some(at)));
        tx.put_expiring_at(&keyspace, [1], [3], tx.now())?;
        assert_eq!(tx.get_versioned(&keyspace, [1])?, None);
        Ok(())
    })
    .unwrap();
    assert_eq!(keyspace.get([1]).unwrap(), None);
}

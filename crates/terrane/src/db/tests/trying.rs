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

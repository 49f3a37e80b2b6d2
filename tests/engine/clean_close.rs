//! What a clean close leaves: others may have the store at once, and nothing in it looks cut short.

use terrane::{Db, Durability, Error, ErrorKind, Options};

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
    let options =
        || Options { memtable_bytes: 32 << 10, wal_file_bytes: 64 << 10, ..Options::default() };
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
                let dropped = db.keyspace("dropped").unwrap();
                for key in 0..200_u32 {
                    dropped.put(key.to_be_bytes(), [1; 500], Durability::Buffered).unwrap();
                }
                db.drop_keyspace("dropped").unwrap();
            }
            _ => {}
        }
        db.close().unwrap();
        let reader =
            Db::open_file(&path, Options { read_only: true, ..Options::default() }).unwrap();
        assert_eq!(reader.check().unwrap().discarded_bytes, 0, "round {round}");
    }
}

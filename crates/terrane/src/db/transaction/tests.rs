use super::reads::{READ_BYTES_MAX, READS_MAX};
use super::*;
use crate::Options;
use crate::executor::SliceExecutor;
use crate::storage::{Directory, vfs::MemoryVfs};
use proptest::prelude::*;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const BUFFERED: Durability = Durability::Buffered;

fn store() -> (Db, Keyspace) {
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let db = Db::open_storage(storage, Options::small(), Arc::new(SliceExecutor::default()));
    let db = db.unwrap();
    let keyspace = db.default_keyspace();
    (db, keyspace)
}

fn put(keyspace: &Keyspace, key: &str, value: &str) {
    keyspace.put(key, value, BUFFERED).unwrap();
}

/// Whether a transaction that reads with `read` commits, if `write` happens before that.
fn commits(
    (db, keyspace): &(Db, Keyspace),
    read: impl Fn(&Transaction),
    write: impl FnOnce(),
) -> bool {
    let mut transaction = Transaction::new(db);
    read(&transaction);
    write();
    transaction.put(keyspace, "written", "").unwrap();
    transaction.commit(BUFFERED).unwrap()
}

#[test]
fn a_commit_fails_if_a_key_that_was_read_has_changed() {
    let store = store();
    let keyspace = &store.1;
    put(keyspace, "a", "1");
    let reads = |key: &'static str| move |tx: &Transaction| drop(tx.get(keyspace, key).unwrap());
    assert!(commits(&store, reads("a"), || ()));
    assert!(commits(&store, reads("a"), || put(keyspace, "b", "2")));
    assert!(!commits(&store, reads("a"), || put(keyspace, "a", "1")));
    assert!(!commits(&store, reads("none"), || put(keyspace, "none", "")));
    assert!(!commits(&store, reads("c"), || {
        keyspace.delete("c", BUFFERED).unwrap();
    }));
    let other = store.0.create_keyspace("other").unwrap();
    assert!(commits(&store, reads("a"), || put(&other, "a", "")));
    // Flushed in between, so that the change is in a table.
    let change = || {
        put(keyspace, "a", "3");
        store.0.flush().unwrap();
    };
    assert!(!commits(&store, reads("a"), change));
}

#[test]
fn a_scan_that_is_forgotten_counts_as_whole() {
    let store = store();
    let keyspace = &store.1;
    ["a", "b", "c"].into_iter().for_each(|key| put(keyspace, key, "1"));
    let forget = |tx: &Transaction| {
        let mut scan = tx.scan(keyspace, "a".."c").unwrap();
        assert!(scan.next().is_some());
        std::mem::forget(scan);
        // Another takes no number of it.
        drop(tx.scan(keyspace, "x"..));
    };
    assert!(commits(&store, forget, || put(keyspace, "c", "2")));
    assert!(!commits(&store, forget, || put(keyspace, "b", "2")));
}

#[test]
fn a_scan_records_what_it_looked_at() {
    let store = store();
    let keyspace = &store.1;
    for key in ["b", "d", "f", "h"] {
        put(keyspace, key, "");
    }
    let front =
        |rows| move |tx: &Transaction| drop(tx.scan(keyspace, "a".."g").unwrap().take(rows).last());
    let back = |rows| {
        move |tx: &Transaction| drop(tx.scan(keyspace, "a".."g").unwrap().rev().take(rows).last())
    };
    let both = |tx: &Transaction| {
        let mut scan = tx.scan(keyspace, "a".."g").unwrap();
        assert!(scan.next().is_some() && scan.next_back().is_some());
    };
    for (key, conflicts) in [
        // Before the range, before its first row, between its first two, ..., past its end.
        ("Z", [false; 7]),
        ("a", [false, true, true, true, false, true, true]),
        ("c", [false, false, true, true, false, true, false]),
        ("e", [false, false, false, true, false, true, false]),
        ("ff", [false, false, false, true, true, true, true]),
        ("g", [false; 7]),
    ] {
        let write = || {
            put(keyspace, key, "");
        };
        let reads: [&dyn Fn(&Transaction); 7] =
            [&front(0), &front(1), &front(2), &front(9), &back(1), &back(9), &both];
        let found = reads.map(|read| {
            let found = !commits(&store, read, write);
            keyspace.delete(key, BUFFERED).unwrap();
            found
        });
        assert_eq!(found, conflicts, "{key}");
    }
}

#[test]
fn two_that_read_what_the_other_writes_do_not_both_commit() {
    let (db, keyspace) = store();
    let begin = |writes: &str| {
        let mut transaction = Transaction::new(&db);
        for key in ["a", "b"] {
            assert_eq!(transaction.get(&keyspace, key).unwrap(), None);
        }
        transaction.put(&keyspace, writes, "1").unwrap();
        transaction
    };
    let [one, other] = ["a", "b"].map(begin);
    assert!(one.commit(BUFFERED).unwrap());
    assert!(!other.commit(BUFFERED).unwrap());
    assert_eq!(keyspace.get("b").unwrap(), None);
}

#[test]
fn one_without_writes_never_conflicts() {
    let (db, keyspace) = store();
    let transaction = Transaction::new(&db);
    assert_eq!(transaction.get(&keyspace, "a").unwrap(), None);
    put(&keyspace, "a", "1");
    assert!(transaction.is_empty(&keyspace, ..).unwrap());
    assert!(transaction.commit(BUFFERED).unwrap());
    assert_eq!(db.engine().snapshots.oldest(), 1);
}

#[test]
fn a_body_runs_again_until_nothing_overtakes_it() {
    let (db, keyspace) = store();
    let runs = Cell::new(0);
    let run = |last: u32| {
        runs.set(0);
        db.transact(BUFFERED, |tx| -> Result<_> {
            let found = tx.get(&keyspace, "count")?;
            runs.set(runs.get() + 1);
            if runs.get() < last {
                put(&keyspace, "count", &runs.get().to_string());
            }
            tx.put(&keyspace, "seen", found.clone().unwrap_or_default())?;
            Ok(found)
        })
    };
    assert_eq!((run(3).unwrap(), runs.get()), (Some(b"2".to_vec()), 3));
    assert_eq!(keyspace.get("seen").unwrap(), Some(b"2".to_vec()));
    assert_eq!((run(10).unwrap(), runs.get()), (Some(b"9".to_vec()), 10));
    let conflict = run(11).unwrap_err();
    assert!(matches!(conflict.kind(), ErrorKind::Conflict), "{conflict}");
    assert_eq!(runs.get(), 10);
    assert_eq!(keyspace.get("seen").unwrap(), Some(b"9".to_vec()));
}

#[test]
fn a_body_that_fails_or_panics_writes_nothing() {
    #[derive(Debug)]
    enum Mine {
        NotEnough,
        Store(#[allow(dead_code)] Error),
    }
    impl From<Error> for Mine {
        fn from(error: Error) -> Self {
            Mine::Store(error)
        }
    }
    let (db, keyspace) = store();
    let failed = db.transact(BUFFERED, |tx| -> Result<(), Mine> {
        tx.put(&keyspace, "a", "1")?;
        Err(Mine::NotEnough)
    });
    assert!(matches!(failed, Err(Mine::NotEnough)), "{failed:?}");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        db.transact(BUFFERED, |tx| -> Result<()> {
            tx.put(&keyspace, "a", "1")?;
            panic!("of the body")
        })
    }));
    assert!(panicked.is_err());
    assert!(keyspace.is_empty(..).unwrap());
    put(&keyspace, "b", "2");
    assert_eq!(db.engine().snapshots.oldest(), 1, "both snapshots are released");
}

#[test]
fn many_reads_are_joined_and_none_is_missed() {
    let store = store();
    let (_, keyspace) = &store;
    let key = |n: usize| format!("{n:05}");
    let read_even = |tx: &Transaction| {
        for n in (0..3 * READS_MAX).step_by(2) {
            tx.get(keyspace, key(n)).unwrap();
        }
        assert!(tx.reads.borrow().ranges.len() <= READS_MAX);
    };
    for n in [0, 2, 15_000, 3 * READS_MAX - 2] {
        assert!(!commits(&store, read_even, || put(keyspace, &key(n), "")), "{n}");
    }
    assert!(commits(&store, read_even, || put(keyspace, &key(3 * READS_MAX), "")));
    // Long keys fill the bytes before the items.
    let long = |n: usize| format!("{n:05}").repeat(2000);
    let read_long = |tx: &Transaction| {
        (0..500).for_each(|n| drop(tx.get(keyspace, long(n)).unwrap()));
        assert!(tx.reads.borrow().bytes <= READ_BYTES_MAX);
    };
    for n in [0, 250, 499] {
        assert!(!commits(&store, read_long, || put(keyspace, &long(n), "")), "{n}");
    }
}

fn range() -> impl Strategy<Value = KeyRange> {
    let bound = prop_oneof![
        Just(Bound::Unbounded),
        (0u8..12).prop_map(|key| Bound::Included(vec![key])),
        (0u8..12).prop_map(|key| Bound::Excluded(vec![key])),
    ];
    (bound.clone(), bound).prop_map(|(from, to)| KeyRange { from, to })
}

proptest! {
    #[test]
    fn scans_show_the_snapshot_with_the_writes(
        stored in prop::collection::btree_map(0u8..12, any::<u8>(), 0..10),
        writes in prop::collection::vec((0u8..12, prop::option::of(any::<u8>())), 0..10),
        range in range(),
        ends in prop::collection::vec(any::<bool>(), 0..20),
    ) {
        let (db, keyspace) = store();
        let other = db.create_keyspace("other").unwrap();
        for (key, value) in &stored {
            keyspace.put([*key], [*value], BUFFERED).unwrap();
        }
        let mut expected = stored;
        let mut transaction = Transaction::new(&db);
        for (key, value) in writes {
            // Writes of another keyspace do not show.
            transaction.put(&other, [key], "other").unwrap();
            match value {
                Some(value) => {
                    transaction.put(&keyspace, [key], [value]).unwrap();
                    expected.insert(key, value);
                }
                None => {
                    transaction.delete(&keyspace, [key]).unwrap();
                    expected.remove(&key);
                }
            }
        }
        for key in 0..12 {
            let found = transaction.get(&keyspace, [key]).unwrap();
            prop_assert_eq!(found, expected.get(&key).map(|value| vec![*value]));
        }
        let inside = expected.into_iter().filter(|(key, _)| range.contains([*key]));
        let rows: Vec<_> = inside.map(|(key, value)| (vec![key], vec![value])).collect();
        let mut rows = rows.into_iter();
        let mut scan = transaction.scan(&keyspace, &range).unwrap();
        for front in ends.into_iter().chain([true; 13]) {
            let (found, wanted) = match front {
                true => (scan.next(), rows.next()),
                false => (scan.next_back(), rows.next_back()),
            };
            prop_assert_eq!(found.transpose().unwrap(), wanted);
        }
    }
}

#[test]
fn a_transaction_deletes_ranges_and_writes_into_them_after() {
    let (store, rows) = store();
    for key in ["a", "b", "c", "d"] {
        rows.put(key, "old", Durability::Buffered).unwrap();
    }
    let seen = store
        .transact(Durability::Buffered, |tx| -> Result<_> {
            tx.put(&rows, "bb", "before")?;
            tx.delete_range(&rows, "b".."d")?;
            tx.delete_range(&rows, "z".."y")?;
            tx.put(&rows, "c", "after")?;
            let forward: Result<Vec<_>> = tx.scan(&rows, ..)?.collect();
            let backward: Result<Vec<_>> = tx.scan(&rows, ..)?.rev().collect();
            let (forward, mut backward) = (forward?, backward?);
            backward.reverse();
            assert_eq!(forward, backward);
            assert_eq!((tx.get(&rows, "b")?, tx.get(&rows, "bb")?), (None, None));
            Ok(forward)
        })
        .unwrap();
    let row = |key: &str, value: &str| (key.as_bytes().to_vec(), value.as_bytes().to_vec());
    assert_eq!(seen, [row("a", "old"), row("c", "after"), row("d", "old")]);
    let left: Result<Vec<_>> = rows.scan(..).unwrap().collect();
    assert_eq!(left.unwrap(), seen);
}

#[test]
fn a_transaction_reads_versions_of_stored_and_own_values() {
    let (db, keyspace) = store();
    let seq = keyspace.put("stored", "1", BUFFERED).unwrap();
    db.transact(BUFFERED, |tx| -> Result<()> {
        let versioned = |tx: &Transaction, key: &str| tx.get_versioned(&keyspace, key).unwrap();
        let stored = versioned(tx, "stored").unwrap();
        assert_eq!(
            (stored.seq, stored.expires_at, &stored.value[..]),
            (Some(seq), None, &b"1"[..])
        );
        tx.put_expiring(&keyspace, "own", "2", Duration::from_secs(60))?;
        let own = versioned(tx, "own").unwrap();
        assert_eq!((own.seq, &own.value[..]), (None, &b"2"[..]));
        assert!(own.expires_at.is_some());
        tx.delete(&keyspace, "stored")?;
        assert_eq!(versioned(tx, "stored"), None);
        Ok(())
    })
    .unwrap();
    let other = db.create_keyspace("other").unwrap();
    let read = |tx: &Transaction| drop(tx.get_versioned(&other, "k").unwrap());
    assert!(!commits(&(db.clone(), keyspace), read, || put(&other, "k", "")));
}

#[test]
fn a_keyspace_of_another_store_is_refused() {
    let ((store, _), (_other, foreign)) = (store(), store());
    let refused = store.transact(Durability::Buffered, |tx| {
        assert!(tx.get(&foreign, "a").is_err() && tx.scan(&foreign, ..).is_err());
        assert!(tx.delete(&foreign, "a").is_err() && tx.delete_range(&foreign, ..).is_err());
        tx.put(&foreign, "a", "1")
    });
    assert!(matches!(refused.unwrap_err().kind(), ErrorKind::Closed(_)));
    assert!(store.snapshot().get(&foreign, "a").is_err());
}

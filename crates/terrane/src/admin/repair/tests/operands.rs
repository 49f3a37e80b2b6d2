//! Operands, into a store with the merge operator and into one without.

use super::*;
use crate::operand::Operand;

/// A store whose operator appends; its open ends with a close.
fn appending() -> Options {
    let append = |older: &[u8], newer: &[u8]| [older, newer].concat();
    Options::small().merge_operator(Arc::new(append))
}

fn open(store: &Store, options: Options) -> Db {
    Db::open_storage(store.storage(), options, Arc::new(SliceExecutor::default())).unwrap()
}

/// Writes a value, two operands over it, which a flush joins, and a plain row.
fn written(flushed: bool) -> Store {
    let store = Store::new(Layout::Directory);
    let db = open(&store, appending());
    put(&db, "default", "joined", "a");
    put(&db, "default", "plain", "x");
    if flushed {
        db.flush().unwrap();
    }
    for operand in [b"b", b"c"] {
        let operand = Operand::Custom(operand);
        db.default_keyspace().merge("joined", operand, Durability::Buffered).unwrap();
    }
    if flushed {
        db.flush().unwrap();
    }
    db.close().unwrap();
    store
}

#[test]
fn operands_are_joined_by_the_operator_of_the_new_store() {
    for flushed in [false, true] {
        let target = open(&Store::new(Layout::Directory), appending());
        let remains = written(flushed).remains();
        let report = repair(remains, &target, DoubtfulRows::Together).unwrap();
        assert!(report.complete, "{report:?}");
        let values = ["joined", "plain"].map(|key| get(&target, key).unwrap());
        assert_eq!(values, ["abc", "x"]);
    }
}

#[test]
fn operands_without_their_operator_are_named_as_lost() {
    for flushed in [false, true] {
        let (target, report) = written(flushed).repair();
        assert!(!report.complete, "{report:?}");
        assert_eq!(get(&target, "joined").as_deref(), Some("a"), "what lies below stays");
        assert_eq!(get(&target, "plain").as_deref(), Some("x"));
        assert_eq!(report.doubtful_rows, 1);
        let [doubtful] = &report.doubtful[..] else { panic!("{report:?}") };
        assert_eq!(doubtful.from.as_deref(), Some(&b"joined"[..]));
        assert_eq!((&doubtful.from, doubtful.rows), (&doubtful.through, 1));
        assert!(doubtful.reason.contains("merge_operator"));
        let lost = report.files.iter().flat_map(|file| &file.lost).chain(&report.notes);
        assert!(lost.clone().any(|why| why.contains("merge_operator")), "{report:?}");
    }
}

//! Conditional batches.

use super::*;
use crate::error::Closed;
use crate::{Condition, ConditionalBatch, Outcome, Refusal, Snapshot, Versioned};

fn put(keyspace: &Keyspace, key: &str) -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.put(keyspace, key, format!("new {key}")).unwrap();
    batch
}

/// A store in which "a" has the value "1" of batch 1, and "b" was deleted by batch 3; if `flushed`, in tables.
fn store(flushed: bool) -> (Db, Keyspace) {
    let db = Db::open_storage(directory(&faulty()), Options::small(), slices()).unwrap();
    let keyspace = db.default_keyspace();
    keyspace.put("a", "1", Durability::Buffered).unwrap();
    keyspace.put("b", "2", Durability::Buffered).unwrap();
    keyspace.delete("b", Durability::Buffered).unwrap();
    if flushed {
        db.flush().unwrap();
    }
    (db, keyspace)
}

/// A condition's index, and the value found with its sequence number.
type Failed = (usize, Option<(Vec<u8>, u64)>);

/// Returns the indices of the conditions that did not hold, with what was found.
fn refused(outcome: Outcome) -> Vec<Failed> {
    let Outcome::Refused(refusals) = outcome else { return Vec::new() };
    let found = |found: Versioned| (found.value, found.seq);
    refusals.into_iter().map(|r: Refusal| (r.condition, r.found.map(found))).collect()
}

#[test]
fn a_batch_is_written_only_if_every_condition_holds() {
    let one = || Some((b"1".to_vec(), 1));
    for flushed in [false, true] {
        let (db, keyspace) = store(flushed);
        let write = |conditions: Vec<Condition<'_>>| {
            db.write_if(conditions, put(&keyspace, "c"), Durability::Buffered).unwrap()
        };
        let [a, b] = ["a", "b"];
        for condition in [
            Condition::absent(&keyspace, a),
            Condition::version(&keyspace, a, 2),
            Condition::value(&keyspace, a, "2"),
        ] {
            assert_eq!(refused(write(vec![condition])), [(0, one())]);
        }
        for condition in [
            Condition::present(&keyspace, b),
            Condition::version(&keyspace, b, 3),
            Condition::value(&keyspace, b, ""),
        ] {
            assert_eq!(refused(write(vec![condition])), [(0, None)]);
        }
        let mixed = vec![
            Condition::present(&keyspace, b),
            Condition::present(&keyspace, a),
            Condition::absent(&keyspace, a),
        ];
        assert_eq!(refused(write(mixed)), [(0, None), (2, one())]);
        assert_eq!(keyspace.get("c").unwrap(), None);
        let all = vec![
            Condition::present(&keyspace, a),
            Condition::version(&keyspace, a, 1),
            Condition::value(&keyspace, a, "1"),
            Condition::absent(&keyspace, b),
        ];
        // A refused batch took no number.
        assert_eq!(write(all), Outcome::Written(4));
        assert_eq!(keyspace.get_versioned("c").unwrap().unwrap().seq, 4);
    }
}

#[test]
fn a_range_is_unchanged_until_a_key_in_it_is_written_or_deleted() {
    for flushed in [false, true] {
        let (db, keyspace) = store(flushed);
        let write = |snapshot: &Snapshot| {
            let condition = snapshot.unchanged(&keyspace, "b".."d");
            db.write_if([condition], put(&keyspace, "z"), Durability::Buffered).unwrap()
        };
        let snapshot = db.snapshot();
        keyspace.put("a", "3", Durability::Buffered).unwrap();
        keyspace.put("d", "3", Durability::Buffered).unwrap();
        assert_eq!(refused(write(&snapshot)), []);
        keyspace.delete("c", Durability::Buffered).unwrap();
        if flushed {
            db.flush().unwrap();
        }
        assert_eq!(refused(write(&snapshot)), [(0, None)]);
        let later = db.snapshot();
        keyspace.put("b", "4", Durability::Buffered).unwrap();
        assert_eq!(refused(write(&later)), [(0, Some((b"4".to_vec(), 8)))]);
        assert_eq!(refused(write(&db.snapshot())), []);
    }
}

#[test]
fn batches_of_a_group_see_those_before_them() {
    let (db, keyspace) = store(false);
    let batch = |conditions, batch| ConditionalBatch { conditions, batch };
    let snapshot = db.snapshot();
    let mut delete = WriteBatch::new();
    delete.delete(&keyspace, "c").unwrap();
    let results = db.write_group(
        vec![
            batch(vec![Condition::absent(&keyspace, "c")], put(&keyspace, "c")),
            batch(vec![Condition::absent(&keyspace, "c")], put(&keyspace, "x")),
            batch(vec![Condition::version(&keyspace, "c", 4)], WriteBatch::new()),
            batch(vec![], put(&keyspace, "y")),
            batch(vec![Condition::present(&keyspace, "c")], delete),
            batch(vec![Condition::absent(&keyspace, "c")], put(&keyspace, "d")),
            batch(vec![snapshot.unchanged(&keyspace, "c"..="c")], put(&keyspace, "x")),
            batch(vec![snapshot.unchanged(&keyspace, "e".."f")], put(&keyspace, "e")),
        ],
        Durability::Sync,
    );
    let outcomes: Vec<Outcome> = results.unwrap().into_iter().map(|o| o.unwrap()).collect();
    let written: Vec<_> = outcomes.iter().map(|o| o.clone().written()).collect();
    assert_eq!(written, [Some(4), None, Some(4), Some(5), Some(6), Some(7), None, Some(8)]);
    assert_eq!(refused(outcomes[1].clone()), [(0, Some((b"new c".to_vec(), 4)))]);
    assert_eq!(refused(outcomes[6].clone()), [(0, None)]);
    assert_eq!(db.engine().log.syncs.synced(), 8);
    let keys: Vec<_> = keyspace.scan(..).unwrap().map(|row| row.unwrap().0).collect();
    assert_eq!(keys, [b"a", b"d", b"e", b"y"]);
}

#[test]
fn a_condition_of_a_group_fails_no_other_batch() {
    let (db, keyspace) = store(false);
    let other = db.create_keyspace("other").unwrap();
    db.drop_keyspace("other").unwrap();
    let batch = |conditions, batch| ConditionalBatch { conditions, batch };
    let mut results = db
        .write_group(
            vec![
                batch(vec![Condition::absent(&other, "a")], put(&keyspace, "c")),
                batch(vec![Condition::absent(&keyspace, "c")], put(&other, "c")),
                batch(vec![Condition::absent(&keyspace, "c")], put(&keyspace, "c")),
            ],
            Durability::Buffered,
        )
        .unwrap();
    assert_eq!(results.pop().unwrap().unwrap(), Outcome::Written(5));
    for result in results {
        assert!(matches!(result.unwrap_err().into_kind(), ErrorKind::Closed(Closed::Keyspace)));
    }
}

#[test]
fn bad_conditions_are_refused_with_what_was_expected() {
    let (db, keyspace) = store(false);
    let many = (0..10_001).map(|_| Condition::present(&keyspace, "a"));
    let refused = db.write_if(many, put(&keyspace, "c"), Durability::Buffered).unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("10000") && message.contains("10001"), "{message}");
    let (other, _) = store(false);
    let foreign = other.snapshot();
    let condition = foreign.unchanged(&keyspace, ..);
    let refused = db.write_if([condition], put(&keyspace, "c"), Durability::Buffered);
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("one of this store") && message.contains("another"), "{message}");
}

#[test]
fn an_empty_batch_with_conditions_only_checks() {
    let (db, keyspace) = store(false);
    let check = |condition| {
        db.write_if([condition], WriteBatch::new(), Durability::Sync).unwrap().written()
    };
    assert_eq!(check(Condition::present(&keyspace, "a")), Some(3));
    assert_eq!(check(Condition::absent(&keyspace, "a")), None);
    assert_eq!((db.engine().snapshots.visible(), db.engine().log.syncs.synced()), (3, 3));
}

#[test]
fn a_batch_that_cannot_be_taken_fails_no_other_of_its_group() {
    let (db, keyspace) = store(false);
    let other = db.create_keyspace("other").unwrap();
    db.drop_keyspace("other").unwrap();
    let (foreign, of_foreign) = store(false);
    let snapshot = foreign.snapshot();
    let many = (0..10_001).map(|n| Condition::absent(&keyspace, format!("x{n}"))).collect();
    let group = vec![
        ConditionalBatch { conditions: Vec::new(), batch: put(&keyspace, "first") },
        ConditionalBatch { conditions: many, batch: put(&keyspace, "many") },
        ConditionalBatch {
            conditions: vec![snapshot.unchanged(&of_foreign, ..)],
            batch: put(&keyspace, "foreign"),
        },
        ConditionalBatch { conditions: Vec::new(), batch: put(&other, "dropped") },
        ConditionalBatch { conditions: Vec::new(), batch: put(&keyspace, "last") },
    ];
    let results = db.write_group(group, Durability::Sync).unwrap();
    let written: Vec<_> =
        results.iter().map(|r| r.clone().ok().and_then(Outcome::written)).collect();
    assert_eq!(written, [Some(5), None, None, None, Some(6)]);
    let kind = |n: usize| results[n].as_ref().unwrap_err().kind();
    assert!(matches!(kind(1), ErrorKind::InvalidArgument(_)));
    assert!(matches!(kind(2), ErrorKind::InvalidArgument(_)));
    assert!(matches!(kind(3), ErrorKind::Closed(Closed::Keyspace)));
    assert_eq!(keyspace.get("last").unwrap().unwrap(), b"new last");
}

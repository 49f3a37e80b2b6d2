//! Merges: operands that change values which nobody reads.

use super::*;
use crate::batch::Operation;
use crate::stats::ValueKind;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::trace::Step;
use crate::write;
use crate::{Condition, ErrorKind, MergeOperator, Operand, Outcome, Transaction};

/// Options whose policy compacts nothing before 20 runs wait.
fn options() -> Options {
    let policy = PolicyOptions::Tiered(Tiered { size_ratio: 20, ..Tiered::default() });
    Options { l0_stop_trigger: 40, ..Options::small() }.policy(policy)
}

fn store() -> (FaultVfs, Db, Keyspace) {
    let vfs = faulty();
    let db = Db::open_storage(directory(&vfs), options(), slices()).unwrap();
    let rows = db.default_keyspace();
    (vfs, db, rows)
}

/// Appends an operand to a value.
fn append() -> MergeOperator {
    Arc::new(|older, newer| [older, newer].concat())
}

fn add(rows: &Keyspace, key: &str, n: i64) {
    rows.merge(key, Operand::Add(n), Buffered).unwrap();
}

fn text(found: Option<Vec<u8>>) -> Option<String> {
    found.map(|value| String::from_utf8(value).unwrap())
}

/// The rows of a keyspace, which are the same in both directions, and by gets.
fn rows_of(rows: &Keyspace) -> Vec<(String, String)> {
    let pair = |row: Result<(Vec<u8>, Vec<u8>)>| {
        let (key, value) = row.unwrap();
        (String::from_utf8(key).unwrap(), String::from_utf8(value).unwrap())
    };
    let all: Vec<_> = rows.scan(..).unwrap().map(pair).collect();
    let mut back: Vec<_> = rows.scan(..).unwrap().rev().map(pair).collect();
    back.reverse();
    assert_eq!(all, back);
    for (key, value) in &all {
        assert_eq!(text(rows.get(key).unwrap()).as_ref(), Some(value));
        assert!(rows.contains_key(key).unwrap());
    }
    all
}

fn owned(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn entries_in_tables(rows: &Keyspace) -> u64 {
    rows.shape().unwrap().tables().map(|(.., info)| info.entries).sum()
}

#[test]
fn operands_join_across_memtables_and_tables() {
    let (_, db, rows) = store();
    rows.put("a", "10", Buffered).unwrap();
    rows.put("d", "text", Buffered).unwrap();
    for n in 1..=3 {
        add(&rows, "a", n);
        add(&rows, "b", -n);
        db.flush().unwrap();
        rows.merge("c", Operand::Max(n), Buffered).unwrap();
        rows.merge("c", Operand::Add(1), Buffered).unwrap();
        rows.merge("c", Operand::Min(3), Buffered).unwrap();
        add(&rows, "d", 1);
    }
    let expected = owned(&[("a", "16"), ("b", "-6"), ("c", "3"), ("d", "3")]);
    assert_eq!(rows_of(&rows), expected);
    rows.compact_range(..).unwrap();
    assert_eq!(rows_of(&rows), expected);
    db.flush().unwrap();
    rows.compact_range(..).unwrap();
    assert_eq!((rows_of(&rows), entries_in_tables(&rows)), (expected, 4));
}

#[test]
fn a_snapshot_keeps_its_sum_through_flushes_and_merges() {
    let (_, db, rows) = store();
    add(&rows, "n", 1);
    db.flush().unwrap();
    let mut snapshots = Vec::new();
    for n in 2..=5 {
        snapshots.push((n - 1, db.snapshot()));
        add(&rows, "n", 1);
        if n % 2 == 0 {
            db.flush().unwrap();
        }
    }
    let check = |now: &str| {
        for (n, snapshot) in &snapshots {
            assert_eq!(text(snapshot.get(&rows, "n").unwrap()), Some(n.to_string()));
            let back = snapshot.scan(&rows, ..).unwrap().next_back().unwrap().unwrap().1;
            assert_eq!(text(Some(back)), Some(n.to_string()));
        }
        assert_eq!(text(rows.get("n").unwrap()).as_deref(), Some(now));
    };
    check("5");
    rows.compact_range(..).unwrap();
    check("5");
    add(&rows, "n", 10);
    db.flush().unwrap();
    rows.compact_range(..).unwrap();
    check("15");
    drop(snapshots);
    rows.compact_range(..).unwrap();
    assert_eq!((rows_of(&rows), entries_in_tables(&rows)), (owned(&[("n", "15")]), 1));
}

#[test]
fn deletes_of_keys_and_ranges_start_counters_again() {
    let (_, db, rows) = store();
    let key = |n: u64| format!("k{n}");
    // After each step the memtable stays, is sealed, or is flushed.
    for steps in 0..27u32 {
        let flush = |step: u32| match steps / 3u32.pow(step) % 3 {
            0 => {}
            1 => drop(write::seal_all(db.engine()).unwrap()),
            _ => db.flush().unwrap(),
        };
        for n in 0..4 {
            add(&rows, &key(n), 5);
        }
        flush(0);
        rows.delete("k0", Buffered).unwrap();
        rows.delete_range("k1".."k3", Buffered).unwrap();
        flush(1);
        for n in 0..4 {
            add(&rows, &key(n), 2);
        }
        flush(2);
        let expected = owned(&[("k0", "2"), ("k1", "2"), ("k2", "2"), ("k3", "7")]);
        assert_eq!(rows_of(&rows), expected);
        rows.compact_range(..).unwrap();
        assert_eq!(rows_of(&rows), expected);
        rows.delete_range(.., Buffered).unwrap();
    }
}

#[test]
fn a_batch_applies_its_operations_in_order() {
    let (vfs, db, rows) = store();
    let mut batch = WriteBatch::new();
    batch.merge(&rows, "a", Operand::Add(1)).unwrap();
    batch.merge(&rows, "a", Operand::Add(2)).unwrap();
    batch.put(&rows, "b", "7").unwrap();
    batch.merge(&rows, "b", Operand::Add(1)).unwrap();
    batch.merge(&rows, "c", Operand::Add(1)).unwrap();
    batch.delete(&rows, "c").unwrap();
    batch.merge(&rows, "d", Operand::Add(1)).unwrap();
    batch.delete_range(&rows, "d".."e").unwrap();
    batch.merge(&rows, "d", Operand::Add(4)).unwrap();
    db.write(batch, Buffered).unwrap();
    let expected = owned(&[("a", "3"), ("b", "8"), ("d", "4")]);
    assert_eq!(rows_of(&rows), expected);
    // Replayed from the log.
    drop((rows, db));
    let db = Db::open_storage(directory(&vfs), options(), slices()).unwrap();
    assert_eq!(rows_of(&db.default_keyspace()), expected);
}

#[test]
fn a_merge_operator_combines_values_of_any_form_in_order() {
    let vfs = faulty();
    let open = |operator: Option<MergeOperator>| {
        let options = Options { merge_operator: operator, ..options() };
        Db::open_storage(directory(&vfs), options, slices())
    };
    let db = open(Some(append())).unwrap();
    let rows = db.default_keyspace();
    let merge = |text: &str| rows.merge("k", Operand::Custom(text.as_bytes()), Buffered).unwrap();
    merge("a");
    merge("b");
    db.flush().unwrap();
    merge("c");
    let long = "x".repeat(2000);
    // Too long to be copied by each write.
    merge(&long);
    merge("d");
    merge("e");
    let expected = format!("abc{long}de");
    assert_eq!(rows_of(&rows), owned(&[("k", &expected)]));
    db.flush().unwrap();
    assert_eq!(rows_of(&rows), owned(&[("k", &expected)]));
    rows.compact_range(..).unwrap();
    assert_eq!((rows_of(&rows), entries_in_tables(&rows)), (owned(&[("k", &expected)]), 1));
    merge("f");
    drop((rows, db));
    let refused = open(None).map(drop).unwrap_err().to_string();
    assert!(refused.contains("Options::merge_operator"), "{refused}");
    let db = open(Some(append())).unwrap();
    assert_eq!(rows_of(&db.default_keyspace()), owned(&[("k", &format!("{expected}f"))]));
}

/// Batches that merge after another operation of their key, and the value that each makes of `0`.
fn merging_twice(rows: &Keyspace) -> Vec<(WriteBatch, Option<String>)> {
    let long = "x".repeat(2000);
    let merge = |batch: &mut WriteBatch, texts: &[&str]| {
        for text in texts {
            batch.merge(rows, "k", Operand::Custom(text.as_bytes())).unwrap();
        }
    };
    let batch = |write: &dyn Fn(&mut WriteBatch)| {
        let mut batch = WriteBatch::new();
        write(&mut batch);
        batch.put(rows, "other", "value").unwrap();
        batch
    };
    vec![
        (
            batch(&|b| {
                merge(b, &[&*long, "a", ""]);
            }),
            Some(format!("0{long}a")),
        ),
        (
            batch(&|b| {
                b.put(rows, "k", &long).unwrap();
                merge(b, &["a", "b"]);
            }),
            Some(format!("{long}ab")),
        ),
        (
            batch(&|b| {
                merge(b, &[&long]);
                b.delete(rows, "k").unwrap();
                merge(b, &[&*long, "b"]);
            }),
            Some(format!("{long}b")),
        ),
        (
            batch(&|b| {
                merge(b, &["a"]);
                b.delete_range(rows, "k".."l").unwrap();
                merge(b, &[&*long, "b"]);
            }),
            Some(format!("{long}b")),
        ),
        (
            batch(&|b| {
                merge(b, &[&*long, "b"]);
                b.delete_range(rows, "k".."l").unwrap();
            }),
            None,
        ),
        (
            batch(&|b| {
                merge(b, &[&*long, "b"]);
                b.delete(rows, "k").unwrap();
            }),
            None,
        ),
    ]
}

#[test]
fn long_merges_of_one_key_in_a_batch_all_count() {
    let vfs = faulty();
    let open =
        || Db::open_storage(directory(&vfs), options().merge_operator(append()), slices()).unwrap();
    let writes: [fn(&Db, WriteBatch); 4] = [
        |db, batch| assert!(db.write(batch, Buffered).is_ok()),
        |db, batch| assert!(db.write_if([], batch, Buffered).unwrap().written().is_some()),
        |db, batch| assert!(matches!(db.try_write(batch).unwrap(), crate::TryWrite::Written(_))),
        |db, batch| {
            let rows = db.default_keyspace();
            let body = |tx: &mut Transaction| {
                for entry in &batch {
                    match entry.unwrap().1 {
                        Operation::Put(key, value) => tx.put(&rows, key, value)?,
                        Operation::Delete(key) => tx.delete(&rows, key)?,
                        Operation::DeleteRange(from, _) => {
                            tx.delete_range(&rows, from.."l".as_bytes())?
                        }
                        Operation::Merge(key, operand) => {
                            tx.merge(&rows, key, Operand::decode(operand).unwrap())?
                        }
                        Operation::PutExpiring(..) | Operation::DropKeyspace(_) => unreachable!(),
                    }
                }
                Result::<()>::Ok(())
            };
            assert!(db.try_transact(body).unwrap().is_some());
        },
    ];
    for write in writes {
        let db = open();
        let rows = db.default_keyspace();
        rows.merge("k", Operand::Custom(b"0"), Buffered).unwrap();
        for (batch, expected) in merging_twice(&rows) {
            rows.put("k", "0", Buffered).unwrap();
            write(&db, batch);
            assert_eq!(text(rows.get("k").unwrap()), expected);
        }
        for (batch, expected) in merging_twice(&rows) {
            rows.put("k", "0", Buffered).unwrap();
            write(&db, batch);
            // Replayed from the log.
            let copy = faulty();
            db.checkpoint(&*directory(&copy)).unwrap();
            let options = options().merge_operator(append());
            let copy = Db::open_storage(directory(&copy), options, slices()).unwrap();
            assert_eq!(text(copy.default_keyspace().get("k").unwrap()), expected);
        }
        rows.delete_range(.., Buffered).unwrap();
    }
}

#[test]
fn a_batch_whose_merges_cannot_be_combined_writes_nothing() {
    let operator: MergeOperator = Arc::new(|older, newer| {
        assert!(newer != b"bad", "an operator that fails");
        if newer == b"long" { vec![0; 64 << 20] } else { [older, newer].concat() }
    });
    let options = options().merge_operator(operator);
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let rows = db.default_keyspace();
    let batch = |texts: [&str; 2]| {
        let mut batch = WriteBatch::new();
        for text in texts {
            batch.merge(&rows, "k", Operand::Custom(text.as_bytes())).unwrap();
        }
        batch.put(&rows, "other", "value").unwrap();
        batch
    };
    let write = || db.write(batch(["a", "bad"]), Buffered);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(write)).is_err());
    let refused = db.write(batch(["a", "long"]), Buffered).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::InvalidArgument(_)), "{refused}");
    assert_eq!(rows_of(&rows), []);
    let group = [["a", "long"], ["a", "b"]];
    let group =
        group.map(|texts| crate::ConditionalBatch { batch: batch(texts), ..Default::default() });
    let outcomes = db.write_group(group.into(), Buffered).unwrap();
    assert!(matches!(outcomes[..], [Err(_), Ok(Outcome::Written(1))]), "{outcomes:?}");
    assert_eq!(rows_of(&rows), owned(&[("k", "ab"), ("other", "value")]));
}

#[test]
fn an_operator_that_panics_fails_reads_and_loses_no_operand() {
    let vfs = faulty();
    let operator: MergeOperator = Arc::new(|older, newer| {
        assert!(older != b"bad" && newer != b"bad", "an operator that fails");
        [older, newer].concat()
    });
    let open = |operator: &MergeOperator| {
        let options = options().merge_operator(operator.clone());
        Db::open_storage(directory(&vfs), options, slices()).unwrap()
    };
    let db = open(&operator);
    let rows = db.default_keyspace();
    for operand in ["good", "bad", "better"] {
        rows.merge("k", Operand::Custom(operand.as_bytes()), Buffered).unwrap();
    }
    let get = || rows.get("k");
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(get)).is_err());
    rows.put("other", "value", Buffered).unwrap();
    drop((rows, db));
    let db = open(&append());
    assert_eq!(
        rows_of(&db.default_keyspace()),
        owned(&[("k", "goodbadbetter"), ("other", "value")])
    );
}

#[test]
fn a_result_over_the_limit_fails_its_reads_and_blocks_no_job() {
    let is_long = Arc::new(AtomicBool::new(true));
    let long = is_long.clone();
    let operator: MergeOperator = Arc::new(move |older, newer| {
        if long.load(Ordering::Relaxed) { vec![0; 64 << 20] } else { [older, newer].concat() }
    });
    let options = options().merge_operator(operator);
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let rows = db.default_keyspace();
    let snapshot = rows.put("k", "a", Buffered).map(|_| db.snapshot()).unwrap();
    for operand in ["b", "c", "d"] {
        rows.merge("k", Operand::Custom(operand.as_bytes()), Buffered).unwrap();
        rows.put("other", operand, Buffered).unwrap();
        if operand != "b" {
            db.flush().unwrap();
        }
    }
    rows.compact_range(..).unwrap();
    let refused = rows.get("k").unwrap_err().to_string();
    assert!(refused.contains("result of Options::merge_operator"), "{refused}");
    assert_eq!(text(rows.get("other").unwrap()), Some("d".to_owned()));
    assert_eq!(text(snapshot.get(&rows, "k").unwrap()), Some("a".to_owned()));
    drop(snapshot);
    rows.compact_range(..).unwrap();
    // Another operator finds all operands, wherever they lie.
    is_long.store(false, Ordering::Relaxed);
    assert_eq!(rows_of(&rows), owned(&[("k", "abcd"), ("other", "d")]));
    rows.compact_range(..).unwrap();
    assert_eq!(rows_of(&rows), owned(&[("k", "abcd"), ("other", "d")]));
}

#[test]
fn jobs_combine_no_operands_that_nobody_sees() {
    let operator: MergeOperator = Arc::new(|older, newer| {
        assert!(!newer.starts_with(b"bad"), "an operator that fails");
        [older, newer].concat()
    });
    let options = options().merge_operator(operator);
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let rows = db.default_keyspace();
    let keys = ["deleted", "merged", "put", "range"];
    for key in keys {
        rows.put(key, "a", Buffered).unwrap();
    }
    db.flush().unwrap();
    for operand in [b"b", &b"bad"[..], b"c"] {
        for key in keys {
            rows.merge(key, Operand::Custom(operand), Buffered).unwrap();
        }
    }
    let is_failing = || {
        let reads = || rows.scan(..).map(Iterator::count);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(reads)).is_err()
    };
    assert!(is_failing());
    rows.delete("deleted", Buffered).unwrap();
    rows.delete("merged", Buffered).unwrap();
    rows.merge("merged", Operand::Custom(b"new"), Buffered).unwrap();
    rows.put("put", "new", Buffered).unwrap();
    rows.delete_range("range".."s", Buffered).unwrap();
    let expected = owned(&[("merged", "new"), ("put", "new")]);
    assert_eq!(rows_of(&rows), expected);
    db.flush().unwrap();
    rows.compact_range(..).unwrap();
    assert_eq!((rows_of(&rows), entries_in_tables(&rows)), (expected, 2));
}

#[test]
fn an_operand_that_stays_apart_keeps_the_value_below_it() {
    let is_failing = Arc::new(AtomicBool::new(false));
    let fails = is_failing.clone();
    let operator: MergeOperator = Arc::new(move |older, newer| {
        let is_long = newer == b"b" && fails.load(Ordering::Relaxed);
        if is_long { vec![0; 64 << 20] } else { [older, newer].concat() }
    });
    let options = options().merge_operator(operator);
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let rows = db.default_keyspace();
    rows.put("k", "a", Buffered).unwrap();
    rows.compact_range(..).unwrap();
    // Joined with the next, and kept for a snapshot.
    rows.merge("k", Operand::Custom(b""), Buffered).unwrap();
    let snapshot = db.snapshot();
    rows.merge("k", Operand::Custom(b"b"), Buffered).unwrap();
    db.flush().unwrap();
    is_failing.store(true, Ordering::Relaxed);
    rows.compact_range(..).unwrap();
    assert!(rows.get("k").is_err());
    assert_eq!(text(snapshot.get(&rows, "k").unwrap()).as_deref(), Some("a"));
    drop(snapshot);
    rows.compact_range(..).unwrap();
    is_failing.store(false, Ordering::Relaxed);
    assert_eq!(rows_of(&rows), owned(&[("k", "ab")]));
}

#[test]
fn what_hides_operands_that_stay_apart_hides_the_values_below() {
    let operator: MergeOperator = Arc::new(|_, _| vec![0; 64 << 20]);
    let options = options().merge_operator(operator);
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let rows = db.default_keyspace();
    let keys = ["deleted", "merged", "put", "range"];
    let expected = owned(&[("merged", "new"), ("put", "new")]);
    for is_held in [false, true] {
        for key in keys {
            rows.put(key, "old", Buffered).unwrap();
            rows.merge(key, Operand::Custom(b"a"), Buffered).unwrap();
        }
        let snapshot = is_held.then(|| db.snapshot());
        rows.delete("deleted", Buffered).unwrap();
        rows.delete("merged", Buffered).unwrap();
        rows.merge("merged", Operand::Custom(b"new"), Buffered).unwrap();
        rows.put("put", "new", Buffered).unwrap();
        rows.delete_range("range".."s", Buffered).unwrap();
        rows.compact_range(..).unwrap();
        assert_eq!(rows_of(&rows), expected);
        if let Some(snapshot) = snapshot {
            assert!(keys.iter().all(|key| snapshot.get(&rows, key).is_err()));
        }
        rows.compact_range(..).unwrap();
        assert_eq!((rows_of(&rows), entries_in_tables(&rows)), (expected.clone(), 2));
    }
}

#[test]
fn a_keyspace_takes_one_kind_of_value_for_good() {
    let vfs = faulty();
    let open = || {
        let options = options().merge_operator(append());
        Db::open_storage(directory(&vfs), options, slices()).unwrap()
    };
    let db = open();
    let names = ["counters", "texts", "sessions"];
    let keyspaces = names.map(|name| db.create_keyspace(name).unwrap());
    let write = |db: &Db, keyspace: &Keyspace, kind: usize| {
        let mut batch = WriteBatch::new();
        match kind {
            0 => batch.merge(keyspace, "k", Operand::Add(1)).unwrap(),
            1 => batch.merge(keyspace, "k", Operand::Custom(b"a")).unwrap(),
            _ => batch.put_expiring_at(keyspace, "k", "v", u64::MAX).unwrap(),
        }
        db.write(batch, Buffered)
    };
    let kinds = [ValueKind::Counters, ValueKind::MergeOperator, ValueKind::Expiring];
    let check = |db: &Db| {
        let stats = db.stats().unwrap().keyspaces;
        assert!(stats[1..].iter().map(|keyspace| keyspace.values).eq(kinds));
        for (has, name) in names.iter().enumerate() {
            let keyspace = db.open_keyspace(name).unwrap().unwrap();
            for kind in 0..3 {
                let written = write(db, &keyspace, kind);
                assert_eq!(written.is_ok(), kind == has, "{name} {kind}");
                if let Err(refused) = written {
                    assert!(matches!(refused.kind(), ErrorKind::InvalidArgument(_)), "{refused}");
                    assert!(refused.to_string().contains(&format!("{name:?}")), "{refused}");
                }
            }
        }
    };
    for (kind, keyspace) in keyspaces.iter().enumerate() {
        assert_eq!(db.stats().unwrap().keyspaces[kind + 1].values, ValueKind::Plain);
        write(&db, keyspace, kind).unwrap();
    }
    check(&db);
    drop((keyspaces, db));
    let db = open();
    check(&db);
    // Two in one batch of a keyspace that has none, of which nothing is written.
    let fresh = db.create_keyspace("fresh").unwrap();
    let mut batch = WriteBatch::new();
    batch.merge(&fresh, "a", Operand::Add(1)).unwrap();
    batch.put_expiring_at(&fresh, "b", "v", u64::MAX).unwrap();
    assert!(db.write(batch, Buffered).is_err());
    assert!(fresh.is_empty(..).unwrap());
    write(&db, &fresh, 2).unwrap();
    // Neither deletes nor compactions change it; dropped and created again, it takes what comes first.
    fresh.delete_range(.., Buffered).unwrap();
    fresh.compact_range(..).unwrap();
    assert!(write(&db, &fresh, 0).is_err());
    db.drop_keyspace("fresh").unwrap();
    let fresh = db.create_keyspace("fresh").unwrap();
    write(&db, &fresh, 0).unwrap();
}

#[test]
fn a_store_without_a_merge_operator_refuses_operands_of_one() {
    let (_, db, rows) = store();
    let refused = rows.merge("k", Operand::Custom(b"a"), Buffered).unwrap_err().to_string();
    assert!(refused.contains("Options::merge_operator") && refused.contains("none"), "{refused}");
    assert_eq!(rows.get("k").unwrap(), None);
    drop(db);
}

#[test]
fn a_store_opens_without_an_operator_once_no_keyspace_needs_it() {
    let vfs = faulty();
    let open = |options| Db::open_storage(directory(&vfs), options, slices());
    let db = open(options().merge_operator(append())).unwrap();
    let lists = db.create_keyspace("lists").unwrap();
    lists.merge("k", Operand::Custom(b"a"), Buffered).unwrap();
    db.close().unwrap();
    let refused = open(options()).err().unwrap().to_string();
    assert!(refused.contains("Options::merge_operator") && refused.contains("none"), "{refused}");
    let db = open(options().merge_operator(append())).unwrap();
    db.drop_keyspace("lists").unwrap();
    db.close().unwrap();
    let db = open(options()).unwrap();
    assert_eq!(db.keyspaces(), ["default"]);
}

#[test]
fn conditions_are_evaluated_on_what_merges_make() {
    let (_, db, rows) = store();
    add(&rows, "n", 1);
    let set = |conditions: Vec<Condition<'_>>, n: i64| {
        let mut batch = WriteBatch::new();
        batch.merge(&rows, "n", Operand::Add(n)).unwrap();
        db.write_if(conditions, batch, Buffered).unwrap()
    };
    let Outcome::Refused(refusals) = set(vec![Condition::value(&rows, "n", "2")], 1) else {
        panic!("written")
    };
    assert_eq!(refusals[0].found.as_ref().unwrap().value, b"1");
    let written = set(vec![Condition::value(&rows, "n", "1")], 1).written().unwrap();
    assert!(set(vec![Condition::version(&rows, "n", written)], 1).written().is_some());
    // Each batch of a group after a merge of the one before.
    let mut group = Vec::new();
    for n in 3..6 {
        let mut conditional = crate::ConditionalBatch::default();
        conditional.batch.merge(&rows, "n", Operand::Add(1)).unwrap();
        conditional.conditions.push(Condition::value(&rows, "n", n.to_string()));
        group.push(conditional);
    }
    let outcomes = db.write_group(group, Buffered).unwrap();
    assert!(outcomes.iter().all(|o| matches!(o, Ok(Outcome::Written(_)))), "{outcomes:?}");
    assert_eq!(rows_of(&rows), owned(&[("n", "6")]));
}

#[test]
fn transactions_see_their_own_merges() {
    let (_, db, rows) = store();
    rows.put("a", "1", Buffered).unwrap();
    rows.put("c", "5", Buffered).unwrap();
    db.transact(Buffered, |tx| -> Result<()> {
        tx.merge(&rows, "a", Operand::Add(1))?;
        tx.merge(&rows, "b", Operand::Add(1))?;
        tx.merge(&rows, "b", Operand::Add(1))?;
        tx.put(&rows, "d", "7")?;
        tx.merge(&rows, "d", Operand::Add(1))?;
        tx.delete(&rows, "c")?;
        tx.merge(&rows, "c", Operand::Max(3))?;
        let all: Vec<_> = tx.scan(&rows, ..)?.collect::<Result<_>>()?;
        let mut back: Vec<_> = tx.scan(&rows, ..)?.rev().collect::<Result<_>>()?;
        back.reverse();
        assert_eq!(all, back);
        let values: Vec<_> = all.iter().map(|(_, value)| value.as_slice()).collect();
        assert_eq!(values, [b"2", b"2", b"3", b"8"]);
        for (key, value) in &all {
            assert_eq!(tx.get(&rows, key)?.as_ref(), Some(value));
        }
        Ok(())
    })
    .unwrap();
    let expected = owned(&[("a", "2"), ("b", "2"), ("c", "3"), ("d", "8")]);
    assert_eq!(rows_of(&rows), expected);
    // A merge alone reads nothing, so that no other write is a conflict.
    let mut runs = 0;
    db.transact(Buffered, |tx| -> Result<()> {
        runs += 1;
        tx.merge(&rows, "a", Operand::Add(1))?;
        add(&rows, "a", 10);
        Ok(())
    })
    .unwrap();
    assert_eq!((runs, text(rows.get("a").unwrap())), (1, Some("13".to_owned())));
}

#[test]
fn a_transaction_is_refused_what_a_batch_is() {
    let (_, db, rows) = store();
    let refused = db.transact(Buffered, |tx| {
        tx.put_expiring(&rows, "k", "5", Duration::from_secs(60))?;
        tx.merge(&rows, "k", Operand::Add(1))
    });
    assert!(matches!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument(_)));
    let expiring = db.create_keyspace("expiring").unwrap();
    expiring.put_expiring("k", "5", Duration::from_secs(60), Buffered).unwrap();
    let merges: [fn(&mut Transaction, &Keyspace) -> Result<()>; 4] = [
        |_, _| Ok(()),
        |tx, rows| tx.put(rows, "k", "1"),
        |tx, rows| tx.delete(rows, "k"),
        |tx, rows| tx.delete_range(rows, ..),
    ];
    for before in merges {
        let refused = db.transact(Buffered, |tx| {
            before(tx, &expiring)?;
            tx.merge(&expiring, "k", Operand::Add(1))
        });
        assert!(matches!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument(_)));
    }
    assert_eq!(rows_of(&rows), []);
    assert_eq!(text(expiring.get("k").unwrap()), Some("5".to_owned()));
}

#[test]
fn a_cursor_turns_on_rows_that_operands_make() {
    let (_, db, rows) = store();
    for n in 0..3 {
        for key in ["a", "b", "c"] {
            add(&rows, key, n);
        }
        db.flush().unwrap();
    }
    add(&rows, "b", 1);
    let mut cursor = rows.cursor(..).unwrap();
    let mut seen = Vec::new();
    for is_next in [true, true, false, true, true, true, false, false] {
        let row = if is_next { cursor.next() } else { cursor.prev() };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        seen.push(row.unwrap().map_or("end".to_owned(), |(k, v)| text(k) + &text(v)));
    }
    assert_eq!(seen, ["a3", "b4", "a3", "b4", "c3", "end", "end", "end"]);
}

#[test]
fn a_trace_names_operands_up_to_the_value_below_them() {
    let (_, db, rows) = store();
    rows.put("n", "1", Buffered).unwrap();
    db.flush().unwrap();
    add(&rows, "n", 1);
    db.flush().unwrap();
    add(&rows, "n", 1);
    let (value, trace) = rows.trace_get("n").unwrap();
    assert_eq!(value, Some(b"3".to_vec()));
    let found: Vec<_> = trace
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Operand { sequence, .. } => Some(("operand", *sequence)),
            Step::Value { sequence, .. } => Some(("value", *sequence)),
            _ => None,
        })
        .collect();
    assert_eq!(found, [("operand", 3), ("operand", 2), ("value", 1)]);
}

#[test]
fn a_merge_keeps_the_operands_that_each_snapshot_reads() {
    // SlateDB issue 1054: a compaction joined operands on both sides of a snapshot, which then saw nothing. Its pull
    // request 1060: older operands that a snapshot needed were dropped.
    let (_, db, rows) = store();
    let mut snapshots = Vec::new();
    for n in 1..=6 {
        add(&rows, "n", 1);
        add(&rows, &format!("k{n}"), 1);
        snapshots.push((n, db.snapshot()));
        if n % 2 == 0 {
            db.flush().unwrap();
        }
    }
    for round in 0..3 {
        for (n, snapshot) in &snapshots {
            let found = text(snapshot.get(&rows, "n").unwrap());
            assert_eq!(found, Some(n.to_string()), "round {round}");
            assert_eq!(snapshot.scan(&rows, "k"..).unwrap().count(), *n + usize::from(*n > 0));
        }
        rows.compact_range(..).unwrap();
        // Released one by one.
        snapshots.remove(round);
    }
    assert_eq!(text(rows.get("n").unwrap()).as_deref(), Some("6"));
}

//! Operands that jobs leave apart, since nobody sees their sum or a snapshot reads only some of them.

use super::*;

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

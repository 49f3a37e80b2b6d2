//! The merge operator of the application: values of any form, and operands that cannot be combined.

use super::*;

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

//! Merges: operands that change values which nobody reads.

mod apart;
mod kinds;
mod operator;

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

//! Traces and counts against what was done to a small store.

use crate::db::{Db, Keyspace};
use crate::entry::Seq;
use crate::executor::SliceExecutor;
use crate::operand::Operand;
use crate::options::{Durability::Buffered, Options};
use crate::read::lookup::get_many;
use crate::read::lookup::view;
use crate::storage::{Directory, vfs::MemoryVfs};
use crate::table::TableOptions;
use crate::write;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use terrane_policy::{FilterBits, Leveled, PolicyOptions};
use terrane_table::read::{KeyRange, Origin, ReadCounts, Reader, Step, Trace};

/// Opens a store in memory whose filters have `filter_bits` bits a key.
fn store(filter_bits: u32, cache_bytes: u64) -> (Db, Keyspace) {
    let storage = Directory::open(Arc::new(MemoryVfs::new())).unwrap();
    let filter_bits_per_key = FilterBits::whole(filter_bits);
    let table = TableOptions { filter_bits_per_key, ..TableOptions::default() };
    let options = Options { table, cache_bytes, ..Options::default() };
    let db =
        Db::open_storage(Arc::new(storage), options, Arc::new(SliceExecutor::default())).unwrap();
    let keyspace = db.default_keyspace();
    (db, keyspace)
}

fn put(keyspace: &Keyspace, keys: &[&str]) {
    for key in keys {
        keyspace.put(key.as_bytes(), b"value", Buffered).unwrap();
    }
}

fn steps(keyspace: &Keyspace, key: &str) -> Vec<Step> {
    keyspace.trace_get(key.as_bytes()).unwrap().1.steps
}

#[test]
fn a_lookup_stands_at_one_moment_and_appends_what_it_finds() {
    let (db, keyspace) = store(10, 1 << 20);
    put(&keyspace, &["a", "b"]);
    db.flush().unwrap();
    keyspace.delete(b"b", Buffered).unwrap();
    let mut lookup = keyspace.lookup(3).unwrap();
    keyspace.put(b"a", b"newer", Buffered).unwrap();
    db.flush().unwrap();

    let mut out = b"before ".to_vec();
    let found = [b"a", b"b", b"c"].map(|key| lookup.get_into(key, &mut out).unwrap());
    assert_eq!((found, &out[..]), ([true, false, false], &b"before value"[..]));
    assert_eq!(lookup.get(b"a").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(keyspace.get(b"a").unwrap().as_deref(), Some(&b"newer"[..]));
    // Its counts are added when it ends; a memtable answered for "b".
    assert_eq!(db.stats().unwrap().gets.operations, 1);
    drop(lookup);
    assert_eq!(db.stats().unwrap().gets.operations, 4);
}

#[test]
fn a_get_lends_the_value_that_a_reader_sees() {
    let (db, keyspace) = store(10, 1 << 20);
    put(&keyspace, &["a", "b", "c"]);
    keyspace.put_expiring("e", "soon", Duration::from_secs(3600), Buffered).unwrap();
    let counts = db.create_keyspace("counts").unwrap();
    counts.merge("n", Operand::Add(2), Buffered).unwrap();
    db.flush().unwrap();
    keyspace.delete("b", Buffered).unwrap();
    keyspace.put("c", "newer", Buffered).unwrap();
    counts.merge("n", Operand::Add(3), Buffered).unwrap();
    let lent = |keyspace: &Keyspace, key| {
        let mut calls = 0;
        let lent = keyspace.get_with(key, |value| {
            calls += 1;
            value.to_vec()
        });
        let lent = lent.unwrap();
        assert_eq!(calls, usize::from(lent.is_some()));
        lent
    };
    // From a file first, then from memory.
    for _ in 0..3 {
        let found = ["a", "b", "c", "d", "e"].map(|key| lent(&keyspace, key));
        let expected = [Some("value"), None, Some("newer"), None, Some("soon")];
        assert_eq!(found, expected.map(|value| value.map(|value| value.as_bytes().to_vec())));
        assert_eq!(lent(&counts, "n").as_deref(), Some(&b"5"[..]));
    }
}

#[test]
fn filters_count_by_level_what_they_said_in_gets() {
    let (db, keyspace) = store(2, 1 << 20);
    let numbered = |n: u32| format!("{n:04}");
    let fill = |remainder| {
        for n in (0..1000u32).filter(|n| n % 4 == remainder) {
            let value = [n.wrapping_mul(0x9e37_79b9).to_be_bytes(); 8].concat();
            keyspace.put(numbered(n), &value, Buffered).unwrap();
        }
        db.flush().unwrap();
    };
    fill(0);
    // Too much for level 0, until it is below.
    let level_base_bytes = 1 << 10;
    let small = Leveled { l0_compaction_trigger: 1, level_base_bytes, ..Leveled::default() };
    keyspace.set_policy(&PolicyOptions::Leveled(small)).unwrap();
    db.wait_until_idle().unwrap();
    keyspace.set_policy(&PolicyOptions::default()).unwrap();
    fill(1);
    fill(2);
    let none = keyspace.get("elsewhere").unwrap();
    let levels = || db.stats().unwrap().keyspaces.remove(0).levels;
    assert!(none.is_none() && levels().iter().all(|level| level.filter_lookups == 0));
    for n in 4..996 {
        assert_eq!(keyspace.get(numbered(n)).unwrap().is_some(), n % 4 < 3);
    }
    let (levels, gets) = (levels(), db.stats().unwrap().gets);
    let (first, last) = (&levels[0], levels.last().unwrap());
    let between = levels.len() - 2;
    assert!(levels[1..=between].iter().all(|level| level.filter_lookups == 0));
    // Both runs of level 0, except for what the newer one has; below what neither has.
    assert_eq!(first.filter_lookups, 992 + 744);
    assert_eq!(first.filter_positives - first.filter_false_positives, 2 * 248);
    assert_eq!(last.filter_lookups, 2 * 248);
    assert_eq!(last.filter_positives - last.filter_false_positives, 248);
    assert!(first.filter_false_positives > 0 && last.filter_false_positives > 0);
    assert_eq!(
        gets.filter_false_positives,
        first.filter_false_positives + last.filter_false_positives
    );
    let negatives = [first, last].map(|level| level.filter_lookups - level.filter_positives);
    assert_eq!(gets.filter_negatives, negatives.iter().sum::<u64>());
    // Tables of 250 keys at 2 bits, in lines of 512 bits.
    assert_eq!((first.filter_bytes, last.filter_bytes), (2 * 64, 64));
}

#[test]
fn a_trace_of_a_get_lists_every_place_and_its_answer() {
    let (db, keyspace) = store(10, 1 << 20);
    put(&keyspace, &["a", "m", "z"]);
    db.flush().unwrap();
    put(&keyspace, &["b", "y"]);
    db.flush().unwrap();
    put(&keyspace, &["n"]);
    keyspace.delete(b"m", Buffered).unwrap();
    let shape = keyspace.shape().unwrap();
    let [upper, lower] = &shape.levels()[0].runs[..] else { panic!("{shape:?}") };
    let run = |run: &terrane_policy::Run, spans: bool| Step::Run {
        level: 0,
        run: run.id,
        table: spans.then(|| run.tables().first().unwrap().id),
    };
    let memtable = [Step::Memtable { place: 0 }, Step::Absent { false_positive: false }];

    let cache = &db.engine().jobs.cache;
    cache.resize(0);
    cache.resize(1 << 20);
    let first = steps(&keyspace, "a");
    let [.., Step::Block { offset: 0, bytes, origin: Origin::Vfs, read }, value] = &first[..]
    else {
        panic!("{first:?}")
    };
    assert_eq!((read, value), (bytes, &Step::Value { sequence: 1, bytes: 5 }));
    let way = [run(upper, false), run(lower, true), Step::Filter { may_contain: true }];
    assert_eq!(first[..5], [&memtable[..], &way].concat());
    let again = steps(&keyspace, "a");
    let cached = Step::Block { offset: 0, bytes: *bytes, origin: Origin::Cache, read: 0 };
    assert_eq!(again[5], cached);

    assert_eq!(steps(&keyspace, "n")[1], Step::Value { sequence: 6, bytes: 5 });
    assert_eq!(steps(&keyspace, "m")[1..], [Step::Tombstone { sequence: 7 }]);
    let nowhere = [run(upper, false), run(lower, false)];
    assert_eq!(steps(&keyspace, "zz"), [&memtable[..], &nowhere].concat());
    let denied = [run(upper, true), Step::Filter { may_contain: false }];
    assert_eq!(steps(&keyspace, "c")[2..4], denied);
}

#[test]
fn written_blocks_are_cached_until_their_table_is_dropped() {
    let (db, keyspace) = store(10, 1 << 20);
    put(&keyspace, &["a", "m", "z"]);
    db.flush().unwrap();
    let found = steps(&keyspace, "m").into_iter().find_map(|step| match step {
        Step::Block { origin, .. } => Some(origin),
        _ => None,
    });
    assert_eq!(found, Some(Origin::Cache));
    for key in ["a", "m", "z"] {
        keyspace.delete(key.as_bytes(), Buffered).unwrap();
    }
    assert!(db.engine().jobs.cache.bytes() > 0);
    keyspace.compact_range(..).unwrap();
    assert_eq!(keyspace.shape().unwrap().tables().count(), 0);
    db.wait_until_idle().unwrap();
    assert_eq!(db.engine().jobs.cache.bytes(), 0);
}

#[test]
fn a_trace_at_a_snapshot_lists_versions_that_are_too_new() {
    let (db, keyspace) = store(10, 1 << 20);
    put(&keyspace, &["a", "k"]);
    let snapshot = db.snapshot();
    put(&keyspace, &["k", "new"]);
    let (value, trace) = snapshot.trace_get(&keyspace, b"k").unwrap();
    assert_eq!((value, trace.sequence), (Some(b"value".to_vec()), 2));
    assert_eq!(trace.steps[1], Step::Value { sequence: 2, bytes: 5 });
    let newer = |trace: &Trace| trace.steps.contains(&Step::Newer);
    assert!(newer(&snapshot.trace_get(&keyspace, b"new").unwrap().1));
    db.flush().unwrap();
    let (value, trace) = snapshot.trace_get(&keyspace, b"new").unwrap();
    assert!(value.is_none() && newer(&trace), "{trace:?}");
    assert!(!newer(&snapshot.trace_get(&keyspace, b"b").unwrap().1));
    let seek = snapshot.trace_seek(&keyspace, KeyRange::prefix(b"n"), false).unwrap();
    assert_eq!(seek.counts.rows, 0);
}

#[test]
fn a_trace_of_a_seek_shows_each_position_and_the_first_row() {
    let (db, keyspace) = store(10, 1 << 20);
    put(&keyspace, &["a", "d", "z"]);
    db.flush().unwrap();
    put(&keyspace, &["c"]);
    let range =
        KeyRange { from: Bound::Included(b"b".to_vec()), to: Bound::Excluded(b"e".to_vec()) };
    let seek = |reverse| {
        let trace = keyspace.trace_seek(range.clone(), reverse).unwrap();
        let kept = trace
            .steps
            .into_iter()
            .filter(|s| !matches!(s, Step::Run { .. } | Step::Block { .. } | Step::Table { .. }));
        (kept.collect::<Vec<_>>(), trace.counts.blocks)
    };
    let expected = |stands: [&[u8]; 2], row: &[u8]| {
        let [memtable, run] = stands.map(|key| Step::Stands { key: Some(key.to_vec()) });
        (
            vec![
                Step::Memtable { place: 0 },
                memtable,
                run,
                Step::Row { key: row.to_vec(), bytes: 5 },
            ],
            1,
        )
    };
    assert_eq!(seek(false), expected([b"c", b"d"], b"c"));
    assert_eq!(seek(true), expected([b"c", b"d"], b"d"));
}

#[test]
fn figures_of_the_store_are_the_sums_of_its_traces() {
    // Few bits, so that some absent keys pass the filter; no cache, so that a trace changes nothing.
    let (db, keyspace) = store(2, 0);
    for part in 0..3 {
        let keys: Vec<_> = (0..400).map(|n| format!("{:06}", n * 6 + part)).collect();
        put(&keyspace, &keys.iter().map(String::as_str).collect::<Vec<_>>());
        db.flush().unwrap();
    }
    put(&keyspace, &["000003"]);
    let (mut gets, mut scans) = (ReadCounts::default(), ReadCounts::default());
    for key in (0..2400).map(|n| format!("{n:06}").into_bytes()) {
        let (value, trace) = keyspace.trace_get(&key).unwrap();
        gets = gets.plus(&trace.counts);
        assert_eq!(keyspace.get(&key).unwrap(), value);
        let from = KeyRange { from: Bound::Included(key), to: Bound::Unbounded };
        scans = scans.plus(&keyspace.trace_seek(from.clone(), false).unwrap().counts);
        keyspace.cursor(from).unwrap().next().unwrap();
    }
    assert_eq!(gets.operations, 2399, "one get is answered by the memtable");
    assert!(gets.filter_false_positives > 0 && gets.filter_negatives > 0, "{gets:?}");
    assert_eq!(gets.blocks, 1200 + gets.filter_false_positives);
    assert_eq!(scans.operations, 2400);
    let stats = db.stats().unwrap();
    assert_eq!((stats.gets, stats.scans), (gets, scans));
}

#[test]
fn a_sequence_is_kept_for_merges_until_its_last_release() {
    let (db, keyspace) = store(10, 1 << 20);
    let engine = db.engine();
    put(&keyspace, &["a"]);
    let first = engine.snapshots.hold(1);
    assert_eq!(engine.snapshots.hold(2), first);
    assert_eq!(engine.snapshots.readers(), [first; 2], "the present has the same number");
    put(&keyspace, &["b", "c"]);
    let at = |further: Seq| Reader { at: first.at + further, now: 0 };
    let second = engine.snapshots.hold(3);
    put(&keyspace, &["d"]);
    assert_eq!((second, engine.snapshots.readers()), (at(2), vec![first, at(2), at(3)]));
    engine.snapshots.release(first.at);
    assert_eq!(engine.snapshots.readers(), [first, at(2), at(3)]);
    // As old as the first of its snapshots.
    assert_eq!(engine.snapshots.oldest_held(), Some((first.at, 1)));
    engine.snapshots.release(first.at);
    assert_eq!(engine.snapshots.oldest_held(), Some((second.at, 3)));
    engine.snapshots.release(second.at);
    assert_eq!(engine.snapshots.readers(), [at(3)]);
    assert_eq!(engine.snapshots.oldest_held(), None);
}

#[test]
fn several_keys_are_looked_up_in_their_order_at_one_moment() {
    let (db, keyspace) = store(10, 1 << 20);
    put(&keyspace, &["a", "b"]);
    let snapshot = db.engine().snapshots.hold(0);
    keyspace.delete(b"a", Buffered).unwrap();
    let keys = ["b", "x", "a", "b"];
    let value = Some(b"value".to_vec());
    let now = keyspace.get_many(&keys).unwrap();
    assert_eq!(now, [value.clone(), None, None, value.clone()]);
    let then = get_many(db.engine(), keyspace.id(), &keys, Some(snapshot)).unwrap();
    assert_eq!(then, [value.clone(), None, value.clone(), value]);
}

#[test]
fn a_view_shows_everything_up_to_its_number_and_no_more() {
    let (db, keyspace) = store(10, 1 << 20);
    let other = db.create_keyspace("other").unwrap();
    keyspace.put("key", "old", Buffered).unwrap();
    let before = other.put("key", "old", Buffered).unwrap();
    let engine = db.engine();
    // Between the keyspaces of the view both keys are written again, in memtables that it does not have, and merged.
    let mut ids = [keyspace.id(), other.id()].into_iter().enumerate();
    let keyspaces = std::iter::from_fn(|| {
        let (n, id) = ids.next()?;
        if n == 1 {
            write::seal_all(engine).unwrap();
            for of in [&keyspace, &other] {
                of.put("key", "new", Buffered).unwrap();
                of.compact_range(..).unwrap();
            }
        }
        Some(id)
    });
    let mut view = view(engine, keyspaces).unwrap();
    assert_eq!(view.reader().at, before);
    for id in [keyspace.id(), other.id()] {
        let found = view.lookup(id).unwrap().get_versioned("key").unwrap().unwrap();
        assert_eq!((found.value, found.seq <= before), (b"old".to_vec(), true));
    }
    assert_eq!(engine.snapshots.oldest(), before);
    drop(view);
    assert_eq!(engine.snapshots.oldest(), before + 2);
}

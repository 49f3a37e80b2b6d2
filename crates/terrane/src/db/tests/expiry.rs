//! Values that expire. Where another store went wrong, the test names the report.

use super::*;
use crate::trace::Step;
use crate::{Condition, Millis, Outcome, Versioned};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use terrane_policy::TableInfo;

/// A clock that stands where a test puts it.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn set(&self, now: Millis) {
        self.0.store(now, Ordering::Relaxed);
    }

    /// Options with this clock, whose policy compacts nothing before 20 runs wait.
    fn options(&self) -> Options {
        let policy = PolicyOptions::Tiered(Tiered { size_ratio: 20, ..Tiered::default() });
        let hand = self.0.clone();
        Options { l0_stop_trigger: 40, ..Options::small() }
            .policy(policy)
            .wall_clock(Arc::new(move || hand.load(Ordering::Relaxed)))
    }
}

/// A store with a clock at 1000.
fn store() -> (Hand, FaultVfs, Db, Keyspace) {
    let (hand, vfs) = (Hand::default(), faulty());
    hand.set(1000);
    let db = Db::open_storage(directory(&vfs), hand.options(), slices()).unwrap();
    let rows = db.default_keyspace();
    (hand, vfs, db, rows)
}

fn put(rows: &Keyspace, key: &str, value: &str, expires_at: Millis) -> u64 {
    let mut batch = WriteBatch::new();
    batch.put_expiring_at(rows, key, value, expires_at).unwrap();
    rows.db.write(batch, Buffered).unwrap()
}

fn text(found: Option<Vec<u8>>) -> Option<String> {
    found.map(|value| String::from_utf8(value).unwrap())
}

/// The keys of a keyspace, which are the same in both directions.
fn keys(rows: &Keyspace) -> Vec<String> {
    let key = |row: Result<(Vec<u8>, Vec<u8>)>| String::from_utf8(row.unwrap().0).unwrap();
    let keys: Vec<String> = rows.scan(..).unwrap().map(key).collect();
    let mut back: Vec<String> = rows.scan(..).unwrap().rev().map(key).collect();
    back.reverse();
    assert_eq!(keys, back);
    keys
}

fn tables(rows: &Keyspace) -> Vec<Arc<TableInfo>> {
    rows.shape().unwrap().tables().map(|(.., info)| info.clone()).collect()
}

#[test]
fn a_value_expires_in_memtables_and_tables() {
    let (hand, _, db, rows) = store();
    let seq = put(&rows, "a", "one", 2000);
    rows.put("b", "stays", Buffered).unwrap();
    for _ in 0..3 {
        hand.set(1999);
        assert_eq!((text(rows.get("a").unwrap()), keys(&rows).len()), (Some("one".into()), 2));
        let expected = Versioned { value: b"one".to_vec(), seq, expires_at: Some(2000) };
        assert_eq!(rows.get_versioned("a").unwrap(), Some(expected));
        assert_eq!(rows.get_versioned("b").unwrap().unwrap().expires_at, None);
        let mut cursor = rows.cursor(..).unwrap();
        assert_eq!(cursor.next().unwrap(), Some((&b"a"[..], &b"one"[..])));
        assert_eq!(cursor.expires_at(), Some(2000));
        assert_eq!(cursor.next().unwrap(), Some((&b"b"[..], &b"stays"[..])));
        assert_eq!(cursor.expires_at(), None);
        assert_eq!(cursor.prev().unwrap(), Some((&b"a"[..], &b"one"[..])));
        assert_eq!(cursor.expires_at(), Some(2000));
        db.flush().unwrap();
        rows.compact_range(..).unwrap();
    }
    hand.set(2000);
    assert_eq!((rows.get("a").unwrap(), rows.get_versioned("a").unwrap()), (None, None));
    assert_eq!(rows.get_many(&["a", "b"]).unwrap(), [None, Some(b"stays".to_vec())]);
    assert_eq!(keys(&rows), ["b"]);
    let (found, trace) = rows.trace_get("a").unwrap();
    assert_eq!((found, trace.steps.last()), (None, Some(&Step::Expired { at: 2000 })));
    assert_eq!(db.check().unwrap().damage, []);
}

#[test]
fn an_expired_value_hides_older_versions() {
    let (hand, vfs, db, rows) = store();
    rows.put("a", "older", Buffered).unwrap();
    db.flush().unwrap();
    put(&rows, "a", "newer", 2000);
    db.flush().unwrap();
    hand.set(2000);
    assert_eq!(rows.get("a").unwrap(), None);
    // A merge of the upper table alone makes a tombstone of it.
    put(&rows, "b", "value", 9000);
    db.flush().unwrap();
    let upper = tables(&rows).len();
    assert_eq!(upper, 3);
    db.wait_until_idle().unwrap();
    hand.set(2001);
    db.close().unwrap();
    // Not compacted yet: with the clock set back the value is read again, and the older one never is.
    hand.set(1500);
    let db = Db::open_storage(directory(&vfs), hand.options(), slices()).unwrap();
    let rows = db.default_keyspace();
    assert_eq!(text(rows.get("a").unwrap()), Some("newer".into()));
    hand.set(2000);
    assert_eq!(rows.get("a").unwrap(), None);
    rows.compact_range(..).unwrap();
    assert_eq!(tables(&rows).iter().map(|info| info.entries).sum::<u64>(), 1);
    db.close().unwrap();
    // Compacted: it has expired for good.
    hand.set(1500);
    let db = Db::open_storage(directory(&vfs), hand.options(), slices()).unwrap();
    assert_eq!(db.default_keyspace().get("a").unwrap(), None);
}

#[test]
fn a_merge_leaves_a_tombstone_of_an_expired_value_over_others() {
    let (hand, _, db, rows) = store();
    (0..40).for_each(|n| {
        rows.put(format!("k{n:02}"), "older", Buffered).unwrap();
    });
    rows.compact_range(..).unwrap();
    (0..40).step_by(2).for_each(|n| {
        put(&rows, &format!("k{n:02}"), "newer", 2000);
    });
    rows.put("k01", "stays", Buffered).unwrap();
    hand.set(2000);
    // A flush makes tombstones of them.
    db.flush().unwrap();
    let flushed = tables(&rows).into_iter().find(|info| info.entries == 21).unwrap();
    assert_eq!((flushed.tombstones, flushed.expires_by), (20, 0));
    hand.set(500);
    assert_eq!((keys(&rows).len(), rows.get("k02").unwrap()), (20, None));
    rows.compact_range(..).unwrap();
    assert_eq!(tables(&rows).iter().map(|info| info.entries).sum::<u64>(), 20);
}

#[test]
fn a_snapshot_keeps_what_had_not_expired() {
    // SlateDB 1387: reads of snapshots and checkpoints lost what expired after they were taken.
    let (hand, _, db, rows) = store();
    put(&rows, "a", "short", 2000);
    put(&rows, "b", "long", 3000);
    hand.set(1999);
    let snapshot = db.snapshot();
    hand.set(2500);
    // Of the same sequence number, and later: it does not have the value.
    let later = db.snapshot();
    let holds = || {
        assert_eq!(text(snapshot.get(&rows, "a").unwrap()), Some("short".into()));
        assert_eq!(snapshot.scan(&rows, ..).unwrap().count(), 2);
        assert_eq!(snapshot.scan(&rows, ..).unwrap().rev().count(), 2);
        assert_eq!(later.get(&rows, "a").unwrap(), None);
        assert_eq!(later.scan(&rows, ..).unwrap().count(), 1);
        assert_eq!(rows.get("a").unwrap(), None);
    };
    holds();
    db.flush().unwrap();
    holds();
    rows.compact_range(..).unwrap();
    db.wait_until_idle().unwrap();
    holds();
    hand.set(3500);
    assert_eq!((text(later.get(&rows, "b").unwrap()), keys(&rows).len()), (Some("long".into()), 0));
    drop((snapshot, later));
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&rows), [], "what only they kept goes without being asked");
}

#[test]
fn a_cursor_and_a_lookup_have_one_time() {
    let (hand, _, db, rows) = store();
    (0..10).for_each(|n| {
        put(&rows, &format!("k{n}"), "value", 2000);
    });
    db.flush().unwrap();
    let (mut scan, mut lookup) = (rows.scan(..).unwrap(), rows.lookup(2).unwrap());
    assert!(scan.next().is_some() && lookup.get("k0").unwrap().is_some());
    hand.set(5000);
    assert_eq!(rows.get("k1").unwrap(), None);
    rows.compact_range(..).unwrap();
    assert_eq!((scan.count(), lookup.get("k1").unwrap().is_some()), (9, true));
}

#[test]
fn time_never_goes_backward_while_a_store_is_open() {
    let (hand, _, _db, rows) = store();
    put(&rows, "a", "value", 2000);
    hand.set(2000);
    assert_eq!(rows.get("a").unwrap(), None);
    hand.set(1000);
    assert_eq!((rows.get("a").unwrap(), keys(&rows).len()), (None, 0));
}

#[test]
fn fully_expired_tables_are_dropped_unread() {
    let (hand, _, db, rows) = store();
    for n in 0..4u64 {
        let mut batch = WriteBatch::new();
        (0..100).for_each(|k| {
            batch.put_expiring_at(&rows, format!("k{k:03}"), [7; 40], 2000 + n).unwrap();
        });
        db.write(batch, Buffered).unwrap();
        db.flush().unwrap();
    }
    rows.put("z", "stays", Buffered).unwrap();
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&rows).len(), 5);
    let expire_by = |info: &Arc<TableInfo>| info.expires_by;
    let times: Vec<Millis> = tables(&rows).iter().map(expire_by).collect();
    assert_eq!(times.iter().max(), Some(&2003));
    let work = || db.stats().unwrap().merge_read_bytes;
    let before = work();
    hand.set(2003);
    // A reader, who knows the time, makes the planner look.
    assert_eq!(rows.get("k000").unwrap(), None);
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&rows).len(), 1);
    assert_eq!((work(), keys(&rows)), (before, vec!["z".to_owned()]));
    assert_eq!(db.check().unwrap().damage, []);
}

#[test]
fn an_expired_table_over_older_values_is_merged() {
    let (hand, _, db, rows) = store();
    rows.put("a", "older", Buffered).unwrap();
    db.flush().unwrap();
    put(&rows, "a", "newer", 2000);
    put(&rows, "b", "newer", 2000);
    db.flush().unwrap();
    put(&rows, "b", "newest", 2000);
    db.flush().unwrap();
    hand.set(2000);
    assert_eq!(rows.get("a").unwrap(), None);
    db.wait_until_idle().unwrap();
    // Both cover something older, if only what has expired as well.
    assert_eq!((tables(&rows).len(), keys(&rows).len()), (3, 0));
    rows.compact_range(..).unwrap();
    assert_eq!(tables(&rows), []);
}

#[test]
fn an_earlier_clock_after_a_restart_shows_no_older_version() {
    // However many tables were dropped before.
    for steps in 0.. {
        let (hand, vfs, db, rows) = store();
        put(&rows, "a", "older", 9000);
        put(&rows, "b", "deleted", 9000);
        db.flush().unwrap();
        put(&rows, "a", "newer", 2000);
        rows.delete("b", Buffered).unwrap();
        db.flush().unwrap();
        hand.set(10_000);
        assert_eq!(rows.get("a").unwrap(), None);
        let mut is_idle = false;
        for _ in 0..steps {
            is_idle = !db.run_jobs(1).unwrap();
        }
        drop((rows, db));
        hand.set(1500);
        let db = Db::open_storage(directory(&vfs), hand.options(), slices()).unwrap();
        let rows = db.default_keyspace();
        let newer = text(rows.get("a").unwrap());
        assert!(newer.is_none() || newer.as_deref() == Some("newer"), "{steps}: {newer:?}");
        assert_eq!(rows.get("b").unwrap(), None, "{steps}");
        if is_idle {
            return;
        }
    }
}

#[test]
fn expired_values_are_dropped_with_the_last_snapshot() {
    let (hand, _, db, rows) = store();
    put(&rows, "a", "value", 2000);
    db.flush().unwrap();
    let snapshot = db.snapshot();
    hand.set(3000);
    assert_eq!(rows.get("a").unwrap(), None);
    // It ends, although the table cannot go.
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&rows).len(), 1);
    assert_eq!(text(snapshot.get(&rows, "a").unwrap()).as_deref(), Some("value"));
    drop(snapshot);
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&rows), []);
}

#[test]
fn a_condition_holds_until_its_value_expires() {
    // Time passes at each look.
    let time = Arc::new(AtomicU64::new(1000));
    let clock = time.clone();
    let options =
        Options::small().wall_clock(Arc::new(move || clock.fetch_add(1, Ordering::Relaxed)));
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let rows = db.default_keyspace();
    put(&rows, "lock", "mine", 5000);
    time.store(4999, Ordering::Relaxed);
    let mut batch = WriteBatch::new();
    batch.put(&rows, "done", "by its holder").unwrap();
    let outcome = db.write_if([Condition::value(&rows, "lock", "mine")], batch, Buffered).unwrap();
    assert!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
}

#[test]
fn conditions_and_transactions_see_expired_keys_as_absent() {
    let (hand, _, db, rows) = store();
    let lock = |expires_at| {
        let mut batch = WriteBatch::new();
        batch.put_expiring_at(&rows, "lock", "mine", expires_at).unwrap();
        db.write_if([Condition::absent(&rows, "lock")], batch, Buffered).unwrap()
    };
    assert!(matches!(lock(2000), Outcome::Written(_)));
    let Outcome::Refused(refused) = lock(3000) else { panic!("it is held") };
    assert_eq!(refused[0].found.as_ref().unwrap().expires_at, Some(2000));
    hand.set(2000);
    assert!(matches!(lock(3000), Outcome::Written(_)));
    let seen = db
        .transact(Buffered, |tx| -> Result<_> {
            tx.put_expiring(&rows, "own", "value", Duration::from_millis(10))?;
            tx.put_expiring(&rows, "gone", "value", Duration::ZERO)?;
            hand.set(9000);
            let of = |key| tx.get(&rows, key).map(|found| found.is_some());
            let all = tx.scan(&rows, ..)?.count();
            Ok(([of("lock")?, of("own")?, of("gone")?], all))
        })
        .unwrap();
    assert_eq!(seen, ([true, true, false], 2));
    assert_eq!(keys(&rows), [""; 0]);
}

#[test]
fn a_store_without_a_clock_refuses_values_that_expire() {
    let vfs = faulty();
    let none = Options { wall_clock: None, ..Options::small() };
    let db = Db::open_storage(directory(&vfs), none.clone(), slices()).unwrap();
    let rows = db.default_keyspace();
    let mut batch = WriteBatch::new();
    batch.put_expiring_at(&rows, "a", "value", 1).unwrap();
    let written = db.write(batch.clone(), Buffered);
    let grouped = rows.put_expiring("a", "value", Duration::ZERO, Buffered);
    let tried = db.try_write(batch.clone()).unwrap();
    assert!(matches!(tried, crate::TryWrite::WouldWait(_)));
    let ended = db.write_if([Condition::absent(&rows, "a")], batch, Buffered).map(drop);
    for refused in [written.map(drop), grouped.map(drop), ended] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused.kind(), crate::ErrorKind::InvalidArgument { .. }), "{refused:?}");
        assert!(refused.to_string().contains("wall_clock"), "{refused}");
    }
    // It fails no neighbour of its group.
    let mut batches = [(); 2].map(|()| crate::ConditionalBatch::default());
    batches[0].batch.put_expiring_at(&rows, "a", "value", 1).unwrap();
    batches[1].batch.put(&rows, "b", "value").unwrap();
    let outcomes = db.write_group(batches.into(), Buffered).unwrap();
    assert!(outcomes[0].is_err() && outcomes[1].is_ok(), "{outcomes:?}");
    db.close().unwrap();
    // What is there already stays to be read.
    let hand = Hand::default();
    let db = Db::open_storage(directory(&vfs), hand.options(), slices()).unwrap();
    put(&db.default_keyspace(), "a", "value", 2000);
    db.close().unwrap();
    let db = Db::open_storage(directory(&vfs), none, slices()).unwrap();
    assert_eq!(text(db.default_keyspace().get("a").unwrap()), Some("value".into()));
}

#[test]
fn the_store_announces_expiry_before_a_log_has_it() {
    let (_, _, db, rows) = store();
    let required = || db.engine().state.lock().version_set.features.required;
    let mut batch = WriteBatch::new();
    batch.put_expiring_at(&rows, "a", "value", 2000).unwrap();
    assert!(matches!(db.try_write(batch.clone()).unwrap(), crate::TryWrite::WouldWait(_)));
    assert_eq!(required(), 0);
    db.write(batch.clone(), Buffered).unwrap();
    assert_eq!(required(), 2);
    batch.delete_range(&rows, ..).unwrap();
    db.write(batch.clone(), Buffered).unwrap();
    assert_eq!((required(), keys(&rows).len()), (3, 0));
    assert!(matches!(db.try_write(batch).unwrap(), crate::TryWrite::Written(_)));
}

#[test]
fn a_ttl_beyond_all_times_never_expires() {
    let (hand, _, _db, rows) = store();
    rows.put_expiring("a", "value", Duration::MAX, Buffered).unwrap();
    hand.set(Millis::MAX - 1);
    assert_eq!(keys(&rows), ["a"]);
    assert_eq!(tables(&rows), []);
}

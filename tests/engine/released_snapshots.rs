//! Entries that readers kept are removed once they are gone, by a compaction of the range or unasked.

use std::collections::BTreeMap;
use std::sync::Arc;
use terrane::executor::{Executor, SeededExecutor, SliceExecutor, ThreadExecutor};
use terrane::storage::Directory;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::{Db, Durability, Keyspace, Options, Snapshot};
use terrane_policy::{PolicyOptions, Shape};
use terrane_tests::fixtures::small_policies;
use terrane_workload::Random;

const ROWS: u32 = 400;

type Model = BTreeMap<u32, u8>;

struct Place {
    vfs: Arc<dyn Vfs>,
    options: Options,
}

impl Place {
    fn new(policy: PolicyOptions) -> Place {
        let options = Options::small().memtable_bytes(4 << 10).policy(policy);
        Place { vfs: Arc::new(MemoryVfs::new()), options }
    }

    fn open(&self, executor: Arc<dyn Executor>) -> Db {
        let storage = Arc::new(Directory::open(self.vfs.clone()).unwrap());
        Db::open_storage(storage, self.options.clone(), executor).unwrap()
    }
}

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn put(rows: &Keyspace, n: u32, value: u8) {
    rows.put(key(n), [value; 40], Durability::Buffered).unwrap();
}

fn entries(rows: &Keyspace) -> u64 {
    rows.shape().unwrap().totals().entries()
}

/// Counts the tables of which an eighth or more can be dropped, with this oldest snapshot.
fn wasteful(shape: &Shape, oldest: u64) -> usize {
    let is_wasteful = |entries: u64, all: u64| entries > 0 && 8 * entries >= all;
    let kept = shape.tables().filter_map(|(.., table)| Some((table, table.kept?)));
    kept.filter(|(table, kept)| is_wasteful(kept.entries, table.entries) && kept.until <= oldest)
        .count()
}

/// Puts all rows, calls `hold`, and overwrites or deletes one of `every` rows while its result is held. Returns
/// the number of rows that are left, and the result.
fn change<T>(db: &Db, every: usize, deletes: bool, hold: impl FnOnce(&Keyspace) -> T) -> (u64, T) {
    let rows = db.default_keyspace();
    (0..ROWS).for_each(|n| put(&rows, n, 1));
    rows.compact_range(..).unwrap();
    let held = hold(&rows);
    let changed: Vec<_> = (0..ROWS).step_by(every).collect();
    for n in &changed {
        if deletes {
            rows.delete(key(*n), Durability::Buffered).unwrap();
        } else {
            put(&rows, *n, 2);
        }
    }
    rows.compact_range(..).unwrap();
    let gone = if deletes { changed.len() as u64 } else { 0 };
    (u64::from(ROWS) - gone, held)
}

#[test]
fn a_compacted_range_has_the_live_rows_once_readers_are_gone() {
    for policy in small_policies() {
        for (every, deletes) in [(1, false), (1, true), (20, false), (20, true)] {
            for reader in ["snapshot", "cursor", "none"] {
                let what = format!("{} {every} {deletes} {reader}", policy.name());
                let db = Place::new(policy.clone()).open(Arc::new(SliceExecutor::default()));
                let rows = db.default_keyspace();
                let (live, held) = change(&db, every, deletes, |rows| {
                    let snapshot = (reader == "snapshot").then(|| db.snapshot());
                    let mut cursor = (reader == "cursor").then(|| rows.cursor(..).unwrap());
                    if let Some(cursor) = &mut cursor {
                        assert!(cursor.next().unwrap().is_some());
                    }
                    (snapshot, cursor)
                });
                if held.0.is_some() {
                    assert!(entries(&rows) > live, "{what}: the snapshot sees the rows");
                }
                drop(held);
                rows.compact_range(..).unwrap();
                assert_eq!(entries(&rows), live, "{what}");
                assert_eq!(rows.scan(..).unwrap().count() as u64, live, "{what}");
            }
        }
    }
}

#[test]
fn a_released_snapshot_frees_space_without_being_asked() {
    for policy in small_policies() {
        for deletes in [false, true] {
            let what = format!("{} {deletes}", policy.name());
            let db = Place::new(policy.clone()).open(Arc::new(SliceExecutor::default()));
            let rows = db.default_keyspace();
            let (live, snapshot) = change(&db, 1, deletes, |_| db.snapshot());
            db.wait_until_idle().unwrap();
            assert_eq!(entries(&rows), live + u64::from(ROWS) * (1 + u64::from(deletes)), "{what}");
            drop(snapshot);
            db.wait_until_idle().unwrap();
            assert_eq!(entries(&rows), live, "{what}");
            assert_eq!(db.check().unwrap().damage, [], "{what}");
        }
    }
}

#[test]
fn what_snapshots_kept_is_freed_after_a_reopening() {
    for policy in small_policies() {
        let place = Place::new(policy.clone());
        let db = place.open(Arc::new(SliceExecutor::default()));
        let (live, snapshot) = change(&db, 1, false, |_| db.snapshot());
        db.clone().close().unwrap();
        drop((db, snapshot));
        let db = place.open(Arc::new(SliceExecutor::default()));
        db.wait_until_idle().unwrap();
        assert_eq!(entries(&db.default_keyspace()), live, "{}", policy.name());
    }
}

#[test]
fn threads_free_the_space_of_a_released_snapshot() {
    let policy = small_policies().swap_remove(0);
    let db = Place::new(policy).open(Arc::new(ThreadExecutor::new(2)));
    let rows = db.default_keyspace();
    let (live, snapshot) = change(&db, 1, false, |_| db.snapshot());
    db.wait_until_idle().unwrap();
    drop(snapshot);
    while entries(&rows) > live {
        std::thread::yield_now();
    }
}

#[test]
fn a_held_snapshot_keeps_its_view_while_others_are_released() {
    for (policy, seed) in small_policies().into_iter().zip(1..) {
        let what = format!("{} seed {seed}", policy.name());
        let place = Place::new(policy);
        let mut random = Random(seed);
        let mut db = place.open(Arc::new(SeededExecutor::new(seed)));
        let mut model = Model::new();
        let mut held: Vec<(Snapshot, Model)> = Vec::new();
        for _ in 0..12 {
            let rows = db.default_keyspace();
            for _ in 0..random.below(300) {
                let n = random.below(u64::from(ROWS)) as u32;
                if random.one_in(3) {
                    rows.delete(key(n), Durability::Buffered).unwrap();
                    model.remove(&n);
                } else {
                    let value = random.word() as u8;
                    put(&rows, n, value);
                    model.insert(n, value);
                }
            }
            match random.below(8) {
                0..4 => held.push((db.snapshot(), model.clone())),
                4..6 if !held.is_empty() => {
                    drop(held.swap_remove(random.below(held.len() as u64) as usize));
                }
                6 => rows.compact_range(..).unwrap(),
                7 => {
                    held.clear();
                    db.clone().close().unwrap();
                    drop(rows);
                    db = place.open(Arc::new(SeededExecutor::new(random.word())));
                }
                _ => {}
            }
            let rows = db.default_keyspace();
            if random.one_in(2) {
                db.wait_until_idle().unwrap();
                let last = db.stats().unwrap().last_sequence;
                let oldest = held.iter().map(|(snapshot, _)| snapshot.sequence()).min();
                let shape = rows.shape().unwrap();
                assert_eq!(wasteful(&shape, oldest.unwrap_or(last)), 0, "{what}");
            }
            shows(rows.scan(..).unwrap(), &model, &what);
            for (snapshot, model) in &held {
                shows(snapshot.scan(&rows, ..).unwrap(), model, &what);
            }
        }
        held.clear();
        let rows = db.default_keyspace();
        rows.compact_range(..).unwrap();
        assert_eq!(entries(&rows), model.len() as u64, "{what}");
        shows(rows.scan(..).unwrap(), &model, &what);
        assert_eq!(db.check().unwrap().damage, [], "{what}");
    }
}

fn shows(scan: terrane::Scan, model: &Model, what: &str) {
    let found: Vec<_> = scan.map(|row| row.unwrap()).collect();
    let expected: Vec<_> = model.iter().map(|(n, v)| (key(*n).to_vec(), vec![*v; 40])).collect();
    assert_eq!(found, expected, "{what}");
}

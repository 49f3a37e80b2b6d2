//! Random histories of keyspaces with counters and with a merge operator, against sorted maps: batches, transactions
//! and conditions, range deletes and snapshots between operands, changes of policy, keyspaces that are dropped and
//! created again for other merges, copies, and repairs of whole and of damaged stores. At times the operator fails:
//! operands that it could not combine then are combined later.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane::executor::SeededExecutor;
use terrane::storage::salvage;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::write_all_at;
use terrane::{
    Condition, Db, DoubtfulRows, Durability, ErrorKind, KeyRange, Keyspace, Operand, Options,
    Result, Salvaged, Snapshot, WriteBatch, repair,
};
use terrane_tests::fixtures::{Kind, Rig, drawn, small_policies};
use terrane_tests::full;
use terrane_tests::workload::Merge;
use terrane_workload::Random;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
const NAMES: [&str; 3] = ["a", "b", "c"];

/// Rows of the keyspaces.
#[derive(Clone, Default)]
struct Rows([Map; 3]);

/// A store and the rows that it must have.
struct History {
    rig: Rig,
    options: Options,
    db: Db,
    /// Whether each keyspace has counters; otherwise it has merges with the operator.
    counts: [bool; 3],
    rows: Rows,
    /// The rows after each write.
    earlier: BTreeMap<u64, Rows>,
    snapshots: Vec<(Snapshot, Rows)>,
    /// Whether the operator makes results too long.
    is_failing: Arc<AtomicBool>,
    random: Random,
    keys: u64,
}

/// Values, few of which are integers.
const FORMS: [&str; 12] = [
    "",
    "-",
    "-0",
    "0",
    "+5",
    "007",
    " 1",
    "5",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "12345678901234567890",
];

impl History {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let is_failing = Arc::new(AtomicBool::new(false));
        let fails = is_failing.clone();
        let policies = small_policies();
        let policy = policies[random.below(policies.len() as u64) as usize].clone();
        let options = drawn(random.word()).policy(policy).merge_operator(Arc::new(move |a, b| {
            let is_long = b.len() % 2 == 1 && fails.load(Ordering::Relaxed);
            if is_long { vec![0; 64 << 20] } else { [a, b].concat() }
        }));
        let rig = Rig::new(Kind::MemoryDirectory);
        let db = rig.open(options.clone(), random.word()).unwrap();
        NAMES.iter().for_each(|name| drop(db.create_keyspace(name).unwrap()));
        let keys = [2, 6, 30][random.below(3) as usize];
        History {
            rig,
            options,
            db,
            counts: [true, false, false],
            rows: Rows::default(),
            earlier: BTreeMap::new(),
            snapshots: Vec::new(),
            is_failing,
            random,
            keys,
        }
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key{:03}", self.random.below(self.keys)).into_bytes()
    }

    fn keyspace(&self, at: usize) -> Keyspace {
        self.db.open_keyspace(NAMES[at]).unwrap().unwrap()
    }

    fn value(&mut self, at: usize) -> Vec<u8> {
        if self.counts[at] {
            return FORMS[self.random.below(FORMS.len() as u64) as usize].into();
        }
        // Around the length beyond which operands are not joined when they are written.
        let length = if self.random.one_in(8) {
            900 + self.random.below(300)
        } else {
            self.random.below(30)
        };
        vec![b'a' + self.random.below(26) as u8; length as usize]
    }

    fn range(&mut self) -> KeyRange {
        let bound = |history: &mut History| match history.random.below(4) {
            0 => Bound::Unbounded,
            1 => Bound::Excluded(history.key()),
            _ => Bound::Included(history.key()),
        };
        KeyRange { from: bound(self), to: bound(self) }
    }

    /// Draws a batch, and applies it to the rows.
    fn batch(&mut self, rows: &mut Rows) -> WriteBatch {
        let mut batch = WriteBatch::new();
        for _ in 0..1 + self.random.below(4) {
            let at = self.random.below(3) as usize;
            let (id, key, map) = (self.keyspace(at).id(), self.key(), &mut rows.0[at]);
            match self.random.below(20) {
                0 | 1 => {
                    let range = self.range();
                    batch.delete_range(id, &range).unwrap();
                    map.retain(|key, _| !range.contains(key));
                }
                2 | 3 => {
                    batch.delete(id, &key).unwrap();
                    map.remove(&key);
                }
                4..8 => {
                    let value = self.value(at);
                    batch.put(id, &key, &value).unwrap();
                    map.insert(key, value);
                }
                _ if self.counts[at] => {
                    let merge = match self.random.below(6) {
                        0 => Merge::Add(i64::MAX),
                        1 => Merge::Add(i64::MIN),
                        _ => Merge::draw(&mut self.random),
                    };
                    batch.merge(id, &key, merge.operand()).unwrap();
                    let value = merge.apply(map.get(&key));
                    map.insert(key, value);
                }
                _ => {
                    let operand = self.value(at);
                    batch.merge(id, &key, Operand::Custom(&operand)).unwrap();
                    map.entry(key).or_default().extend_from_slice(&operand);
                }
            }
        }
        batch
    }

    /// Writes a batch, at times under a condition.
    fn write(&mut self) {
        let mut rows = self.rows.clone();
        let batch = self.batch(&mut rows);
        if batch.is_empty() {
            return;
        }
        let (keyspace, key) = (self.keyspace(0), self.key());
        let condition = match self.rows.0[0].get(&key) {
            Some(value) => Condition::value(&keyspace, &key, value),
            None => Condition::absent(&keyspace, &key),
        };
        let written = match self.random.below(3) {
            0 => self
                .db
                .write_if([condition], batch, Durability::Buffered)
                .map(|outcome| outcome.written().expect("the condition holds")),
            _ => self.db.write(batch, Durability::Buffered),
        };
        match written {
            Ok(seq) => {
                self.rows = rows;
                self.earlier.insert(seq, self.rows.clone());
            }
            // The operator could not combine two merges of a key in the batch.
            Err(e) => assert!(
                self.is_failing.load(Ordering::Relaxed)
                    && matches!(e.kind(), ErrorKind::InvalidArgument(_)),
                "{e}"
            ),
        }
    }

    /// Merges in a transaction, which sees its own writes.
    fn transact(&mut self) {
        let at = self.random.below(3) as usize;
        let (keyspace, key) = (self.keyspace(at), self.key());
        let before = self.rows.0[at].get(&key).cloned();
        let operands: [Vec<u8>; 2] = [0, 1].map(|_| self.value(at));
        let merges = [0, 1].map(|_| Merge::draw(&mut self.random));
        let (counts, deletes) = (self.counts[at], self.random.one_in(3));
        let written = self.db.transact(Durability::Buffered, |tx| -> Result<Vec<u8>> {
            let mut value = before.clone();
            if deletes {
                tx.delete_range(&keyspace, &*key..=&*key)?;
                value = None;
            }
            for (merge, operand) in merges.iter().zip(&operands) {
                if counts {
                    tx.merge(&keyspace, &key, merge.operand())?;
                    value = Some(merge.apply(value.as_ref()));
                } else {
                    tx.merge(&keyspace, &key, Operand::Custom(operand))?;
                    value = Some([value.unwrap_or_default(), operand.clone()].concat());
                }
                assert_eq!(tx.get(&keyspace, &key)?, value);
            }
            Ok(value.unwrap_or_default())
        });
        let value = written.unwrap();
        self.rows.0[at].insert(key, value);
        self.earlier.insert(self.db.snapshot().sequence(), self.rows.clone());
    }

    /// Compares a key, a range in either direction, and steps of a cursor with rows.
    fn look(&mut self, snapshot: Option<&Snapshot>, rows: &Rows) {
        for (at, map) in rows.0.iter().enumerate() {
            let keyspace = self.keyspace(at);
            let (key, range) = (self.key(), self.range());
            let got = match snapshot {
                Some(snapshot) => snapshot.get(&keyspace, &key),
                None => keyspace.get(&key),
            };
            assert_eq!(got.unwrap().as_ref(), map.get(&key));
            let scan = || match snapshot {
                Some(snapshot) => snapshot.scan(&keyspace, &range).unwrap(),
                None => keyspace.scan(&range).unwrap(),
            };
            let wanted: Vec<_> = map.iter().filter(|(key, _)| range.contains(key)).collect();
            let same = |row: Result<(Vec<u8>, Vec<u8>)>, wanted: &(&Vec<u8>, &Vec<u8>)| {
                let (key, value) = row.unwrap();
                (&key, &value) == *wanted
            };
            assert_eq!(scan().count(), wanted.len());
            assert!(scan().zip(&wanted).all(|(row, wanted)| same(row, wanted)));
            assert!(scan().rev().zip(wanted.iter().rev()).all(|(row, wanted)| same(row, wanted)));
        }
    }

    fn reopen(&mut self) {
        self.snapshots.clear();
        self.db.clone().close().unwrap();
        self.db = self.rig.open(self.options.clone(), self.random.word()).unwrap();
    }

    /// Drops a keyspace, and creates it again for merges of either kind.
    fn create_again(&mut self) {
        let at = self.random.below(3) as usize;
        self.snapshots.clear();
        self.db.drop_keyspace(NAMES[at]).unwrap();
        self.db.create_keyspace(NAMES[at]).unwrap();
        self.counts[at] = self.random.one_in(2);
        self.rows.0[at].clear();
        // A repair shows the keyspace that there is now.
        self.earlier.values_mut().for_each(|rows| rows.0[at].clear());
    }

    /// Copies the store, and compares the copy: opened read-only, and after it has compacted all keys.
    fn copy(&mut self) {
        let rig = Rig::new(Kind::MemoryVolume);
        self.db.checkpoint(&*rig.storage().unwrap()).unwrap();
        let options = self.options.clone().read_only(true);
        let executor = Arc::new(SeededExecutor::new(0));
        let db = Db::open_storage(rig.reading().unwrap(), options, executor).unwrap();
        assert!(all(&db) == self.rows.0);
        drop(db);
        let db = rig.open(self.options.clone(), self.random.word()).unwrap();
        for name in NAMES {
            db.open_keyspace(name).unwrap().unwrap().compact_range(..).unwrap();
        }
        assert!(all(&db) == self.rows.0);
        assert_eq!(db.check().unwrap().damage, []);
    }

    /// Repairs a copy of the files, in which `damaged` strikes some at random. Each row is then right, or named as
    /// doubtful.
    fn repair(&mut self, damaged: bool) {
        self.reopen();
        let copy = MemoryVfs::new();
        let mut damage = Vec::new();
        for name in self.rig.vfs.list().unwrap() {
            let from = self.rig.vfs.open(&name).unwrap();
            let mut bytes = vec![0; from.len().unwrap() as usize];
            terrane::storage::read_exact_at(&*from, &mut bytes, 0).unwrap();
            let is_struck =
                damaged && !bytes.is_empty() && !name.starts_with("LOCK") && self.random.one_in(6);
            if is_struck && name.ends_with(".sst") && self.random.one_in(3) {
                damage.push(format!("{name} is lost"));
                continue;
            }
            if is_struck {
                let at = self.random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << self.random.below(8);
                damage.push(format!("{name} at {at}"));
            }
            write_all_at(&*copy.create(&name).unwrap(), &bytes, 0).unwrap();
        }
        let target = Rig::new(Kind::MemoryDirectory).open(self.options.clone(), 0).unwrap();
        let remains = salvage::directory(&copy).unwrap();
        let report = repair(remains, &target, DoubtfulRows::Together).unwrap();
        assert!(report.complete || !damage.is_empty(), "{report:#?}");
        let last = report.last_write.unwrap_or(u64::MAX);
        let expected = self.earlier.range(..=last).next_back().map(|(_, rows)| rows.clone());
        let expected = expected.unwrap_or_default().0;
        for ((name, expected), found) in NAMES.iter().zip(&expected).zip(&all(&target)) {
            for key in expected.keys().chain(found.keys()) {
                assert!(
                    expected.get(key) == found.get(key) || is_named(&report, name, key),
                    "{name} {key:?} is {:?}, not {:?}; {damage:?} {report:#?}",
                    found.get(key),
                    expected.get(key)
                );
            }
        }
    }

    fn step(&mut self) {
        match self.random.below(40) {
            0..14 => self.write(),
            14..17 => self.transact(),
            17..19 => self.look(None, &self.rows.clone()),
            19..21 if !self.snapshots.is_empty() => {
                let at = self.random.below(self.snapshots.len() as u64) as usize;
                let (snapshot, rows) = self.snapshots.swap_remove(at);
                self.look(Some(&snapshot), &rows);
                if self.random.one_in(2) {
                    self.snapshots.push((snapshot, rows));
                }
            }
            21..23 => self.snapshots.push((self.db.snapshot(), self.rows.clone())),
            23 => self.db.flush().unwrap(),
            24 => {
                let (at, range) = (self.random.below(3) as usize, self.range());
                self.keyspace(at).compact_range(&range).unwrap();
            }
            25 => {
                let (at, policies) = (self.random.below(3) as usize, small_policies());
                let policy = &policies[self.random.below(policies.len() as u64) as usize];
                self.keyspace(at).set_policy(policy).unwrap();
            }
            26 => self.repair(false),
            27..36 => self.fail(),
            36 if self.random.one_in(2) => self.create_again(),
            36 => self.copy(),
            37 => self.reopen(),
            _ => self.repair(true),
        }
    }

    /// Writes, flushes and compacts while the operator makes results too long.
    fn fail(&mut self) {
        self.is_failing.store(true, Ordering::Relaxed);
        for _ in 0..self.random.below(16) {
            match self.random.below(8) {
                0..4 => self.write(),
                4 => self.db.flush().unwrap(),
                5 => self.snapshots.push((self.db.snapshot(), self.rows.clone())),
                6 => drop(self.snapshots.pop()),
                _ => {
                    let at = self.random.below(3) as usize;
                    self.keyspace(at).compact_range(..).unwrap();
                }
            }
        }
        self.is_failing.store(false, Ordering::Relaxed);
        assert!(all(&self.db) == self.rows.0);
        for (snapshot, rows) in std::mem::take(&mut self.snapshots) {
            self.look(Some(&snapshot), &rows);
            self.snapshots.push((snapshot, rows));
        }
    }
}

/// Returns all rows of a store.
fn all(db: &Db) -> [Map; 3] {
    NAMES.map(|name| {
        let keyspace = db.open_keyspace(name).unwrap();
        let scan = keyspace.map(|keyspace| keyspace.scan(..).unwrap());
        scan.into_iter().flatten().collect::<Result<_>>().unwrap()
    })
}

/// Whether a report names a key as doubtful.
fn is_named(report: &Salvaged, keyspace: &str, key: &[u8]) -> bool {
    report.doubtful.iter().any(|range| {
        range.keyspace.as_ref().is_none_or(|name| name == keyspace)
            && range.from.as_ref().is_none_or(|from| from.as_slice() <= key)
            && range.through.as_ref().is_none_or(|through| through.as_slice() >= key)
    })
}

#[test]
fn merges_equal_maps_in_stores_copies_and_repairs() {
    let (seeds, steps) = if full() { (5000, 400) } else { (80, 150) };
    for seed in 0..seeds {
        println!("seed {seed}");
        let mut history = History::new(seed);
        for _ in 0..history.random.below(steps) {
            history.step();
        }
        history.reopen();
        assert!(all(&history.db) == history.rows.0);
    }
}

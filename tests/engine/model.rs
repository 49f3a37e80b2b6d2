//! Random operations on a store and on sorted maps: the store shows what the maps show, now and at
//! every open snapshot, in both directions, across reopens and changes of policy, while values expire.
//!
//! A run is a list of words, and each step draws its choices from its own word. A failing run is
//! therefore shrunk by leaving words out, and the shortest list that fails is printed.

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use terrane::{
    Condition, Db, Durability, KeyRange, Keyspace, Millis, Operand, Options, Outcome, Scan,
    Snapshot, WriteBatch,
};
use terrane_policy::PolicyOptions;
use terrane_tests::fixtures::{KINDS, Kind, Rig, adversarial, drawn, small_policies};
use terrane_tests::full;
use terrane_tests::workload::Merge;
use terrane_workload::Random;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;
/// The keyspaces: the first has values that expire, the second counters, the third merges of a merge operator.
const NAMES: [&str; 3] = ["default", "a", "b"];

/// A store and the maps it must equal.
struct Pair {
    rig: Rig,
    options: Options,
    db: Db,
    maps: [Map; 3],
    /// The times at which values expire that do.
    times: [BTreeMap<Vec<u8>, Millis>; 3],
    clock: Arc<AtomicU64>,
    /// The sequence number up to which keys may have expired.
    expired_through: u64,
    snapshots: Vec<(Snapshot, [Map; 3])>,
    /// Open scans, with the entries they have yet to return.
    scans: Vec<(Scan, Pairs)>,
    random: Random,
    /// The sequence of the last batch.
    last: u64,
    /// The keys of all batches, each with the batch's sequence and the keyspace's place.
    written: Vec<(u64, usize, Vec<u8>)>,
    /// The range deletes of all batches, likewise.
    deleted: Vec<(u64, usize, KeyRange)>,
    /// Whether the policy never becomes idle.
    adversarial: bool,
}

impl Pair {
    fn new(kind: Kind, policy: PolicyOptions, seed: u64) -> Pair {
        let rig = Rig::new(kind);
        let adversarial = matches!(policy, PolicyOptions::Adversarial(_));
        let clock = Arc::new(AtomicU64::new(1000));
        let time = clock.clone();
        let options = drawn(seed)
            .policy(policy)
            .wall_clock(Arc::new(move || time.load(Ordering::Relaxed)))
            .merge_operator(Arc::new(|older, newer| [older, newer].concat()));
        let db = rig.open(options.clone(), 0).expect("a new store");
        Pair {
            rig,
            options,
            db,
            maps: Default::default(),
            times: Default::default(),
            clock,
            expired_through: 0,
            snapshots: Vec::new(),
            scans: Vec::new(),
            random: Random(0),
            last: 0,
            written: Vec::new(),
            deleted: Vec::new(),
            adversarial,
        }
    }

    fn key(&mut self) -> Vec<u8> {
        match self.random.below(40) {
            0 => Vec::new(),
            1 => vec![0xff; 3],
            // Memtables and tables have many versions of it.
            2..10 => b"k001".to_vec(),
            _ => format!("k{:03}", self.random.below(150)).into_bytes(),
        }
    }

    /// Draws a condition. Returns it for a keyspace and a snapshot, with whether it holds, if that is certain: it may
    /// not be noticed that keys which the snapshot lacks came and went with a range delete.
    fn condition<'s>(
        &mut self,
        keyspaces: &[Keyspace; 3],
        snapshots: &'s [(Snapshot, [Map; 3])],
    ) -> (Condition<'s>, Option<bool>) {
        let at = self.random.below(3) as usize;
        let (keyspace, key) = (&keyspaces[at], self.key());
        if let Some((snapshot, maps)) = snapshots.last()
            && self.random.one_in(3)
        {
            let range = self.range();
            let since = snapshot.sequence();
            let later = self.written.iter().rev().take_while(|(seq, ..)| *seq > since);
            let mut inside = later.filter(|(_, place, key)| *place == at && range.contains(key));
            let is_written = inside.next().is_some();
            let later = self.deleted.iter().rev().take_while(|(seq, ..)| *seq > since);
            let mut over =
                later.filter(|(_, place, deleted)| *place == at && overlap(deleted, &range));
            let certain = if over.next().is_none() {
                Some(!is_written)
            } else if self.expired_through >= since
                || within(&maps[at], &range) == within(&self.maps[at], &range)
            {
                None
            } else {
                Some(false)
            };
            return (snapshot.unchanged(keyspace, range), certain);
        }
        let value = self.maps[at].get(&key);
        let (condition, holds) = match self.random.below(4) {
            0 => (Condition::absent(keyspace, &key), value.is_none()),
            1 => (Condition::present(keyspace, &key), value.is_some()),
            2 => {
                let wanted = value.cloned().unwrap_or_default();
                (Condition::value(keyspace, &key, wanted), value.is_some())
            }
            _ => {
                let mut of_key =
                    self.written.iter().rev().filter(|(_, p, k)| *p == at && *k == key);
                let seq = of_key.next().map_or(0, |(seq, ..)| *seq);
                (Condition::version(keyspace, &key, seq), value.is_some())
            }
        };
        (condition, Some(holds))
    }

    /// Writes a batch under conditions.
    fn write_if(&mut self) {
        let snapshots = std::mem::take(&mut self.snapshots);
        let keyspaces = NAMES.map(|name| self.db.create_keyspace(name).unwrap());
        let drawn: Vec<_> =
            (0..1 + self.random.below(3)).map(|_| self.condition(&keyspaces, &snapshots)).collect();
        let holding: Vec<Option<bool>> = drawn.iter().map(|(_, holds)| *holds).collect();
        let conditions = drawn.into_iter().map(|(condition, _)| condition);
        let before = (self.maps.clone(), self.written.len(), self.deleted.len());
        let times_before = self.times.clone();
        let batch = self.batch();
        let outcome = self.db.write_if(conditions, batch, Durability::Buffered).unwrap();
        match outcome {
            Outcome::Written(seq) => {
                assert_eq!(seq, self.last);
                assert!(!holding.contains(&Some(false)), "{holding:?}");
            }
            Outcome::Refused(refusals) => {
                let refused: Vec<usize> = refusals.iter().map(|r| r.condition).collect();
                assert!(!refused.is_empty());
                for (n, holds) in holding.iter().enumerate() {
                    assert!(
                        holds.is_none_or(|holds| holds != refused.contains(&n)),
                        "{n}: {holding:?}"
                    );
                }
                (self.maps, self.times, self.last) = (before.0, times_before, self.last - 1);
                self.written.truncate(before.1);
                self.deleted.truncate(before.2);
            }
        }
        self.snapshots = snapshots;
    }

    fn write(&mut self) {
        let batch = self.batch();
        let sync = self.random.one_in(8);
        let durability = if sync { Durability::Sync } else { Durability::Buffered };
        assert_eq!(self.db.write(batch, durability).unwrap(), self.last);
    }

    /// Draws the next batch, and applies it to the maps.
    fn batch(&mut self) -> WriteBatch {
        let mut batch = WriteBatch::new();
        self.last += 1;
        let mut written: Option<(usize, Vec<u8>)> = None;
        for _ in 0..1 + self.random.below(8) {
            if self.random.one_in(16) {
                self.delete_range(&mut batch);
                continue;
            }
            // Sometimes the key just written: the last entry of a batch wins.
            let again = written.take().filter(|_| self.random.one_in(3));
            let (at, key) = again.unwrap_or_else(|| (self.random.below(3) as usize, self.key()));
            written = Some((at, key.clone()));
            self.written.push((self.last, at, key.clone()));
            let id = self.db.create_keyspace(NAMES[at]).unwrap().id();
            self.times[at].remove(&key);
            if self.random.one_in(4) {
                batch.delete(id, &key).unwrap();
                self.maps[at].remove(&key);
                continue;
            }
            let value = vec![self.random.word() as u8; self.random.below(60) as usize];
            if at > 0 && self.random.one_in(2) {
                let value = self.merge(&mut batch, at, &key);
                self.maps[at].insert(key, value);
                continue;
            }
            if at == 0 && self.random.one_in(3) {
                let now = self.clock.load(Ordering::Relaxed);
                let expires_at = now + self.random.below(300);
                batch.put_expiring_at(id, &key, &value, expires_at).unwrap();
                self.times[at].insert(key.clone(), expires_at);
                if expires_at <= now {
                    self.maps[at].remove(&key);
                    continue;
                }
            } else {
                batch.put(id, &key, &value).unwrap();
            }
            self.maps[at].insert(key, value);
        }
        batch
    }

    /// Adds a merge to a batch, and returns the value that it makes.
    fn merge(&mut self, batch: &mut WriteBatch, at: usize, key: &[u8]) -> Vec<u8> {
        let id = self.db.create_keyspace(NAMES[at]).unwrap().id();
        let before = self.maps[at].get(key);
        if at == 1 {
            let merge = Merge::draw(&mut self.random);
            batch.merge(id, key, merge.operand()).unwrap();
            return merge.apply(before);
        }
        let operand = vec![self.random.word() as u8; self.random.below(8) as usize];
        batch.merge(id, key, Operand::Custom(&operand)).unwrap();
        [before.cloned().unwrap_or_default(), operand].concat()
    }

    fn delete_range(&mut self, batch: &mut WriteBatch) {
        let range = match self.random.below(4) {
            0 => self.range(),
            1 => KeyRange::prefix(format!("k0{}", self.random.below(10))),
            _ => {
                let from = self.random.below(150);
                let to = from + self.random.below(30);
                KeyRange::from(format!("k{from:03}")..format!("k{to:03}"))
            }
        };
        let at = self.random.below(3) as usize;
        let id = self.db.create_keyspace(NAMES[at]).unwrap().id();
        batch.delete_range(id, &range).unwrap();
        if batch.is_empty() {
            // An empty range is no entry, and an empty batch has no number of its own.
            let key = self.key();
            batch.delete(id, &key).unwrap();
            self.maps[at].remove(&key);
            self.times[at].remove(&key);
            self.written.push((self.last, at, key));
        }
        self.maps[at].retain(|key, _| !range.contains(key));
        self.times[at].retain(|key, _| !range.contains(key));
        self.deleted.push((self.last, at, range));
    }

    /// Moves the clock.
    fn pass_time(&mut self) {
        let passed = self.random.below(60);
        let now = self.clock.fetch_add(passed, Ordering::Relaxed) + passed;
        self.expired_through = self.last;
        for (map, times) in self.maps.iter_mut().zip(&self.times) {
            map.retain(|key, _| times.get(key).is_none_or(|at| *at > now));
        }
    }

    fn range(&mut self) -> KeyRange {
        let bound = |pair: &mut Pair| match pair.random.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(pair.key()),
            _ => Bound::Excluded(pair.key()),
        };
        KeyRange { from: bound(self), to: bound(self) }
    }

    /// Compares a scan of a range, from either end or both, with a map.
    fn compare(&mut self, mut scan: Scan, map: &Map, range: &KeyRange) {
        let mut expected = within(map, range).into_iter();
        let from_end = self.random.below(3);
        loop {
            let forward = from_end == 0 || (from_end == 1 && self.random.one_in(2));
            let shown = if forward { scan.next() } else { scan.next_back() }.transpose().unwrap();
            let wanted = if forward { expected.next() } else { expected.next_back() };
            assert_eq!(shown, wanted);
            if wanted.is_none() {
                assert!(scan.next().is_none() && scan.next_back().is_none());
                return;
            }
        }
    }

    /// Seeks keys of a range and steps once from each, in either direction.
    fn seek(&mut self) {
        let at = self.random.below(3) as usize;
        let range = self.range();
        let expected = within(&self.maps[at], &range);
        let mut cursor = self.db.create_keyspace(NAMES[at]).unwrap().cursor(range).unwrap();
        for _ in 0..8 {
            let key = self.key();
            cursor.seek(&key);
            let forward = self.random.one_in(2);
            let wanted = if forward {
                expected.iter().find(|(k, _)| *k >= key)
            } else {
                expected.iter().rev().find(|(k, _)| *k <= key)
            };
            let shown = if forward { cursor.next() } else { cursor.prev() }.unwrap();
            assert_eq!(shown, wanted.map(|(k, v)| (k.as_slice(), v.as_slice())));
        }
    }

    /// Steps back and forth over a range.
    fn zigzag(&mut self) {
        let at = self.random.below(3) as usize;
        let range = self.range();
        let expected = within(&self.maps[at], &range);
        let mut cursor = self.db.create_keyspace(NAMES[at]).unwrap().cursor(range).unwrap();
        let mut place = None;
        for _ in 0..20 {
            let forward = self.random.below(3) > 0;
            let next = match (place, forward) {
                (None, true) => 0,
                (None, false) => expected.len().wrapping_sub(1),
                (Some(at), true) => at + 1,
                (Some(at), false) => usize::wrapping_sub(at, 1),
            };
            let shown = if forward { cursor.next() } else { cursor.prev() }.unwrap();
            let wanted = expected.get(next).map(|(k, v)| (k.as_slice(), v.as_slice()));
            assert_eq!(shown, wanted);
            if wanted.is_none() {
                return;
            }
            place = Some(next);
        }
    }

    fn look(&mut self) {
        let at = self.random.below(3) as usize;
        let keyspace = self.db.create_keyspace(NAMES[at]).unwrap();
        let key = self.key();
        let found = keyspace.get_versioned(&key).unwrap();
        assert_eq!(found.as_ref().map(|found| &found.value), self.maps[at].get(&key));
        if let Some(found) = found {
            assert_eq!(found.expires_at, self.times[at].get(&key).copied());
        }
        let range = self.range();
        let scan = keyspace.scan(&range).unwrap();
        let map = self.maps[at].clone();
        self.compare(scan, &map, &range);
        if self.snapshots.is_empty() {
            return;
        }
        let pick = self.random.below(self.snapshots.len() as u64) as usize;
        let (snapshot, maps) = self.snapshots.swap_remove(pick);
        let got = snapshot.get_many(&keyspace, &[key.as_slice(), b"k001"]).unwrap();
        let wanted = [maps[at].get(&key).cloned(), maps[at].get(b"k001".as_slice()).cloned()];
        assert_eq!(got, wanted);
        let scan = snapshot.scan(&keyspace, &range).unwrap();
        self.compare(scan, &maps[at], &range);
        self.snapshots.push((snapshot, maps));
    }

    /// Takes a few more steps of a scan that was opened long ago.
    fn resume_scan(&mut self) {
        if self.scans.len() < 3 {
            let at = self.random.below(3) as usize;
            let scan = self.db.create_keyspace(NAMES[at]).unwrap().scan(..).unwrap();
            self.scans.push((scan, within(&self.maps[at], &KeyRange::default())));
        }
        let pick = self.random.below(self.scans.len() as u64) as usize;
        let (mut scan, mut left) = self.scans.swap_remove(pick);
        for _ in 0..7 {
            let wanted = (!left.is_empty()).then(|| left.remove(0));
            assert_eq!(scan.next().transpose().unwrap(), wanted);
            if wanted.is_none() {
                return;
            }
        }
        self.scans.push((scan, left));
    }

    fn reopen(&mut self) {
        self.snapshots.clear();
        self.scans.clear();
        let seed = self.random.word();
        let closed = self.db.clone();
        closed.close().unwrap();
        self.db = self.rig.open(self.options.clone(), seed).unwrap();
    }

    fn step(&mut self, word: u64) {
        self.random = Random(word);
        match self.random.below(100) {
            0..50 => self.write(),
            50..60 => self.write_if(),
            60..75 => self.look(),
            75 => self.pass_time(),
            76..78 => self.zigzag(),
            78..80 => self.seek(),
            80..86 => self.resume_scan(),
            86..89 => {
                let snapshot = self.db.snapshot();
                assert_eq!(snapshot.sequence(), self.last);
                self.snapshots.push((snapshot, self.maps.clone()));
            }
            89..91 => drop(self.snapshots.pop()),
            91..93 => self.db.flush().unwrap(),
            93 if !self.adversarial => self.db.wait_until_idle().unwrap(),
            94 => self.reopen(),
            95 => {
                let range = self.range();
                let at = self.random.below(3) as usize;
                let keyspace = self.db.create_keyspace(NAMES[at]).unwrap();
                keyspace.compact_range(&range).unwrap();
            }
            96..98 if !self.adversarial => {
                let at = self.random.below(3) as usize;
                let policies = small_policies();
                let policy = &policies[self.random.below(policies.len() as u64) as usize];
                self.db.create_keyspace(NAMES[at]).unwrap().set_policy(policy).unwrap();
            }
            98 if self.snapshots.is_empty() => {
                self.last += u64::from(self.db.drop_keyspace("b").unwrap());
                self.maps[2].clear();
                self.times[2].clear();
            }
            _ => assert_eq!(self.db.check().unwrap().damage, []),
        }
    }
}

/// Whether two ranges share a key.
fn overlap(a: &KeyRange, b: &KeyRange) -> bool {
    let Some(((a, a_end), (b, b_end))) = a.half_open().zip(b.half_open()) else { return false };
    let from = a.max(b);
    [a_end, b_end].iter().all(|end| end.as_ref().is_none_or(|end| from < *end))
}

fn within(map: &Map, range: &KeyRange) -> Pairs {
    let inside = |key: &Vec<u8>| {
        let after = match &range.from {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        let before = match &range.to {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        };
        after && before
    };
    map.iter().filter(|(k, _)| inside(k)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// A run of about `steps` steps, drawn from `seed`.
fn run(kind: Kind, policy: PolicyOptions, seed: u64, steps: usize) {
    println!("{kind:?} {} seed {seed}", policy.name());
    let config = Config { cases: 1, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    // Any length up to twice that: otherwise nothing could be left out.
    let words = vec(any::<u64>().no_shrink(), 0..=2 * steps);
    let shown = TestRunner::new_with_rng(config, random).run(&words, |words| {
        let mut pair = Pair::new(kind, policy.clone(), seed);
        words.into_iter().for_each(|word| pair.step(word));
        Ok(())
    });
    if let Err(failure) = shown {
        panic!("{kind:?} {} seed {seed}: {failure}", policy.name());
    }
}

#[test]
fn the_store_equals_a_sorted_map() {
    let (seeds, steps) = if full() { (40, 20_000) } else { (1, 2_000) };
    for seed in 0..seeds {
        for kind in KINDS {
            for (n, policy) in small_policies().into_iter().enumerate() {
                // Each run draws its own options.
                run(kind, policy, 31 * seed + 7 * kind as u64 + n as u64, steps);
            }
        }
    }
}

#[test]
fn an_adversarial_policy_changes_no_visible_entry() {
    let (seeds, steps) = if full() { (40, 5_000) } else { (2, 1_000) };
    for seed in 0..seeds {
        for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
            run(kind, adversarial(seed), seed, steps);
        }
    }
}

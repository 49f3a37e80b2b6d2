//! Random operations on a store and on sorted maps: the store shows what the maps show, now and at
//! every open snapshot, in both directions, across reopens and changes of policy, while values expire.
//!
//! A run is a list of words, and each step draws its choices from its own word. A failing run is
//! therefore shrunk by leaving words out, and the shortest list that fails is printed.

mod reads;
mod writes;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use terrane::{Db, KeyRange, Millis, Options, Scan, Snapshot};
use terrane_policy::PolicyOptions;
use terrane_tests::fixtures::{KINDS, Kind, Rig, adversarial, drawn, small_policies};
use terrane_tests::full;
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

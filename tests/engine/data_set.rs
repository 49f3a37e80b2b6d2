//! A data set reads back unchanged under every policy: forward, backward, from a snapshot taken
//! half-way, and after changes from every policy to every other.
//!
//! `TERRANE_DATA=FILE` takes the lines of a file as keys and uses the presets unchanged, and policies under
//! each partitioner. By default the data set is small, and so are the policies.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use terrane::executor::ThreadExecutor;
use terrane::storage::{Directory, vfs::MemoryVfs};
use terrane::{Cursor, Db, Durability, Keyspace, Options, WriteBatch};
use terrane_policy::{PolicyOptions, presets};
use terrane_tests::fixtures::{partitioned_policies, small_policies, tiny};
use terrane_workload::Random;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Distinct keys in random order with their values; the policies; options that suit them.
struct DataSet {
    rows: Rows,
    policies: Vec<PolicyOptions>,
    options: Options,
}

impl DataSet {
    fn load() -> DataSet {
        let Some(path) = std::env::var_os("TERRANE_DATA") else {
            let mut random = Random(7);
            let words: std::collections::HashSet<u64> =
                (0..6_000).map(|_| random.word() >> 40).collect();
            return DataSet {
                rows: numbered(words.into_iter().map(|word| format!("@{word:x}").into_bytes())),
                policies: small_policies(),
                options: tiny(),
            };
        };
        let lines = std::fs::read(path).expect("a file of keys");
        let mut lines: Vec<_> = lines.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
        let mut seen = std::collections::HashSet::new();
        lines.retain(|line| seen.insert(*line));
        let preset = |name| PolicyOptions::preset(name).expect("a preset");
        DataSet {
            rows: numbered(lines.into_iter().map(<[u8]>::to_vec)),
            policies: (presets().iter().map(|p| preset(p.name)))
                .chain(partitioned_policies(4 << 20, 2 << 20))
                .collect(),
            // Small enough for several levels.
            options: Options::default().memtable_bytes(2 << 20),
        }
    }
}

/// Each key with its position as its value.
fn numbered(keys: impl Iterator<Item = Vec<u8>>) -> Rows {
    keys.enumerate().map(|(at, key)| (key, at.to_string().into_bytes())).collect()
}

/// Opens a store in `dir` for a given data set, otherwise in memory: the small policies write thousands of
/// small files, which a disk would sync for minutes.
fn open(dir: &Path, options: Options) -> Db {
    if std::env::var_os("TERRANE_DATA").is_some() {
        return Db::open(dir, options).unwrap();
    }
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let executor = Arc::new(ThreadExecutor::new(options.workers));
    Db::open_storage(storage, options, executor).unwrap()
}

fn sorted(rows: &[(Vec<u8>, Vec<u8>)]) -> Rows {
    let mut rows = rows.to_vec();
    rows.sort();
    rows
}

fn write(db: &Db, keyspace: &Keyspace, rows: &[(Vec<u8>, Vec<u8>)]) {
    for rows in rows.chunks(1000) {
        let mut batch = WriteBatch::new();
        for (key, value) in rows {
            batch.put(keyspace.id(), key, value).unwrap();
        }
        db.write(batch, Durability::Buffered).unwrap();
    }
}

/// Scans everything in both directions.
fn assert_shows(mut open: impl FnMut() -> Cursor, rows: &[(Vec<u8>, Vec<u8>)], what: &str) {
    let (mut forward, mut backward) = (open(), open());
    for (key, value) in rows {
        let wanted = Some((key.as_slice(), value.as_slice()));
        assert_eq!(forward.next().unwrap(), wanted, "{what}, forward");
    }
    for (key, value) in rows.iter().rev() {
        let wanted = Some((key.as_slice(), value.as_slice()));
        assert_eq!(backward.prev().unwrap(), wanted, "{what}, backward");
    }
    assert_eq!(forward.next().unwrap(), None, "{what}, forward");
    assert_eq!(backward.prev().unwrap(), None, "{what}, backward");
}

fn whole(keyspace: &Keyspace) -> Cursor {
    keyspace.cursor(..).unwrap()
}

#[test]
fn a_data_set_reads_back_unchanged_under_every_policy() {
    let set = DataSet::load();
    let (first, rest) = set.rows.split_at(set.rows.len() / 2);
    let (half, all) = (sorted(first), sorted(&set.rows));
    for policy in &set.policies {
        let name = policy.name();
        println!("{name}");
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path(), set.options.clone().policy(policy.clone()));
        let keyspace = db.default_keyspace();
        write(&db, &keyspace, first);
        let snapshot = db.snapshot();
        write(&db, &keyspace, rest);
        // During compactions, and after them.
        for state in ["busy", "at rest"] {
            assert_shows(|| whole(&keyspace), &all, &format!("{name}, {state}"));
            let then = || snapshot.cursor(&keyspace, ..).unwrap();
            assert_shows(then, &half, &format!("{name}, {state}, the snapshot"));
            db.wait_until_idle().unwrap();
        }
        drop(snapshot);
        assert_eq!(db.check().unwrap().damage, []);
        db.close().unwrap();
    }
}

#[test]
fn changing_between_any_two_policies_changes_no_visible_entry() {
    let set = DataSet::load();
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), set.options.clone());
    let keyspace = db.default_keyspace();
    write(&db, &keyspace, &set.rows);
    let mut shown: BTreeMap<_, _> = set.rows.into_iter().collect();
    for (number, at) in every_pair(set.policies.len()).into_iter().enumerate() {
        let policy = &set.policies[at];
        println!("change {number}: to {}", policy.name());
        keyspace.set_policy(policy).unwrap();
        // New versions of some rows, so that each policy has work to do.
        let values = shown.iter_mut().skip(number % 19).step_by(19);
        let fresh: Rows = values
            .map(|(key, value)| {
                *value = format!("{number} {}", key.len()).into_bytes();
                (key.clone(), value.clone())
            })
            .collect();
        write(&db, &keyspace, &fresh);
        db.wait_until_idle().unwrap();
        let rows: Rows = shown.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        assert_shows(|| whole(&keyspace), &rows, &format!("change {number}: {}", policy.name()));
    }
    assert_eq!(db.check().unwrap().damage, []);
}

/// A walk over `count` nodes that takes every edge from one node to another exactly once.
fn every_pair(count: usize) -> Vec<usize> {
    // An Euler circuit of the complete graph, by Hierholzer's algorithm.
    let mut unused: Vec<Vec<usize>> =
        (0..count).map(|i| (0..count).filter(|j| *j != i).collect()).collect();
    let (mut stack, mut walk) = (vec![0], Vec::new());
    while let Some(at) = stack.last() {
        match unused[*at].pop() {
            Some(next) => stack.push(next),
            None => walk.extend(stack.pop()),
        }
    }
    let pairs: std::collections::HashSet<_> = walk.iter().zip(&walk[1..]).collect();
    assert_eq!(pairs.len(), count * (count - 1));
    walk
}

//! Histories of many threads: transactions, conditional batches, range deletes and plain writes take effect as if one
//! ran after another, in the order of their sequence numbers.
//!
//! 1. Each write also sets a key of its own, by which its sequence number is found afterwards.
//! 2. Then all writes are replayed in that order on a map, and what each transaction read, each get and each scan to
//!    where it stopped, is compared with the map right before its own write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use terrane::executor::ThreadExecutor;
use terrane::{
    Condition, ConditionalBatch, Db, Durability, ErrorKind, Keyspace, Outcome, WriteBatch,
};
use terrane_tests::fixtures::{KINDS, Rig, drawn};
use terrane_tests::full;
use terrane_tests::workload::{Change, Merge};
use terrane_workload::Random;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Row = (Vec<u8>, Vec<u8>);

/// A read of a transaction, with what it returned.
enum Read {
    Get(Vec<u8>, Option<Vec<u8>>),
    /// Up to `limit` rows between two keys, from the end if `reverse`.
    Scan {
        from: Vec<u8>,
        to: Vec<u8>,
        limit: usize,
        reverse: bool,
        rows: Vec<Row>,
    },
}

/// A batch by its sequence number, with the reads that it rests on.
struct Committed {
    seq: u64,
    reads: Vec<Read>,
    writes: Vec<Write>,
}

/// A key, or the first of a range, and its change.
type Write = (Vec<u8>, Change);

const KEYS: u64 = 24;

fn key(random: &mut Random) -> Vec<u8> {
    format!("k{:02}", random.below(KEYS)).into_bytes()
}

/// One writer's share of a history.
struct Writer<'a> {
    db: &'a Db,
    keyspace: Keyspace,
    random: Random,
    /// Numbers values, so that all differ.
    values: &'a AtomicU64,
}

impl Writer<'_> {
    fn value(&self) -> Vec<u8> {
        self.values.fetch_add(1, Ordering::Relaxed).to_string().into_bytes()
    }

    /// Draws what to write.
    fn writes(&mut self) -> Vec<Write> {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.change()).collect()
    }

    fn change(&mut self) -> Write {
        let of = key(&mut self.random);
        let change = match self.random.below(8) {
            0 | 1 => Change::Delete,
            3 | 4 => Change::Merge(Merge::draw(&mut self.random)),
            2 => {
                let to = key(&mut self.random).max(of.clone());
                Change::DeleteRange([&to[..], b"5"].concat())
            }
            _ => Change::Put(self.value()),
        };
        (of, change)
    }

    fn batch(&self, writes: &[Write]) -> WriteBatch {
        let mut batch = WriteBatch::new();
        for (key, change) in writes {
            change.add(&mut batch, self.keyspace.id(), key).unwrap();
        }
        batch
    }

    fn plain(&mut self) -> Committed {
        let writes = self.writes();
        let seq = self.db.write(self.batch(&writes), Durability::Buffered).unwrap();
        Committed { seq, reads: Vec::new(), writes }
    }

    /// Writes batches, each if a key still has the version that was just read.
    fn conditional(&mut self) -> Vec<Committed> {
        let mut batches = Vec::new();
        let mut drawn = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let of = key(&mut self.random);
            let found = self.keyspace.get_versioned(&of).unwrap();
            let condition = match &found {
                Some(found) => Condition::version(&self.keyspace, &of, found.seq),
                None => Condition::absent(&self.keyspace, &of),
            };
            let writes = self.writes();
            let batch = self.batch(&writes);
            batches.push(ConditionalBatch { conditions: vec![condition], batch });
            drawn.push((Read::Get(of, found.map(|found| found.value)), writes));
        }
        let outcomes = self.db.write_group(batches, Durability::Buffered).unwrap();
        let committed = outcomes.into_iter().zip(drawn).filter_map(|(outcome, (read, writes))| {
            match outcome.unwrap() {
                Outcome::Written(seq) => Some(Committed { seq, reads: vec![read], writes }),
                Outcome::Refused(_) => None,
            }
        });
        committed.collect()
    }

    fn transaction(&mut self) -> Option<Committed> {
        let marker = [b"marker ".to_vec(), self.value()].concat();
        let seed = self.random.word();
        let keyspace = self.keyspace.clone();
        let values = self.values;
        let done = self.db.transact(Durability::Buffered, |tx| {
            let mut random = Random(seed);
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            for _ in 0..1 + random.below(3) {
                if random.one_in(2) {
                    let key = key(&mut random);
                    let found = tx.get(&keyspace, &key)?;
                    reads.push(Read::Get(key, found));
                    continue;
                }
                let (from, to) = (key(&mut random), key(&mut random));
                let (limit, reverse) = (random.below(6) as usize, random.one_in(2));
                let scan = tx.scan(&keyspace, from.clone()..to.clone())?;
                let rows: Vec<Row> = match reverse {
                    true => scan.rev().take(limit).collect::<terrane::Result<_>>()?,
                    false => scan.take(limit).collect::<terrane::Result<_>>()?,
                };
                reads.push(Read::Scan { from, to, limit, reverse, rows });
            }
            for _ in 0..1 + random.below(2) {
                let key = key(&mut random);
                let value = values.fetch_add(1, Ordering::Relaxed).to_string().into_bytes();
                let change = match random.below(8) {
                    0 | 1 => {
                        tx.delete(&keyspace, key.clone())?;
                        Change::Delete
                    }
                    3 | 4 => {
                        // It reads nothing.
                        let merge = Merge::draw(&mut random);
                        tx.merge(&keyspace, key.clone(), merge.operand())?;
                        writes.push((key, Change::Merge(merge)));
                        continue;
                    }
                    2 => {
                        let to = [key.as_slice(), b"5"].concat();
                        tx.delete_range(&keyspace, key.clone()..to.clone())?;
                        Change::DeleteRange(to)
                    }
                    _ => {
                        tx.put(&keyspace, key.clone(), value.clone())?;
                        Change::Put(value)
                    }
                };
                let written = matches!(change, Change::Put(_));
                assert_eq!(tx.get(&keyspace, &key)?.is_some(), written);
                writes.push((key, change));
            }
            tx.put(&keyspace, marker.clone(), "")?;
            Ok::<_, terrane::Error>((reads, writes))
        });
        match done {
            Ok((reads, writes)) => {
                let seq = self.keyspace.get_versioned(&marker).unwrap().expect("committed").seq;
                Some(Committed { seq, reads, writes })
            }
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Conflict), "{error}");
                None
            }
        }
    }
}

fn check(map: &Map, read: &Read) -> bool {
    match read {
        Read::Get(key, found) => map.get(key) == found.as_ref(),
        Read::Scan { from, to, .. } if from >= to => true,
        Read::Scan { from, to, limit, reverse, rows } => {
            let inside = map.range(from.clone()..to.clone());
            let row = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
            let seen: Vec<Row> = match reverse {
                true => inside.rev().take(*limit).map(row).collect(),
                false => inside.take(*limit).map(row).collect(),
            };
            seen == *rows
        }
    }
}

#[test]
fn transactions_and_conditional_batches_are_serializable() {
    let rounds = if full() { 40 } else { 2 };
    for (seed, kind) in (0..rounds).flat_map(|seed| KINDS.map(|kind| (seed, kind))) {
        println!("{kind:?} seed {seed}");
        let rig = Rig::new(kind);
        let executor = Arc::new(ThreadExecutor::new(2));
        let db = rig.open_with(drawn(seed), executor).expect("a new store");
        let values = AtomicU64::new(1);
        let write = |n: u64| {
            let random = Random(31 * seed + n);
            let keyspace = db.default_keyspace();
            let mut writer = Writer { db: &db, keyspace, random, values: &values };
            let mut committed = Vec::new();
            for _ in 0..120 {
                match writer.random.below(3) {
                    0 => committed.push(writer.plain()),
                    1 => committed.extend(writer.conditional()),
                    _ => committed.extend(writer.transaction()),
                }
            }
            committed
        };
        let write = &write;
        let mut history: Vec<Committed> = std::thread::scope(|threads| {
            let writers: Vec<_> = (0..8).map(|n| threads.spawn(move || write(n))).collect();
            writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect()
        });
        history.sort_by_key(|committed| committed.seq);
        assert!(history.windows(2).all(|two| two[0].seq < two[1].seq), "each has its own number");
        let mut map = Map::new();
        for Committed { seq, reads, writes } in &history {
            for (n, read) in reads.iter().enumerate() {
                assert!(check(&map, read), "read {n} of batch {seq}");
            }
            for (key, change) in writes {
                change.apply(&mut map, key);
            }
        }
        let rows = db.default_keyspace().scan(..b"marker".to_vec()).unwrap();
        let rows: Map = rows.map(|row| row.unwrap()).collect();
        assert_eq!(rows, map);
    }
}

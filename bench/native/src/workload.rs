//! The workloads, each a stream of operations that depends on numbers alone: after the clock has stopped, the
//! same stream gives the expected content of the store.
//!
//! Where several threads write, each writes rows of its own, so that the last write of a row is known.

use crate::data::Data;
use crate::random::{Permutation, Random, Zipf};
use serde::{Deserialize, Serialize};

/// Operations of a turn's phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// The loop without a store, which shows what the machine delays.
    Nothing,
    /// The same loop beside a thread that is always busy, as a store's background threads may be.
    NothingBesideBusy,
    /// Puts of new rows in key order.
    FillSeq,
    /// Puts of new rows in random order.
    FillRandom,
    /// The same in batches of [`BATCH`].
    FillBatch,
    /// Puts of rows that are there.
    Overwrite,
    /// Gets of rows that are there.
    ReadRandom,
    /// Gets of keys that are not there.
    ReadMissing,
    /// Gets of which some rows get the most (zipf).
    ReadHot,
    /// A scan of 10 rows from a key that is there.
    Seek10,
    /// The same with 100 rows.
    Seek100,
    /// A scan of everything.
    ReadSeq,
    /// Half gets, half puts.
    Mixed,
    /// Gets, while one more thread puts.
    ReadWhileWriting,
    /// Deletes of half of the rows, [`RANGE`] of 2 x [`RANGE`] in a row.
    Delete,
    /// [`Workload::Seek100`] over what deletes left.
    SeekDeleted,
    /// Half gets, half puts, of rows of which some are popular (YCSB A).
    YcsbA,
    /// 95 % gets, 5 % puts.
    YcsbB,
    /// Gets.
    YcsbC,
    /// 95 % gets, mostly of the newest rows, 5 % inserts.
    YcsbD,
    /// 95 % scans of up to 100 rows, 5 % inserts.
    YcsbE,
    /// Half gets, half a get and a put of the row.
    YcsbF,
}

/// Rows of a batch.
pub const BATCH: u64 = 1000;
/// Neighbouring rows that are deleted together.
const RANGE: u64 = 1000;
/// The longest scan of [`Workload::YcsbE`].
const YCSB_SCAN: u64 = 100;
/// The order in which rows are filled in, and the one of popularity.
const FILL_ORDER: u64 = 0x6669_6c6c;
const POPULARITY: u64 = 0x686f_7473;

/// An operation on rows by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Nothing,
    Get(u64),
    Missing(u64),
    Put(u64),
    /// A get, then a put.
    Modify(u64),
    Delete(u64),
    /// A scan from a row, and its number of rows.
    Scan(u64, u64),
}

impl Workload {
    /// Its name in reports.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().to_owned()
    }

    /// Whether a companion thread works until the others have ended ([`Stream::next_of_companion`]). It counts
    /// in no figure.
    pub fn has_companion(self) -> bool {
        [Self::ReadWhileWriting, Self::NothingBesideBusy].contains(&self)
    }

    /// Whether it must end, so that later phases find the same rows in every store.
    pub fn is_whole(self) -> bool {
        let wholes =
            [Self::FillSeq, Self::FillRandom, Self::FillBatch, Self::Delete, Self::ReadSeq];
        wholes.contains(&self)
    }

    /// Returns the number of operations that a thread does in one go.
    pub fn batch(self) -> u64 {
        if self == Self::FillBatch { BATCH } else { 1 }
    }

    /// Operations of all threads, where it has no end by itself.
    pub fn operations(self, data: &Data) -> u64 {
        match self {
            Self::ReadSeq => 1,
            Self::Delete => data.entries / 2,
            Self::Seek10 | Self::YcsbE => data.entries / 10,
            Self::Seek100 | Self::SeekDeleted => data.entries / 40,
            _ => data.entries,
        }
        .max(1)
    }
}

/// A workload as one phase of a turn runs it.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    pub workload: Workload,
    /// From 1.
    pub index: u64,
    pub data: Data,
    pub threads: u64,
    /// Rows that earlier phases have inserted, or left out.
    pub inserted: u64,
    pub seed: u64,
}

impl Phase {
    /// The mark of a write in the value that it writes; none is 0.
    pub fn stamp(&self, thread: u64, operation: u64) -> u64 {
        self.index << 48 | thread << 40 | operation
    }

    /// The operations of a thread.
    pub fn stream(&self, thread: u64) -> Stream {
        let entries = self.data.entries;
        Stream {
            phase: *self,
            thread,
            at: 0,
            inserts: 0,
            random: Random::new(self.seed ^ self.stamp(thread, 0)),
            zipf: Zipf::new(entries),
            fill: Permutation::new(entries, FILL_ORDER),
            popularity: Permutation::new(entries, POPULARITY),
        }
    }

    /// The most operations of a thread.
    pub fn share(&self, thread: u64) -> u64 {
        let all = self.workload.operations(&self.data);
        all / self.threads + u64::from(thread < all % self.threads)
    }
}

/// The operations of one thread, without end.
pub struct Stream {
    phase: Phase,
    thread: u64,
    at: u64,
    inserts: u64,
    random: Random,
    zipf: Zipf,
    fill: Permutation,
    popularity: Permutation,
}

impl Stream {
    pub fn next(&mut self) -> Op {
        use Workload as W;
        let entries = self.phase.data.entries;
        // The place of this operation among those of all threads.
        let place = (self.at * self.phase.threads + self.thread) % entries;
        self.at += 1;
        let workload = self.phase.workload;
        match workload {
            W::Nothing | W::NothingBesideBusy => Op::Nothing,
            W::FillSeq => Op::Put(place),
            W::FillRandom | W::FillBatch => Op::Put(self.fill.at(place)),
            W::Overwrite => Op::Put(self.any_own()),
            W::ReadRandom | W::ReadWhileWriting => Op::Get(self.random.below(entries)),
            W::ReadMissing => Op::Missing(self.random.below(entries)),
            W::ReadHot | W::YcsbC => Op::Get(self.popular()),
            W::Seek10 => Op::Scan(self.random.below(entries), 10),
            W::Seek100 | W::SeekDeleted => Op::Scan(self.random.below(entries), 100),
            W::ReadSeq => Op::Scan(0, u64::MAX >> 1),
            W::Delete => Op::Delete(place / RANGE * 2 * RANGE + place % RANGE),
            W::Mixed if self.chance(50) => Op::Put(self.any_own()),
            W::Mixed => Op::Get(self.random.below(entries)),
            W::YcsbA if self.chance(50) => Op::Put(self.popular_own()),
            W::YcsbB if self.chance(5) => Op::Put(self.popular_own()),
            W::YcsbF if self.chance(50) => Op::Modify(self.popular_own()),
            W::YcsbD | W::YcsbE if self.chance(5) => self.insert(),
            W::YcsbA | W::YcsbB | W::YcsbF => Op::Get(self.popular()),
            W::YcsbD => Op::Get(self.newest()),
            W::YcsbE => Op::Scan(self.popular(), 1 + self.random.below(YCSB_SCAN)),
        }
    }

    /// The next operation of the companion thread ([`Workload::has_companion`]).
    pub fn next_of_companion(&mut self) -> Op {
        match self.phase.workload {
            Workload::NothingBesideBusy => Op::Nothing,
            _ => Op::Put(self.random.below(self.phase.data.entries)),
        }
    }

    /// Rows that this thread has inserted.
    pub fn inserts(&self) -> u64 {
        self.inserts
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn popular(&mut self) -> u64 {
        self.popularity.at(self.zipf.rank(&mut self.random))
    }

    fn any_own(&mut self) -> u64 {
        let any = self.random.below(self.phase.data.entries);
        self.own(any)
    }

    fn popular_own(&mut self) -> u64 {
        let popular = self.popular();
        self.own(popular)
    }

    /// A row near `number` that no other thread writes.
    fn own(&self, number: u64) -> u64 {
        let Phase { threads, data, .. } = self.phase;
        let first = number - number % threads;
        let own = first + self.thread;
        if own < data.entries { own } else { self.thread }
    }

    fn insert(&mut self) -> Op {
        self.inserts += 1;
        Op::Put(self.inserted(self.inserts - 1))
    }

    /// The number of this thread's insert of that index.
    fn inserted(&self, index: u64) -> u64 {
        let Phase { threads, inserted, data, .. } = self.phase;
        data.entries + inserted + index * threads + self.thread
    }

    /// The newest row is the most popular; before this thread's own come those of the fill.
    fn newest(&mut self) -> u64 {
        let rank = self.zipf.rank(&mut self.random);
        match self.inserts.checked_sub(rank + 1) {
            Some(index) => self.inserted(index),
            None => self.phase.data.entries - 1 - (rank - self.inserts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Op, Phase, Workload};
    use crate::data::{Data, Keys};
    use std::collections::HashSet;

    fn phase(workload: Workload, threads: u64) -> Phase {
        let data = Data { entries: 4500, keys: Keys::Uniform, key_bytes: 16, value_bytes: 100 };
        Phase { workload, index: 1, data, threads, inserted: 0, seed: 3 }
    }

    fn operations(phase: &Phase, thread: u64) -> Vec<Op> {
        let mut stream = phase.stream(thread);
        (0..phase.share(thread)).map(|_| stream.next()).collect()
    }

    #[test]
    fn threads_together_fill_every_row_once() {
        for workload in [Workload::FillSeq, Workload::FillRandom, Workload::FillBatch] {
            let phase = phase(workload, 8);
            let all: Vec<Op> = (0..8).flat_map(|thread| operations(&phase, thread)).collect();
            let rows: HashSet<u64> = all
                .iter()
                .map(|op| match op {
                    Op::Put(number) => *number,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!((all.len(), rows.len()), (4500, 4500));
            assert!(rows.iter().all(|number| *number < 4500));
        }
    }

    #[test]
    fn no_two_threads_write_the_same_row() {
        use Workload::{Mixed, Overwrite, YcsbA, YcsbB, YcsbD, YcsbE, YcsbF};
        for workload in [Overwrite, Mixed, YcsbA, YcsbB, YcsbD, YcsbE, YcsbF] {
            let phase = phase(workload, 7);
            let mut writers = std::collections::HashMap::new();
            for thread in 0..7 {
                for op in operations(&phase, thread) {
                    if let Op::Put(number) | Op::Modify(number) = op {
                        assert_eq!(*writers.entry(number).or_insert(thread), thread);
                    }
                }
            }
            assert!(!writers.is_empty());
        }
    }

    #[test]
    fn what_is_read_is_there() {
        let phase = phase(Workload::YcsbD, 2);
        let (mut stream, mut there) = (phase.stream(1), 0);
        for _ in 0..10_000 {
            match stream.next() {
                Op::Put(number) => assert_eq!(number, phase.data.entries + 2 * stream.inserts - 1),
                Op::Get(number) if number >= phase.data.entries => {
                    assert!(number < phase.data.entries + 2 * stream.inserts);
                    there += 1;
                }
                Op::Get(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(there > 1000, "the newest are the most popular");
    }

    #[test]
    fn half_of_the_rows_are_deleted_in_ranges() {
        let deletes: HashSet<String> =
            operations(&phase(Workload::Delete, 1), 0).iter().map(|op| format!("{op:?}")).collect();
        assert_eq!(deletes.len(), 2250);
        assert!(deletes.contains("Delete(0)") && deletes.contains("Delete(2999)"));
        assert!(!deletes.contains("Delete(1000)") && !deletes.contains("Delete(1999)"));
    }
}

//! The workloads, each a stream of operations that depends on numbers alone: after the clock has stopped, the
//! same stream gives the expected content of the store.
//!
//! Where several threads write, each writes rows of its own, so that the last write of a row is known.

use serde::{Deserialize, Serialize};
use terrane_workload::{
    Choice, Clients, KeyOrder, Kind, Mix, Operation, Operations, Permutation, Rows,
    Workload as Drawn,
};

/// Operations of a turn's phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Gets, in the loop without a store, which show what the machine delays.
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
/// The order in which rows are filled in.
const FILL_ORDER: u64 = 0x6669_6c6c;
/// More than a store has.
const ALL: u64 = u64::MAX >> 1;

impl Workload {
    /// Its name in reports.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().to_owned()
    }

    /// Whether a companion thread puts until the others have ended. It counts in no figure.
    pub fn has_companion(self) -> bool {
        [Self::ReadWhileWriting, Self::NothingBesideBusy].contains(&self)
    }

    /// Whether it runs without a store.
    pub fn is_nothing(self) -> bool {
        [Self::Nothing, Self::NothingBesideBusy].contains(&self)
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
    pub fn operations(self, data: &Rows) -> u64 {
        match self {
            Self::ReadSeq => 1,
            Self::Delete => data.entries / 2,
            Self::Seek10 | Self::YcsbE => data.entries / 10,
            Self::Seek100 | Self::SeekDeleted => data.entries / 40,
            _ => data.entries,
        }
        .max(1)
    }

    /// Mix of operations, and the rows that they choose. Places of rows are drawn as inserts.
    fn clients(self) -> Clients {
        let only = |kind| Clients { mix: Mix::only(kind), ..Clients::default() };
        let scan =
            |rows| Clients { scan_entries: rows, scan_entries_least: rows, ..only(Kind::Scan) };
        match self {
            Self::FillSeq | Self::FillRandom | Self::FillBatch | Self::Delete => only(Kind::Insert),
            Self::Overwrite => only(Kind::Update),
            Self::Nothing | Self::NothingBesideBusy | Self::ReadRandom | Self::ReadWhileWriting => {
                only(Kind::Read)
            }
            Self::ReadMissing => only(Kind::ReadMissing),
            Self::ReadHot => Self::YcsbC.clients(),
            Self::Seek10 => scan(10),
            Self::Seek100 | Self::SeekDeleted => scan(100),
            Self::ReadSeq => scan(ALL),
            Self::Mixed => {
                let mix = Mix { read: 0.5, update: 0.5, ..Mix::default() };
                Clients { mix, ..Clients::default() }
            }
            Self::YcsbA | Self::YcsbB | Self::YcsbC | Self::YcsbD | Self::YcsbE | Self::YcsbF => {
                let phases = Drawn::preset(&self.name(), 1, 1).map_or(Vec::new(), |w| w.phases);
                let mut clients = phases.into_iter().flat_map(|phase| phase.clients);
                clients.next().unwrap_or_default()
            }
        }
    }
}

/// A workload as one phase of a turn runs it.
#[derive(Clone, Debug)]
pub struct Phase {
    pub workload: Workload,
    /// From 1.
    pub index: u64,
    pub data: Rows,
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

    /// Returns the operations of a thread. Those of the companion, which comes after the others, have no end.
    pub fn stream(&self, thread: u64) -> Stream {
        let entries = self.data.entries;
        let (clients, most) = match thread < self.threads {
            true => (self.workload.clients(), self.share(thread)),
            false => (Workload::Overwrite.clients(), ALL),
        };
        // Only the newest rows are chosen among what this thread inserts.
        let load = if matches!(clients.choice, Choice::Latest { .. }) { entries } else { 0 };
        let order = KeyOrder::Ascending;
        let drawn = Drawn { load, keys: entries, order, ..Drawn::then(0, most, clients) };
        Stream {
            phase: self.clone(),
            thread,
            first: load,
            inserts: 0,
            operations: Operations::after_load(&drawn, self.seed ^ self.stamp(thread, 0)),
            fill: Permutation::new(entries, FILL_ORDER),
        }
    }

    /// The most operations of a thread.
    fn share(&self, thread: u64) -> u64 {
        let all = self.workload.operations(&self.data);
        all / self.threads + u64::from(thread < all % self.threads)
    }
}

/// The operations of one thread.
pub struct Stream {
    phase: Phase,
    thread: u64,
    /// Number of the first insert, as it is drawn.
    first: u64,
    inserts: u64,
    operations: Operations,
    fill: Permutation,
}

impl Iterator for Stream {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        use Operation::{Delete, Get, GetMissing, Put, ReadModifyWrite, Scan};
        use Workload as W;
        let (entries, first) = (self.phase.data.entries, self.first);
        Some(match (self.phase.workload, self.operations.next()?) {
            (W::FillSeq, Put(index)) => Put(self.place(index)),
            (W::FillRandom | W::FillBatch, Put(index)) => Put(self.fill.at(self.place(index))),
            (W::Delete, Put(index)) => {
                let place = self.place(index);
                Delete(place / RANGE * 2 * RANGE + place % RANGE)
            }
            (W::YcsbD | W::YcsbE, Put(number)) => {
                self.inserts += 1;
                Put(self.inserted(number - first))
            }
            (W::YcsbD, Get(number)) if number >= first => Get(self.inserted(number - first)),
            (W::ReadSeq, Scan { entries, .. }) => Scan { from: 0, entries },
            (_, Put(number)) => Put(self.own(number)),
            (_, ReadModifyWrite(number)) => ReadModifyWrite(self.own(number)),
            (_, GetMissing(number)) => GetMissing(number % entries),
            (_, drawn) => drawn,
        })
    }
}

impl Stream {
    /// Returns the operations, each with the mark of the value that it writes.
    pub fn stamped(&mut self) -> impl Iterator<Item = (Operation, u64)> {
        let first = self.phase.stamp(self.thread, 0);
        self.zip(first..)
    }

    /// Rows that this thread has inserted.
    pub fn inserts(&self) -> u64 {
        self.inserts
    }

    /// The place of this thread's operation of that index among those of all threads.
    fn place(&self, index: u64) -> u64 {
        index * self.phase.threads + self.thread
    }

    /// A row near `number` that no other thread writes.
    fn own(&self, number: u64) -> u64 {
        let first = number - number % self.phase.threads;
        let own = first + self.thread;
        if own < self.phase.data.entries { own } else { self.thread }
    }

    /// The number of this thread's insert of that index.
    fn inserted(&self, index: u64) -> u64 {
        self.phase.data.entries + self.phase.inserted + self.place(index)
    }
}

#[cfg(test)]
mod tests {
    use super::{Operation, Phase, Workload};
    use std::collections::HashSet;
    use terrane_workload::{Keys, Rows};

    fn phase(workload: Workload, threads: u64) -> Phase {
        let data = Rows { entries: 4500, keys: Keys::Uniform, key_bytes: 16, value_bytes: 100 };
        Phase { workload, index: 1, data, threads, inserted: 0, seed: 3 }
    }

    fn operations(phase: &Phase, thread: u64) -> Vec<Operation> {
        phase.stream(thread).collect()
    }

    #[test]
    fn threads_together_fill_every_row_once() {
        for workload in [Workload::FillSeq, Workload::FillRandom, Workload::FillBatch] {
            let phase = phase(workload, 8);
            let all: Vec<Operation> =
                (0..8).flat_map(|thread| operations(&phase, thread)).collect();
            let rows: HashSet<u64> = all
                .iter()
                .map(|op| match op {
                    Operation::Put(number) => *number,
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
                    if let Operation::Put(number) | Operation::ReadModifyWrite(number) = op {
                        assert_eq!(*writers.entry(number).or_insert(thread), thread);
                    }
                }
            }
            assert!(!writers.is_empty());
        }
    }

    #[test]
    fn what_is_read_is_there() {
        let data = Rows { entries: 20_000, ..phase(Workload::YcsbD, 2).data };
        let phase = Phase { data, ..phase(Workload::YcsbD, 2) };
        let (mut stream, mut there) = (phase.stream(1), 0);
        while let Some(operation) = stream.next() {
            match operation {
                Operation::Put(number) => {
                    assert_eq!(number, phase.data.entries + 2 * stream.inserts - 1)
                }
                Operation::Get(number) if number >= phase.data.entries => {
                    assert!(number < phase.data.entries + 2 * stream.inserts);
                    there += 1;
                }
                Operation::Get(_) => {}
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

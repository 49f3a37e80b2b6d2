//! Figures of compactions, counted from the store's events under the simulator's names.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use terrane::event::Listener;
use terrane::{Event, Keyspace};
use terrane_policy::TableId;
use terrane_sim::{Distribution, Figures, Latencies, Latency};

/// The figures of a period, and the tables at its end.
#[derive(Clone, Serialize)]
pub struct CompactionFigures {
    pub compactions: u64,
    /// Merges and moved tables of a compaction, and of these the tables with their bytes.
    pub compaction_groups: Distribution,
    pub compaction_moves: Distribution,
    pub compaction_moved_bytes: Distribution,
    /// Seconds in which any merge ran, and bytes that merges wrote for each of these.
    pub compaction_seconds: f64,
    pub compaction_throughput: f64,
    /// Duration of merges.
    pub merge_seconds: Option<Latency>,
    pub tables: usize,
    pub table_bytes: Distribution,
}

impl CompactionFigures {
    /// Those of a phase of the simulator; its report has the tables.
    pub fn simulated(figures: &Figures, (tables, table_bytes): (usize, Distribution)) -> Self {
        CompactionFigures {
            compactions: figures.compactions,
            compaction_groups: figures.compaction_groups,
            compaction_moves: figures.compaction_moves,
            compaction_moved_bytes: figures.compaction_moved_bytes,
            compaction_seconds: figures.compaction_seconds,
            compaction_throughput: figures.compaction_throughput,
            merge_seconds: figures.merge_seconds,
            tables,
            table_bytes,
        }
    }
}

/// Counts what the events of a store tell.
#[derive(Clone, Default)]
pub struct Compactions(Arc<Mutex<Log>>);

/// A moment in what was counted.
pub struct Mark {
    ended: usize,
    merges: usize,
    busy: Duration,
}

#[derive(Default)]
struct Log {
    /// Compactions that have not ended, by their numbers, and those that have.
    open: BTreeMap<u64, Grouped>,
    ended: Vec<Grouped>,
    /// Merges that run, by their first inputs, and those that are installed.
    running: BTreeMap<TableId, Instant>,
    merges: Vec<Merged>,
    /// Time in which any merge ran, and since when one does.
    busy: Duration,
    since: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
struct Grouped {
    merges: u64,
    moves: u64,
    moved_bytes: u64,
}

struct Merged {
    level: usize,
    bytes: u64,
    took: Duration,
}

impl Compactions {
    /// Returns the listener for the store.
    pub fn listener(&self) -> Listener {
        let counted = self.clone();
        Arc::new(move |_, event| counted.log().count(event, Instant::now()))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment now.
    pub fn mark(&self) -> Mark {
        let log = self.log();
        Mark { ended: log.ended.len(), merges: log.merges.len(), busy: log.busy(Instant::now()) }
    }

    /// Bytes that merges have written into each level since then.
    pub fn written(&self, since: &Mark) -> Vec<u64> {
        let mut sums = Vec::new();
        for merge in self.log().merges.iter().skip(since.merges) {
            sums.resize(sums.len().max(merge.level + 1), 0);
            sums.get_mut(merge.level).into_iter().for_each(|sum| *sum += merge.bytes);
        }
        sums
    }

    /// Returns the figures since then, and the keyspace's tables.
    pub fn since(&self, since: &Mark, keyspace: &Keyspace) -> terrane::Result<CompactionFigures> {
        let shape = keyspace.shape()?;
        let sizes = shape.levels().iter().flat_map(|level| level.tables()).map(|t| t.bytes);
        let sizes: Vec<_> = sizes.collect();
        let log = self.log();
        let ended: Vec<_> = log.ended.iter().skip(since.ended).collect();
        let merges: Vec<_> = log.merges.iter().skip(since.merges).collect();
        let compaction_seconds = (log.busy(Instant::now()) - since.busy).as_secs_f64();
        let written: u64 = merges.iter().map(|merge| merge.bytes).sum();
        Ok(CompactionFigures {
            compactions: ended.len() as u64,
            compaction_groups: spread(ended.iter().map(|g| g.merges + g.moves)).distribution(),
            compaction_moves: spread(ended.iter().map(|g| g.moves)).distribution(),
            compaction_moved_bytes: spread(ended.iter().map(|g| g.moved_bytes)).distribution(),
            compaction_seconds,
            compaction_throughput: written as f64 / compaction_seconds.max(1e-9),
            merge_seconds: spread(merges.iter().map(|merge| nanos(merge.took))).figures(),
            tables: sizes.len(),
            table_bytes: spread(sizes.into_iter()).distribution(),
        })
    }
}

impl Log {
    fn busy(&self, now: Instant) -> Duration {
        self.busy + self.since.map_or(Duration::ZERO, |since| now - since)
    }

    fn count(&mut self, event: &Event, now: Instant) {
        match event {
            Event::GroupBegun { inputs, moved: false, .. } => {
                self.since.get_or_insert(now);
                self.running.extend(inputs.first().map(|input| (*input, now)));
            }
            Event::GroupInstalled { compaction, inputs, level, outputs, moved, .. } => {
                let bytes = outputs.iter().map(|table| table.bytes).sum();
                let grouped = self.open.entry(*compaction).or_default();
                if *moved {
                    grouped.moves += outputs.len() as u64;
                    grouped.moved_bytes += bytes;
                } else {
                    grouped.merges += 1;
                    let begun = inputs.first().and_then(|input| self.running.remove(input));
                    let took = begun.map_or(Duration::ZERO, |begun| now - begun);
                    self.merges.push(Merged { level: *level, bytes, took });
                }
            }
            Event::GroupAbandoned { group, .. } => {
                self.running.remove(group);
            }
            Event::CompactionEnded { compaction } => {
                self.ended.push(self.open.remove(compaction).unwrap_or_default());
            }
            _ => {}
        }
        if self.running.is_empty() {
            self.busy += self.since.take().map_or(Duration::ZERO, |since| now - since);
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn spread(numbers: impl Iterator<Item = u64>) -> Latencies {
    let mut all = Latencies::default();
    numbers.for_each(|number| all.add(number));
    all
}

//! Operations as events report them each second: their latencies and keys, and what gets read by level.

use crate::clock::{Time, micros};
use crate::reads::Probe;
use crate::simulation::Simulation;
use crate::trace::KEYSPACE;
use terrane_policy::event::Event;
use terrane_policy::operations::{Interval, LevelReads, OperationKind, OperationSampler};
use terrane_workload::Kind;

/// The operations since the last event, and the reads of all.
#[derive(Default)]
pub(crate) struct Sampled {
    sampler: OperationSampler,
    /// Gets and writes so far, of which one in a number is sampled.
    gets: u32,
    writes: u32,
    levels: Vec<LevelReads>,
}

impl Sampled {
    fn level(&mut self, level: usize) -> Option<&mut LevelReads> {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, LevelReads::default());
        }
        self.levels.get_mut(level)
    }

    /// Counts what a filter did for a get.
    pub(crate) fn probe(&mut self, probe: &Probe) {
        let Some(level) = self.level(probe.level) else { return };
        let passed = u64::from(probe.block.is_some());
        level.filter_lookups += 1;
        level.filter_positives += passed;
        level.searches += passed;
        level.filter_false_positives += u64::from(passed > 0 && probe.found.is_none());
    }

    /// Counts a block of a get that was not in the block cache, if it is one of a level.
    pub(crate) fn block_read(&mut self, level: Option<usize>) {
        if let Some(level) = level.and_then(|level| self.level(level)) {
            level.blocks_read += 1;
        }
    }

    /// Whether the next operation of a kind is sampled.
    fn takes(&mut self, kind: OperationKind) -> bool {
        let mask = self.sampler.mask(kind);
        let count = match kind {
            OperationKind::Get => &mut self.gets,
            OperationKind::Write => &mut self.writes,
        };
        *count = count.wrapping_add(1);
        *count & mask == 0
    }
}

impl Simulation {
    /// Notes an operation that ends, on the key with this number. A scan is neither a get nor a write.
    pub(crate) fn sample(&mut self, kind: Kind, number: u64, latency: Time, now: Time) {
        let kind = match kind {
            Kind::Read | Kind::ReadMissing => OperationKind::Get,
            Kind::Insert | Kind::Update | Kind::Delete | Kind::ReadModifyWrite => {
                OperationKind::Write
            }
            Kind::Scan => return,
        };
        if self.listener.is_none() || !self.sampled.takes(kind) {
            return;
        }
        let key = self.operations.key(number).to_be_bytes();
        let ended = self.sampled.sampler.add(kind, micros(now), micros(latency), &key);
        let Some(Interval { lasted_micros, gets, writes }) = ended else { return };
        let (keyspace, levels) = (KEYSPACE, self.sampled.levels.clone());
        self.emit(now, || Event::Operations { keyspace, lasted_micros, gets, writes, levels });
    }
}

//! Operations as events report them each second: their latencies and keys, and what gets read by level.

use crate::clock::{Time, micros};
use crate::simulation::Simulation;
use crate::trace::KEYSPACE;
use terrane_policy::event::Event;
use terrane_policy::operations::{Interval, LevelReads, OperationKind, OperationSampler};
use terrane_workload::Kind;

/// The operations since the last event, and what the figures of levels lack.
#[derive(Default)]
pub(crate) struct Sampled {
    sampler: OperationSampler,
    /// Gets and writes so far, of which one in a number is sampled.
    gets: u32,
    writes: u32,
    /// Blocks of gets that were not in the block cache, by level.
    blocks_read: Vec<u64>,
}

impl Sampled {
    /// Counts a block of a get that was not in the block cache, if it is one of a level.
    pub(crate) fn block_read(&mut self, level: Option<usize>) {
        let Some(level) = level else { return };
        if self.blocks_read.len() <= level {
            self.blocks_read.resize(level + 1, 0);
        }
        if let Some(blocks) = self.blocks_read.get_mut(level) {
            *blocks += 1;
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
        let (keyspace, levels) = (KEYSPACE, self.level_reads());
        self.emit(now, || Event::Operations { keyspace, lasted_micros, gets, writes, levels });
    }
    fn level_reads(&self) -> Vec<LevelReads> {
        let levels = self.meters.by_level().iter().enumerate();
        LevelReads::to_last(levels.map(|(level, figures)| LevelReads {
            filter_lookups: figures.lookups,
            filter_positives: figures.filter_positives,
            filter_false_positives: figures.false_positives,
            searches: figures.filter_positives,
            blocks_read: self.sampled.blocks_read.get(level).copied().unwrap_or(0),
        }))
    }
}

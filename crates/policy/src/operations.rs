//! Operations of a keyspace, sampled: their latencies, and the keys that they are on.
//!
//! 1. The caller samples the operations that a mask lets through: one of a power of two.
//! 2. A sample is kept until its interval ends. Once a kind has 256, every second one is dropped, and from then on half
//!    as many operations are sampled.
//! 3. The first sample after a second ends the interval, and becomes its figures. Where few operations were sampled,
//!    more of the next interval are.

use serde::Serialize;
use std::mem;
use terrane_types::sort_by;

/// The least length of an interval, in microseconds.
const INTERVAL_MICROS: u64 = 1_000_000;
/// The number of samples of a kind at which half of them are dropped.
const SAMPLES_MAX: usize = 256;
/// The equal shares of operations whose limits are reported.
const SHARES: usize = 16;
/// The bytes of a key that are kept.
const KEY_BYTES_MAX: usize = 32;
/// The most times that the share of sampled operations is halved.
const HALVINGS_MAX: u32 = 31;

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// A get of one key.
    Get,
    /// A batch.
    Write,
}

/// Operations of one kind in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OperationStats {
    /// Number of operations, estimated from the sample.
    pub count: u64,
    /// The median latency of the sample, in microseconds.
    pub p50_micros: u64,
    /// The latency that 99 of 100 of the sample do not exceed, in microseconds.
    pub p99_micros: u64,
    /// The longest latency of the sample, in microseconds.
    pub max_micros: u64,
    /// Keys of the sample in order, from the least to the greatest: about as many operations are between each two of
    /// them. A batch counts with one of its keys, and a long key with its first 32 bytes.
    pub quantiles: Vec<Vec<u8>>,
}

/// Reads of a level by gets since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LevelReads {
    /// Filters that were asked.
    pub filter_lookups: u64,
    /// Filters among them that did not rule the key out.
    pub filter_positives: u64,
    /// Filters among those whose table had no version of the key that the get sees.
    pub filter_false_positives: u64,
    /// Tables in which a block was searched: their filter did not rule the key out, or they have none.
    pub searches: u64,
    /// Blocks among those searched that were not in the block cache.
    pub blocks_read: u64,
}

impl LevelReads {
    /// Returns the levels to the last one that was read.
    #[must_use]
    pub fn to_last(levels: impl Iterator<Item = LevelReads>) -> Vec<LevelReads> {
        let mut levels: Vec<_> = levels.collect();
        while levels.last().is_some_and(|level| *level == LevelReads::default()) {
            levels.pop();
        }
        levels
    }
}

/// The figures of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its length, in microseconds.
    pub lasted_micros: u64,
    /// Its gets.
    pub gets: OperationStats,
    /// Its writes.
    pub writes: OperationStats,
}

/// Samples of a keyspace's operations.
#[derive(Debug, Default)]
pub struct OperationSampler {
    /// Start of the interval, once there was a sample.
    since: Option<u64>,
    gets: Samples,
    writes: Samples,
}

#[derive(Debug, Default)]
struct Samples {
    /// One operation of `2 ^ halvings` is sampled.
    halvings: u32,
    kept: Vec<(u64, Vec<u8>)>,
    longest: u64,
}

impl OperationSampler {
    /// Returns the bits that must all be zero in a number drawn for an operation that is sampled.
    #[must_use]
    pub fn mask(&self, kind: OperationKind) -> u32 {
        let samples = match kind {
            OperationKind::Get => &self.gets,
            OperationKind::Write => &self.writes,
        };
        (1 << samples.halvings) - 1
    }

    /// Adds an operation that took `micros` and ended at `now`. Returns the figures of the interval if it ends with it.
    pub fn add(
        &mut self,
        kind: OperationKind,
        now: u64,
        micros: u64,
        key: &[u8],
    ) -> Option<Interval> {
        match kind {
            OperationKind::Get => self.gets.add(micros, key),
            OperationKind::Write => self.writes.add(micros, key),
        }
        let since = *self.since.get_or_insert(now.saturating_sub(micros));
        let lasted_micros = now.saturating_sub(since);
        if lasted_micros < INTERVAL_MICROS {
            return None;
        }
        self.since = Some(now);
        let (gets, writes) = (self.gets.take(), self.writes.take());
        Some(Interval { lasted_micros, gets, writes })
    }
}

impl Samples {
    /// Step 2.
    fn add(&mut self, micros: u64, key: &[u8]) {
        self.longest = self.longest.max(micros);
        let key = key.get(..KEY_BYTES_MAX).unwrap_or(key);
        self.kept.push((micros, key.to_vec()));
        if self.kept.len() >= SAMPLES_MAX && self.halvings < HALVINGS_MAX {
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.halvings += 1;
        }
    }

    /// Step 3.
    fn take(&mut self) -> OperationStats {
        let count = (self.kept.len() as u64) << self.halvings;
        while self.halvings > 0 && count >> self.halvings <= SAMPLES_MAX as u64 / 4 {
            self.halvings -= 1;
        }
        let (mut latencies, mut keys): (Vec<_>, Vec<_>) =
            mem::take(&mut self.kept).into_iter().unzip();
        sort_by(&mut latencies, u64::cmp);
        sort_by(&mut keys, Vec::cmp);
        let last = keys.len().saturating_sub(1);
        let shares = SHARES.min(last).max(1);
        let places = (0..=shares.min(last)).map(|share| share * last / shares);
        OperationStats {
            count,
            p50_micros: share_of(&latencies, 50),
            p99_micros: share_of(&latencies, 99),
            max_micros: mem::take(&mut self.longest),
            quantiles: places.filter_map(|place| keys.get(place).cloned()).collect(),
        }
    }
}

/// Returns the least of the sorted latencies that `percent` of them do not exceed; 0 if there is none.
fn share_of(latencies: &[u64], percent: usize) -> u64 {
    let rank = (latencies.len() * percent).div_ceil(100);
    latencies.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> [u8; 8] {
        number.to_be_bytes()
    }

    #[test]
    fn an_interval_has_the_figures_of_its_operations() {
        let mut sampler = OperationSampler::default();
        for n in 1..=100 {
            assert_eq!(sampler.add(OperationKind::Get, 1000 + n, n, &key(n)), None);
        }
        assert_eq!(sampler.add(OperationKind::Write, 5000, 7, b"write"), None);
        let ended = sampler.add(OperationKind::Get, 2_000_000, 500, &key(0)).unwrap();
        // The first operation started at 1000.
        assert_eq!(ended.lasted_micros, 1_999_000);
        let OperationStats { count, p50_micros, p99_micros, max_micros, quantiles } = ended.gets;
        assert_eq!((count, p50_micros, p99_micros, max_micros), (101, 51, 100, 500));
        assert_eq!(quantiles.len(), SHARES + 1);
        assert_eq!((&quantiles[0][..], &quantiles[SHARES][..]), (&key(0)[..], &key(100)[..]));
        assert!(quantiles.is_sorted());
        let one = vec![b"write".to_vec()];
        let write = OperationStats {
            count: 1,
            p50_micros: 7,
            p99_micros: 7,
            max_micros: 7,
            quantiles: one,
        };
        assert_eq!(ended.writes, write);
        let empty = sampler.add(OperationKind::Get, 3_000_000, 1, b"").unwrap();
        assert_eq!((empty.lasted_micros, empty.writes), (1_000_000, OperationStats::default()));
    }

    #[test]
    fn ranges_with_more_operations_have_more_quantiles() {
        let mut sampler = OperationSampler::default();
        for n in 0..640 {
            // Nine of ten are on ten keys of a thousand.
            let number = if n % 10 == 0 { n } else { 500 + n % 10 };
            sampler.add(OperationKind::Write, n, 1, &key(number));
        }
        let ended = sampler.add(OperationKind::Write, INTERVAL_MICROS, 1, &key(0)).unwrap();
        let (first, last) = (key(500), key(509));
        let hot = |key: &&Vec<u8>| (&first[..]..=&last[..]).contains(&key.as_slice());
        let inside = ended.writes.quantiles.iter().filter(hot).count();
        assert!(inside >= 13, "{inside}");
    }

    #[test]
    fn many_operations_are_sampled_less_and_counted_all_the_same() {
        let mut sampler = OperationSampler::default();
        let (mut sampled, all) = (0, 100_000u64);
        for n in 0..all {
            if n as u32 & sampler.mask(OperationKind::Get) == 0 {
                sampled += 1;
                let ended = sampler.add(OperationKind::Get, 1 + n, 1, &[1; 1000]);
                assert_eq!(ended, None);
            }
        }
        assert!(sampled < 8 * SAMPLES_MAX, "{sampled}");
        let halved = sampler.mask(OperationKind::Get);
        assert_eq!(sampler.mask(OperationKind::Write), 0);
        let ended = sampler.add(OperationKind::Write, 2_000_000, 1, b"").unwrap();
        assert!(ended.gets.count.abs_diff(all) < all / 50, "{}", ended.gets.count);
        assert_eq!(ended.gets.quantiles, vec![vec![1; KEY_BYTES_MAX]; SHARES + 1]);
        // A quiet interval is sampled more.
        sampler.add(OperationKind::Write, 4_000_000, 1, b"").unwrap();
        assert!(halved > 0 && sampler.mask(OperationKind::Get) == 0);
    }
}

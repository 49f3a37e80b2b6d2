//! The application's operations, one after another, drawn from a seed.

use crate::workload::{Choice, KeyOrder, Kind, Workload};
use crate::zipf::Zipf;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// One operation. Reads name a key, writes the number of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Writes the key of this number.
    Put(u64),
    /// Deletes the key of this number.
    Delete(u64),
    /// Reads a key.
    Get(u64),
    /// Reads a number of entries, starting at a key.
    Scan {
        /// The key.
        from: u64,
        /// How many.
        entries: u64,
    },
    /// Reads the key of this number, then writes it.
    ReadModifyWrite(u64),
}

/// Draws the operations of a workload; an iterator.
pub struct Client {
    workload: Workload,
    /// The shares of the mix, as cumulative sums.
    shares: Vec<(Kind, f64)>,
    random: ChaCha8Rng,
    salt: u64,
    inserted: u64,
    /// Operations drawn, including the load.
    drawn: u64,
    zipf: Option<Zipf>,
    ranges: Ranges,
}

/// The key ranges of [`Choice::ShiftingRanges`]: the cumulative weight of each, and where it lies.
#[derive(Default)]
struct Ranges {
    sums: Vec<f64>,
    places: Vec<u64>,
}

impl Client {
    /// The operations of a workload, starting with the first.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64) -> Self {
        let mut sum = 0.0;
        let mut shares: Vec<_> = (workload.mix.shares().into_iter())
            .filter(|(_, share)| *share > 0.0)
            .map(|(kind, share)| {
                sum += share;
                (kind, sum)
            })
            .collect();
        if shares.is_empty() {
            shares.push((Kind::Update, 1.0));
        }
        Client {
            workload: workload.clone(),
            shares,
            random: ChaCha8Rng::seed_from_u64(seed),
            salt: mix(seed),
            inserted: 0,
            drawn: 0,
            zipf: None,
            ranges: Ranges::default(),
        }
    }

    /// The total number of operations.
    pub(crate) fn length(&self) -> u64 {
        self.workload.load + self.workload.operations
    }

    /// The number of operations drawn so far.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Whether the load has ended.
    pub(crate) fn is_loaded(&self) -> bool {
        self.drawn >= self.workload.load
    }

    /// The key of a number.
    #[must_use]
    pub fn key(&self, number: u64) -> u64 {
        match self.workload.order {
            KeyOrder::Scattered => mix(number ^ self.salt),
            KeyOrder::Ascending => {
                let keys = (self.length() + 1).max(self.workload.keys).saturating_mul(2);
                number.wrapping_mul(u64::MAX / keys)
            }
        }
    }

    /// The number of keys that operations choose from.
    fn keys(&self) -> u64 {
        self.inserted.max(self.workload.keys).max(1)
    }

    /// A number from 0 to 1, exclusive.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `n`. The bias of the remainder is below n / 2^64.
    fn below(&mut self, n: u64) -> u64 {
        self.random.next_u64() % n.max(1)
    }

    fn insert(&mut self) -> u64 {
        self.inserted += 1;
        self.inserted - 1
    }

    /// The number of a key by the workload's choice.
    fn choose(&mut self) -> u64 {
        let keys = self.keys();
        match self.workload.choice {
            Choice::Uniform => self.below(keys),
            Choice::Zipf { exponent, move_every } => {
                let rank = self.rank(keys, exponent);
                let since = self.drawn.saturating_sub(self.workload.load);
                let epoch = since.checked_div(move_every).unwrap_or(0);
                // A rank and its key are paired by a shift: the keys themselves lie anywhere.
                match self.workload.order {
                    KeyOrder::Scattered => (rank + mix(epoch) % keys) % keys,
                    KeyOrder::Ascending => mix(rank ^ mix(epoch)) % keys,
                }
            }
            Choice::Latest { exponent } => keys - 1 - self.rank(keys, exponent),
            Choice::ShiftingRanges { from, to, step } => {
                self.shift(from, to, step);
                let at = self.unit();
                let index = self.ranges.sums.partition_point(|sum| *sum <= at);
                let place = self.ranges.places.get(index).copied().unwrap_or(0);
                let count = self.ranges.places.len() as u64;
                let width = (keys / count.max(1)).max(1);
                (place * width + self.below(width)).min(keys - 1)
            }
        }
    }

    /// A rank from 0, by Zipf's law.
    fn rank(&mut self, keys: u64, exponent: f64) -> u64 {
        let zipf = self.zipf.take().filter(|zipf| zipf.ranks() == keys);
        let zipf = zipf.unwrap_or_else(|| Zipf::new(keys, exponent));
        let rank = zipf.draw(|| self.unit());
        self.zipf = Some(zipf);
        rank
    }

    /// Redistributes the ranges when their number grows, in equal steps over the operations.
    fn shift(&mut self, from: u64, to: u64, step: u64) {
        let (from, step) = (from.max(1), step.max(1));
        let stages = to.saturating_sub(from) / step + 1;
        let done = u128::from(self.drawn.saturating_sub(self.workload.load));
        let all = u128::from(self.workload.operations.max(1));
        let stage = u64::try_from(done * u128::from(stages) / all).unwrap_or(0).min(stages - 1);
        let count = from + stage * step;
        if self.ranges.places.len() as u64 == count {
            return;
        }
        // The heat of the x-th hottest range, as MixGraph fits it to a production trace.
        let heat = |x: u64| {
            let x = x as f64;
            14.18 * libm::exp(-2.917 * x) + 0.0164 * libm::exp(-0.08082 * x)
        };
        let total: f64 = (1..=count).map(heat).sum();
        let mut sum = 0.0;
        self.ranges.sums = (1..=count)
            .map(|x| {
                sum += heat(x) / total;
                sum
            })
            .collect();
        let mut places: Vec<u64> = (0..count).collect();
        for end in (1..places.len()).rev() {
            places.swap(end, self.below(end as u64 + 1) as usize);
        }
        self.ranges.places = places;
    }
}

impl Iterator for Client {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        if self.drawn >= self.length() {
            return None;
        }
        let operation = if self.drawn < self.workload.load {
            Operation::Put(self.insert())
        } else {
            let at = self.unit() * self.shares.last().map_or(1.0, |(_, sum)| *sum);
            let kind = self.shares.iter().find(|(_, sum)| at < *sum).or(self.shares.last());
            match kind.map_or(Kind::Update, |(kind, _)| *kind) {
                Kind::Insert => Operation::Put(self.insert()),
                Kind::Update => Operation::Put(self.choose()),
                Kind::Delete => Operation::Delete(self.choose()),
                Kind::Read => {
                    let number = self.choose();
                    Operation::Get(self.key(number))
                }
                Kind::ReadMissing => {
                    let number = self.keys() + self.workload.operations + self.below(1 << 32);
                    Operation::Get(self.key(number))
                }
                Kind::Scan => {
                    let number = self.choose();
                    let entries = 1 + self.below(self.workload.scan_entries);
                    Operation::Scan { from: self.key(number), entries }
                }
                Kind::ReadModifyWrite => Operation::ReadModifyWrite(self.choose()),
            }
        };
        self.drawn += 1;
        Some(operation)
    }
}

/// Scatters the bits of a number: the finaliser of SplitMix64, a bijection.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

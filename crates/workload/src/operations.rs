//! The application's operations, drawn from a seed.

use crate::prefixes::Prefixes;
use crate::random::mix;
use crate::workload::{Arrivals, Choice, Clients, KeyOrder, Kind, Mix, Phase, Workload};
use crate::zipf::Zipf;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// One operation, on keys by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Writes a key.
    Put(u64),
    /// Deletes a key.
    Delete(u64),
    /// Reads a key.
    Get(u64),
    /// Reads a key that was never written.
    GetMissing(u64),
    /// Reads a number of entries, starting at a key.
    Scan {
        /// The key.
        from: u64,
        /// Number of entries.
        entries: u64,
    },
    /// Reads a key, then writes it.
    ReadModifyWrite(u64),
}

impl Operation {
    /// Returns the operation on the number that `other` returns for its own.
    #[must_use]
    pub fn map(self, other: impl FnOnce(u64) -> u64) -> Operation {
        match self {
            Operation::Put(number) => Operation::Put(other(number)),
            Operation::Delete(number) => Operation::Delete(other(number)),
            Operation::Get(number) => Operation::Get(other(number)),
            Operation::GetMissing(number) => Operation::GetMissing(other(number)),
            Operation::Scan { from, entries } => Operation::Scan { from: other(from), entries },
            Operation::ReadModifyWrite(number) => Operation::ReadModifyWrite(other(number)),
        }
    }
}

/// Draws the operations of a workload, phase after phase; the load is the first. As an iterator it
/// draws all of them, for the first clients of each phase.
pub struct Operations {
    keys: Keys,
    /// Operations of the phase that no client has reserved.
    left: u64,
    /// Phases that are still to start.
    phases: std::vec::IntoIter<Phase>,
    groups: Vec<Group>,
}

/// The keys, and the random numbers that choose among them.
struct Keys {
    order: KeyOrder,
    prefixes: Option<Prefixes>,
    /// Keys to choose from, if more than were inserted.
    least: u64,
    /// Operations of all phases.
    operations: u64,
    random: ChaCha8Rng,
    salt: u64,
    inserted: u64,
}

/// Source of the operations of like clients.
struct Group {
    clients: Clients,
    /// The shares of the mix, as cumulative sums.
    shares: Vec<(Kind, f64)>,
    /// Operations drawn in this phase, and all of the phase.
    drawn: u64,
    all: u64,
    zipf: Option<Zipf>,
    ranges: Ranges,
}

impl Group {
    fn new(clients: Clients, all: u64) -> Self {
        let mut sum = 0.0;
        let mut shares: Vec<_> = (clients.mix.shares().into_iter())
            .filter(|(_, share)| *share > 0.0)
            .map(|(kind, share)| {
                sum += share;
                (kind, sum)
            })
            .collect();
        if shares.is_empty() {
            shares.push((Kind::Update, 1.0));
        }
        Group { clients, shares, drawn: 0, all, zipf: None, ranges: Ranges::default() }
    }
}

/// The key ranges of [`Choice::ShiftingRanges`]: the cumulative weight of each, and where it lies.
#[derive(Default)]
struct Ranges {
    sums: Vec<f64>,
    places: Vec<u64>,
}

/// The name of the phase that loads.
pub const LOAD: &str = "load";

impl Operations {
    /// The operations of a workload; the first phase has not started.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64) -> Self {
        let loader = Clients {
            rate: workload.load_rate,
            mix: Mix { insert: 1.0, ..Mix::default() },
            ..Clients::default()
        };
        let load = Phase {
            name: LOAD.to_owned(),
            operations: workload.load,
            clients: vec![loader],
            ..Phase::default()
        };
        let phases = [load].into_iter().chain(workload.phases.iter().cloned());
        let phases = phases.filter(|phase| phase.operations > 0).collect::<Vec<_>>();
        let keys = Keys {
            order: workload.order,
            prefixes: workload.prefixes.as_ref().map(Prefixes::new),
            least: workload.keys,
            operations: workload.operations(),
            random: ChaCha8Rng::seed_from_u64(seed),
            salt: mix(seed),
            inserted: 0,
        };
        Operations { keys, left: 0, phases: phases.into_iter(), groups: Vec::new() }
    }

    /// Draws the operations of a workload after its load.
    #[must_use]
    pub fn after_load(workload: &Workload, seed: u64) -> Self {
        let mut operations = Self::new(&Workload { load: 0, ..workload.clone() }, seed);
        operations.keys.inserted = workload.load;
        operations
    }

    /// The next phase, if there is one.
    pub fn next_phase(&mut self) -> Option<Phase> {
        self.phases.next()
    }

    /// Starts a phase.
    pub fn begin(&mut self, phase: &Phase) {
        self.left = phase.operations;
        let group = |clients: &Clients| Group::new(clients.clone(), phase.operations);
        self.groups = phase.clients.iter().map(group).collect();
    }

    /// The key of a number.
    #[must_use]
    pub fn key(&self, number: u64) -> u64 {
        self.keys.key(number)
    }

    /// The time to the next arrival at this rate, in seconds.
    pub fn distance(&mut self, arrivals: Arrivals, rate: f64) -> f64 {
        match arrivals {
            Arrivals::Constant => 1.0 / rate,
            Arrivals::Poisson => -libm::log(1.0 - self.keys.unit()) / rate,
        }
    }

    /// Reserves one of the phase's operations, to be drawn when it arrives; returns whether there was one.
    pub fn reserve(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Draws an operation for a client of this group; with it its kind.
    pub fn draw(&mut self, group: usize) -> Option<(Kind, Operation)> {
        let group = self.groups.get_mut(group)?;
        let drawn = self.keys.draw(group);
        group.drawn += 1;
        Some(drawn)
    }
}

impl Iterator for Operations {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        while !self.reserve() {
            let phase = self.next_phase()?;
            self.begin(&phase);
        }
        self.draw(0).map(|(_, operation)| operation)
    }
}

impl Keys {
    /// The key of a number.
    fn key(&self, number: u64) -> u64 {
        let key = match self.order {
            KeyOrder::Scattered => mix(number ^ self.salt),
            KeyOrder::Skewed => {
                let fraction = u128::from(mix(number ^ self.salt));
                ((fraction * fraction) >> 64) as u64
            }
            KeyOrder::Ascending => {
                let keys = (self.operations + 1).max(self.least);
                number.wrapping_mul(u64::MAX / keys.saturating_mul(2))
            }
        };
        self.prefixes.as_ref().map_or(key, |prefixes| prefixes.key(key))
    }

    /// The number of keys that operations choose from.
    fn count(&self) -> u64 {
        self.inserted.max(self.least).max(1)
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

    /// The number of a key by the clients' choice.
    fn choose(&mut self, group: &mut Group) -> u64 {
        let keys = self.count();
        match group.clients.choice {
            Choice::Uniform => self.below(keys),
            Choice::Zipf { exponent, move_every } => {
                let rank = self.rank(group, keys, exponent);
                let epoch = group.drawn.checked_div(move_every).unwrap_or(0);
                // A rank and its key are paired by a shift: the keys themselves lie anywhere.
                match self.order {
                    KeyOrder::Scattered | KeyOrder::Skewed => (rank + mix(epoch) % keys) % keys,
                    KeyOrder::Ascending => mix(rank ^ mix(epoch)) % keys,
                }
            }
            Choice::Latest { exponent } => keys - 1 - self.rank(group, keys, exponent),
            Choice::ShiftingRanges { from, to, step } => {
                self.shift(group, from, to, step);
                let at = self.unit();
                let index = group.ranges.sums.partition_point(|sum| *sum <= at);
                let place = group.ranges.places.get(index).copied().unwrap_or(0);
                let count = group.ranges.places.len() as u64;
                let width = (keys / count.max(1)).max(1);
                (place * width + self.below(width)).min(keys - 1)
            }
        }
    }

    /// A rank from 0, by Zipf's law.
    fn rank(&mut self, group: &mut Group, keys: u64, exponent: f64) -> u64 {
        let zipf = group.zipf.take().filter(|zipf| zipf.ranks() == keys);
        let zipf = zipf.unwrap_or_else(|| Zipf::new(keys, exponent));
        let rank = zipf.draw(|| self.unit());
        group.zipf = Some(zipf);
        rank
    }

    /// Redistributes the ranges when their number grows, in equal steps over the operations.
    fn shift(&mut self, group: &mut Group, from: u64, to: u64, step: u64) {
        let (from, step) = (from.max(1), step.max(1));
        let stages = to.saturating_sub(from) / step + 1;
        let (done, all) = (u128::from(group.drawn), u128::from(group.all.max(1)));
        let stage = u64::try_from(done * u128::from(stages) / all).unwrap_or(0).min(stages - 1);
        let count = from + stage * step;
        let ranges = &mut group.ranges;
        if ranges.places.len() as u64 == count {
            return;
        }
        // The heat of the x-th hottest range, as MixGraph fits it to a production trace.
        let heat = |x: u64| {
            let x = x as f64;
            14.18 * libm::exp(-2.917 * x) + 0.0164 * libm::exp(-0.08082 * x)
        };
        let total: f64 = (1..=count).map(heat).sum();
        let mut sum = 0.0;
        ranges.sums = (1..=count)
            .map(|x| {
                sum += heat(x) / total;
                sum
            })
            .collect();
        let mut places: Vec<u64> = (0..count).collect();
        for end in (1..places.len()).rev() {
            places.swap(end, self.below(end as u64 + 1) as usize);
        }
        ranges.places = places;
    }

    fn draw(&mut self, group: &mut Group) -> (Kind, Operation) {
        let kind = match group.shares.as_slice() {
            [(kind, _)] => *kind,
            shares => {
                let at = self.unit() * shares.last().map_or(1.0, |(_, sum)| *sum);
                let kind = shares.iter().find(|(_, sum)| at < *sum).or(shares.last());
                kind.map_or(Kind::Update, |(kind, _)| *kind)
            }
        };
        let operation = match kind {
            Kind::Insert => Operation::Put(self.insert()),
            Kind::Update => Operation::Put(self.choose(group)),
            Kind::Delete => Operation::Delete(self.choose(group)),
            Kind::Read => Operation::Get(self.choose(group)),
            Kind::ReadMissing => {
                Operation::GetMissing(self.count() + self.operations + self.below(1 << 32))
            }
            Kind::Scan => {
                let from = self.choose(group);
                let Clients { scan_entries, scan_entries_least: least, .. } = group.clients;
                let entries = least + self.below((scan_entries + 1).saturating_sub(least));
                Operation::Scan { from, entries }
            }
            Kind::ReadModifyWrite => Operation::ReadModifyWrite(self.choose(group)),
        };
        (kind, operation)
    }
}

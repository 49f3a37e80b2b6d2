//! Workloads: a load, then phases in which clients run a mix of operations on keys drawn from a
//! distribution.
//!
//! Keys are numbered 0, 1, 2 ... in the order of their first insertion; [`KeyOrder`] says where a
//! number lies in the key space. A distribution chooses numbers.

use serde::{Deserialize, Serialize};

/// A load, followed by phases on the same store. After the last one the store is left to become idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a workload as an object"
)]
pub struct Workload {
    /// Keys that one client inserts first, once each.
    pub load: u64,
    /// Insertions per second at which keys are loaded; 0 for as fast as the store accepts them.
    pub load_rate: f64,
    /// Keys that operations choose from, if greater than the number inserted.
    pub keys: u64,
    /// Order of the keys.
    pub order: KeyOrder,
    /// The prefixes that keys start with, if they share some.
    pub prefixes: Option<KeyPrefixes>,
    /// Phases after the load.
    pub phases: Vec<Phase>,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            load: 1_000_000,
            load_rate: 0.0,
            keys: 0,
            order: KeyOrder::Scattered,
            prefixes: None,
            phases: Vec::new(),
        }
    }
}

impl Workload {
    /// A load, then operations of one kind of clients.
    #[must_use]
    pub fn then(load: u64, operations: u64, clients: Clients) -> Workload {
        let phase = Phase { operations, clients: vec![clients], ..Phase::default() };
        Workload { load, phases: vec![phase], ..Workload::default() }
    }

    /// Operations of the load and of all phases.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.phases.iter().fold(self.load, |sum, phase| sum.saturating_add(phase.operations))
    }

    /// Whether any client reads single keys.
    #[must_use]
    pub fn has_gets(&self) -> bool {
        let mixes = self.phases.iter().flat_map(|phase| &phase.clients).map(|c| &c.mix);
        mixes.into_iter().any(|mix| mix.read + mix.read_missing + mix.read_modify_write > 0.0)
    }

    /// Limits loads and operations to this many per second; 0 for no limit.
    #[must_use]
    pub fn at_rate(mut self, rate: f64) -> Workload {
        self.load_rate = rate;
        let clients = self.phases.iter_mut().flat_map(|phase| &mut phase.clients);
        clients.for_each(|clients| clients.rate = rate);
        self
    }
}

/// Operations that are measured together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a phase as an object"
)]
pub struct Phase {
    /// Its name in the report.
    pub name: String,
    /// Whether it starts once the memtable is flushed and compactions have nothing left to do.
    pub wait_until_idle: bool,
    /// Operations of all its clients together.
    pub operations: u64,
    /// Clients that run at the same time.
    pub clients: Vec<Clients>,
}

impl Default for Phase {
    fn default() -> Self {
        Phase {
            name: "operations".to_owned(),
            wait_until_idle: false,
            operations: 0,
            clients: vec![Clients::default()],
        }
    }
}

/// Clients that are alike. Each is a thread that runs one operation after another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "clients as an object"
)]
pub struct Clients {
    /// Number of clients.
    pub count: usize,
    /// Operations that arrive per second for all of them (an *open loop*: an operation waits until one
    /// of them is free, and its latency starts when it arrives); 0 if each client starts its next
    /// operation when it is done with the last (a *closed loop*).
    pub rate: f64,
    /// Arrivals of operations at a rate.
    pub arrivals: Arrivals,
    /// Their mix of operations.
    pub mix: Mix,
    /// The distribution of the keys that they update, read and delete.
    pub choice: Choice,
    /// The greatest length of a range read; each draws one from the least to this.
    pub scan_entries: u64,
    /// The least length of a range read.
    pub scan_entries_least: u64,
}

impl Default for Clients {
    fn default() -> Self {
        Clients {
            count: 1,
            rate: 0.0,
            arrivals: Arrivals::Constant,
            mix: Mix::default(),
            choice: Choice::Uniform,
            scan_entries: 100,
            scan_entries_least: 1,
        }
    }
}

/// Arrivals of operations in an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal intervals.
    Constant,
    /// At random: interarrival times are exponentially distributed.
    Poisson,
}

/// Places of consecutively numbered keys in the key space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyOrder {
    /// Anywhere: a load in this order is unique and random.
    Scattered,
    /// One after the other, evenly spread.
    Ascending,
    /// Anywhere, but denser towards the least: as numbers of 64 bits drawn by Zipf's law of exponent 0.5,
    /// which are squares of evenly spread fractions.
    Skewed,
}

/// Prefixes of two bytes, each followed by the rest of its keys. The order of keys stays what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "an object with a count and an exponent"
)]
pub struct KeyPrefixes {
    /// Number of prefixes.
    pub count: u64,
    /// Skew of prefixes: the k-th has a share of the keys in proportion to `k^-exponent`; 0 for equal
    /// shares.
    pub exponent: f64,
}

impl Default for KeyPrefixes {
    fn default() -> Self {
        KeyPrefixes { count: 256, exponent: 0.0 }
    }
}

/// Shares of the operations. They need not add up to 1; all zero means updates only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "an object with shares of operations"
)]
pub struct Mix {
    /// Puts of keys that were never written.
    pub insert: f64,
    /// Puts of chosen keys.
    pub update: f64,
    /// Deletes of chosen keys.
    pub delete: f64,
    /// Point reads of chosen keys.
    pub read: f64,
    /// Point reads of keys that were never written.
    pub read_missing: f64,
    /// Range reads that start at chosen keys.
    pub scan: f64,
    /// Point reads of chosen keys, each with a put after it.
    pub read_modify_write: f64,
}

impl Mix {
    /// Operations of one kind.
    #[must_use]
    pub fn only(kind: Kind) -> Mix {
        let share = |of| f64::from(u8::from(of == kind));
        Mix {
            insert: share(Kind::Insert),
            update: share(Kind::Update),
            delete: share(Kind::Delete),
            read: share(Kind::Read),
            read_missing: share(Kind::ReadMissing),
            scan: share(Kind::Scan),
            read_modify_write: share(Kind::ReadModifyWrite),
        }
    }

    /// The shares, in the order of [`Kind`].
    #[must_use]
    pub fn shares(&self) -> [(Kind, f64); 7] {
        [
            (Kind::Insert, self.insert),
            (Kind::Update, self.update),
            (Kind::Delete, self.delete),
            (Kind::Read, self.read),
            (Kind::ReadMissing, self.read_missing),
            (Kind::Scan, self.scan),
            (Kind::ReadModifyWrite, self.read_modify_write),
        ]
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A put of a key that was never written.
    Insert,
    /// A put of a chosen key.
    Update,
    /// A delete of a chosen key.
    Delete,
    /// A point read of a chosen key.
    Read,
    /// A point read of a key that was never written.
    ReadMissing,
    /// A range read.
    Scan,
    /// A point read of a chosen key, then a put.
    ReadModifyWrite,
}

/// The distribution of keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "by",
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "an object with `by`, such as uniform"
)]
pub enum Choice {
    /// Uniform.
    Uniform,
    /// Zipfian: the key of rank r is drawn in proportion to `r^-exponent`; ranks are assigned to keys
    /// at random, and again at each move.
    #[serde(rename_all = "kebab-case")]
    Zipf {
        /// The skew.
        exponent: f64,
        /// Operations after which ranks are assigned again; 0 for never.
        #[serde(default)]
        move_every: u64,
    },
    /// As `zipf`, with the most recently inserted key ranked first.
    Latest {
        /// The skew.
        exponent: f64,
    },
    /// Key ranges of different heat, uniform within a range: `Prefix_random` of MixGraph (Cao et al.,
    /// FAST '20), with a number of ranges that grows over time as in the BucketLSM paper. Needs
    /// ascending keys.
    ShiftingRanges {
        /// The initial number of ranges.
        from: u64,
        /// The final number of ranges.
        to: u64,
        /// The number of ranges added at a time.
        step: u64,
    },
}

/// A named workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadPreset {
    /// Its name.
    pub name: &'static str,
    /// Sentence about it.
    pub summary: &'static str,
    /// The workload; nonzero keys, load and operations are placeholders that [`Self::at`] replaces.
    #[serde(skip)]
    workload: Workload,
}

impl WorkloadPreset {
    /// The workload at this scale. One that only inserts has all entries in its load.
    #[must_use]
    pub fn at(&self, load: u64, operations: u64) -> Workload {
        let keys = if self.workload.keys > 0 { load } else { 0 };
        let load = if keys > 0 { 0 } else { load };
        let mut workload = Workload { load, keys, ..self.workload.clone() };
        workload.phases.iter_mut().for_each(|phase| phase.operations = operations);
        workload
    }
}

impl Workload {
    /// Every named workload.
    #[must_use]
    pub fn presets() -> Vec<WorkloadPreset> {
        let preset = |name, summary, mix, choice| {
            let clients = Clients { mix, choice, ..Clients::default() };
            WorkloadPreset { name, summary, workload: Workload::then(1, 1, clients) }
        };
        let zipf = |exponent, move_every| Choice::Zipf { exponent, move_every };
        let none = Mix::default;
        let updates = || Mix { update: 1.0, ..none() };
        let ranges = Choice::ShiftingRanges { from: 10, to: 50, step: 10 };
        // Into a store that holds nothing yet.
        let fresh = |name, summary, mix, choice: Choice| {
            let is_ranged = choice != Choice::Uniform;
            let order = if is_ranged { KeyOrder::Ascending } else { KeyOrder::Scattered };
            let clients = Clients { mix, choice, ..Clients::default() };
            let workload = Workload { order, keys: 1, ..Workload::then(0, 1, clients) };
            WorkloadPreset { name, summary, workload }
        };
        let many = |name, summary, mix| {
            let clients = Clients { count: 80, mix, choice: zipf(0.9, 0), ..Clients::default() };
            WorkloadPreset { name, summary, workload: Workload::then(1, 1, clients) }
        };
        let load = |name, summary, order| WorkloadPreset {
            name,
            summary,
            workload: Workload { order, ..Workload::default() },
        };
        let mixed = |name, summary, update, scan, choice| {
            let read = 1.0 - update - scan;
            let mix = Mix { update, scan, read, ..none() };
            let clients = Clients { mix, choice, scan_entries: 8, ..Clients::default() };
            WorkloadPreset { name, summary, workload: Workload::then(1, 1, clients) }
        };
        let mixes = [
            ("updates-10", "updates-10-zipf", "10 % updates, 90 % reads", 0.1, 0.0),
            ("updates-50", "updates-50-zipf", "half updates, half reads", 0.5, 0.0),
            ("updates-90", "updates-90-zipf", "90 % updates, 10 % reads", 0.9, 0.0),
            (
                "updates-75-scans",
                "updates-75-scans-zipf",
                "75 % updates, 25 % range reads of up to 8 entries",
                0.75,
                0.25,
            ),
        ];
        let mixes = mixes.into_iter().flat_map(|(uniform, skewed, summary, update, scan)| {
            [
                mixed(uniform, summary, update, scan, Choice::Uniform),
                mixed(skewed, summary, update, scan, zipf(0.99, 0)),
            ]
        });
        let mut presets = vec![
            load("unique-random", "inserts of keys anywhere, each once", KeyOrder::Scattered),
            load("sequential", "inserts of ascending keys", KeyOrder::Ascending),
            preset("uniform", "a load, then updates of any key", updates(), Choice::Uniform),
            preset("zipf", "a load, then updates, exponent 1", updates(), zipf(1.0, 0)),
            preset(
                "moving-zipf",
                "a load, then updates, exponent 1, other keys hot each million operations",
                updates(),
                zipf(1.0, 1_000_000),
            ),
            fresh("fillrandom", "puts of any key, into an empty store", updates(), Choice::Uniform),
            fresh(
                "mixgraph1",
                "puts into 10 to 50 key ranges of uneven heat (MixGraph Prefix_random)",
                updates(),
                ranges.clone(),
            ),
            fresh(
                "mixgraph2",
                "the same ranges: 8 puts, a read and a range read in turn, by one client",
                Mix { update: 0.8, read: 0.1, scan: 0.1, ..none() },
                ranges,
            ),
            many(
                "ycsb-get",
                "80 clients: 70 % puts, 30 % reads, zipf 0.9",
                Mix { update: 0.7, read: 0.3, ..none() },
            ),
            many(
                "ycsb-scan",
                "80 clients: 90 % puts, 10 % range reads of up to 100 entries, zipf 0.9",
                Mix { update: 0.9, scan: 0.1, ..none() },
            ),
            preset(
                "deletes",
                "a load, then half updates, half deletes of any key",
                Mix { update: 0.5, delete: 0.5, ..none() },
                Choice::Uniform,
            ),
            preset(
                "ycsb-a",
                "half reads, half updates, zipf 0.99",
                Mix { read: 0.5, update: 0.5, ..none() },
                zipf(0.99, 0),
            ),
            preset(
                "ycsb-b",
                "95 % reads, 5 % updates, zipf 0.99",
                Mix { read: 0.95, update: 0.05, ..none() },
                zipf(0.99, 0),
            ),
            preset("ycsb-c", "reads, zipf 0.99", Mix { read: 1.0, ..none() }, zipf(0.99, 0)),
            preset(
                "ycsb-d",
                "95 % reads of the latest, 5 % inserts",
                Mix { read: 0.95, insert: 0.05, ..none() },
                Choice::Latest { exponent: 0.99 },
            ),
            preset(
                "ycsb-e",
                "95 % range reads of up to 100 entries, 5 % inserts, zipf 0.99",
                Mix { scan: 0.95, insert: 0.05, ..none() },
                zipf(0.99, 0),
            ),
            preset(
                "ycsb-f",
                "half reads, half read-modify-writes, zipf 0.99",
                Mix { read: 0.5, read_modify_write: 0.5, ..none() },
                zipf(0.99, 0),
            ),
        ];
        presets.extend(mixes);
        presets
    }

    /// The workload of this name, at this scale.
    #[must_use]
    pub fn preset(name: &str, load: u64, operations: u64) -> Option<Workload> {
        Self::presets().into_iter().find(|p| p.name == name).map(|p| p.at(load, operations))
    }
}

//! Workloads: a load, then a mix of operations on keys drawn from a distribution.
//!
//! Keys are numbered 0, 1, 2 ... in the order of their first insertion; [`KeyOrder`] says where a
//! number lies in the key space. A distribution chooses numbers.

use serde::{Deserialize, Serialize};

/// A load, followed by operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// Keys that are inserted first, once each.
    pub load: u64,
    /// Operations after the load.
    pub operations: u64,
    /// Keys that operations choose from, if greater than the number inserted.
    pub keys: u64,
    /// Where the keys lie.
    pub order: KeyOrder,
    /// The mix of operations.
    pub mix: Mix,
    /// The distribution of the keys that they update, read and delete.
    pub choice: Choice,
    /// The greatest length of a range read; each draws one from 1 to this.
    pub scan_entries: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            load: 1_000_000,
            operations: 0,
            keys: 0,
            order: KeyOrder::Scattered,
            mix: Mix::default(),
            choice: Choice::Uniform,
            scan_entries: 100,
        }
    }
}

/// Where consecutively numbered keys lie in the key space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyOrder {
    /// Anywhere: a load in this order is unique and random.
    Scattered,
    /// One after the other, evenly spread.
    Ascending,
}

/// Shares of the operations. They need not add up to 1; all zero means updates only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
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
    /// The shares, in the order of [`Kind`].
    pub(crate) fn shares(&self) -> [(Kind, f64); 7] {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Insert,
    Update,
    Delete,
    Read,
    ReadMissing,
    Scan,
    ReadModifyWrite,
}

/// The distribution of keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", deny_unknown_fields, rename_all = "kebab-case")]
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
    /// What it does.
    pub summary: &'static str,
    /// The workload, for a load of `load` keys and this many operations.
    #[serde(skip)]
    workload: Workload,
}

impl WorkloadPreset {
    /// The workload at this scale. One that only inserts has all entries in its load.
    #[must_use]
    pub fn at(&self, load: u64, operations: u64) -> Workload {
        let keys = if self.workload.keys > 0 { load } else { 0 };
        let load = if keys > 0 { 0 } else { load };
        let operations = if self.workload.operations > 0 { operations } else { 0 };
        Workload { load, operations, keys, ..self.workload.clone() }
    }
}

impl Workload {
    /// Every named workload.
    #[must_use]
    pub fn presets() -> Vec<WorkloadPreset> {
        let preset = |name, summary, mix, choice| {
            let workload = Workload { mix, choice, operations: 1, ..Workload::default() };
            WorkloadPreset { name, summary, workload }
        };
        let zipf = |exponent, move_every| Choice::Zipf { exponent, move_every };
        let none = Mix::default;
        let updates = || Mix { update: 1.0, ..none() };
        let ranges = Choice::ShiftingRanges { from: 10, to: 50, step: 10 };
        let load = |name, summary, order| WorkloadPreset {
            name,
            summary,
            workload: Workload { order, ..Workload::default() },
        };
        vec![
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
            WorkloadPreset {
                name: "shifting-ranges",
                summary: "puts into 10 to 50 key ranges of uneven heat (MixGraph Prefix_random)",
                workload: Workload {
                    order: KeyOrder::Ascending,
                    keys: 1,
                    operations: 1,
                    mix: updates(),
                    choice: ranges,
                    ..Workload::default()
                },
            },
            preset(
                "deletes",
                "a load, then updates and deletes of any key by halves",
                Mix { update: 0.5, delete: 0.5, ..none() },
                Choice::Uniform,
            ),
            preset(
                "ycsb-a",
                "reads and updates by halves, zipf 0.99",
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
                "reads and read-modify-writes by halves, zipf 0.99",
                Mix { read: 0.5, read_modify_write: 0.5, ..none() },
                zipf(0.99, 0),
            ),
        ]
    }

    /// The workload of this name, at this scale.
    #[must_use]
    pub fn preset(name: &str, load: u64, operations: u64) -> Option<Workload> {
        Self::presets().into_iter().find(|p| p.name == name).map(|p| p.at(load, operations))
    }
}

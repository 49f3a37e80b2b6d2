//! Cases: suites of phases, over data of some size, at a durability, by some threads.

use crate::engine::Durability;
use crate::workload::Workload;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;
use terrane_workload::Rows;

/// Phases that run on one store, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// Puts, gets and scans of all kinds, from an empty store to one with deletes
    Core,
    /// Puts in key order
    Seq,
    /// Puts of new rows in random order, then of rows that are there
    Writes,
    /// YCSB A to F
    Ycsb,
    /// Single puts that are durable when they return
    Durable,
    /// Half gets, half puts at a fixed rate; before, the same loop with nothing to do
    OpenLoop,
}

/// Whether compactions end before the next phase starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Debt {
    /// The next phase starts at once: it pays for what is left of the one before
    Carried,
    /// Each phase starts with an idle store, and its own figures have what compactions cost
    Drained,
}

/// One comparison, which every engine runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub suite: Suite,
    pub data: Rows,
    pub threads: u64,
    pub debt: Debt,
    /// Operations a second, in an open loop.
    pub rate: Option<u64>,
    /// Background threads, unless each engine has its default.
    pub workers: Option<u32>,
}

impl Suite {
    pub fn phases(self) -> &'static [Workload] {
        use Workload as W;
        match self {
            Suite::Core => &[
                W::FillRandom,
                W::Overwrite,
                W::ReadRandom,
                W::ReadMissing,
                W::ReadHot,
                W::Seek10,
                W::Seek100,
                W::ReadSeq,
                W::Mixed,
                W::ReadWhileWriting,
                W::Delete,
                W::SeekDeleted,
            ],
            Suite::Seq => &[W::FillSeq],
            Suite::Writes => &[W::FillRandom, W::Overwrite],
            Suite::Ycsb => {
                &[W::FillBatch, W::YcsbA, W::YcsbB, W::YcsbC, W::YcsbF, W::YcsbD, W::YcsbE]
            }
            Suite::Durable => &[W::Overwrite],
            Suite::OpenLoop => &[W::Nothing, W::NothingBesideBusy, W::FillBatch, W::Mixed],
        }
    }

    pub fn durability(self) -> Durability {
        if self == Suite::Durable { Durability::Durable } else { Durability::Buffered }
    }

    /// Whether opening the store is measured after its phases.
    pub fn reopens(self) -> bool {
        self == Suite::Core
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rows { entries, keys, key_bytes, value_bytes } = &self.data;
        let name = |value: serde_json::Result<serde_json::Value>| {
            value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let suite = name(serde_json::to_value(self.suite));
        let keys = name(serde_json::to_value(keys));
        let debt = name(serde_json::to_value(self.debt));
        let durability = name(serde_json::to_value(self.suite.durability()));
        write!(f, "{suite}: {entries} rows of {key_bytes} + {value_bytes} B, {keys} keys, ")?;
        write!(f, "{durability}, {} threads, debt {debt}", self.threads)?;
        if let Some(workers) = self.workers {
            write!(f, ", {workers} workers")?;
        }
        match self.rate {
            Some(rate) => write!(f, ", {rate} operations/s"),
            None => Ok(()),
        }
    }
}

//! Reports of a policy about itself: the capacities of levels, its state, and its decisions.
//!
//! All of it is computed from a shape and a stored state when someone asks or listens.

use serde::Serialize;
use terrane_types::{Of, Reason, Shape, Unit};

/// Limits and state of a policy at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PolicyStatus {
    /// Capacities of the levels, from level 0 down; there may be more of them than levels.
    pub capacities: Vec<Capacity>,
    /// State of the policy, and facts derived from it and from the tree: counters, boundaries,
    /// temperatures, phases.
    pub facts: Vec<Fact>,
}

/// Content that a level may hold before some of it is compacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// In bytes; `None` if they are not bounded.
    pub bytes: Option<u64>,
    /// In runs; `None` if they are not bounded.
    pub runs: Option<u64>,
}

/// About how many bytes merges have to read until each level is within its capacity, as RocksDB
/// estimates them: what is over goes down with its share of the next level, and counts there.
#[must_use]
pub fn pending_compaction_bytes(shape: &Shape, capacities: &[Capacity]) -> u64 {
    let levels = shape.levels();
    let (mut pending, mut arriving) = (0.0, 0);
    for (n, level) in levels.iter().enumerate().take(shape.deepest()) {
        let bytes = level.bytes() + std::mem::take(&mut arriving);
        let Some(capacity) = capacities.get(n).and_then(|c| c.bytes) else { continue };
        arriving = bytes.saturating_sub(capacity);
        if arriving > 0 {
            let below = levels.get(n + 1).map_or(0, |next| next.bytes());
            pending += arriving as f64 * (1.0 + below as f64 / bytes as f64);
        }
    }
    pending as u64
}

/// A named number or key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    /// A number.
    Number {
        /// Its name, in kebab case: `counter`, `temperature`.
        name: &'static str,
        /// Its subject.
        of: Of,
        /// The number.
        value: u64,
        /// Its unit.
        unit: Unit,
    },
    /// A key.
    Key {
        /// Its name, in kebab case: `boundary`, `cursor`.
        name: &'static str,
        /// Its subject.
        of: Of,
        /// The key.
        key: Vec<u8>,
    },
}

/// Something that a policy decided at an installation, other than a plan: a new setting, new boundaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its name, in kebab case: `tuned`, `bucket-split`.
    pub name: &'static str,
    /// Why.
    pub reason: Reason,
    /// Its grounds, and the outcome.
    pub facts: Vec<Fact>,
}

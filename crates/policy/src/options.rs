//! Choosing a policy by name and parameters, as options, the command line and the page do.

use crate::leveled::Leveled;
use crate::policy::Policy;
use crate::tiered::Tiered;
use crate::universal::Universal;
use serde::{Deserialize, Serialize};

/// A policy and its parameters: `{"policy": "leveled", "size-ratio": 10}`. What is not given takes
/// its default; names that no parameter has are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum PolicyOptions {
    /// Leveling with partial compactions.
    Leveled(Leveled),
    /// Tiering with full compactions.
    Tiered(Tiered),
    /// A stack of runs, of which neighbours of like size are merged.
    Universal(Universal),
}

/// A parameter is outside its range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{policy}: {parameter} is {found}, expected {least} to {most}")]
pub struct BadOption {
    /// The policy's name.
    pub policy: &'static str,
    /// The parameter's name.
    pub parameter: &'static str,
    /// Its least value.
    pub least: u64,
    /// Its greatest value.
    pub most: u64,
    /// The value given.
    pub found: u64,
}

/// A policy as a person chooses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A whole number that a policy is tuned by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it means, with its unit.
    pub meaning: &'static str,
    /// The least value allowed.
    pub least: u64,
    /// The greatest value allowed.
    pub most: u64,
    /// The preset's value; in [`PolicyOptions::parameters`], the value chosen.
    pub value: u64,
}

impl PolicyOptions {
    /// The preset of this name, if there is one.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        defaults().into_iter().find(|options| options.name() == name)
    }

    /// The policy's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            PolicyOptions::Leveled(policy) => policy.name(),
            PolicyOptions::Tiered(policy) => policy.name(),
            PolicyOptions::Universal(policy) => policy.name(),
        }
    }

    /// Bytes at which it closes a table.
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        match self {
            PolicyOptions::Leveled(policy) => policy.table_bytes,
            PolicyOptions::Tiered(policy) => policy.table_bytes,
            PolicyOptions::Universal(policy) => policy.table_bytes,
        }
    }

    /// What the policy does, in one sentence.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        match self {
            PolicyOptions::Leveled(_) => {
                "One run a level, one table at a time into the next: few runs to read and little \
                 space lost, for more writing."
            }
            PolicyOptions::Tiered(_) => {
                "Several runs a level, merged all at once into the next: little writing, for more \
                 runs to read and more space."
            }
            PolicyOptions::Universal(_) => {
                "A stack of runs, of which neighbours of like age and size are merged: little \
                 writing, for much space while everything is merged."
            }
        }
    }

    /// The parameters with their ranges and the values chosen.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let ratio = |value| Parameter {
            name: "size-ratio",
            meaning: "how many times the capacity of a level is that of the level above",
            least: 2,
            most: 64,
            value,
        };
        let bytes = |name, meaning, value| Parameter {
            name,
            meaning,
            least: 1 << 10,
            most: 1 << 40,
            value,
        };
        let base = |value| bytes("base-bytes", "bytes of a usual flush", value);
        let table = |value| bytes("table-bytes", "bytes at which a table is closed", value);
        match self {
            PolicyOptions::Leveled(p) => vec![
                ratio(p.size_ratio),
                base(p.base_bytes),
                table(p.table_bytes),
                Parameter {
                    name: "level0-runs",
                    meaning: "runs that wait in level 0 before they are merged",
                    least: 1,
                    most: 64,
                    value: p.level0_runs,
                },
            ],
            PolicyOptions::Tiered(p) => {
                vec![ratio(p.size_ratio), base(p.base_bytes), table(p.table_bytes)]
            }
            PolicyOptions::Universal(p) => {
                let number = |name, meaning, (least, most), value| Parameter {
                    name,
                    meaning,
                    least,
                    most,
                    value,
                };
                let unlimited = u64::from(u32::MAX);
                vec![
                    number(
                        "run-trigger",
                        "runs that stand before anything is merged",
                        (2, 64),
                        p.run_trigger,
                    ),
                    number(
                        "size-ratio-percent",
                        "by how much a run may be larger than all newer ones to be merged with them",
                        (0, 1000),
                        p.size_ratio_percent,
                    ),
                    number(
                        "min-merge-width",
                        "the least number of runs merged for the size ratio",
                        (2, unlimited),
                        p.min_merge_width,
                    ),
                    number(
                        "max-merge-width",
                        "the greatest number of runs merged for the size ratio or the count",
                        (2, unlimited),
                        p.max_merge_width,
                    ),
                    number(
                        "space-percent",
                        "weight of all runs but the oldest, in percent of it, that merges them all",
                        (1, 10_000),
                        p.space_percent,
                    ),
                    table(p.table_bytes),
                ]
            }
        }
    }

    /// Makes the policy; refuses a parameter outside its range.
    pub fn build(&self) -> Result<Box<dyn Policy>, BadOption> {
        for Parameter { name, least, most, value, .. } in self.parameters() {
            if !(least..=most).contains(&value) {
                return Err(BadOption {
                    policy: self.name(),
                    parameter: name,
                    least,
                    most,
                    found: value,
                });
            }
        }
        Ok(match self.clone() {
            PolicyOptions::Leveled(policy) => Box::new(policy),
            PolicyOptions::Tiered(policy) => Box::new(policy),
            PolicyOptions::Universal(policy) => Box::new(policy),
        })
    }
}

/// The default is leveling.
impl Default for PolicyOptions {
    fn default() -> Self {
        PolicyOptions::Leveled(Leveled::default())
    }
}

fn defaults() -> [PolicyOptions; 3] {
    [
        PolicyOptions::Leveled(Leveled::default()),
        PolicyOptions::Tiered(Tiered::default()),
        PolicyOptions::Universal(Universal::default()),
    ]
}

/// Every preset.
#[must_use]
pub fn presets() -> Vec<Preset> {
    defaults()
        .iter()
        .map(|options| Preset {
            name: options.name(),
            summary: options.summary(),
            parameters: options.parameters(),
        })
        .collect()
}

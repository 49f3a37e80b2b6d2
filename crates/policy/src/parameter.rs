//! What a policy is tuned by, as the command line and the page show it.

use crate::pick::Pick;
use crate::policy::Policy;
use serde::Serialize;

/// A policy as options know it: what it is, beside what it does.
pub(crate) trait Described: Policy {
    /// What it does, in one sentence.
    fn summary(&self) -> &'static str;

    /// Its parameters, with the values chosen.
    fn parameters(&self) -> Vec<Parameter>;

    /// Where the values lie, in the order of the parameters.
    fn slots(&mut self) -> Vec<Slot<'_>>;
}

/// Where the value of a parameter lies.
pub(crate) enum Slot<'a> {
    Number(&'a mut u64),
    Switch(&'a mut bool),
    Pick(&'a mut Pick),
}

/// A parameter of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it means, with its unit.
    pub meaning: &'static str,
    /// What it may be, and is.
    pub value: Value,
}

/// The range and the value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Value {
    /// A whole number.
    Number {
        /// The least that is allowed.
        least: u64,
        /// The greatest that is allowed.
        most: u64,
        /// The preset's; in [`crate::PolicyOptions::parameters`], the one chosen.
        value: u64,
    },
    /// Yes or no.
    Switch {
        /// Which.
        value: bool,
    },
    /// One of several words.
    Choice {
        /// The words.
        among: &'static [&'static str],
        /// The one chosen.
        value: &'static str,
    },
}

impl Parameter {
    pub(crate) fn number(
        name: &'static str,
        meaning: &'static str,
        (least, most): (u64, u64),
        value: u64,
    ) -> Self {
        Parameter { name, meaning, value: Value::Number { least, most, value } }
    }

    pub(crate) fn size_ratio(value: u64) -> Self {
        let meaning = "how many times the capacity of a level is that of the level above";
        Self::number("size-ratio", meaning, (2, 64), value)
    }

    /// The name of the parameter that policies with capacities have.
    pub(crate) const BASE_BYTES: &str = "base-bytes";

    pub(crate) fn base_bytes(value: u64) -> Self {
        let meaning = "bytes that level 0 gathers at least before they go down";
        Self::number(Self::BASE_BYTES, meaning, (1 << 10, 1 << 40), value)
    }

    /// The name of the parameter that every policy has.
    pub(crate) const TABLE_BYTES: &str = "table-bytes";

    pub(crate) fn table_bytes(value: u64) -> Self {
        let meaning = "bytes at which a table is closed";
        Self::number(Self::TABLE_BYTES, meaning, (1 << 10, 1 << 40), value)
    }

    pub(crate) fn level0_runs(value: u64) -> Self {
        let meaning = "runs that wait in level 0 before they are merged";
        Self::number("level0-runs", meaning, (1, 64), value)
    }

    pub(crate) fn adapt(value: bool) -> Self {
        let meaning = "whether capacities follow what the deepest level holds";
        Parameter { name: "adapt", meaning, value: Value::Switch { value } }
    }
}

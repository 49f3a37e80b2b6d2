//! The parameters of policies, as the command line and the demo show them.

use super::filters::Filters;
use super::partition::options::Partitioning;
use super::pick::Pick;
use crate::ALL;
use crate::policy::Policy;
use serde::Serialize;

/// The description of a policy, for options.
pub(crate) trait Described: Policy {
    /// Whether users choose it; a policy for tests alone is no preset.
    fn is_preset(&self) -> bool {
        true
    }

    /// Returns the division of filter memory among its runs.
    fn filters(&self) -> Filters {
        Filters::Uniform
    }

    /// Returns a sentence about it.
    fn summary(&self) -> &'static str;

    /// Its parameters, with references to their values.
    fn tuning(&mut self) -> Vec<ParameterRef<'_>>;

    /// Sets parameters that were not given as those that were imply.
    fn complete(&mut self, _is_given: &dyn Fn(&str) -> bool) {}

    /// A parameter that is within its range but does not go with another one, if there is any.
    fn conflict(&self) -> Option<Conflict> {
        None
    }

    /// The most workers that share a merge of level 0 into the next level.
    fn max_subcompactions(&self) -> u64 {
        1
    }

    /// Returns the cuts of its merges' outputs, if they can be chosen.
    fn partitioning(&self) -> Option<&Partitioning> {
        None
    }
}

/// The parameters of partitioning, which only the build with all policies has.
pub(crate) const PARTITIONING: [&str; 6] = [
    "partitioner",
    "partition-join-percent",
    "domain-least",
    "domain-greatest",
    "flush-floor-bytes",
    "subcompactions",
];

/// The parameters of level 0 that only the build with all policies has.
pub(crate) const LEVEL0: [&str; 3] = ["max-subcompactions", "pipelined", "merge-waiting"];

/// A parameter that does not go with another one.
pub(crate) struct Conflict {
    pub(crate) parameter: &'static str,
    /// Expected value, in words, with the other parameter's value.
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Conflict {
    /// That of declared data that does not fill a buffer.
    pub(crate) fn of_data(data_bytes: u64, level_base_bytes: u64) -> Option<Self> {
        (1..level_base_bytes).contains(&data_bytes).then(|| Conflict {
            parameter: ParameterRef::DATA_BYTES,
            expected: format!(
                "0, or `{}` at least: {level_base_bytes}",
                ParameterRef::LEVEL_BASE_BYTES
            ),
            found: data_bytes.to_string(),
        })
    }
}

/// A text that describes a policy or a parameter; empty in the browser's module, where the generated
/// types and the demo's list have it.
#[inline(always)]
pub(crate) const fn prose(text: &'static str) -> &'static str {
    if cfg!(target_family = "wasm") { "" } else { text }
}

/// A parameter with a reference to its value.
pub(crate) struct ParameterRef<'a> {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) slot: ValueRef<'a>,
}

/// A reference to a value, with its range.
pub(crate) enum ValueRef<'a> {
    Number {
        least: u64,
        most: u64,
        value: &'a mut u64,
    },
    Switch(&'a mut bool),
    Choice(&'a mut dyn Choose),
    Key(&'a mut Vec<u8>),
    #[cfg(feature = "all")]
    List {
        least: u64,
        most: u64,
        value: &'a mut Vec<u64>,
    },
}

/// The most numbers of a list.
#[cfg(feature = "all")]
pub(crate) const LIST_MAX: usize = 16;

/// Numbers as text, with spaces between.
#[cfg(feature = "all")]
pub(crate) fn list_text(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// Numbers of a text, if there are 1 to [`LIST_MAX`], each within the range.
#[cfg(feature = "all")]
pub(crate) fn list_of(text: &str, least: u64, most: u64) -> Option<Vec<u64>> {
    let numbers: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
    numbers.filter(|numbers| is_list(numbers, least, most))
}

/// Whether these are 1 to [`LIST_MAX`] numbers, each within the range.
#[cfg(feature = "all")]
pub(crate) fn is_list(numbers: &[u64], least: u64, most: u64) -> bool {
    (1..=LIST_MAX).contains(&numbers.len()) && numbers.iter().all(|n| (least..=most).contains(n))
}

/// Description of such a list, for errors.
#[cfg(feature = "all")]
pub(crate) fn expected_list(least: u64, most: u64) -> String {
    format!("1 to {LIST_MAX} whole numbers from {least} to {most}, with spaces between")
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    (bytes.iter().filter(|_| ALL)).map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from pairs of hexadecimal digits.
pub(crate) fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks();
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

/// One of several words.
pub(crate) trait Choose {
    /// The words.
    fn among(&self) -> &'static [&'static str];

    /// The place of the chosen word among them.
    fn at(&self) -> usize;

    /// Chooses the word at this place.
    fn choose(&mut self, at: usize);
}

impl dyn Choose + '_ {
    fn name(&self) -> &'static str {
        self.among().get(self.at()).copied().unwrap_or_default()
    }

    /// Chooses a word; returns whether it is one of them.
    pub(crate) fn choose_word(&mut self, word: &str) -> bool {
        let at = self.among().iter().position(|name| *name == word);
        at.map(|at| self.choose(at)).is_some()
    }
}

impl Choose for Filters {
    fn among(&self) -> &'static [&'static str] {
        // The lean build has no other.
        if ALL { &Filters::NAMES } else { &["uniform"] }
    }

    fn at(&self) -> usize {
        *self as usize
    }

    fn choose(&mut self, at: usize) {
        *self = match at {
            1 => Filters::Monkey,
            2 => Filters::Dynamic,
            _ => Filters::Uniform,
        };
    }
}

impl Choose for Pick {
    fn among(&self) -> &'static [&'static str] {
        &Pick::NAMES
    }

    fn at(&self) -> usize {
        *self as usize
    }

    fn choose(&mut self, at: usize) {
        *self = match at {
            1 => Pick::Oldest,
            2 => Pick::RoundRobin,
            3 => Pick::Random,
            _ => Pick::LeastOverlap,
        };
    }
}

/// A parameter of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Meaning, with the unit.
    pub meaning: &'static str,
    /// Its range and its value.
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
        /// The default; in [`crate::PolicyOptions::parameters`], the current value.
        value: u64,
    },
    /// Yes or no.
    Switch {
        /// The value.
        value: bool,
    },
    /// One of several words.
    Choice {
        /// The words.
        among: &'static [&'static str],
        /// The chosen word.
        value: &'static str,
    },
    /// A key.
    Key {
        /// Its bytes, in hexadecimal digits.
        value: String,
    },
    /// One or more whole numbers.
    List {
        /// The least that is allowed.
        least: u64,
        /// The greatest that is allowed.
        most: u64,
        /// The numbers, with spaces between.
        value: String,
    },
}

impl<'a> ParameterRef<'a> {
    /// The parameter with its current value.
    pub(crate) fn parameter(&self) -> Parameter {
        let value = match &self.slot {
            ValueRef::Number { least, most, value } => {
                Value::Number { least: *least, most: *most, value: **value }
            }
            ValueRef::Switch(value) => Value::Switch { value: **value },
            ValueRef::Choice(value) => Value::Choice { among: value.among(), value: value.name() },
            ValueRef::Key(value) => Value::Key { value: hexadecimal(value) },
            #[cfg(feature = "all")]
            ValueRef::List { least, most, value } => {
                Value::List { least: *least, most: *most, value: list_text(value) }
            }
        };
        Parameter { name: self.name, meaning: self.meaning, value }
    }

    pub(crate) fn number(
        name: &'static str,
        meaning: &'static str,
        (least, most): (u64, u64),
        value: &'a mut u64,
    ) -> Self {
        ParameterRef {
            name,
            meaning: prose(meaning),
            slot: ValueRef::Number { least, most, value },
        }
    }

    pub(crate) fn size_ratio(value: &'a mut u64) -> Self {
        let meaning = "capacity of a level divided by that of the level above";
        Self::number("size-ratio", meaning, (2, 64), value)
    }

    /// The name of the parameter that policies with capacities have.
    pub(crate) const LEVEL_BASE_BYTES: &'static str = "level-base-bytes";

    pub(crate) fn level_base_bytes(value: &'a mut u64) -> Self {
        let meaning =
            "least bytes of level 0 that are compacted at once, and the unit of capacities";
        Self::number(Self::LEVEL_BASE_BYTES, meaning, (1 << 10, 1 << 40), value)
    }

    /// The name of the parameter that every policy has.
    pub(crate) const TARGET_FILE_BYTES: &'static str = "target-file-bytes";

    pub(crate) fn target_file_bytes(value: &'a mut u64) -> Self {
        let meaning = "bytes at which a table is closed";
        Self::number(Self::TARGET_FILE_BYTES, meaning, (1 << 10, 1 << 40), value)
    }

    /// The name of the parameter that every policy has.
    pub(crate) const FILTERS: &'static str = "filters";

    pub(crate) fn filters(value: &'a mut Filters) -> Self {
        Self::choice(
            Self::FILTERS,
            "division of filter memory among runs: uniform, the same bits per key; \
                       monkey, more for smaller runs; dynamic, monkey for the sizes that runs are \
                       going to have",
            value,
        )
    }

    /// The name of the parameter of policies that end tables between prefixes: it is at most the size
    /// of a table.
    pub(crate) const SPLIT_BYTES: &'static str = "split-bytes";

    pub(crate) fn l0_compaction_trigger(value: &'a mut u64) -> Self {
        let meaning = "runs that wait in level 0 before they are merged";
        Self::number("l0-compaction-trigger", meaning, (1, 64), value)
    }

    /// Adds the parameters of level 0, in builds that have them.
    pub(crate) fn of_level0(
        parameters: &mut Vec<Self>,
        max_subcompactions: &'a mut u64,
        is_pipelined: &'a mut bool,
        merge_waiting: &'a mut bool,
    ) {
        if !ALL {
            return;
        }
        let [shared, pipelined, waiting] = LEVEL0;
        parameters.extend([
            Self::number(
                shared,
                "most workers that share a merge of level 0 into level 1",
                (1, 256),
                max_subcompactions,
            ),
            Self::switch(
                pipelined,
                "whether level 0 goes into a second run of level 1 while tables of the first go down",
                is_pipelined,
            ),
            Self::switch(
                waiting,
                "whether runs are merged within level 0 while a merge below keeps them waiting",
                merge_waiting,
            ),
        ]);
    }

    pub(crate) fn levels(value: &'a mut u64) -> Self {
        Self::number(
            "levels",
            "number of levels below level 0, however much the tree holds",
            (1, 16),
            value,
        )
    }

    pub(crate) const DATA_BYTES: &'static str = "data-bytes";

    pub(crate) fn data_bytes(value: &'a mut u64) -> Self {
        let meaning = "bytes that the tree is going to hold; 0 for what it holds";
        Self::number(Self::DATA_BYTES, meaning, (0, 1 << 50), value)
    }

    pub(crate) fn components(value: &'a mut u64) -> Self {
        Self::number("components", "runs that the stack has at most", (1, 64), value)
    }

    pub(crate) fn switch(name: &'static str, meaning: &'static str, value: &'a mut bool) -> Self {
        ParameterRef { name, meaning: prose(meaning), slot: ValueRef::Switch(value) }
    }

    pub(crate) fn choice(
        name: &'static str,
        meaning: &'static str,
        value: &'a mut dyn Choose,
    ) -> Self {
        ParameterRef { name, meaning: prose(meaning), slot: ValueRef::Choice(value) }
    }

    pub(crate) fn key(name: &'static str, meaning: &'static str, value: &'a mut Vec<u8>) -> Self {
        ParameterRef { name, meaning: prose(meaning), slot: ValueRef::Key(value) }
    }

    #[cfg(feature = "all")]
    pub(crate) fn list(
        name: &'static str,
        meaning: &'static str,
        (least, most): (u64, u64),
        value: &'a mut Vec<u64>,
    ) -> Self {
        ParameterRef { name, meaning: prose(meaning), slot: ValueRef::List { least, most, value } }
    }

    pub(crate) fn dynamic_level_bytes(value: &'a mut bool) -> Self {
        Self::switch(
            "dynamic-level-bytes",
            "whether capacities follow what the deepest level holds",
            value,
        )
    }
}

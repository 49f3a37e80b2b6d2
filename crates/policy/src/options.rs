//! Choosing a policy by name and parameters, as options, the command line and the page do.

#[cfg(any(test, feature = "testing"))]
use crate::adversarial::Adversarial;
use crate::lazy_leveled::LazyLeveled;
use crate::leveled::Leveled;
use crate::leveled_full::LeveledFull;
use crate::parameter::{Described, Parameter, ParameterRef, Value, ValueRef};
use crate::policy::Policy;
use crate::spooky::Spooky;
use crate::tiered::Tiered;
use crate::tiered_full::TieredFull;
use crate::universal::Universal;

/// B in a native program: two memtables of 16 MiB, so that the four flushes that level 0 gathers hold
/// as much also where they compress to half.
const NATIVE_BASE_BYTES: u64 = 32 << 20;
/// Size of tables in a native program: few files to open, and short merges of a table with the ten or
/// so that it overlaps.
const NATIVE_TABLE_BYTES: u64 = 16 << 20;

/// A policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyOptions {
    /// Leveling with partial compactions.
    Leveled(Leveled),
    /// Leveling with full, preemptive compactions.
    LeveledFull(LeveledFull),
    /// Tiering with full compactions of one level.
    Tiered(Tiered),
    /// Tiering with full, preemptive compactions.
    TieredFull(TieredFull),
    /// The largest levels leveled, the others tiered.
    LazyLeveled(LazyLeveled),
    /// A stack of runs, of which neighbours of like size are merged.
    Universal(Universal),
    /// Full merges above, and below merges of perfectly overlapping files.
    Spooky(Spooky),
    /// Anything, to test what must withstand it. No preset.
    #[cfg(any(test, feature = "testing"))]
    Adversarial(Adversarial),
}

/// Does the same with the policy, whichever it is.
macro_rules! each {
    ($options:expr, $policy:ident => $call:expr) => {
        match $options {
            PolicyOptions::Leveled($policy) => $call,
            PolicyOptions::LeveledFull($policy) => $call,
            PolicyOptions::Tiered($policy) => $call,
            PolicyOptions::TieredFull($policy) => $call,
            PolicyOptions::LazyLeveled($policy) => $call,
            PolicyOptions::Universal($policy) => $call,
            PolicyOptions::Spooky($policy) => $call,
            #[cfg(any(test, feature = "testing"))]
            PolicyOptions::Adversarial($policy) => $call,
        }
    };
}

/// A parameter is outside its range.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, thiserror::Error)]
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
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

impl PolicyOptions {
    /// The preset of this name, if there is one.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        defaults().into_iter().find(|options| options.name() == name)
    }

    /// The policy of this name with its defaults, one that is no preset too.
    pub(crate) fn named(name: &str) -> Option<Self> {
        #[cfg(any(test, feature = "testing"))]
        if name == "hostile" {
            return Some(PolicyOptions::Adversarial(Adversarial::default()));
        }
        Self::preset(name)
    }

    /// The policy's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.described().name()
    }

    /// Bytes at which it closes a table.
    #[must_use]
    pub fn target_file_bytes(&self) -> u64 {
        let named =
            self.parameters().into_iter().find(|p| p.name == ParameterRef::TARGET_FILE_BYTES);
        match named.map(|parameter| parameter.value) {
            Some(Value::Number { value, .. }) => value,
            _ => u64::MAX,
        }
    }

    /// What the policy does, in one sentence.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.described().summary()
    }

    /// The same policy at another scale: with this base and size of tables, as far as it has such
    /// parameters.
    #[must_use]
    pub fn sized(mut self, level_base_bytes: u64, target_file_bytes: u64) -> Self {
        for ParameterRef { name, slot, .. } in self.tuning() {
            match (name, slot) {
                (ParameterRef::LEVEL_BASE_BYTES, ValueRef::Number { value, .. }) => {
                    *value = level_base_bytes
                }
                (ParameterRef::TARGET_FILE_BYTES, ValueRef::Number { value, .. }) => {
                    *value = target_file_bytes
                }
                _ => {}
            }
        }
        self
    }

    /// The same policy for a native program: presets are at the scale of a browser tab. A base or size
    /// of tables that is greater already, as that of Spooky's files, stays.
    #[must_use]
    pub fn native(mut self) -> Self {
        for ParameterRef { name, slot, .. } in self.tuning() {
            match (name, slot) {
                (ParameterRef::LEVEL_BASE_BYTES, ValueRef::Number { value, .. }) => {
                    *value = (*value).max(NATIVE_BASE_BYTES);
                }
                (ParameterRef::TARGET_FILE_BYTES, ValueRef::Number { value, .. }) => {
                    *value = (*value).max(NATIVE_TABLE_BYTES);
                }
                _ => {}
            }
        }
        self
    }

    /// The parameters with their ranges and the values chosen.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        self.clone().tuning().iter().map(ParameterRef::parameter).collect()
    }

    /// Makes the policy; refuses a parameter outside its range.
    pub fn build(&self) -> Result<Box<dyn Policy>, BadOption> {
        for Parameter { name, value, .. } in self.parameters() {
            if let Value::Number { least, most, value: found } = value
                && !(least..=most).contains(&found)
            {
                let policy = self.name();
                return Err(BadOption { policy, parameter: name, least, most, found });
            }
        }
        Ok(each!(self.clone(), policy => Box::new(policy)))
    }

    fn described(&self) -> &dyn Described {
        each!(self, policy => policy)
    }

    pub(crate) fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        each!(self, policy => policy.tuning())
    }
}

/// The default is leveling.
impl Default for PolicyOptions {
    fn default() -> Self {
        PolicyOptions::Leveled(Leveled::default())
    }
}

/// Every policy that is a preset, with its defaults.
pub(crate) fn defaults() -> [PolicyOptions; 7] {
    [
        PolicyOptions::Leveled(Leveled::default()),
        PolicyOptions::LeveledFull(LeveledFull::default()),
        PolicyOptions::Tiered(Tiered::default()),
        PolicyOptions::TieredFull(TieredFull::default()),
        PolicyOptions::LazyLeveled(LazyLeveled::default()),
        PolicyOptions::Universal(Universal::default()),
        PolicyOptions::Spooky(Spooky::default()),
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

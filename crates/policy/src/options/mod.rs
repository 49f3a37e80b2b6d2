//! Options: a policy chosen by name and parameters.
//!
//! * [`mod@presets`]: every policy with its defaults.
//! * [`parse`]: options as JSON.
//! * `scale`: the same policy for a larger machine.

pub mod parse;
pub mod presets;
mod scale;

use crate::ALL;
use crate::policies::{Leveled, PolicyOptions};
use crate::policy::Policy;
use crate::toolkit::filters::Filters;
use crate::toolkit::monkey::filtered;
use crate::toolkit::parameter::{Conflict, Parameter, ParameterRef, Value};
use crate::toolkit::partition::partitioned;
use crate::toolkit::shared_merge::shared;
use terrane_types::{FilterBits, mul_div};

/// A parameter is outside its range, or does not go with another one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[error("{policy}: `{parameter}` is {found}, expected {expected}")]
pub struct BadOption {
    /// The policy's name.
    pub policy: &'static str,
    /// The parameter's name.
    pub parameter: &'static str,
    /// Expected value, in words.
    pub expected: String,
    /// The value given.
    pub found: String,
}

impl PolicyOptions {
    /// The policy's name.
    #[must_use]
    #[cfg_attr(target_family = "wasm", inline(never))]
    pub fn name(&self) -> &'static str {
        self.described().name()
    }

    /// The size at which it closes a table, in bytes.
    #[must_use]
    pub fn target_file_bytes(&self) -> u64 {
        self.number(ParameterRef::TARGET_FILE_BYTES).unwrap_or(u64::MAX)
    }

    /// Returns a sentence about the policy.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.described().summary()
    }

    /// The parameters with their ranges and current values.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        self.clone().tuning().iter().map(ParameterRef::parameter).collect()
    }

    /// Builds the policy; fails if a parameter is outside its range, or does not go with another one.
    pub fn build(&self) -> Result<Box<dyn Policy>, BadOption> {
        for Parameter { name, value, .. } in self.parameters() {
            if let Value::Number { least, most, value: found } = value
                && !(least..=most).contains(&found)
            {
                let (expected, found) = (format!("{least} to {most}"), found.to_string());
                return Err(BadOption { policy: self.name(), parameter: name, expected, found });
            }
        }
        let target_file_bytes = if ALL { self.target_file_bytes() } else { u64::MAX };
        let partitioning = self.described().partitioning().filter(|_| ALL);
        let conflict = self.described().conflict();
        let conflict = conflict.or_else(|| partitioning?.conflict(target_file_bytes));
        if let Some(Conflict { parameter, expected, found }) = conflict {
            return Err(BadOption { policy: self.name(), parameter, expected, found });
        }
        let policy = self.clone().into_policy();
        let policy = partitioned(policy, partitioning, target_file_bytes);
        if !ALL {
            return Ok(policy);
        }
        let policy = shared(policy, self.described().max_subcompactions(), target_file_bytes);
        Ok(filtered(policy, self.described().filters()))
    }

    /// Refuses declared data for which filters by run would take more than this memory, at these bits of
    /// a key, if its entries are as large as those `present`. Nothing is known where there are none.
    pub fn check_filters(
        &self,
        present: (u64, u64),
        bits: FilterBits,
        memory_bytes: u64,
    ) -> Result<(), BadOption> {
        let ((entries, bytes), filters) = (present, self.described().filters());
        let declared = self.number(ParameterRef::DATA_BYTES).unwrap_or(0);
        let per_key = entries.saturating_mul(bits.thousandths().into());
        if filters == Filters::Uniform || per_key == 0 {
            return Ok(());
        }
        let most = mul_div(memory_bytes.saturating_mul(8 * 1000), bytes, per_key);
        if declared <= most {
            return Ok(());
        }
        let name = Filters::NAMES.get(filters as usize).copied().unwrap_or_default();
        let memory = format!("whose {name} filters take the memory of {memory_bytes} bytes");
        Err(BadOption {
            policy: self.name(),
            parameter: ParameterRef::DATA_BYTES,
            expected: format!("at most {most}, {memory}"),
            found: declared.to_string(),
        })
    }

    fn number(&self, name: &str) -> Option<u64> {
        match self.parameters().into_iter().find(|p| p.name == name)?.value {
            Value::Number { value, .. } => Some(value),
            _ => None,
        }
    }

    pub(crate) fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        self.described_mut().tuning()
    }
}

/// The default is leveling.
impl Default for PolicyOptions {
    fn default() -> Self {
        PolicyOptions::Leveled(Leveled::default())
    }
}

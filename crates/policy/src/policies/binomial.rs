//! Binomial: a stack policy whose stack grows slowly up to its number of components (Mathieu et al.,
//! "Bigtable Merge Compaction").
//!
//! `toolkit/stack.rs` says what a stack is. After the t-th admission everything from component i up is
//! merged, with k the number of components that are allowed:
//!
//! 1. `T(d)` is the sum of `C(x + min(x, k) - 1, x)` over x from 1 to d, and d is the least number with
//!    `T(d) >= t`.
//! 2. `i = index(d, min(d, k) - 1, t - T(d-1) - 1)`, with the index of [`super::min_latency`].

use super::min_latency::index;
use crate::context::PlanContext;
use crate::policy::{Installed, Policy};
use crate::status::PolicyStatus;
use crate::toolkit::combinatorics::{choose, least};
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::partition::options::Partitioning;
use crate::toolkit::stack::Stack;
use terrane_types::{Plan, Shape};

/// The binomial policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binomial {
    /// k: the most components.
    pub components: u64,
    /// B: about how many bytes are admitted at once.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// Cuts of outputs.
    pub partitioning: Partitioning,
}

impl Default for Binomial {
    fn default() -> Self {
        Binomial {
            components: 4,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }
    }
}

impl Binomial {
    fn stack(&self) -> Stack {
        let Binomial { components, level_base_bytes, target_file_bytes, .. } = *self;
        Stack { level_base_bytes, target_file_bytes, components }
    }
}

/// T(d): from k on the sum is that of a column of Pascal's triangle.
fn reached(components: u64, d: u64) -> u64 {
    let upper = d.min(components);
    let growing = (1..=upper).map(|x| choose(2 * x - 1, x)).fold(0, u64::saturating_add);
    let column = |d: u64| choose(d.saturating_add(components), components);
    // Nothing, up to k.
    growing.saturating_add(column(d) - column(upper))
}

/// i, for the t-th admission.
pub(crate) fn merges_from(components: u64, t: u64) -> u64 {
    let d = least(|d| reached(components, d) >= t);
    let before = d.checked_sub(1).map_or(0, |d| reached(components, d));
    let r = t.saturating_sub(before).saturating_sub(1);
    index(d, d.min(components).saturating_sub(1), r)
}

impl Policy for Binomial {
    fn name(&self) -> &'static str {
        "binomial"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        self.stack().plan(context, |t| merges_from(self.components, t))
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        self.stack().apply(state, installed)
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        self.stack().status(shape, state)
    }
}

impl Described for Binomial {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn partitioning(&self) -> Option<&Partitioning> {
        Some(&self.partitioning)
    }

    fn summary(&self) -> &'static str {
        prose(
            "A stack of runs that grows slowly to its limit: fewer runs to read than minlatency while small.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let mut parameters = vec![
            ParameterRef::components(&mut self.components),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
        ];
        self.partitioning.tuning(&mut parameters);
        parameters
    }
}

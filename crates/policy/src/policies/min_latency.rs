//! MinLatency: the stack policy that writes least for a given number of components (Mathieu et al.,
//! "Bigtable Merge Compaction").
//!
//! `toolkit/stack.rs` says what a stack is. After the t-th admission everything from component i up is
//! merged, with k the number of components that are allowed:
//!
//! 1. `T(d) = C(d+k, d) - 1`, and d is the least number with `T(d) >= t`.
//! 2. `i = index(d, k-1, t - T(d-1) - 1)`, where `index(d, h, r)` is 0 if r is 0, `index(d-1, h, r)` if
//!    `r < C(d+h-1, h)`, and else `1 + index(d, h-1, r - C(d+h-1, h))`.
//!
//! It makes the same stacks as horizontal leveling with k levels.

use crate::context::PlanContext;
use crate::policy::{Installed, Policy};
use crate::status::PolicyStatus;
use crate::toolkit::combinatorics::{choose, least};
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::partition::options::Partitioning;
use crate::toolkit::stack::Stack;
use terrane_types::{Plan, Shape};

/// The MinLatency policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinLatency {
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

impl Default for MinLatency {
    fn default() -> Self {
        MinLatency {
            components: 4,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }
    }
}

impl MinLatency {
    fn stack(&self) -> Stack {
        let MinLatency { components, level_base_bytes, target_file_bytes, .. } = *self;
        Stack { level_base_bytes, target_file_bytes, components }
    }
}

/// i, for the t-th admission.
pub(crate) fn merges_from(components: u64, t: u64) -> u64 {
    let reached = |d: u64| choose(d.saturating_add(components), components).saturating_sub(1);
    let d = least(|d| reached(d) >= t);
    let before = d.checked_sub(1).map_or(0, reached);
    index(d, components.saturating_sub(1), t.saturating_sub(before).saturating_sub(1))
}

/// The recursion of step 2, a level of it at a time.
pub(crate) fn index(mut d: u64, h: u64, mut r: u64) -> u64 {
    let mut i = 0;
    for h in (1..=h).rev() {
        if r == 0 {
            break;
        }
        // The greatest d at which r is at least that.
        d = d.min(least(|d| choose(d.saturating_add(h), h) > r));
        r = r.saturating_sub(choose(d + h - 1, h));
        i += 1;
    }
    i
}

impl Policy for MinLatency {
    fn name(&self) -> &'static str {
        "minlatency"
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

impl Described for MinLatency {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn partitioning(&self) -> Option<&Partitioning> {
        Some(&self.partitioning)
    }

    fn summary(&self) -> &'static str {
        prose("A stack with a limit on runs, merged on the schedule that writes least.")
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

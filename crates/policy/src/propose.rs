//! Asking a policy: what its answer leads to, in the engine and in the simulator alike.
//!
//! 1. The policy is asked, unless it was refused twice in a row: then the fallback is taken once, so
//!    that it cannot bring the tree to a standstill.
//! 2. The fallback is taken, too, where the policy is content with more runs in level 0 than writes
//!    are let on with, and nothing runs: they must not wait for ever.
//! 3. The validator admits or refuses the plan.

use crate::context::PlanContext;
use crate::fallback::fallback;
use crate::policy::Policy;
use crate::validate::refusal::Refusal;
use crate::validate::validate_plan;
use terrane_types::Plan;

/// Refusals in a row after which a policy is not asked once.
const REFUSALS_MAX: u32 = 2;

/// Point reads after which a policy that [watches reads](Policy::watches_reads) is asked for a plan,
/// since nothing else may change in a tree that is only read.
pub const READS_BETWEEN: u64 = 1024;

/// What comes of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// Nothing is to do.
    Nothing,
    /// The validator refused the plan.
    Refused(Refusal),
    /// The validator admitted it.
    Plan {
        /// What is to be done.
        plan: Plan,
        /// Whether the policy made it, not the fallback.
        own: bool,
    },
}

/// Asks a policy once. `refused` counts the plans that were refused in a row, and is to be handed in
/// again.
pub fn propose(policy: &dyn Policy, context: &PlanContext, refused: &mut u32) -> Proposal {
    let PlanContext { shape, running, fresh, l0_stop_trigger, .. } = *context;
    let trusted = *refused < REFUSALS_MAX;
    if !trusted {
        *refused = 0;
    }
    let own = trusted.then(|| policy.plan(context)).flatten();
    let is_own = own.is_some();
    let plan = own.or_else(|| {
        let full =
            shape.levels().first().is_some_and(|level0| level0.runs.len() >= l0_stop_trigger);
        let stalling = full && running.compactions.is_empty();
        (!trusted || stalling).then(|| fallback(shape, running, fresh)).flatten()
    });
    let Some(plan) = plan else { return Proposal::Nothing };
    if let Err(refusal) = validate_plan(shape, running, &plan) {
        *refused += 1;
        return Proposal::Refused(refusal);
    }
    if is_own {
        *refused = 0;
    }
    Proposal::Plan { plan, own: is_own }
}

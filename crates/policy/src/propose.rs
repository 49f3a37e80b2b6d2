//! Asking a policy for a plan, in the engine and in the simulator alike.
//!
//! 1. The policy is asked, unless two of its plans in a row were refused: then the fallback is used
//!    once, so that a wrong policy cannot stop all progress.
//! 2. The fallback is also used if the policy has no plan although level 0 has reached the write-stall
//!    limit and nothing runs: the stall would never end.
//! 3. If there is still no plan, a table is rewritten from which a released snapshot or a range delete frees
//!    space ([`reclaim`]).
//! 4. Before all of these come tables of which range deletes hide everything: they go ([`drop_hidden`]).
//! 5. The validator accepts or refuses the plan.

use crate::context::PlanContext;
use crate::fallback::fallback;
use crate::policy::{Policy, level0_waiting};
use crate::reclaim::{Hidden, drop_hidden, reclaim};
use crate::validate::refusal::Refusal;
use crate::validate::validate_plan;
use terrane_types::Plan;

/// Refusals in a row after which the fallback is used once.
const REFUSALS_MAX: u32 = 2;

/// Point reads after which a policy that [watches reads](Policy::watches_reads) is asked for a plan:
/// a read-only workload changes nothing else that would trigger it.
pub const READS_BETWEEN: u64 = 1024;

/// The outcome of asking a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// Nothing to do.
    Nothing,
    /// The validator refused the plan.
    Refused(Refusal),
    /// The validator accepted the plan.
    Plan {
        /// The plan.
        plan: Plan,
        /// Whether the policy made it, rather than the fallback or [`reclaim`].
        own: bool,
    },
}

/// Asks a policy once. `hidden` is what range deletes hide. `refused` counts consecutive refusals; pass it to the
/// next call.
pub fn propose(
    policy: &dyn Policy,
    context: &PlanContext,
    hidden: &Hidden,
    refused: &mut u32,
) -> Proposal {
    let PlanContext { shape, running, fresh, l0_stop_trigger, oldest_snapshot, .. } = *context;
    if let Some(plan) = drop_hidden(shape, running, hidden) {
        return Proposal::Plan { plan, own: false };
    }
    let trusted = *refused < REFUSALS_MAX;
    if !trusted {
        *refused = 0;
    }
    let own = trusted.then(|| policy.plan(context)).flatten();
    let is_own = own.is_some();
    let plan = own.or_else(|| {
        let is_full = level0_waiting(policy, shape) >= l0_stop_trigger;
        let stalling = is_full && running.compactions.is_empty();
        let relief = (!trusted || stalling).then(|| fallback(shape, running, fresh)).flatten();
        relief.or_else(|| reclaim(shape, running, oldest_snapshot, hidden))
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

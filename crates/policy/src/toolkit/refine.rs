//! Refinement: a policy whose plans are another's, changed in one respect. What is not changed goes through
//! here, so that no refinement can leave it out.

use crate::context::{KeySample, PlanContext};
use crate::policy::{Installed, Policy};
use crate::status::{Decision, PolicyStatus};
use terrane_types::{Compaction, FlushPlan, Plan, Shape};

/// A change of another policy's plans.
pub trait Refine: Send + Sync {
    /// Changes a compaction. One without groups is put off.
    fn compaction(&self, context: &PlanContext, plan: &mut Compaction) {
        let _ = (context, plan);
    }

    /// Returns a plan for when the policy has none.
    fn otherwise(&self, context: &PlanContext) -> Option<Plan> {
        let _ = context;
        None
    }

    /// Whether it changes flushes.
    fn refines_flushes(&self) -> bool {
        false
    }

    /// Changes a flush, if it changes any.
    fn flush(&self, context: &PlanContext, sealed: &KeySample, plan: &mut FlushPlan) {
        let _ = (context, sealed, plan);
    }

    /// Whether it needs the tables' histograms.
    fn reads_histograms(&self) -> bool {
        false
    }
}

/// A policy and what changes its plans.
struct Refined<R> {
    policy: Box<dyn Policy>,
    refinement: R,
}

/// Returns the policy with this change of its plans.
#[must_use]
pub fn refined(policy: Box<dyn Policy>, refinement: impl Refine + 'static) -> Box<dyn Policy> {
    Box::new(Refined { policy, refinement })
}

impl<R: Refine> Policy for Refined<R> {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let Some(mut plan) = self.policy.plan(context) else {
            return self.refinement.otherwise(context);
        };
        if let Plan::Compact(compaction) = &mut plan {
            self.refinement.compaction(context, compaction);
            if compaction.groups.is_empty() {
                return None;
            }
        }
        Some(plan)
    }

    fn plans_flushes(&self) -> bool {
        self.refinement.refines_flushes() || self.policy.plans_flushes()
    }

    fn flush(&self, context: &PlanContext, sealed: &KeySample) -> FlushPlan {
        let mut plan = match self.policy.plans_flushes() {
            true => self.policy.flush(context, sealed),
            false => FlushPlan::default(),
        };
        if self.refinement.refines_flushes() {
            self.refinement.flush(context, sealed, &mut plan);
        }
        plan
    }

    fn stalls_by_depth(&self) -> bool {
        self.policy.stalls_by_depth()
    }

    fn reads_histograms(&self) -> bool {
        self.refinement.reads_histograms() || self.policy.reads_histograms()
    }

    fn reads_prefixes(&self) -> bool {
        self.policy.reads_prefixes()
    }

    fn watches_reads(&self) -> bool {
        self.policy.watches_reads()
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        self.policy.apply(state, installed)
    }

    fn adopt(&self, shape: &Shape) -> Vec<u8> {
        self.policy.adopt(shape)
    }

    fn readopt(&self, state: &[u8], shape: &Shape) -> Vec<u8> {
        self.policy.readopt(state, shape)
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        self.policy.status(shape, state)
    }

    fn decisions(&self, state: &[u8], installed: &Installed) -> Vec<Decision> {
        self.policy.decisions(state, installed)
    }
}

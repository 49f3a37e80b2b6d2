//! A stack of runs, as the stack policies see it: the runs below level 0, the oldest at 0.
//!
//! 1. The t-th admission becomes the top of the stack, and everything from the i-th component up is
//!    merged into one, in the place of that component: for `i` at the top, the admission alone is a
//!    new run of level 1. The policy says what i is.
//! 2. A stack that is higher than the policy ever makes it, left by another one, loses its excess:
//!    everything from the last component it may have is merged.
//! 3. Level 0 gathers tiny flushes, and merges runs of similar size while they wait.

use super::admission::{Admission, Counts, below_level0};
use super::format::{count, size};
use super::group_builder::{Target, build_groups};
use super::view::{Vertical, View};
use crate::context::PlanContext;
use crate::policy::Installed;
use crate::status::PolicyStatus;
use terrane_types::{
    Compaction, Destination, Effect, Of, Plan, Quantity, Reason, Relation, Shape, Term, Unit,
};

/// Merges of a stack policy, by its number of components.
pub(crate) struct Stack {
    pub(crate) level_base_bytes: u64,
    pub(crate) target_file_bytes: u64,
    /// The most components that it has.
    pub(crate) components: u64,
}

impl Stack {
    /// The next plan; `merges_from` is i, of t.
    pub(crate) fn plan(
        &self,
        context: &PlanContext,
        merges_from: impl Fn(u64) -> u64,
    ) -> Option<Plan> {
        let view =
            View::new(Vertical::staging(self.level_base_bytes, self.target_file_bytes), context);
        if view.running.writes_from(1) {
            return view.gather();
        }
        let Some(admission) = view.admission() else {
            return self.trim(&view).or_else(|| view.gather());
        };
        let t = self.counts(context.state, context.shape).first().saturating_add(1);
        let i = merges_from(t);
        let reason = format!(
            "admission {t} of {} joins the stack, and all from component {i} on is merged",
            size(admission.bytes),
        );
        let reason = Reason::new(reason, vec![admission.term]);
        Some(self.merge(&view, i, Some(&admission), reason))
    }

    /// Step 2.
    fn trim(&self, view: &View) -> Option<Plan> {
        let runs = view.below_level0().len();
        let (have, limit) = (
            Quantity::new("runs-below-level-0", runs as u64),
            Quantity::new("components", self.components),
        );
        let high = Term::new(Unit::Runs, have, Relation::Greater, limit);
        if !high.is(Relation::Greater) {
            return None;
        }
        let excess = (runs as u64).saturating_sub(self.components);
        let reason = format!(
            "the stack has {}, {excess} more than it may: all from component {} on is merged",
            count(runs, "component"),
            self.components - 1,
        );
        let reason = Reason::new(reason, vec![high.so(Effect::Due)]);
        Some(self.merge(view, self.components - 1, None, reason))
    }

    /// Step 1.
    fn merge(&self, view: &View, i: u64, admission: Option<&Admission>, reason: Reason) -> Plan {
        let mut coming = admission.map_or_else(Vec::new, Admission::tables);
        let stack = view.below_level0();
        let from = usize::try_from(i).ok().and_then(|i| stack.len().checked_sub(i + 1));
        let there = from.and_then(|at| stack.get(at));
        for (_, run) in stack.iter().take(from.unwrap_or(0)) {
            coming.extend(run.tables());
        }
        let target = Target {
            destination: there
                .map_or(Destination { level: 1, run: view.fresh }, |(place, _)| *place),
            there: there.map(|(_, run)| *run),
            bottom: from.map_or(0, |at| at + 1) == stack.len(),
            target_file_bytes: self.target_file_bytes,
            trivial_moves: true,
        };
        Compaction::parallel(build_groups(coming, target), reason).into()
    }

    /// t, the number of admissions so far: of a tree that another policy made, as many as its bytes.
    fn counts(&self, state: &[u8], shape: &Shape) -> Counts {
        /// Enough for any tree, and few enough to count on.
        const MOST: u64 = 1 << 32;
        Counts::read(state, 1).unwrap_or_else(|| {
            Counts::new(vec![below_level0(shape).div_ceil(self.level_base_bytes.max(1)).min(MOST)])
        })
    }

    /// Reports the number of admissions.
    pub(crate) fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        self.counts(state, shape).status("admissions", |_| Of::Tree)
    }

    /// The state after a step.
    pub(crate) fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let mut counts = self.counts(state, installed.before);
        if counts.note(installed)
            && let Some(t) = counts.numbers.first_mut()
        {
            *t = t.saturating_add(1);
        }
        counts.state()
    }
}

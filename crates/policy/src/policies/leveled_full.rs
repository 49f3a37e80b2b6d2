//! Leveling with full, preemptive compactions: vertical growth, one merge at a time.
//!
//! Each level below level 0 is one run. L is the deepest level; `toolkit/view.rs` defines capacities.
//!
//! 1. **Merge within level 0.** If as many runs wait in level 0 as the trigger requires, but hold less
//!    than B bytes, the newest are merged there, even while a merge runs further down. During such a
//!    merge, runs of similar size are merged there, shortly before writes stall.
//! 2. **Level L at its capacity** becomes level L+1 as it is; its old place is empty. This comes before
//!    step 3: under a steady load, level 0 has runs after each merge.
//! 3. If those runs hold B bytes, or a level above L is over its capacity or has several runs,
//!    everything down to level q is merged into q: the smallest level that holds it all (else L), at
//!    or below every level to repair. So a level that would overflow next is emptied by the same
//!    merge instead of by another one: preemption.
//! 4. Without preemption a level is merged into the next, and that one by another merge if it is over its
//!    capacity then: such levels come before level 0.

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::status::PolicyStatus;
use crate::toolkit::filters::Filters;
use crate::toolkit::format::{count, size};
use crate::toolkit::group_builder::build_groups;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::vertical::Repair;
use crate::toolkit::view::{Vertical, View};
use terrane_types::{Compaction, Plan, Reason, Shape};

/// The fully leveled policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeveledFull {
    /// T: the factor between capacities.
    pub size_ratio: u64,
    /// B: the least bytes that level 0 sends down at once; the least capacity of a level.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Runs that wait in level 0 before they are merged.
    pub l0_compaction_trigger: u64,
    /// Whether capacities follow what the deepest level holds.
    pub dynamic_level_bytes: bool,
    /// Whether a merge takes along the levels that would overflow next.
    pub preemptive: bool,
    /// Division of filter memory among runs.
    pub filters: Filters,
}

impl Default for LeveledFull {
    fn default() -> Self {
        LeveledFull {
            size_ratio: 5,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            l0_compaction_trigger: 1,
            dynamic_level_bytes: true,
            preemptive: true,
            filters: Filters::Uniform,
        }
    }
}

impl Policy for LeveledFull {
    fn name(&self) -> &'static str {
        "leveled-full"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let view = View::new(self.rule(), context);
        view.merge_within_l0().or_else(|| match view.is_idle() {
            true => view.deepen().or_else(|| match self.preemptive {
                true => merge(&view),
                false => merge_next(&view),
            }),
            false => view.merge_while_waiting(),
        })
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let capacities = self.rule().capacities(shape, 1);
        PolicyStatus { capacities, facts: Vec::new() }
    }
}

impl LeveledFull {
    /// Returns the rule that it shares with the other vertical policies.
    fn rule(&self) -> Vertical {
        Vertical {
            size_ratio: self.size_ratio,
            level_base_bytes: self.level_base_bytes,
            target_file_bytes: self.target_file_bytes,
            l0_compaction_trigger: self.l0_compaction_trigger,
            dynamic_level_bytes: self.dynamic_level_bytes,
        }
    }
}

/// Step 3.
fn merge(view: &View) -> Option<Plan> {
    let last = view.last();
    let over = (1..last).rfind(|l| !view.over(*l).is_empty()).map(|l| l + 1);
    let scattered = (1..=last).rfind(|l| !view.scattered(*l).is_empty());
    let least = view.is_level0_due().then_some(1).max(over).max(scattered)?;
    let (found, room) = view.find_room(0, least..last, &|_| None);
    let q = found.unwrap_or(last);

    let mut coming = view.shape.between(0, q);
    coming.extend(view.older(q));
    let groups = build_groups(coming, view.leveled(q));
    let Reason { text: cause, mut terms } = view.cause(least, over, scattered, view);
    terms.extend(room);
    let reason = format!(
        "{cause}: all down to level {q}, {}, becomes its run, in {}",
        size(view.down_to(0, q)),
        count(groups.len(), "group"),
    );
    Some(Compaction::parallel(groups, Reason::new(reason, terms)).into())
}

/// Step 4.
fn merge_next(view: &View) -> Option<Plan> {
    let last = view.last();
    let scattered = (1..=last).find_map(|level| view.merge_into_one_run(level));
    let over = || (1..last).find(|level| view.bytes(*level) > view.capacity(*level));
    let due = || over().or(view.is_level0_due().then_some(0));
    scattered.or_else(|| due().and_then(|level| view.empty(level, view.leveled(level + 1))))
}

impl Described for LeveledFull {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "One run a level; one merge takes everything down to the first level with room for it: less \
         writing than table by table, but much temporary space.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
            ParameterRef::l0_compaction_trigger(&mut self.l0_compaction_trigger),
            ParameterRef::dynamic_level_bytes(&mut self.dynamic_level_bytes),
            ParameterRef::switch(
                "preemptive",
                "whether a merge takes along the levels that would overflow next",
                &mut self.preemptive,
            ),
        ]
    }
}

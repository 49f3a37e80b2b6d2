//! Tiering with full, preemptive compactions: vertical growth, one merge at a time.
//!
//! A level has up to T runs and the fixed capacity `C_i = B * T^i`. Dynamic capacities bound the space
//! amplification of leveling; with several runs in the deepest level there is no such bound to keep.
//!
//! 1. **Merge within level 0.** If as many runs wait in level 0 as the trigger requires, but hold less
//!    than B bytes, the newest are merged there, even while a merge runs further down. During such a
//!    merge, runs of similar size are merged there, shortly before writes stall.
//! 2. **A single run in L at its capacity** becomes level L+1 as it is. This comes before step 3:
//!    under a steady load, level 0 has runs after each merge.
//! 3. If those runs hold B bytes, or a level has too many runs or bytes, everything above level q
//!    becomes one new run of q: the smallest level with room for it, below every level that has too
//!    much.
//! 4. If no level has room, the whole tree becomes one run of the deepest level, L: overwriting data
//!    makes the tree no deeper.

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::status::PolicyStatus;
use crate::toolkit::filters::Filters;
use crate::toolkit::format::count;
use crate::toolkit::group_builder::build_groups;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::vertical::Repair;
use crate::toolkit::view::{Vertical, View};
use terrane_types::{Compaction, Effect, Plan, Reason, Relation, Shape, Term};

/// The fully tiered policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TieredFull {
    /// T: the runs of a level, and the factor between capacities.
    pub size_ratio: u64,
    /// B: the least bytes that level 0 sends down at once.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Runs that wait in level 0 before they are merged.
    pub l0_compaction_trigger: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
}

impl Default for TieredFull {
    fn default() -> Self {
        TieredFull {
            size_ratio: 5,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            l0_compaction_trigger: 1,
            filters: Filters::Uniform,
        }
    }
}

impl Policy for TieredFull {
    fn name(&self) -> &'static str {
        "tiered-full"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let view = View::new(self.rule(), context);
        view.merge_within_l0().or_else(|| match view.is_idle() {
            true => view.deepen().or_else(|| self.merge(&view)),
            false => view.merge_while_waiting(),
        })
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let capacities = self.rule().capacities(shape, usize::MAX);
        PolicyStatus { capacities, facts: Vec::new() }
    }
}

impl TieredFull {
    /// Returns the rule that it shares with the other vertical policies.
    fn rule(&self) -> Vertical {
        Vertical {
            size_ratio: self.size_ratio,
            level_base_bytes: self.level_base_bytes,
            target_file_bytes: self.target_file_bytes,
            l0_compaction_trigger: self.l0_compaction_trigger,
            dynamic_level_bytes: false,
        }
    }

    /// Steps 3 and 4.
    fn merge(&self, view: &View) -> Option<Plan> {
        let last = view.last();
        let crowds = Crowds(view);
        // A last level of a single run at its capacity has been deepened.
        let over = (1..=last).rfind(|l| !crowds.over(*l).is_empty()).map(|l| l + 1);
        let least = view.is_level0_due().then_some(1).max(over)?;
        let place = |level| Some(crowds.term(level, Relation::Less));
        let (found, room) = view.find_room(0, least..=last, &place);

        let q = found.unwrap_or(last);
        let mut coming = view.shape.between(0, q);
        let target = if found.is_some() {
            view.new_run(q)
        } else {
            coming.extend(view.older(q));
            view.leveled(q)
        };
        let groups = build_groups(coming, target);
        let Reason { text: cause, mut terms } = view.cause(least, over, None, &crowds);
        // The last takes it all the same, as one run.
        let merges = |term: Term| match term.effect {
            Some(Effect::Passes(level)) if level == q => term.so(Effect::Merges(q)),
            _ => term,
        };
        terms.extend(room.into_iter().map(merges));
        let effect = match found {
            Some(_) => format!("all above level {q} becomes a new run of it"),
            None => format!("no level holds it, so all becomes one run of level {q}"),
        };
        let reason = format!("{cause}: {effect}, in {}", count(groups.len(), "group"));
        Some(Compaction::parallel(groups, Reason::new(reason, terms)).into())
    }
}

/// The comparisons of a tree whose levels have up to T runs.
struct Crowds<'v, 'a>(&'v View<'a>);

impl Crowds<'_, '_> {
    /// The runs of a level, compared with T.
    fn term(&self, level: usize, relation: Relation) -> Term {
        self.0.runs_term(level, relation, "size-ratio", self.0.rule.size_ratio)
    }
}

impl Repair for Crowds<'_, '_> {
    fn over(&self, level: usize) -> Vec<Term> {
        let mut terms = self.0.over(level);
        terms.extend(self.term(level, Relation::Greater).only_if(Relation::Greater));
        terms
    }

    fn scattered(&self, _: usize) -> Vec<Term> {
        Vec::new()
    }
}

impl Described for TieredFull {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "Several runs a level, everything above the level that holds it in one merge: least \
         writing, for more runs to read and more space.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
            ParameterRef::l0_compaction_trigger(&mut self.l0_compaction_trigger),
        ]
    }
}

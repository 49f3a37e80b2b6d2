//! Lazy leveling: the G largest levels are leveled, those above them tiered.
//!
//! L is the deepest level; `toolkit/view.rs` defines capacities. The levels below L-G are one run each;
//! the others, down to L-G, have up to T runs. With G = 1 only the largest level is leveled; with G at
//! least L all are, as in [`super::leveled`]; G = 0 would be [`super::tiered`].
//!
//! 1. **Merge into one run.** A leveled level with several runs is made one run before anything else
//!    touches it. A tiered level becomes such a level when the tree loses its last one.
//! 2. **Merge within level 0.** If as many runs wait in level 0 as the trigger requires, but hold less
//!    than B bytes, the newest are merged there.
//! 3. Of the levels that are due, the one with the highest score is compacted; one that has to wait for
//!    a running plan reserves the levels it needs.
//!    * **Level 0** with enough runs and bytes, and **a tiered level** with T runs or more than `C_i`
//!      bytes: all of it becomes one new run of the next level if that is tiered; otherwise it is
//!      merged, component by component, with the tables it overlaps there. Shortly before writes
//!      stall, level 0 comes first, and merges runs of similar size while it waits.
//!    * **A leveled level above L, over its capacity**, sends down the table that overlaps least.
//!    * **Level L at its capacity** becomes level L+1 as it is; level L-G+1 is tiered from then on.

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::status::PolicyStatus;
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::pick::Pick;
use crate::toolkit::view::{Vertical, View, deepest};
use terrane_types::{Plan, Shape};

/// The lazily leveled policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LazyLeveled {
    /// T: the factor between capacities, and the runs that fill a tiered level.
    pub size_ratio: u64,
    /// B: the least bytes that level 0 sends down at once; the least capacity of a level.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Runs that wait in level 0 before they are merged into level 1.
    pub l0_compaction_trigger: u64,
    /// Whether capacities follow what the deepest level holds.
    pub dynamic_level_bytes: bool,
    /// G: how many of the largest levels are leveled.
    pub leveled_levels: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
}

impl Default for LazyLeveled {
    fn default() -> Self {
        LazyLeveled {
            size_ratio: 4,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            l0_compaction_trigger: 4,
            dynamic_level_bytes: true,
            leveled_levels: 1,
            filters: Filters::Uniform,
        }
    }
}

impl Policy for LazyLeveled {
    fn name(&self) -> &'static str {
        "lazy-leveled"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let view = View::new(self.rule(), context);
        let (last, leveled) = (view.last(), self.first_leveled(view.last()));
        (leveled..context.shape.levels().len())
            .find_map(|level| view.merge_into_one_run(level))
            .or_else(|| view.merge_within_l0())
            .or_else(|| {
                view.compact_highest_score(leveled, &|level| self.score(&view, level), &|level| {
                    match level {
                        _ if level + 1 < leveled => view.empty(level, view.new_run(level + 1)),
                        _ if level < leveled => view.empty(level, view.leveled(level + 1)),
                        _ if level == last => view.deepen(),
                        _ => view.send_down(level, Pick::LeastOverlap, 0, None),
                    }
                })
            })
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let capacities = self.rule().capacities(shape, self.first_leveled(deepest(shape)));
        PolicyStatus { capacities, facts: Vec::new() }
    }
}

impl LazyLeveled {
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

    /// L-G+1, at least 1.
    fn first_leveled(&self, last: usize) -> usize {
        let leveled = usize::try_from(self.leveled_levels).unwrap_or(usize::MAX);
        (last + 1).saturating_sub(leveled).max(1)
    }

    /// At 1 or more the level is due.
    fn score(&self, view: &View, level: usize) -> f64 {
        let by_bytes = view.score(level);
        if (1..self.first_leveled(view.last())).contains(&level) {
            by_bytes.max(view.runs(level).len() as f64 / self.size_ratio as f64)
        } else {
            by_bytes
        }
    }
}

impl Described for LazyLeveled {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "The largest level is one run, the others have several: nearly the writing of tiering at \
         nearly the space of leveling.",
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
            ParameterRef::number(
                "leveled-levels",
                "number of the largest levels that are leveled",
                (1, 64),
                &mut self.leveled_levels,
            ),
        ]
    }
}

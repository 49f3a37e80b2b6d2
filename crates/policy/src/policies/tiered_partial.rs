//! Tiering with partial compactions: vertical growth, one table at a time and those that overlap it.
//!
//! A level holds up to `C_i = B * T^(i+1)` bytes in up to T runs. `toolkit/partial_tiering.rs` says what
//! leaves a level at once.
//!
//! 1. **Level 0** is due at T runs with B bytes: all of it becomes one new run of level 1. With less, the
//!    newest are merged there; shortly before writes stall, runs of similar size while they wait. Writes that
//!    come faster than levels are merged stall: level 0 waits while level 1 has twice T runs.
//! 2. **A level at its capacity, or with more than T runs,** sends down a table of its oldest run, with what
//!    overlaps it there.
//! 3. **The deepest level** has no next. At its capacity it sends a table into a new level, or becomes that
//!    level as it is if it is a single run: merged in place instead, it would be rewritten for all that
//!    comes. With too many runs, but less than its capacity, it is merged in place table by table, so that the
//!    tree grows only by what overwrites and deletes leave.
//!
//! Of the levels that are due, the one that is furthest over its limits comes first; level 0 before any
//! other shortly before writes stall.

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::status::{Capacity, PolicyStatus};
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::view::{Vertical, View, deepest};
use terrane_types::{Effect, LevelChange, Plan, Reason, Relation, Reshape, Shape, Term};

/// The policy of tiering with partial compactions, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TieredPartial {
    /// T: runs that level 0 gathers, and the factor between capacities.
    pub size_ratio: u64,
    /// B: the usual size of a flush, in bytes.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
}

impl Default for TieredPartial {
    fn default() -> Self {
        TieredPartial {
            size_ratio: 4,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
        }
    }
}

impl Policy for TieredPartial {
    fn name(&self) -> &'static str {
        "tiered-partial"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let rule = Vertical {
            size_ratio: self.size_ratio,
            level_base_bytes: self.level_base_bytes,
            target_file_bytes: self.target_file_bytes,
            l0_compaction_trigger: self.size_ratio,
            dynamic_level_bytes: false,
        };
        let mut view = View::new(rule, context);
        view.capacities = (1..=view.last()).map(|level| (level, self.capacity(level))).collect();
        view.merge_within_l0().or_else(|| {
            let score = |level| self.score(&view, level);
            // No level needs to be a single run.
            view.compact_highest_score(usize::MAX, &score, &|level| match level {
                0 => view.empty(0, view.new_run(1)),
                _ if level == view.last() && view.runs(level).len() == 1 => self.deepen(&view),
                _ if level < view.last() || self.fullness(&view, level) >= 1.0 => {
                    let terms = self.terms(&view, level, Effect::Leaves(level));
                    view.send_down_tiered(level, terms)
                }
                _ => {
                    let terms = self.terms(&view, level, Effect::Merges(level));
                    view.merge_partly_in_place(level, terms)
                }
            })
        })
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let last = deepest(shape);
        let capacity = |level: usize| Capacity {
            bytes: Some(self.capacity(level)),
            runs: Some(self.size_ratio),
        };
        PolicyStatus { capacities: (0..=last).map(capacity).collect(), facts: Vec::new() }
    }
}

impl TieredPartial {
    /// `C_i` in bytes.
    fn capacity(&self, level: usize) -> u64 {
        let exponent = u32::try_from(level).unwrap_or(u32::MAX).saturating_add(1);
        self.level_base_bytes.saturating_mul(self.size_ratio.saturating_pow(exponent)).max(1)
    }

    /// At 1 or more the level is due.
    fn score(&self, view: &View, level: usize) -> f64 {
        let crowding =
            |level: usize| view.runs(level).len() as f64 / self.size_ratio.saturating_add(1) as f64;
        match level {
            0 if crowding(1) >= 2.0 => 0.0,
            0 => view.score(0),
            _ => self.fullness(view, level).max(crowding(level)),
        }
    }

    fn fullness(&self, view: &View, level: usize) -> f64 {
        view.staying(level) as f64 / self.capacity(level) as f64
    }

    /// The comparisons that hold of those that make a level due: it is at its capacity, or has too many runs.
    fn terms(&self, view: &View, level: usize, effect: Effect) -> Vec<Term> {
        let (least, over) = (Relation::AtLeast, Relation::Greater);
        let full = view.staying_term(level, least);
        let crowded = view.runs_term(level, over, "size-ratio", self.size_ratio);
        let due =
            [(full, least), (crowded, over)].into_iter().filter(|(term, asked)| term.is(*asked));
        due.map(|(term, _)| term.so(effect)).collect()
    }

    /// Step 3, of a single run.
    fn deepen(&self, view: &View) -> Option<Plan> {
        let last = view.last();
        if view.is_any_held(last) || view.running.writes_from(last) {
            return None;
        }
        let reason = format!(
            "level {last}, the last, is one run at its capacity: it becomes level {}",
            last + 1
        );
        let reason = Reason::new(reason, self.terms(view, last, Effect::Becomes(last, last + 1)));
        Some(Reshape { change: LevelChange::Add(last), reason }.into())
    }
}

impl Described for TieredPartial {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "Several runs a level, a table at a time merged into the next with those of its level that \
         overlap it: tiering without large merges.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
        ]
    }
}

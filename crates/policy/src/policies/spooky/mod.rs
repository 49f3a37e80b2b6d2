//! Spooky: full merges above, merges of perfectly overlapping files below (Dayan et al., "Spooky:
//! Granulating LSM-Tree Compactions Correctly", PVLDB 15(11), 2022, section 4).
//!
//! L is the deepest level, X a level at least 1 that is a fixed number of levels above it; capacities
//! adapt to L (`toolkit/view.rs`). The files of L, in its oldest run, partition the key space; those of
//! levels X to L-1 are cut at the same keys.
//!
//! 1. **Full and dividing merges** (`upper.rs`). Level 0, with enough runs and B bytes, is merged into
//!    q, the smallest level of 1 to X that holds everything down to it, else X. Above X the output is
//!    one file, except that files that overlap nothing stay separate: sequential keys move. A merge
//!    into X is a *dividing merge*.
//! 2. **Partitioned merge** (`partition.rs`). X at its capacity is merged into z, the smallest level
//!    below it that holds levels X to z, else L: one group of overlapping files after another, in key
//!    order. A file of z with nothing newer above it belongs to no group. A file of L has at most
//!    `C_X` bytes: a larger one is cut into equal parts, and neighbouring groups that fit into one
//!    file are joined.
//! 3. **Levels** (`levels.rs`). L at its capacity becomes L+1 as it is; L that would fit into the level
//!    above it becomes that level, if everything from X to there is empty.
//! 4. **Concurrency.** At most one partitioned merge runs, one group of it at a time; one merge into a
//!    level above X; and one merge within level 0, of runs of similar size that another merge keeps
//!    waiting. A dividing merge counts as the second kind and never runs beside a partitioned one.
//!
//! The G largest levels are leveled, those above are tiered: there each merge adds a new run. With X = L
//! this is the full merge of [`super::leveled_full`] and [`super::tiered_full`].
//!
//! In the paper the write amplification is `L*(T-1)/2 + 1`, the space amplification
//! `1 + 1/T^(L-X) + 1/(T-1)`. The 1 in the former is the cost of files of X that the next merge rewrites;
//! a file of X that reaches an empty level alone is rewritten there once more, unless it is moved.

mod files;
mod levels;
mod partition;
mod tree;
mod upper;

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::status::{Fact, PolicyStatus};
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::view::{Vertical, deepest};
use terrane_types::{Of, Plan, Shape, Unit};
use tree::Tree;

/// The Spooky policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooky {
    /// T: the factor between capacities, and the runs of a tiered level.
    pub size_ratio: u64,
    /// B: the least bytes that level 0 sends down at once; the least capacity of a level.
    pub level_base_bytes: u64,
    /// The greatest size of any file, in bytes, also where the paper has larger ones.
    pub target_file_bytes: u64,
    /// Runs that wait in level 0 before they are merged.
    pub l0_compaction_trigger: u64,
    /// L - X: the number of levels below the one that dividing merges write. With 0 all merges are
    /// full; with 1 this is the paper's two-level Spooky.
    pub levels_below: u64,
    /// G: how many of the largest levels are leveled. With 0 all are tiered.
    pub leveled_levels: u64,
    /// Whether a partitioned merge moves a file that overlaps nothing, mostly into an empty level. The
    /// paper's equation counts a rewrite there, which costs 1/T more and gains nothing.
    pub trivial_moves: bool,
    /// Division of filter memory among runs.
    pub filters: Filters,
}

impl Default for Spooky {
    fn default() -> Self {
        Spooky {
            size_ratio: 5,
            level_base_bytes: 4 << 20,
            target_file_bytes: 1 << 30,
            l0_compaction_trigger: 4,
            levels_below: 2,
            leveled_levels: 64,
            trivial_moves: true,
            filters: Filters::Uniform,
        }
    }
}

impl Policy for Spooky {
    fn reads_histograms(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "spooky"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let tree = Tree::new(self, context);
        (tree.change_levels())
            .or_else(|| tree.partition())
            .or_else(|| tree.merge_upper())
            .or_else(|| tree.merge_within_l0())
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let (divided, first_leveled) = self.levels(deepest(shape));
        let (name, of, value) = ("dividing-level", Of::Tree, divided as u64);
        PolicyStatus {
            capacities: self.rule().capacities(shape, first_leveled),
            facts: vec![Fact::Number { name, of, value, unit: Unit::Count }],
        }
    }
}

impl Spooky {
    /// Returns the rule that it shares with the vertical policies.
    fn rule(&self) -> Vertical {
        Vertical {
            size_ratio: self.size_ratio,
            level_base_bytes: self.level_base_bytes,
            target_file_bytes: self.target_file_bytes,
            l0_compaction_trigger: self.l0_compaction_trigger,
            dynamic_level_bytes: true,
        }
    }

    /// X, and L-G+1, at least 1: from here down levels are leveled.
    fn levels(&self, last: usize) -> (usize, usize) {
        let above =
            |levels: u64| last.saturating_sub(usize::try_from(levels).unwrap_or(usize::MAX));
        (above(self.levels_below).max(1), above(self.leveled_levels) + 1)
    }
}

impl Described for Spooky {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "Full merges above, and below merges of one file with those that overlap it exactly: nearly \
         the writing of full merges at nearly the space of small ones.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
            ParameterRef::l0_compaction_trigger(&mut self.l0_compaction_trigger),
            ParameterRef::number(
                "levels-below",
                "number of levels below the one that is cut at the files of the largest",
                (0, 8),
                &mut self.levels_below,
            ),
            ParameterRef::number(
                "leveled-levels",
                "number of the largest levels that are leveled",
                (0, 64),
                &mut self.leveled_levels,
            ),
            ParameterRef::switch(
                "trivial-moves",
                "whether a file that comes alone to a level below that one is moved, not rewritten",
                &mut self.trivial_moves,
            ),
        ]
    }
}

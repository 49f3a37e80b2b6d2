//! Spooky: full merges above, merges of perfectly overlapping files below (Dayan et al., "Spooky:
//! Granulating LSM-Tree Compactions Correctly", PVLDB 15(11), 2022, section 4).
//!
//! L is the deepest level, X the one a chosen number of levels above it, at least 1; capacities
//! adapt to L (`toolkit/view.rs`). The files of L, in its oldest run, part the key space; those of levels X
//! to L-1 are cut at the same keys.
//!
//! 1. **Admission** (`upper.rs`). Level 0 with its runs and B bytes goes down to q, the smallest level
//!    of 1 to X that holds all above and in it, else X. Above X all becomes one file, but files that
//!    overlap nothing stay apart: keys in order move. Into X it is a *dividing merge*.
//! 2. **Partitioned merge** (`partition.rs`). X at its capacity goes down to z, the smallest level
//!    below it that holds levels X to z, else L: one group of overlapping files after another, in
//!    key order. A file of z over which nothing newer lies is no part of any group. Into L a file
//!    has at most `C_X` bytes: a larger one is cut into equal parts, and neighbouring groups that
//!    fit into one are joined.
//! 3. **Levels** (`levels.rs`). L at its capacity becomes L+1 as it is; L that would fit the level
//!    above it, when all from X to there is empty, becomes that one.
//! 4. **At once** runs at most one partitioned merge, of which one group at a time, one merge down
//!    to at most X-1, and one within level 0, of runs of like size while a merge keeps them waiting.
//!    A dividing merge is one of the second kind, and never runs beside a partitioned one.
//!
//! The G largest levels are leveled, those above tiered: there what comes from above is a new run.
//! With X = L this is the full merge of [`super::leveled_full`] and [`super::tiered_full`].
//!
//! The paper writes `L*(T-1)/2 + 1` times what a user does, and takes `1 + 1/T^(L-X) + 1/(T-1)` of
//! the room. Its 1 is what files of X cost that are written although the next merge takes them; a
//! file of X that comes alone to an empty level is written there once more, unless it is moved.

mod files;
mod levels;
mod partition;
mod tree;
mod upper;

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use terrane_types::Plan;
use tree::Tree;

/// The Spooky policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooky {
    /// T: the factor between capacities, and the runs of a tiered level.
    pub size_ratio: u64,
    /// B: bytes that level 0 gathers at least before they go down; the least capacity of a level.
    pub level_base_bytes: u64,
    /// The most bytes that any file has, also where the paper would have it larger.
    pub target_file_bytes: u64,
    /// Runs that wait in level 0 before they are merged.
    pub l0_compaction_trigger: u64,
    /// L - X: how many levels lie below the one that dividing merges write. With none merges are
    /// full, with one this is the paper's two-level Spooky.
    pub levels_below: u64,
    /// G: how many of the largest levels are leveled. With none all are tiered.
    pub leveled_levels: u64,
    /// Whether a partitioned merge moves a file that comes alone, to an empty level most often. The
    /// paper's equation has it rewritten there: that costs 1/T more, and nothing is gained.
    pub trivial_moves: bool,
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
            .or_else(|| tree.admit())
            .or_else(|| tree.merge_within_l0())
    }
}

impl Described for Spooky {
    fn summary(&self) -> &'static str {
        prose("Full merges above, and below merges of one file with those that overlap it exactly: nearly \
         the writing of full merges at nearly the space of small ones.")
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::l0_compaction_trigger(&mut self.l0_compaction_trigger),
            ParameterRef::number(
                "levels-below",
                "how many levels lie below the one that is cut at the files of the largest",
                (0, 8),
                &mut self.levels_below,
            ),
            ParameterRef::number(
                "leveled-levels",
                "how many of the largest levels are leveled",
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

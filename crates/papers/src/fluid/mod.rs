//! Fluid trees: a size ratio and a bound on runs for each level ("Dostoevsky", "The Log-Structured Merge-Bush",
//! "Structural Designs Meet Optimality", Moose).
//!
//! * [`forms`] - writes of merges and numbers of runs, beside the closed forms.
//! * [`mixes`] - the tree that is tuned by these forms, beside others, under mixes of operations.
//!
//! `setting` has the store and the trees.

pub mod forms;
pub mod mixes;
pub(crate) mod setting;

pub use setting::{
    BLOCKS, BUSH, LAZY_4, LAZY_10, LEVELING_4, LEVELING_10, RUNS, THROUGHPUT, TIERING, WRITES,
};

use crate::Paper;

/// The papers.
pub const PAPER: Paper = Paper {
    folder: "fluid",
    title: "Fluid trees (Dostoevsky, LSM-bush, Moose)",
    figures: &[("closed-forms", forms::figure), ("mixes", mixes::figure)],
    left_out: &[
        (
            "Dostoevsky, figures 8 to 12; LSM-bush, figures 8 to 13; Moose, its evaluation",
            "they measure stores of the authors' machines. Here are their designs on one store, and the closed \
             forms that they are chosen by.",
        ),
        (
            "Filters by level",
            "Monkey's and Moose's division of filter memory is the option `filters` of the policy; the closed \
             forms have the same bits for all runs.",
        ),
    ],
};

//! "How to Grow an LSM-tree?" (Vertiorizon).
//!
//! * [`mixes`] - figure 7: throughput, its slowest window and space under mixes of operations.
//! * [`experiments`] - the same when one thing is changed.
//! * [`designs`] - what is compared; `setting` has the store and the machine, `ranks` the ranking.
//!
//! The paper's store has buffers of 2 MB and entries of 1 KB; the number of buffers here, and the size of
//! files and windows in buffers, are the paper's where they are known (`scaled.rs`).

pub mod designs;
pub mod experiments;
pub mod mixes;
mod ranks;
mod setting;

pub use setting::{BLOCKS, RUNS, SPACE, STALLED, THROUGHPUT, WORST, WRITES};

use crate::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    folder: "vertiorizon",
    title: "How to Grow an LSM-tree? (Vertiorizon)",
    figures: &[mixes::figure, experiments::figure],
    left_out: &[],
};

//! Merges decided by dynamic programming ("Rethinking The Compaction Policies in LSM-trees", EcoTune).
//!
//! * [`shifts`] - mixes of operations that follow one another, beside other designs.

pub mod shifts;

use crate::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    folder: "ecotune",
    title: "Rethinking The Compaction Policies in LSM-trees (EcoTune)",
    figures: &[("shifts", shifts::figure)],
    left_out: &[
        (
            "All figures of the paper",
            "its text was not at hand. Its abstract, and what others wrote about it, describe the model and state that \
             reads are 1.5 to 3 times as fast as under leveling, and up to 1.8 times (2.5 in another version of the \
             abstract) as fast as under lazy leveling. Neither the settings nor the figures are there.",
        ),
        (
            "A steady stream of writes, and the reads that are served meanwhile",
            "the paper's objective. Here reads and writes keep their shares of the operations, and the policy \
             minimizes the time of both.",
        ),
    ],
};

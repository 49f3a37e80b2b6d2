//! "How to Grow an LSM-tree?" (Vertiorizon).
//!
//! * [`mixes`] - figure 7: throughput, its slowest window and space under mixes of operations.
//! * [`experiments`] - the same when one thing is changed.
//! * [`rocksdb`] - the same with RocksDB's level 1, and with slower merges.
//! * [`memory`] - figure 8 and table 3: larger filters and caches.
//! * [`large`] - figure 9: a larger store.
//! * [`held`] - figure 9 again: costs with the larger memory, and writes that hold reads up.
//! * [`trade_off`] - figure 10 a: reading against writing over many settings.
//! * [`backbone`] - figure 10 b-e: Vertiorizon within lazy leveling.
//! * [`closed_forms`] - writes and runs of designs, beside their closed forms.
//! * [`parts`] - writes of Vertiorizon's two parts, beside theirs.
//! * [`designs`] - what is compared; `setting` has the store and the machine, `ranks` the ranking.
//!
//! The paper's store has buffers of 2 MB and entries of 1 KB; the number of buffers here, and the size of
//! files and windows in buffers, are the paper's where they are known (`scaled.rs`).

pub mod backbone;
pub mod closed_forms;
pub mod designs;
pub mod experiments;
pub mod held;
pub mod large;
pub mod memory;
pub mod mixes;
pub mod parts;
mod ranks;
pub mod rocksdb;
mod setting;
pub mod trade_off;

pub use setting::{BLOCKS, READ, RUNS, SPACE, STALLED, THROUGHPUT, UPDATE, WORST, WRITES};

use crate::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    folder: "vertiorizon",
    title: "How to Grow an LSM-tree? (Vertiorizon)",
    figures: &[
        ("figure-7", mixes::figure),
        ("figure-7-changed", experiments::figure),
        ("rocksdb", rocksdb::figure),
        ("figure-8", memory::figure),
        ("figure-9", large::figure),
        ("figure-9-held", held::figure),
        ("figure-10a", trade_off::figure),
        ("figure-10b", backbone::figure),
        ("closed-forms", closed_forms::figure),
        ("closed-form-parts", parts::figure),
    ],
    left_out: &[(
        "Section 5.2 and 5.3, tuning and skew",
        "no figure shows them alone. Tests of the policy compare what it chooses with an exhaustive search.",
    )],
};

//! Dayan, Weiss, Dashevsky, Pan, Bortnikov, Twitto: "Spooky: Granulating LSM-Tree Compactions
//! Correctly", PVLDB 15(11), 2022.
//!
//! * [`growth`] - figure 6 and figure 14 D: write and space amplification as the data or T grows.
//! * [`shapes`] - figure 14 A-C: lazy leveling and tiering.
//! * [`skew`] - figures 13 G and 11 A: skewed updates.
//! * [`flash`] - figures 13 A-D and G-H, 15 and 1: with garbage collection of flash.
//! * [`files`] - equation 12 and figure 14 D: the number of files, and the choice of X.
//! * [`model`] - figure 9: the models of a store of a terabyte.
//! * [`reads`] - figures 13 E and F: reads beside the updates.
//! * [`speed`] - figure 13 E: the throughput of updates, and what bounds it.
//! * [`experiments`] - what changes when one thing is changed: discard, workers, where merges write.
//!
//! The paper's store has buffers of 64 MB and entries of 528 bytes; the number of buffers here, and the
//! size of files, erase units and requests in buffers, are the paper's (`scaled.rs`).

mod drive;
pub mod equations;
pub mod experiments;
pub mod files;
pub mod flash;
pub mod growth;
pub mod model;
pub mod reads;
pub mod shapes;
pub mod skew;
pub mod speed;

use crate::Paper;
use crate::scaled::{Scaled, UNBOUNDED};
use terrane_policy::{PolicyOptions, Spooky};

/// The paper.
pub const PAPER: Paper = Paper {
    folder: "spooky",
    title: "Spooky (PVLDB 15(11), 2022)",
    figures: &[
        ("figure-6a", growth::over_data),
        ("figure-6b", growth::over_ratio),
        ("figure-9", model::figure),
        ("equation-12", files::by_level),
        ("figure-14", shapes::figure),
        ("figure-14d", files::on_device),
        ("figure-13g", skew::figure),
        ("figure-13", flash::over_time),
        ("figure-13e", speed::figure),
        ("figure-13f", reads::figure),
        ("figure-13h", flash::under_skew),
        ("figure-15", flash::file_sizes),
        ("figure-13c", experiments::discard),
        ("figure-1", flash::over_utilisation),
        ("figure-1-levels", experiments::by_level),
    ],
    left_out: &[
        (
            "Figure 14 C, point reads and seeks",
            "the reads of figure 13 E, of lazy-leveled and tiered stores. (The paper's text cites 14 C as 15 C.)",
        ),
        (
            "Figure 13 F, the 99.9th percentile of updates",
            "an operation here stands for thousands of the paper's, and a stall for one among them. The \
             slowest window of figure 13 E stands in for it. Reads have theirs.",
        ),
    ],
};

/// The paper's store, with buffers of this many entries.
fn store(buffer_entries: u64) -> Scaled {
    Scaled {
        buffer_entries,
        key_bytes: 16,
        value_bytes: 512,
        paper_buffer: 64 << 20,
        filter_bits_per_key: 10.0,
        paper_cache: 8 << 20,
        machine: "spooky",
    }
}

impl Scaled {
    /// Spooky with X this many levels above L, and the G largest levels leveled; as in the paper, a
    /// file that reaches an empty level alone is rewritten.
    fn spooky(self, size_ratio: u64, levels_below: u64, leveled_levels: u64) -> PolicyOptions {
        PolicyOptions::Spooky(Spooky {
            size_ratio,
            level_base_bytes: self.base(),
            target_file_bytes: UNBOUNDED,
            l0_compaction_trigger: 1,
            levels_below,
            leveled_levels,
            trivial_moves: false,
            filters: terrane_policy::Filters::Uniform,
        })
    }

    /// Spooky with X = L-2 and the policy's default: a file that overlaps nothing is moved.
    fn spooky_that_moves(self, size_ratio: u64) -> PolicyOptions {
        match self.spooky(size_ratio, 2, 64) {
            PolicyOptions::Spooky(spooky) => {
                PolicyOptions::Spooky(Spooky { trivial_moves: true, ..spooky })
            }
            other => other,
        }
    }
}

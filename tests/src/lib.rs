//! What the crash, damage and model tests share.
//!
//! * [`rig`] - the four kinds of storage, each over a medium that can fail.
//! * [`workload`] - seeded lists of steps: batches, flushes, syncs, reopens.
//! * [`history`] - what was promised at any moment, and whether a store keeps it.
//! * [`image`] - the bytes of a store at rest, and which of them matter.
//! * [`crash`] - runs a workload until power is cut, and looks at what is left.

pub mod crash;
pub mod history;
pub mod image;
pub mod random;
pub mod rig;
pub mod workload;

/// Whether the exhaustive and long runs are wanted (`cargo xtask test --full`).
#[must_use]
pub fn full() -> bool {
    std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0")
}

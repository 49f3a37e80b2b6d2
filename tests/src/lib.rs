//! What the crash, damage and model tests share.
//!
//! * [`rig`] - the four kinds of storage, each over a medium that can fail.
//! * [`workload`] - seeded lists of steps: batches, flushes, syncs, reopens.
//! * [`history`] - what was promised at any moment, and whether a store keeps it.
//! * [`image`] - the bytes of a store at rest, and which of them matter.
//! * [`fuzz`] - every decoder of stored bytes as a target for any bytes, with [`seeds`] that decode
//!   and [`mend`], which makes checksums right over damage; [`engines`] opens a store on it.
//! * [`metered`] - a medium that counts what is read, written and kept.
//! * [`crash`] - runs a workload until power is cut, and looks at what is left.

pub mod crash;
pub mod engines;
pub mod fuzz;
pub mod history;
pub mod image;
pub mod mend;
pub mod metered;
pub mod random;
pub mod rig;
pub mod seeds;
pub mod workload;

/// Whether the exhaustive and long runs are wanted (`cargo xtask test --full`).
#[must_use]
pub fn full() -> bool {
    std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0")
}

//! What the crash, damage and model tests share.
//!
//! * [`fixtures`] - the four kinds of storage, each over a file system that can fail.
//! * [`workload`] - seeded lists of steps: batches, flushes, syncs, reopens.
//! * [`history`] - what was promised at any moment, and whether a store keeps it.
//! * [`image`] - the bytes of a store at rest, and which of them matter.
//! * [`fuzz`] - every decoder of stored bytes as a target for any bytes, with [`seeds`] that decode
//!   and [`checksum_fix`], which makes checksums right over damage; [`engines`] opens a store on it.
//! * [`counting_vfs`] - a file system that counts what is read, written and kept.
//! * [`crash`] - runs a workload until power is cut, and looks at what is left.

pub mod checksum_fix;
pub mod counting_vfs;
pub mod crash;
pub mod engines;
pub mod fixtures;
pub mod fuzz;
pub mod history;
pub mod image;
pub mod random;
pub mod seeds;
pub mod workload;

/// Whether the exhaustive and long runs are wanted (`cargo xtask test --full`).
#[must_use]
pub fn full() -> bool {
    std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0")
}

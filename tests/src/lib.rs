//! The harness of the crash, damage and model tests.
//!
//! * [`fixtures`] - the kinds of storage, each over a file system that can fail.
//! * [`workload`] - seeded lists of steps: batches, flushes, syncs, reopens.
//! * [`history`] - what a store promised at any moment, and whether it kept it.
//! * [`histories`] - everything that can happen to a store, in random histories.
//! * [`image`] - the bytes of a closed store, and which of them matter.
//! * [`fuzz`] - every decoder of stored bytes as a target for arbitrary bytes, with [`seeds`] that decode
//!   and [`checksum_fix`], which corrects checksums over damage; [`engines`] opens a store on the result.
//! * [`counting_vfs`] - a file system that counts the bytes read, written and kept.
//! * [`resources`] - what this process has of the system.
//! * [`follower`] - a subscriber of the change feed, which compares it with what was written.
//! * [`crash`] - runs a workload until power is cut, and checks what is left.

pub mod checksum_fix;
pub mod counting_vfs;
pub mod crash;
pub mod engines;
pub mod fixtures;
pub mod follower;
pub mod fuzz;
pub mod histories;
pub mod history;
pub mod image;
#[cfg(target_os = "linux")]
pub mod resources;
pub mod seeds;
pub mod workload;

/// Whether to run the exhaustive and long tests (`cargo xtask test --full`).
#[must_use]
pub fn full() -> bool {
    std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0")
}

/// Returns a temporary directory in memory, where logs are mapped, or an ordinary one if there is no such file system.
///
/// # Panics
/// Where no directory can be made.
#[must_use]
pub fn directory_in_memory() -> tempfile::TempDir {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    dir.expect("a place for temporary files")
}

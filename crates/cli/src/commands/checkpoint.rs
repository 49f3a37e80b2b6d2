//! `checkpoint`: copies a store into a new directory.

use crate::copy::{self, Kind};
use crate::exit::Failure;
use clap::Args;
use std::path::PathBuf;

/// Copy a store into a new directory
///
/// Tables are hard links where the file system has them. Every table and log record is verified.
/// The copy is written to TARGET.unfinished, or another unused name, and renamed when it is complete. An
/// interrupted command removes it; a killed one leaves it.
#[derive(Args)]
pub struct CheckpointArgs {
    /// Copy the store in this directory or single file
    pub dir: PathBuf,
    /// Create this directory for the copy; it must not exist
    pub target: PathBuf,
}

/// Writes the copy.
pub fn run(args: &CheckpointArgs) -> Result<(), Failure> {
    copy::copy(&args.dir, &args.target, Kind::Directory)
}

//! `export`: writes a store into a single file.

use crate::copy::{self, Kind};
use crate::exit::Failure;
use clap::Args;
use std::path::PathBuf;

/// Write a store into a new single-file store
///
/// Every command that takes a store's directory also takes such a file. Every table and log record is
/// verified. The file is written as FILE.unfinished, or another unused name, and renamed when it is complete. An
/// interrupted command removes it; a killed one leaves it.
#[derive(Args)]
pub struct ExportArgs {
    /// Copy the store in this directory or single file
    pub dir: PathBuf,
    /// Create this file for the copy; it must not exist
    pub file: PathBuf,
}

/// Writes the file.
pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    copy::copy(&args.dir, &args.file, Kind::File)
}

//! `import`: writes a single-file store into a directory.

use crate::copy::{self, Kind};
use crate::exit::{Exit, Failure};
use clap::Args;
use std::path::PathBuf;

/// Write a single-file store into a new directory
#[derive(Args)]
pub struct ImportArgs {
    /// Copy the store in this file
    pub file: PathBuf,
    /// Create this directory for the copy; it must not exist
    pub dir: PathBuf,
}

/// Writes the directory.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    if args.file.is_dir() {
        let place = args.file.display();
        let sentence = format!("expected a single-file store, found the directory {place}");
        return Err(Failure::new(Exit::NoStore, sentence));
    }
    copy::copy(&args.file, &args.dir, Kind::Directory)
}

//! Commands about whole stores.

use crate::exit::TABLE;
use clap::Args;
use std::path::PathBuf;

/// Copy a store as it is now into a new directory; tables are linked where the file system can
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct CheckpointArgs {
    /// The store: a directory, or the file of a volume
    pub dir: PathBuf,
    /// The new directory; there may be nothing yet
    pub target: PathBuf,
}

/// Write a store into a single file, a volume
///
/// Every command that takes a store's directory takes such a file, too. It is written as
/// FILE.tmp and renamed when it is whole and on the medium.
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct ExportArgs {
    /// The store: a directory, or the file of a volume
    pub dir: PathBuf,
    /// The new file; there may be nothing yet
    pub file: PathBuf,
}

/// Put the store that lies in a single file, a volume, into a new directory
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct ImportArgs {
    /// The file
    pub file: PathBuf,
    /// The new directory; there may be nothing yet
    pub dir: PathBuf,
}

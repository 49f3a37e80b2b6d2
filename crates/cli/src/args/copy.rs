//! Commands about whole stores.

use crate::exit::TABLE;
use clap::Args;
use std::path::PathBuf;

/// Copy a store as it is now into a new directory; tables are linked where the file system can
///
/// Every table and log record is verified first. The copy is written as TARGET.unfinished and
/// renamed when it is whole; one that was killed is replaced by the next.
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
/// Every command that takes a store's directory takes such a file, too. Every table and log record
/// is verified first. The copy is written as FILE.unfinished and renamed when it is whole; one that
/// was killed is replaced by the next.
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

/// Put what a damaged store still holds into a new one
///
/// The damaged store is only read. The report lists its files, what was read of each, and what could
/// not be: blocks with their keys, and parts of logs. Ends with 0 where nothing was lost, and with 6
/// where something was or may have been; the new store holds the rest.
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct RepairArgs {
    /// The damaged store: a directory, or the file of a volume
    pub dir: PathBuf,
    /// The directory of the new store; there may be nothing yet
    pub target: PathBuf,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// List what a crash cut short, as far as it can still be read, or remove it
///
/// Writes that nothing says were on the medium, and that are not whole or follow one that is not, are
/// no part of the store: opening it sets them aside. A line has the sequence of the write, put or
/// delete, the keyspace, the key and the value, with tabs between them, escaped as `scan` does it.
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct SetAsideArgs {
    /// The store: a directory, or the file of a volume
    pub dir: PathBuf,
    /// Remove all of it, instead
    #[arg(long)]
    pub drop: bool,
}

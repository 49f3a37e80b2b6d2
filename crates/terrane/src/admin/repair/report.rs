//! The report of a repair: the files that it read, and what is lost or in doubt.

use super::doubt::DoubtfulRange;
use crate::table::LostBlock;

/// Outcome of one file of the damaged store.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct SalvagedFile {
    /// Name of the file.
    pub file: String,
    /// The keyspace of a table.
    pub keyspace: Option<String>,
    /// Entries read from it, all versions and deletes counted.
    pub entries: u64,
    /// Blocks of a table that could not be read.
    pub lost_blocks: Vec<LostBlock>,
    /// Other losses, a sentence each.
    pub lost: Vec<String>,
}

/// Report of a repair: contents that it read, and losses.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Salvaged {
    /// Files of the damaged store.
    pub files: Vec<SalvagedFile>,
    /// Rows in the new store, by keyspace.
    pub rows: Vec<(String, u64)>,
    /// Key ranges whose rows may be outdated, deleted or missing, each with its reason. Ranges of different
    /// files may overlap.
    pub doubtful: Vec<DoubtfulRange>,
    /// Doubtful rows in the new store, each counted once.
    pub doubtful_rows: u64,
    /// Sequence number of the last write that was found, if the manifest is whole. Outside of the
    /// doubtful ranges all rows are as they were after it.
    pub last_write: Option<u64>,
    /// Remarks for the owner, a sentence each.
    pub notes: Vec<String>,
    /// Whether nothing was lost, as far as the manifest can tell, and no row is doubtful.
    pub complete: bool,
}

//! The history of other engines' LSM trees, as a recording.
//!
//! RocksDB, Pebble and LevelDB log every change of their trees in a file, the MANIFEST. Its records become the events
//! of a trace, which the visualizer plays and `terrane advise` takes sizes from.
//!
//! * `checksum` - CRC32C as these engines store it.
//! * `log` - the records of a MANIFEST.
//! * `edit` - a record: tables that were added and removed.
//! * `manifest` - all edits of a file, and the column families in it.
//! * `history` - the edits of a column family as events.
//! * `options` - the policy by an OPTIONS file.
//! * `fuzz` - a fuzz target.

mod checksum;
mod edit;
mod fuzz;
mod history;
mod log;
mod manifest;
mod options;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use fuzz::fuzz;
pub use history::{History, Line, Run, Shape};
pub use manifest::{Engine, Family, Manifest, is_manifest};
pub use options::policy;

/// The reason why bytes are not a MANIFEST, or where a MANIFEST stops being readable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Bytes that are no chunk of a record.
    #[error("at byte {at}: expected {expected}, found {found}")]
    Chunk {
        /// Offset in the file.
        at: usize,
        /// Expected part of the format.
        expected: &'static str,
        /// Bytes that stand there instead.
        found: &'static str,
    },
    /// A record that is no edit.
    #[error("record {record}: expected {expected}, found {found}")]
    Edit {
        /// Number of the record, from 1.
        record: usize,
        /// Expected part of the format.
        expected: &'static str,
        /// Content in its place.
        found: String,
    },
}

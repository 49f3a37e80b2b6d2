//! Storage: the files of a store and its manifest.
//!
//! There are two layers:
//!
//! 1. A [`Vfs`](vfs::Vfs) is a flat set of named raw files: native files, files in memory, or either
//!    behind a fault-injecting wrapper. OPFS provides [`File`]s directly.
//! 2. A [`Storage`] is what the engine sees: numbered files (tables and logs) and one *manifest* of
//!    edits. A [`Directory`] has a raw file for each; a [`Volume`] has many logical files inside a few
//!    large backing files.
//!
//! ```
//! # fn main() -> terrane::Result<()> {
//! use std::sync::Arc;
//! use terrane::executor::{ThreadExecutor, workers};
//! use terrane::storage::vfs::{MemoryVfs, Vfs};
//! use terrane::storage::{StoreId, Volume, volume::VolumeOptions};
//! use terrane::{Db, Options};
//!
//! // Anything that implements `File` will do.
//! let backing = MemoryVfs::new().create("store")?;
//! let options = VolumeOptions { new_id: StoreId::random()?, ..VolumeOptions::default() };
//! let volume = Arc::new(Volume::open(vec![backing], options)?);
//! let executor = Arc::new(ThreadExecutor::new(workers()));
//! let db = Db::open_storage(volume, Options::default(), executor)?;
//! # Ok(())
//! # }
//! ```
//!
//! Only the manifest names files. A commit appends one record with the engine's edit and, in a volume,
//! the extents of the files it adds, so that there is one manifest, not two.

mod commit_state;
pub mod directory;
mod extent;
mod format;
mod manifest;
mod path;
mod record;
pub mod salvage;
pub mod vfs;
pub mod volume;

#[cfg(test)]
mod tests;

/// The decoders of stored bytes, for fuzz targets.
#[cfg(feature = "testing")]
pub mod fuzz {
    pub use super::directory::decode_current;
    pub use super::extent::Extent;
    pub use super::manifest::{ManifestId, Scan, scan};
    pub use super::record::{Placement, Record, decode as decode_record};
    pub use super::volume::superblock::{Slot, Superblock, decode as decode_superblock};
}

pub use directory::Directory;
pub(crate) use format::{KNOWN_REQUIRED, is_left_out};
pub(crate) use path::{hold, hold_file};
#[doc(inline)]
pub use terrane_platform::StoreId;
pub use terrane_table::file::{File, MappedFile, read_exact_at, write_all_at};
pub use volume::Volume;

use crate::entry::Seq;
use crate::error::{Corruption, Result};
use crate::sync::lock;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Identifies a file of the store. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct FileId {
    /// Content of the file.
    pub kind: FileKind,
    /// Its number.
    pub number: u64,
}

/// Content of a numbered file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A write-ahead log.
    Log,
    /// A table (SST).
    Table,
}

impl FileId {
    /// The table file with this number.
    #[must_use]
    pub fn table(number: u64) -> Self {
        FileId { kind: FileKind::Table, number }
    }

    /// The log file with this number.
    #[must_use]
    pub fn log(number: u64) -> Self {
        FileId { kind: FileKind::Log, number }
    }
}

impl FileId {
    /// Parses a file name as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (number, kind) = match name.strip_suffix(".log") {
            Some(number) => (number, FileKind::Log),
            None => (name.strip_suffix(".sst")?, FileKind::Table),
        };
        let id = FileId { kind, number: number.parse().ok()? };
        (id.to_string() == name).then_some(id)
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FileKind::Log => write!(f, "{:08}.log", self.number),
            FileKind::Table => write!(f, "{:08}.sst", self.number),
        }
    }
}

/// One commit of the engine to the manifest.
pub struct Commit<'a> {
    /// The engine's edit, opaque to the storage.
    pub edit: &'a [u8],
    /// Files that this edit names for the first time. Their data is already synced.
    pub added: &'a [FileId],
    /// Files that this edit drops. Each stays readable until [`Storage::remove`].
    pub dropped: &'a [FileId],
    /// Returns the engine's whole state after this edit. Called if the storage starts a new manifest
    /// instead of appending.
    pub snapshot: &'a dyn Fn() -> Vec<u8>,
}

/// State in the manifest when the storage was opened.
#[derive(Debug, Default)]
pub struct Recovered {
    /// A snapshot, then the edits after it, in order.
    pub edits: Vec<Vec<u8>>,
    /// Damage that was repaired from second copies.
    pub repaired: Vec<Corruption>,
    /// Bytes of a torn last commit.
    pub discarded_bytes: u64,
    /// Batches through this sequence number were durable when the store was last closed; 0 if that is not
    /// known.
    pub synced: Seq,
}

/// A file named like one of the store's that no commit names.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Orphan {
    /// Its name.
    pub file: String,
    /// Whether opening the store keeps it, since a lost commit may have named it. Others are removed.
    pub kept: bool,
}

/// Space of a storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Space {
    /// Bytes that all files take on disk, including obsolete files and preallocated logs.
    pub taken: u64,
    /// Bytes that are needed: live tables, the manifest and the records of live logs, which the engine
    /// adds.
    pub live: u64,
}

/// Numbered files and one manifest of edits: the engine's only view of persistent storage.
///
/// **Requirements.** A commit is durable when `commit` returns. A dropped file keeps its bytes until
/// the edit that dropped it is durable *and* `remove` was called. Files that no commit named are gone
/// after [`Storage::resume`], except those that [`Storage::orphans`] reports as kept.
pub trait Storage: Send + Sync {
    /// Returns the place of the store, for messages.
    fn name(&self) -> String;
    /// Whether the storage is read-only: every change is refused, and nothing is repaired or cleaned
    /// up.
    fn read_only(&self) -> bool {
        false
    }
    /// The id of the store that [`Storage::recover`] found, or else of the one to be created here.
    fn id(&self) -> StoreId;
    /// Returns the number of commits that the manifest knows of.
    fn commits(&self) -> u64;
    /// Reads the manifest without changing anything; `None` if there is no store here yet. Called
    /// once, before anything else.
    fn recover(&self) -> Result<Option<Recovered>>;
    /// Prepares the recovered store for use: makes durable what was read, and removes files that no
    /// commit named.
    fn resume(&self) -> Result<()>;
    /// Files that no commit named: those that [`Storage::recover`] found and [`Storage::resume`] did
    /// not remove.
    fn orphans(&self) -> Result<Vec<Orphan>> {
        Ok(Vec::new())
    }
    /// Makes the count of commits durable, and the claim that batches through `synced` are; then releases the
    /// files. Called when the store is closed. A read-only storage changes nothing.
    fn close(&self, synced: Seq);
    /// Creates a file of `capacity` bytes. A log is preallocated; a table may grow past its capacity
    /// until a commit names it.
    fn create(&self, id: FileId, capacity: u64) -> Result<Arc<dyn File>>;
    /// Adds the immutable file `id` of another storage to this one without copying it; returns false if
    /// that is not possible.
    fn link(&self, _id: FileId, _from: &dyn Storage) -> Result<bool> {
        Ok(false)
    }
    /// The path of the native file that holds exactly this file, if there is one.
    fn path_of(&self, _id: FileId) -> Option<PathBuf> {
        None
    }
    /// Opens a file that a commit named.
    fn open(&self, id: FileId) -> Result<Arc<dyn File>>;
    /// Appends one record to the manifest, durably.
    fn commit(&self, commit: &Commit<'_>) -> Result<()>;
    /// Makes room in the manifest for a commit that adds no file: if it is the next one, it then needs no space. Its
    /// snapshot is the engine's state before it.
    ///
    /// # Errors
    /// Those of a commit, which it makes if the manifest is full.
    fn reserve(&self, _next: &Commit<'_>) -> Result<()> {
        Ok(())
    }
    /// Whether a commit that failed may have taken effect, or may take effect after a crash. If that is
    /// impossible the store continues as if the commit had not been tried.
    fn in_doubt(&self) -> bool {
        true
    }
    /// Frees a file that a commit dropped or that none ever named. A missing file is not an error.
    fn remove(&self, id: FileId) -> Result<()>;
    /// All files, named by a commit or not.
    fn files(&self) -> Result<Vec<FileId>>;
    /// Space taken and needed. The engine adds the records of logs to what is needed.
    fn space(&self) -> Result<Space>;
    /// Bytes written to the manifest since the storage was opened.
    fn manifest_bytes(&self) -> u64 {
        0
    }
    /// Does a bounded amount of vacuuming (a volume moves extents down and truncates its files);
    /// returns whether more is left.
    fn vacuum(&self) -> Result<bool> {
        Ok(false)
    }
    /// Checks the names and lengths of the files that commits named; returns all damage found. Opens
    /// no file.
    fn check_files(&self) -> Result<Vec<Corruption>> {
        Ok(Vec::new())
    }
    /// Verifies the storage's own structures (manifest, superblocks, extents); returns all damage
    /// found.
    fn check(&self) -> Result<Vec<Corruption>>;
}

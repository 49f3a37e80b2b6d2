//! Where the store's bytes lie.
//!
//! Two layers:
//!
//! 1. A [`Vfs`](vfs::Vfs) is a flat set of named raw files: native files, memory, or any of
//!    them behind the fault wrapper. OPFS gives ready [`File`]s.
//! 2. A [`Storage`] is what the engine sees: numbered files (tables and logs) and one *manifest* of
//!    edits. Kinds: [`Directory`], a raw file each; and
//!    [`Volume`], many logical files inside a few large backing files.
//!
//! ```
//! # fn main() -> terrane::Result<()> {
//! use std::sync::Arc;
//! use terrane::executor::{ThreadExecutor, workers};
//! use terrane::storage::vfs::{MemoryVfs, Vfs};
//! use terrane::storage::{StoreId, Volume, volume::VolumeOptions};
//! use terrane::{Db, Options};
//!
//! // Whatever implements `File` will do.
//! let backing = MemoryVfs::new().create("store")?;
//! let options = VolumeOptions { new_id: StoreId::random()?, ..VolumeOptions::default() };
//! let volume = Arc::new(Volume::open(vec![backing], options)?);
//! let executor = Arc::new(ThreadExecutor::new(workers()));
//! let db = Db::open_storage(volume, Options::default(), executor)?;
//! # Ok(())
//! # }
//! ```
//!
//! The manifest is the only place that names files. A commit appends one record, carrying the
//! engine's edit and, in a volume, the extents of the files it adds: one manifest, not two.

pub mod directory;
mod extent;
mod format;
mod id;
mod manifest;
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
pub(crate) use format::KNOWN_REQUIRED;
pub use id::StoreId;
pub use terrane_table::file::{File, read_exact_at, write_all_at};
pub use volume::Volume;

use crate::error::{Corruption, Result};
use crate::sync::lock;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Names a file of the store; numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct FileId {
    /// What the file holds.
    pub kind: FileKind,
    /// Its number.
    pub number: u64,
}

/// What a numbered file holds.
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
    /// The file whose name this is, as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (number, kind) = name.split_once('.')?;
        let kind = match kind {
            "log" => FileKind::Log,
            "sst" => FileKind::Table,
            _ => return None,
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

/// One record of the manifest, as the engine gives it.
pub struct Commit<'a> {
    /// The engine's edit, opaque to the storage.
    pub edit: &'a [u8],
    /// Files that this edit names for the first time. Their data was synced before.
    pub added: &'a [FileId],
    /// Files that this edit drops. Each stays readable until [`Storage::remove`].
    pub dropped: &'a [FileId],
    /// The engine's whole state after this edit, asked for when the storage chooses to begin its
    /// manifest again instead of appending.
    pub snapshot: &'a dyn Fn() -> Vec<u8>,
}

/// What the manifest held when the storage was opened.
#[derive(Debug, Default)]
pub struct Recovered {
    /// A snapshot, then the edits after it, in order.
    pub edits: Vec<Vec<u8>>,
    /// Damage that the manifest's second copies made good.
    pub repaired: Vec<Corruption>,
    /// Bytes of a last commit that never ended.
    pub discarded_bytes: u64,
}

/// A file with a name of the store's that no commit names.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Orphan {
    /// Its name.
    pub file: String,
    /// Opening leaves it, as a commit that was lost may have named it; the others it removes.
    pub kept: bool,
}

/// How much room a storage takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Space {
    /// Bytes taken on the file system, by all files: obsolete ones, and logs that wait to be written, too.
    pub taken: u64,
    /// Bytes that are needed: those of live tables, of the manifest and, which the engine adds, of
    /// the records of live logs.
    pub live: u64,
}

/// Numbered files and one manifest of edits: all that the engine knows of the world.
///
/// **Rules a storage keeps.** A commit is durable when `commit` returns. A file that is
/// dropped keeps its bytes until the edit that dropped it is durable *and* `remove` was
/// called. Files that no commit named are gone after [`Storage::resume`], but for those that are told
/// by [`Storage::orphans`] as kept.
pub trait Storage: Send + Sync {
    /// The place, for messages.
    fn name(&self) -> String;
    /// Whether every change is refused, and nothing that was found is repaired or cleared up.
    fn read_only(&self) -> bool {
        false
    }
    /// The id of the store: that of the one that [`Storage::recover`] found, or else of the one that
    /// is created here.
    fn id(&self) -> StoreId;
    /// How many commits the store has made, as far as is known here.
    fn commits(&self) -> u64;
    /// Reads the manifest, and changes nothing; `None` if there is no store here yet. Called once,
    /// before anything else.
    fn recover(&self) -> Result<Option<Recovered>>;
    /// Takes up the store that was recovered, before anything is built on it: makes durable what was
    /// read, and removes files that no commit named.
    fn resume(&self) -> Result<()>;
    /// Files that no commit named, as [`Storage::recover`] found them and [`Storage::resume`] left
    /// them.
    fn orphans(&self) -> Result<Vec<Orphan>> {
        Ok(Vec::new())
    }
    /// Makes durable what is known of the commits, when no more come for now.
    fn close(&self);
    /// Creates a file of `capacity` bytes: a log is preallocated to it, a table may grow past it
    /// until a commit names it.
    fn create(&self, id: FileId, capacity: u64) -> Result<Arc<dyn File>>;
    /// Makes the immutable file `id` of another storage one of this, without copying it; returns
    /// whether that can be done.
    fn link(&self, _id: FileId, _from: &dyn Storage) -> Result<bool> {
        Ok(false)
    }
    /// The file of a file system that holds just this one, if there is one.
    fn path_of(&self, _id: FileId) -> Option<PathBuf> {
        None
    }
    /// Opens a file that a commit named.
    fn open(&self, id: FileId) -> Result<Arc<dyn File>>;
    /// Appends one record to the manifest, durably.
    fn commit(&self, commit: &Commit<'_>) -> Result<()>;
    /// Gives a file's room back: one that a commit dropped, or that none ever named. One that is
    /// not there is done.
    fn remove(&self, id: FileId) -> Result<()>;
    /// Every file present, named by a commit or not.
    fn files(&self) -> Result<Vec<FileId>>;
    /// Room taken and needed; the records of logs, which the engine knows, are not part of what is
    /// needed.
    fn space(&self) -> Result<Space>;
    /// Bytes written to the manifest since the storage was opened.
    fn manifest_bytes(&self) -> u64 {
        0
    }
    /// Does a bounded piece of housekeeping (a volume moves extents down and cuts its end off);
    /// returns whether more is left.
    fn vacuum(&self) -> Result<bool> {
        Ok(false)
    }
    /// What is wrong with the files that commits named, as far as names and lengths tell. It is
    /// quick: no file is opened.
    fn check_files(&self) -> Result<Vec<Corruption>> {
        Ok(Vec::new())
    }
    /// Verifies the storage's own structures on the file system (manifest, superblocks, extent map);
    /// returns every damage found.
    fn check(&self) -> Result<Vec<Corruption>>;
}

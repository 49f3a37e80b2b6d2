//! Raw files under names: the interface, and directories of the operating system.

mod allocate;
mod descriptor_table;
mod lock;
mod locked_file;
#[cfg(target_os = "linux")]
mod mapped_file;
mod native;
mod native_file;
#[cfg(target_os = "linux")]
mod read_mapping;
mod repeat;
mod system;

pub use lock::StoreLock;
pub use locked_file::{open_locked, open_shared};
pub use native::NativeVfs;

use crate::StoreId;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terrane_table::error::Result;
use terrane_table::file::File;

/// The lock file, which names the process that holds a directory.
pub const LOCK: &str = "LOCK";

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its length, in bytes.
    pub len: u64,
    /// The disk space that it takes, in bytes: [`File::allocated`].
    pub taken: u64,
}

/// A flat set of named raw files, such as a directory.
pub trait Vfs: Send + Sync {
    /// Returns the place of the files, for messages.
    fn place(&self) -> String;
    /// Draws the id of a new store: at random, or in tests deterministically.
    fn draw_id(&self) -> Result<StoreId>;
    /// Creates an empty file, replacing an existing one.
    fn create(&self, name: &str) -> Result<Arc<dyn File>>;
    /// The path of a file, if it is a native file.
    fn path_of(&self, _name: &str) -> Option<PathBuf> {
        None
    }
    /// Hard-links a native file here; returns false if that is not possible.
    fn link(&self, _from: &Path, _name: &str) -> Result<bool> {
        Ok(false)
    }
    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> Result<Arc<dyn File>>;
    /// Removes a file. The removal is durable after [`Vfs::sync_names`].
    fn remove(&self, name: &str) -> Result<()>;
    /// Renames a file, replacing `to` atomically. Durable after [`Vfs::sync_names`].
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// The names of all files, sorted.
    fn list(&self) -> Result<Vec<String>>;
    /// All files with their sizes, sorted by name.
    fn sizes(&self) -> Result<Vec<Listed>> {
        let listed = |name: String| {
            let file = match self.open(&name) {
                // Removed meanwhile.
                Err(e) if e.io_kind() == Some(std::io::ErrorKind::NotFound) => return Ok(None),
                opened => opened?,
            };
            Ok(Some(Listed { len: file.len()?, taken: file.allocated()?, name }))
        };
        self.list()?.into_iter().filter_map(|name| listed(name).transpose()).collect()
    }
    /// Makes creations, removals and renames durable (a directory's fsync).
    fn sync_names(&self) -> Result<()>;
}

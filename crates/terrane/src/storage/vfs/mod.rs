//! A flat set of named raw files.

#[cfg(not(target_arch = "wasm32"))]
mod allocate;
#[cfg(not(target_arch = "wasm32"))]
mod descriptor_table;
#[cfg(any(test, feature = "testing"))]
pub mod fault;
#[cfg(not(target_arch = "wasm32"))]
mod lock;
mod memory;
#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(not(target_arch = "wasm32"))]
mod system;

#[cfg(any(test, feature = "testing"))]
pub use fault::FaultVfs;
#[cfg(not(target_arch = "wasm32"))]
pub use lock::StoreLock;
pub use memory::MemoryVfs;
#[cfg(not(target_arch = "wasm32"))]
pub use native::{NativeVfs, open_locked, open_shared};

use crate::error::Result;
use crate::storage::{File, StoreId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file that says who holds a directory.
pub(crate) const LOCK: &str = "LOCK";

/// A file of a file system, as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its length, in bytes.
    pub len: u64,
    /// Bytes that it takes, as [`File::allocated`] says.
    pub taken: u64,
}

/// A flat set of named raw files, such as one directory of a file system.
pub trait Vfs: Send + Sync {
    /// The place, for messages.
    fn place(&self) -> String;
    /// Draws the id of a new store: at random, or in a file system for tests always the same ones.
    fn draw_id(&self) -> Result<StoreId>;
    /// Creates an empty file; one of that name is replaced.
    fn create(&self, name: &str) -> Result<Arc<dyn File>>;
    /// Where a file lies in a file system, if it lies in one.
    fn path_of(&self, _name: &str) -> Option<PathBuf> {
        None
    }
    /// Gives a file of the same file system a name here, too; returns whether that can be done.
    fn link(&self, _from: &Path, _name: &str) -> Result<bool> {
        Ok(false)
    }
    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> Result<Arc<dyn File>>;
    /// Removes a file. The removal is durable after [`Vfs::sync_names`].
    fn remove(&self, name: &str) -> Result<()>;
    /// Renames a file, replacing `to` atomically. Durable after [`Vfs::sync_names`].
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// Every name present, sorted.
    fn list(&self) -> Result<Vec<String>>;
    /// Every file present with its size, sorted by name.
    fn sizes(&self) -> Result<Vec<Listed>> {
        let listed = |name: String| {
            let file = self.open(&name)?;
            Ok(Listed { len: file.len()?, taken: file.allocated()?, name })
        };
        self.list()?.into_iter().map(listed).collect()
    }
    /// Makes creations, removals and renames durable (a directory's fsync).
    fn sync_names(&self) -> Result<()>;
}

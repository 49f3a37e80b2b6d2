//! A flat set of named raw files.

use crate::error::Result;
use crate::storage::File;
use std::sync::Arc;

/// A flat set of named raw files, such as one directory of a file system.
pub trait Medium: Send + Sync {
    /// The place, for messages.
    fn place(&self) -> String;
    /// Creates an empty file; one of that name is replaced.
    fn create(&self, name: &str) -> Result<Arc<dyn File>>;
    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> Result<Arc<dyn File>>;
    /// Removes a file. The removal is on the medium after [`Medium::sync_names`].
    fn remove(&self, name: &str) -> Result<()>;
    /// Renames a file, replacing `to` atomically. On the medium after [`Medium::sync_names`].
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// Every name present, sorted.
    fn list(&self) -> Result<Vec<String>>;
    /// Puts creations, removals and renames on the medium (a directory's fsync).
    fn sync_names(&self) -> Result<()>;
}

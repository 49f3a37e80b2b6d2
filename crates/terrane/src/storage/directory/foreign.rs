//! Directories of other programs, some of whose files have the names of a store's.

use super::current::read;
use super::names::{CURRENT, manifest_generation};
use super::{Directory, decode_current};
use crate::error::{Error, Result};
use crate::storage::FileId;
use crate::storage::vfs::Vfs;

/// A folder that the root of a file system may have.
const LOST_AND_FOUND: &str = "lost+found";
/// The start of `CURRENT` in a directory of LevelDB or RocksDB.
const MANIFEST: &[u8] = b"MANIFEST-";

impl Directory {
    /// Whether a file of this name keeps a directory without a store from taking a new store.
    pub(crate) fn is_other_name(name: &str) -> bool {
        !Directory::is_name(name) && name != LOST_AND_FOUND
    }

    /// Refuses a directory that holds the store of another program, or another program's `CURRENT`. Changes
    /// nothing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoStore`], which names the program if it is known; I/O failures.
    pub(crate) fn refuse_foreign(vfs: &dyn Vfs) -> Result<()> {
        let names = vfs.list()?;
        let any = |test: fn(&str) -> bool| names.iter().any(|name| test(name));
        let named = any(|name| name == CURRENT);
        let manifests = any(|name| manifest_generation(name).is_some());
        if !named && !manifests {
            return Ok(());
        }
        // The opening reports what cannot be read.
        let current = if named { read(vfs, CURRENT).unwrap_or_default() } else { Vec::new() };
        let textual = current.starts_with(MANIFEST);
        let ours = decode_current(&current).is_some() || any(|name| FileId::parse(name).is_some());
        if ours && !textual {
            return Ok(());
        }
        let files = |program| format!("its files are those of a {program} database");
        let why = if any(|name| name.starts_with("OPTIONS-")) {
            files("RocksDB")
        } else if textual || any(|name| name.ends_with(".ldb")) {
            files("LevelDB")
        } else if !manifests && any(Directory::is_other_name) {
            "its file CURRENT is not one of a store".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::no_store(vfs.place(), why))
    }
}

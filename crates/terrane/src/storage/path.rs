//! The storage at a path of the file system, held for this process.

use crate::error::{Error, Result};
use crate::options::Options;
use crate::storage::vfs::{NativeVfs, StoreLock, Vfs};
use crate::storage::{Directory, Volume};
use std::path::Path;
use std::sync::Arc;

/// The message for a place where the creation of a store never ended.
const UNFINISHED: &str = "it is an unfinished copy, or a creation that was interrupted";

/// The message for a place with an unfinished restore from a backup.
const UNFINISHED_RESTORE: &str =
    "it is an unfinished restore; `terrane restore` into it starts anew";

/// Returns the storage in directory `path`, and the lock that keeps others out. A place without a
/// store stays untouched, without even a lock file, if no store may be created or something else is
/// there.
pub(crate) fn hold(path: &Path, options: &Options) -> Result<(Directory, StoreLock)> {
    let read_only = options.read_only;
    let create = options.create && !read_only;
    let vfs = if read_only { NativeVfs::read_only(path)? } else { NativeVfs::open(path, create)? };
    let vfs = vfs
        .open_at_most(options.max_open_files)
        .allow_mmap_writes(options.allow_mmap_writes)
        .allow_mmap_reads(options.allow_mmap_reads);
    let refuse = |why: String| Error::no_store(path.display().to_string(), why);
    Directory::refuse_foreign(&vfs)?;
    let refuse_restore = || {
        let is_there = vfs.list()?.iter().any(|name| name == Directory::RESTORING);
        if is_there { Err(refuse(UNFINISHED_RESTORE.to_owned())) } else { Ok(()) }
    };
    refuse_restore()?;
    if !create && Directory::is_unfinished(&vfs)? {
        return Err(refuse(UNFINISHED.to_owned()));
    }
    if !Directory::is_there(&vfs)? {
        let names = vfs.list()?;
        match names.iter().find(|name| Directory::is_other_name(name)) {
            Some(other) => return Err(refuse(format!("it has no file of one, but {other}"))),
            None if !create => return Err(refuse("it is empty".to_owned())),
            None => {}
        }
    }
    let lock = vfs.lock(&program())?;
    // A restore that held the lock may have been killed meanwhile.
    refuse_restore()?;
    let open = if read_only { Directory::read_only } else { Directory::open };
    Ok((open(Arc::new(vfs))?, lock))
}

/// The storage in the single file `path`, held for this process.
pub(crate) fn hold_file(path: &Path, create: bool, read_only: bool) -> Result<Volume> {
    let create = create && !read_only;
    let volume =
        if read_only { Volume::read_file(path)? } else { Volume::open_file(path, create)? };
    if !create && volume.is_unfinished()? {
        return Err(Error::no_store(path.display().to_string(), UNFINISHED));
    }
    Ok(volume)
}

/// The name by which this process holds a store.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_stem().map_or_else(|| "unknown".into(), |n| n.to_string_lossy().into_owned())
}

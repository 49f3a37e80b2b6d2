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
    Found::look(path, options)?.hold()
}

/// A directory that looked as if it may be opened before it was locked.
struct Found<'a> {
    path: &'a Path,
    vfs: NativeVfs,
    read_only: bool,
}

impl<'a> Found<'a> {
    fn look(path: &'a Path, options: &Options) -> Result<Self> {
        let read_only = options.read_only;
        let create = options.create && !read_only;
        let vfs =
            if read_only { NativeVfs::read_only(path)? } else { NativeVfs::open(path, create)? };
        let vfs = vfs
            .open_at_most(options.max_open_files)
            .allow_mmap_writes(options.allow_mmap_writes)
            .allow_mmap_reads(options.allow_mmap_reads);
        Directory::refuse_foreign(&vfs)?;
        let found = Found { path, vfs, read_only };
        found.refuse_restore()?;
        let Found { vfs, .. } = &found;
        if !create && Directory::is_unfinished(vfs)? {
            return Err(found.refusal(UNFINISHED.to_owned()));
        }
        if !Directory::is_there(vfs)? {
            let names = vfs.list()?;
            match names.iter().find(|name| Directory::is_other_name(name)) {
                Some(other) => {
                    return Err(found.refusal(format!("it has no file of one, but {other}")));
                }
                None if !create => return Err(found.refusal("it is empty".to_owned())),
                None => {}
            }
        }
        Ok(found)
    }

    fn hold(self) -> Result<(Directory, StoreLock)> {
        let lock = self.vfs.lock(&program())?;
        // A restore that held the lock may have been killed meanwhile.
        self.refuse_restore()?;
        let open = if self.read_only { Directory::read_only } else { Directory::open };
        Ok((open(Arc::new(self.vfs))?, lock))
    }

    fn refuse_restore(&self) -> Result<()> {
        let is_there = self.vfs.list()?.iter().any(|name| name == Directory::RESTORING);
        if is_there { Err(self.refusal(UNFINISHED_RESTORE.to_owned())) } else { Ok(()) }
    }

    fn refusal(&self, why: String) -> Error {
        Error::no_store(self.path.display().to_string(), why)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Db;
    use std::fs;

    #[test]
    fn a_restore_killed_before_the_lock_is_free_is_refused() {
        for (create, read_only) in [(true, false), (false, false), (false, true)] {
            let dir = tempfile::tempdir().unwrap();
            Db::open(dir.path(), Options::default()).unwrap().close().unwrap();
            let mut options = Options::default();
            (options.create, options.read_only) = (create, read_only);
            let found = Found::look(dir.path(), &options).unwrap();
            fs::write(dir.path().join(Directory::RESTORING), "").unwrap();
            let refused = found.hold().err().unwrap().to_string();
            assert!(refused.contains(UNFINISHED_RESTORE), "{refused}");
        }
    }
}

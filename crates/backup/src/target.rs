//! The directory of a restore.
//!
//! 1. A file `RESTORING` is created before any other file, and is removed once the store is complete. Meanwhile the
//!    directory cannot be opened. Another restore may use it.
//! 2. Whether the directory may be used is decided under its lock.
//! 3. Whatever ends a restore early, an error, a panic or a future that is dropped, its files are removed. Calls that
//!    write on other threads are waited for, and no further one starts.

use crate::base::blocking;
use crate::error::{Error, Result};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tempfile::TempDir;
use terrane::storage::Directory;
use terrane::storage::vfs::{LOCK, NativeVfs, StoreLock, Vfs};

/// A gate for calls that write files on other threads.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<RwLock<bool>>);

impl Gate {
    /// Runs a call that writes files, unless the gate is closed.
    pub async fn pass<T: Send + 'static>(&self, call: impl FnOnce() -> T + Send + 'static) -> T {
        let gate = self.0.clone();
        let called = blocking(move || {
            let is_closed = gate.read().unwrap_or_else(PoisonError::into_inner);
            (!*is_closed).then(call)
        });
        match called.await {
            Some(done) => done,
            // The restore was dropped.
            None => std::future::pending().await,
        }
    }

    /// Waits for the calls that run, and lets no further one start.
    fn close(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// A directory for a store. Unless the store is kept, its files are removed.
pub(crate) struct Target {
    dir: PathBuf,
    gate: Gate,
    is_new: bool,
    is_kept: bool,
    /// Lock that keeps other processes out.
    _lock: StoreLock,
}

/// A directory that looked free before it was locked.
struct Free {
    vfs: NativeVfs,
    is_new: bool,
}

impl Free {
    /// Looks at a directory, which is created if it does not exist.
    fn look(dir: &Path) -> Result<Self> {
        let failed = |e| Error::file(format!("create {}", dir.display()), &e);
        let is_new = !dir.try_exists().map_err(failed)?;
        if is_new {
            fs::create_dir_all(dir).map_err(failed)?;
        }
        // A directory in use stays untouched, without even a lock file.
        refuse_in_use(dir)?;
        Ok(Free { vfs: NativeVfs::open(dir, true)?, is_new })
    }
}

impl Target {
    /// Takes a directory that is empty, does not exist, or holds an unfinished restore.
    pub fn claim(dir: &Path, gate: &Gate) -> Result<Self> {
        Target::hold(Free::look(dir)?, dir, gate)
    }

    fn hold(free: Free, dir: &Path, gate: &Gate) -> Result<Self> {
        let Free { vfs, is_new } = free;
        let lock = vfs.lock("terrane restore")?;
        // The restore that held the lock may have finished its store meanwhile.
        refuse_in_use(dir)?;
        let target =
            Target { dir: dir.to_owned(), gate: gate.clone(), is_new, is_kept: false, _lock: lock };
        vfs.create(Directory::RESTORING)?;
        vfs.sync_names()?;
        let left = vfs.list()?;
        let is_left = |name: &&String| Directory::is_name(name) && !is_guard(name);
        left.iter().filter(is_left).try_for_each(|name| vfs.remove(name))?;
        Ok(target)
    }

    pub fn storage(&self) -> Result<Directory> {
        Ok(Directory::open(Arc::new(NativeVfs::open(&self.dir, true)?))?)
    }

    /// Moves the files of a closed store into the directory.
    pub fn take(&self, from: &Path) -> Result<()> {
        let moved = || {
            for entry in fs::read_dir(from)? {
                let entry = entry?;
                let name = entry.file_name();
                if name != LOCK {
                    move_file(&entry.path(), &self.dir.join(name))?;
                }
            }
            Ok(())
        };
        moved().map_err(|e: io::Error| Error::file(format!("move {}", from.display()), &e))
    }

    /// Keeps the written files, as a store.
    pub fn keep(mut self) -> Result<()> {
        let vfs = NativeVfs::open(&self.dir, true)?;
        vfs.sync_names()?;
        vfs.remove(Directory::RESTORING)?;
        vfs.sync_names()?;
        self.is_kept = true;
        Ok(())
    }
}

/// Refuses a directory with files, unless they are of an unfinished restore.
fn refuse_in_use(dir: &Path) -> Result<()> {
    let vfs = NativeVfs::read_only(dir)?;
    // A restore that was killed early leaves its lock.
    let is_empty = vfs.list()?.iter().all(|name| name == LOCK);
    if is_empty || Directory::is_unfinished(&vfs)? {
        return Ok(());
    }
    let expected = "an empty directory, or one that does not exist";
    let found = format!("{} with files in it", dir.display());
    Err(Error::invalid("place of a restore", expected, found))
}

/// Whether a file keeps others out of the directory.
fn is_guard(name: &str) -> bool {
    name == LOCK || name == Directory::RESTORING
}

/// Moves a file, also to another file system.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(e) if e.kind() == ErrorKind::CrossesDevices => {
            fs::copy(from, to)?;
            fs::File::open(to)?.sync_all()?;
            fs::remove_file(from)
        }
        moved => moved,
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        self.gate.close();
        // If this fails, an unfinished restore is left, which the next one accepts.
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let own = names.filter(|name| Directory::is_name(name));
        let (last, first): (Vec<_>, Vec<_>) = own.partition(|name| name == Directory::RESTORING);
        for name in first.into_iter().chain(last) {
            let _ = fs::remove_file(self.dir.join(name));
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// A new directory beside that of a restore, which is removed in any case.
pub(crate) struct Scratch {
    dir: TempDir,
    gate: Gate,
}

impl Scratch {
    /// Creates a directory under a free name, `dir.PURPOSE-` with random letters after it.
    pub fn beside(dir: &Path, purpose: &str, gate: &Gate) -> Result<Self> {
        let mut prefix = dir.file_name().unwrap_or_default().to_owned();
        prefix.push(format!(".{purpose}-"));
        let created =
            tempfile::Builder::new().prefix(&prefix).tempdir_in(dir.parent().unwrap_or(dir));
        let failed = |e| Error::file(format!("create a directory beside {}", dir.display()), &e);
        Ok(Scratch { dir: created.map_err(failed)?, gate: gate.clone() })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The directory is removed after the calls that write into it.
        self.gate.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::{Db, Options};

    #[test]
    fn a_store_that_another_restore_has_finished_stays() {
        let (dir, made, gate) = (tempfile::tempdir(), tempfile::tempdir(), Gate::default());
        let (dir, made) = (dir.unwrap(), made.unwrap());
        let free = Free::look(dir.path()).unwrap();
        let other = Target::claim(dir.path(), &gate).unwrap();
        Db::open(made.path(), Options::default()).unwrap().close().unwrap();
        other.take(made.path()).unwrap();
        other.keep().unwrap();
        let refused = Target::hold(free, dir.path(), &gate).err().unwrap();
        assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
        let mut options = Options::default();
        options.create = false;
        Db::open(dir.path(), options).unwrap();
    }
}

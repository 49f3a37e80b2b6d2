//! The lock of a directory store: one process at a time, until that process ends.
//!
//! 1. The directory itself is locked, if the system can do that, so that removing or replacing the
//!    lock file does not let another process in. (Not on Windows, where instead an open lock file
//!    cannot be removed, nor a directory with open files be renamed; nor on some network file systems.)
//! 2. The file `LOCK` is locked, and says who holds the store.
//! 3. Readers share both locks and create nothing.

use crate::vfs::LOCK;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use terrane_table::error::{Error, Result};

/// A locked store. Dropping this unlocks it.
#[derive(Debug)]
pub struct StoreLock {
    /// `None` if a store is opened read-only and has no lock file.
    file: Option<File>,
    exclusive: bool,
    directory: Option<File>,
}

impl StoreLock {
    /// Locks `dir` for this process. Creates the lock file if needed, and writes `who` into it.
    pub(super) fn acquire(dir: &Path, who: &str) -> Result<Self> {
        let directory = lock_directory(dir, File::try_lock)?;
        let path = dir.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(windows)]
        {
            // Share reading and writing, but not deletion.
            use std::os::windows::fs::OpenOptionsExt;
            options.share_mode(3);
        }
        let refuse = |action| {
            let name = path.display().to_string();
            move |e| Error::io(action, &name, 0, e)
        };
        let mut file = options.open(&path).map_err(refuse("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(e)) => return Err(refuse("lock")(e)),
            Err(TryLockError::WouldBlock) => return Err(busy(dir)),
        }
        // On a full disk the name cannot be written; the lock holds without it.
        let _ = file.set_len(0);
        let _ = write!(file, "process {} ({who})", std::process::id());
        Ok(StoreLock { file: Some(file), exclusive: true, directory })
    }

    /// Locks `dir` together with other readers. Changes nothing.
    pub(super) fn share(dir: &Path) -> Result<Self> {
        let directory = lock_directory(dir, File::try_lock_shared)?;
        let path = dir.join(LOCK);
        let refuse = |e| Error::io("lock", &path.display().to_string(), 0, e);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Ok(StoreLock { file: None, exclusive: false, directory });
            }
            Err(e) => return Err(refuse(e)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(StoreLock { file: Some(file), exclusive: false, directory }),
            Err(TryLockError::WouldBlock) => Err(busy(dir)),
            Err(TryLockError::Error(e)) => Err(refuse(e)),
        }
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        if let Some(file) = self.file.as_ref().filter(|_| self.exclusive) {
            // Later readers share the lock without writing their name.
            let _ = file.set_len(0);
        }
        // Closing the files would leave the locks with a child process that is being spawned on another
        // thread, which holds copies of all descriptors until it executes its program.
        for file in self.file.iter().chain(&self.directory) {
            let _ = file.unlock();
        }
    }
}

/// Locks the directory itself; `None` if the system cannot do that.
fn lock_directory(
    dir: &Path,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Option<File>> {
    let Ok(directory) = File::open(dir) else { return Ok(None) };
    match lock(&directory) {
        Ok(()) => Ok(Some(directory)),
        Err(TryLockError::WouldBlock) => Err(busy(dir)),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// The error that names the holder, as it wrote itself into the lock file, if others can read that.
fn busy(dir: &Path) -> Error {
    let mut words = Vec::new();
    let read = File::open(dir.join(LOCK)).and_then(|file| file.take(256).read_to_end(&mut words));
    let holder = match read {
        Ok(n) if n > 0 => String::from_utf8_lossy(&words).into_owned(),
        _ => "another process".to_owned(),
    };
    Error::busy(dir.display().to_string(), holder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_table::error::ErrorKind;

    #[test]
    fn a_lock_ends_though_a_child_process_holds_its_descriptors() {
        let dir = tempfile::tempdir().unwrap();
        let lock = StoreLock::acquire(dir.path(), "test").unwrap();
        let held =
            [&lock.file, &lock.directory].map(|f| f.as_ref().map(|f| f.try_clone().unwrap()));
        assert!(StoreLock::acquire(dir.path(), "test").is_err());
        drop(lock);
        StoreLock::acquire(dir.path(), "test").unwrap();
        drop(held);
    }

    #[test]
    fn a_reader_leaves_no_name_in_the_lock_file() {
        let dir = tempfile::tempdir().unwrap();
        drop(StoreLock::acquire(dir.path(), "before").unwrap());
        let shared = StoreLock::share(dir.path()).unwrap();
        let Err(ErrorKind::Busy(busy)) =
            StoreLock::acquire(dir.path(), "writer").map_err(Error::into_kind)
        else {
            panic!()
        };
        assert_eq!(busy.holder, "another process");
        drop(shared);
        StoreLock::acquire(dir.path(), "writer").unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_file_that_cannot_be_opened_is_not_a_missing_one() {
        let dir = tempfile::tempdir().unwrap();
        StoreLock::share(dir.path()).unwrap();
        std::os::unix::fs::symlink(LOCK, dir.path().join(LOCK)).unwrap();
        assert!(matches!(
            StoreLock::share(dir.path()).map_err(Error::into_kind),
            Err(ErrorKind::Io(_))
        ));
        assert!(matches!(
            StoreLock::acquire(dir.path(), "writer").map_err(Error::into_kind),
            Err(ErrorKind::Io(_))
        ));
    }
}

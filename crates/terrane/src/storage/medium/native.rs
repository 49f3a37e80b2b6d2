//! Files of the operating system: one directory.

use crate::error::{Error, Result};
use crate::storage::File;
use crate::storage::medium::handles::{Handle, Handles};
use crate::storage::medium::{Medium, StoreLock};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// About how many files are open at once, be there as many as there are: a quarter of the
/// descriptors that Linux gives a process where nobody says otherwise, half of those of macOS.
const MOST_OPEN: usize = if cfg!(target_os = "macos") { 128 } else { 256 };

/// One directory of the file system.
pub struct NativeMedium {
    dir: PathBuf,
    handles: Arc<Handles>,
}

impl NativeMedium {
    /// The directory `dir`, created if it is missing and `create` says so. About 256 of its files
    /// (128 on macOS) are open at once; others are opened when they are used.
    ///
    /// # Errors
    /// [`Error::NoStore`] where the directory is missing and not to be created, or is a file.
    pub fn open(dir: impl Into<PathBuf>, create: bool) -> Result<Self> {
        Self::with_open_files(dir, create, MOST_OPEN)
    }

    /// As [`open`](Self::open), with about `most` files open at once.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn with_open_files(dir: impl Into<PathBuf>, create: bool, most: usize) -> Result<Self> {
        let dir = dir.into();
        let place = dir.display().to_string();
        if create {
            create_directory(&dir, &sync_directory)
                .map_err(|e| Error::io("create", &place, 0, e))?;
        }
        match fs::metadata(&dir) {
            Ok(found) if found.is_dir() => {
                // Files are opened later, too, when the process may be in another directory.
                let dir = std::path::absolute(dir).map_err(|e| Error::io("open", &place, 0, e))?;
                Ok(NativeMedium { dir, handles: Arc::new(Handles::new(most)) })
            }
            Ok(_) => Err(Error::no_store(place, "it is not a directory")),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(Error::no_store(place, "there is no such directory"))
            }
            Err(e) => Err(Error::io("open", &place, 0, e)),
        }
    }

    /// Locks the directory for this process until the lock is dropped. `who` names the program to
    /// those who find the store in use.
    ///
    /// # Errors
    /// [`Error::Busy`] with the holder's own words where it is held.
    pub fn lock(&self, who: &str) -> Result<StoreLock> {
        StoreLock::acquire(&self.dir, who)
    }

    fn file(
        &self,
        action: &'static str,
        name: &str,
        options: &fs::OpenOptions,
    ) -> Result<Arc<dyn File>> {
        let path = self.dir.join(name);
        let name = path.display().to_string();
        let handle =
            self.handles.open(path, options).map_err(|e| Error::io(action, &name, 0, e))?;
        Ok(Arc::new(NativeFile { name, handle, handles: self.handles.clone() }))
    }
}

/// Opens the file `path`, which is locked for this process until the last handle of it goes; it is
/// created if it is missing and `create` says so.
///
/// # Errors
/// [`Error::NoStore`] where it is missing and not to be created, [`Error::Busy`] where another
/// process holds it.
pub fn open_locked(path: &Path, create: bool) -> Result<Arc<dyn File>> {
    let name = path.display().to_string();
    // A pool of its own, which never closes the file: the lock goes with the handle.
    let handles = Arc::new(Handles::new(usize::MAX));
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true);
    let handle = match handles.open(path.to_owned(), &options) {
        Err(e) if e.kind() == ErrorKind::NotFound && create => {
            let refuse = |e| Error::io("create", &name, 0, e);
            let created = handles.open(path.to_owned(), options.create_new(true));
            let handle = created.map_err(refuse)?;
            let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            sync_directory(parent.unwrap_or(Path::new("."))).map_err(refuse)?;
            handle
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let why = "there is no such file".to_owned();
            return Err(Error::no_store(name, why));
        }
        opened => opened.map_err(|e| Error::io("open", &name, 0, e))?,
    };
    match handles.with(&handle, |file| Ok(file.try_lock())) {
        Ok(Ok(())) => Ok(Arc::new(NativeFile { name, handle, handles })),
        // There is no room in the file for its holder's name.
        Ok(Err(fs::TryLockError::WouldBlock)) => {
            Err(Error::busy(name, "another process".to_owned()))
        }
        Ok(Err(fs::TryLockError::Error(e))) | Err(e) => Err(Error::io("lock", &name, 0, e)),
    }
}

impl Medium for NativeMedium {
    fn place(&self) -> String {
        self.dir.display().to_string()
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        // A fresh file, not the old one cut off: a reader of the old one keeps its bytes.
        let path = self.dir.join(name);
        let removed = self.handles.repoint(&[&path], || match fs::remove_file(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        });
        removed.map_err(|e| Error::io("replace", name, 0, e))?;
        self.file("create", name, fs::OpenOptions::new().read(true).write(true).create_new(true))
    }

    fn path_of(&self, name: &str) -> Option<PathBuf> {
        Some(self.dir.join(name))
    }

    fn link(&self, from: &Path, name: &str) -> Result<bool> {
        match fs::hard_link(from, self.dir.join(name)) {
            Ok(()) => Ok(true),
            // Another file system, or one without links: the file is copied instead.
            Err(e) if matches!(e.kind(), ErrorKind::CrossesDevices | ErrorKind::Unsupported) => {
                Ok(false)
            }
            Err(e) => Err(Error::io("link", name, 0, e)),
        }
    }

    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        self.file("open", name, fs::OpenOptions::new().read(true).write(true))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.dir.join(name);
        let removed = self.handles.repoint(&[&path], || fs::remove_file(&path));
        removed.map_err(|e| Error::io("remove", name, 0, e))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let paths = [from, to].map(|name| self.dir.join(name));
        let [old, new] = &paths;
        let renamed = self.handles.repoint(&[old, new], || fs::rename(old, new));
        renamed.map_err(|e| Error::io("rename", from, 0, e))
    }

    fn list(&self) -> Result<Vec<String>> {
        let place = self.place();
        let refuse = |e| Error::io("list", &place, 0, e);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(refuse)? {
            names.push(entry.map_err(refuse)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn sync_names(&self) -> Result<()> {
        sync_directory(&self.dir).map_err(|e| Error::io("sync", &self.place(), 0, e))
    }
}

/// Creates a directory, and first those that it lies in. The name of each is on the medium, by
/// `sync` of its parent, before anything is put into it: one that holds something is done.
fn create_directory(dir: &Path, sync: &dyn Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let Some(parent) = dir.parent() else { return Ok(()) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let is_empty = fs::read_dir(dir).map(|mut names| names.next().is_none());
    match is_empty {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            create_directory(parent, sync)?;
            match fs::create_dir(dir) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
                _ => sync(parent),
            }
        }
        // An earlier call may have ended before its sync. Where the parent may not be read,
        // the directory was made by someone else.
        Ok(true) => match sync(parent) {
            Err(e) if e.kind() != ErrorKind::PermissionDenied => Err(e),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn sync_directory(dir: &Path) -> io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

/// Other systems write names through their own journal and cannot sync a directory.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

struct NativeFile {
    name: String,
    handle: Arc<Handle>,
    handles: Arc<Handles>,
}

impl NativeFile {
    fn error(&self, action: &'static str, wanted: u64, e: io::Error) -> Error {
        Error::io(action, &self.name, wanted, e)
    }
}

#[cfg(unix)]
use std::os::unix::fs::FileExt;

#[cfg(windows)]
trait FileExt {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;
}

#[cfg(windows)]
impl FileExt for fs::File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(self, buf, offset)
    }
}

/// Calls `step` with the bytes moved so far until it moves nothing more or `len` are moved; the
/// system may move fewer bytes at once, or be interrupted, without being at an end.
fn repeat(len: usize, mut step: impl FnMut(usize) -> io::Result<usize>) -> io::Result<usize> {
    let mut moved = 0;
    while moved < len {
        match step(moved) {
            Ok(0) => break,
            Ok(n) => moved += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(moved)
}

impl File for NativeFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let read = self.handles.with(&self.handle, |file| {
            repeat(buf.len(), |done| {
                let rest = buf.get_mut(done..).unwrap_or_default();
                file.read_at(rest, offset + done as u64)
            })
        });
        read.map_err(|e| self.error("read", 0, e))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let written = self.handles.write(&self.handle, |file| {
            repeat(buf.len(), |done| {
                file.write_at(buf.get(done..).unwrap_or_default(), offset + done as u64)
            })
        });
        written.map_err(|e| self.error("write", buf.len() as u64, e))
    }

    fn sync(&self) -> Result<()> {
        self.handles.sync(&self.handle).map_err(|e| self.error("sync", 0, e))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let resized = self.handles.write(&self.handle, |file| file.set_len(len));
        resized.map_err(|e| self.error("resize", len, e))
    }

    fn len(&self) -> Result<u64> {
        let found = self.handles.with(&self.handle, fs::File::metadata);
        Ok(found.map_err(|e| self.error("measure", 0, e))?.len())
    }
}

impl Drop for NativeFile {
    fn drop(&mut self) {
        self.handles.forget(&self.handle);
    }
}

#[cfg(test)]
mod tests;

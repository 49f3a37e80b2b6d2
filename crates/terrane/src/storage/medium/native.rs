//! Files of the operating system: one directory.

use crate::error::{Error, Result};
use crate::storage::File;
use crate::storage::medium::{Medium, StoreLock};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One directory of the file system.
pub struct NativeMedium {
    dir: PathBuf,
}

impl NativeMedium {
    /// The directory `dir`, created if it is missing and `create` says so.
    ///
    /// # Errors
    /// [`Error::NoStore`] where the directory is missing and not to be created, or is a file.
    pub fn open(dir: impl Into<PathBuf>, create: bool) -> Result<Self> {
        let dir = dir.into();
        let place = dir.display().to_string();
        if create {
            create_directory(&dir).map_err(|e| Error::io("create", &place, 0, e))?;
        }
        match fs::metadata(&dir) {
            Ok(found) if found.is_dir() => Ok(NativeMedium { dir }),
            Ok(_) => Err(Error::NoStore { place, why: "it is not a directory".to_owned() }),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(Error::NoStore { place, why: "there is no such directory".to_owned() })
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
        let file = options.open(&path).map_err(|e| Error::io(action, &name, 0, e))?;
        Ok(Arc::new(NativeFile { name, file }))
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
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true);
    let file = match options.open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound && create => {
            let refuse = |e| Error::io("create", &name, 0, e);
            let file = options.create_new(true).open(path).map_err(refuse)?;
            sync_directory(parent(path)).map_err(refuse)?;
            file
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let why = "there is no such file".to_owned();
            return Err(Error::NoStore { place: name, why });
        }
        opened => opened.map_err(|e| Error::io("open", &name, 0, e))?,
    };
    match file.try_lock() {
        Ok(()) => Ok(Arc::new(NativeFile { name, file })),
        Err(fs::TryLockError::Error(e)) => Err(Error::io("lock", &name, 0, e)),
        // There is no room in the file for its holder's name.
        Err(fs::TryLockError::WouldBlock) => {
            Err(Error::Busy { place: name, holder: "another process".to_owned() })
        }
    }
}

impl Medium for NativeMedium {
    fn place(&self) -> String {
        self.dir.display().to_string()
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        // A fresh file, not the old one cut off: a reader of the old one keeps its bytes.
        match fs::remove_file(self.dir.join(name)) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(Error::io("replace", name, 0, e));
            }
            _ => {}
        }
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
        fs::remove_file(self.dir.join(name)).map_err(|e| Error::io("remove", name, 0, e))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        fs::rename(self.dir.join(from), self.dir.join(to))
            .map_err(|e| Error::io("rename", from, 0, e))
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

/// Creates a directory and what is missing above it; their names are on the medium then.
fn create_directory(dir: &Path) -> io::Result<()> {
    if dir.exists() {
        return Ok(());
    }
    create_directory(parent(dir))?;
    match fs::create_dir(dir) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    sync_directory(parent(dir))
}

/// The directory that holds `path`.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
    file: fs::File,
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
        repeat(buf.len(), |done| {
            let rest = buf.get_mut(done..).unwrap_or_default();
            self.file.read_at(rest, offset + done as u64)
        })
        .map_err(|e| self.error("read", 0, e))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        repeat(buf.len(), |done| {
            self.file.write_at(buf.get(done..).unwrap_or_default(), offset + done as u64)
        })
        .map_err(|e| self.error("write", buf.len() as u64, e))
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| self.error("sync", 0, e))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_len(len).map_err(|e| self.error("resize", len, e))
    }

    fn len(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|e| self.error("measure", 0, e))?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_holds_named_files_and_says_why_it_cannot() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("store");
        assert!(matches!(NativeMedium::open(&dir, false), Err(Error::NoStore { .. })));
        let medium = NativeMedium::open(&dir, true).unwrap();
        let file = medium.create("a").unwrap();
        assert_eq!(file.write_at(b"hello", 2).unwrap(), 5);
        file.sync().unwrap();
        medium.rename("a", "b").unwrap();
        medium.create("c").unwrap();
        medium.sync_names().unwrap();
        assert_eq!(medium.list().unwrap(), ["b", "c"]);
        let mut buf = [0; 10];
        assert_eq!(medium.open("b").unwrap().read_at(&mut buf, 3).unwrap(), 4);
        assert_eq!(&buf[..4], b"ello");
        medium.create("b").unwrap();
        assert_eq!(file.len().unwrap(), 7, "the old file lives on behind its handle");
        assert!(matches!(medium.open("a"), Err(Error::Io { action: "open", .. })));
        assert!(matches!(NativeMedium::open(dir.join("b"), false), Err(Error::NoStore { .. })));
    }

    #[test]
    fn a_second_opener_is_told_who_holds_the_store() {
        let place = tempfile::tempdir().unwrap();
        let medium = NativeMedium::open(place.path(), true).unwrap();
        let held = medium.lock("terrane load").unwrap();
        match medium.lock("terrane get") {
            Err(Error::Busy { holder, .. }) => {
                assert_eq!(holder, format!("process {} (terrane load)", std::process::id()));
            }
            _ => panic!("a lock that is held must refuse"),
        }
        drop(held);
        medium.lock("terrane get").unwrap();
    }

    #[test]
    fn a_single_file_is_held_by_one_opener_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.terrane");
        assert!(matches!(open_locked(&path, false), Err(Error::NoStore { .. })));
        let held = open_locked(&path, true).unwrap();
        held.write_at(b"bytes", 0).unwrap();
        assert!(matches!(open_locked(&path, true), Err(Error::Busy { .. })));
        drop(held);
        assert_eq!(open_locked(&path, true).unwrap().len().unwrap(), 5);
    }
}

//! Native files: a directory of the operating system.

use crate::StoreId;
use crate::vfs::descriptor_table::DescriptorTable;
use crate::vfs::native_file::{NativeFile, taken};
#[cfg(target_os = "linux")]
use crate::vfs::read_mapping::{ReadMapping, ReadMappingsLeft, read_mappings};
use crate::vfs::system::{descriptors, directory_of, opening, rename, sync_directory};
use crate::vfs::{Listed, StoreLock, Vfs};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terrane_table::error::{Error, Result};
use terrane_table::file::File;
#[cfg(target_os = "linux")]
use terrane_table::sync::atomic::AtomicUsize;

/// The default bound on open files.
const DEFAULT_MAX_OPEN: usize = 256;

/// One directory of the file system.
pub struct NativeVfs {
    dir: PathBuf,
    descriptors: Arc<DescriptorTable>,
    read_only: bool,
    /// Whether files may be mapped to be written.
    maps: bool,
    /// Number of further files that may be mapped for reading, if any.
    #[cfg(target_os = "linux")]
    read_mappings_left: Option<ReadMappingsLeft>,
}

impl NativeVfs {
    /// Opens the directory `dir`, and creates it if it is missing and `create` is set. At most about
    /// 256 of its files are open at once, unless [`open_at_most`](Self::open_at_most) sets another
    /// bound.
    ///
    /// # Errors
    /// [`NoStore`](terrane_table::error::ErrorKind::NoStore) if the directory is missing and not to be created,
    /// or is a file.
    pub fn open(dir: impl Into<PathBuf>, create: bool) -> Result<Self> {
        let dir = dir.into();
        let place = dir.display().to_string();
        if create {
            create_directory(&dir, &sync_directory)
                .map_err(|e| Error::io("create", &place, 0, e))?;
        }
        match fs::metadata(&dir) {
            Ok(found) if found.is_dir() => {
                // Files are opened later, when the process may have changed its directory.
                let dir = std::path::absolute(dir).map_err(|e| Error::io("open", &place, 0, e))?;
                let descriptors = Arc::new(DescriptorTable::new(bounded(DEFAULT_MAX_OPEN)));
                Ok(NativeVfs {
                    dir,
                    descriptors,
                    read_only: false,
                    maps: false,
                    #[cfg(target_os = "linux")]
                    read_mappings_left: None,
                })
            }
            Ok(_) => Err(Error::no_store(place, "it is not a directory")),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(Error::no_store(place, "there is no such directory"))
            }
            Err(e) => Err(Error::io("open", &place, 0, e)),
        }
    }

    /// Opens the directory `dir` read-only: files are opened for reading, and every change is refused.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn read_only(dir: impl Into<PathBuf>) -> Result<Self> {
        let vfs = Self::open(dir, false)?;
        Ok(NativeVfs { read_only: true, ..vfs }.open_at_most(DEFAULT_MAX_OPEN))
    }

    /// Sets the bound on files open at once to about `most`, but at most half of the files that the
    /// process may open. Files that are open already do not count.
    #[must_use]
    pub fn open_at_most(self, most: usize) -> Self {
        let descriptors =
            if self.read_only { DescriptorTable::read_only } else { DescriptorTable::new };
        NativeVfs { descriptors: Arc::new(descriptors(bounded(most))), ..self }
    }

    /// Allows or forbids memory-mapping files for writing ([`File::map`]), on Linux and on file systems where such a
    /// write cannot end the process.
    #[must_use]
    pub fn allow_mmap_writes(self, maps: bool) -> Self {
        NativeVfs { maps, ..self }
    }

    /// Whether files may be memory-mapped to be read, where the system can: [`File::mapped`]. At most as many are
    /// mapped at once as may be open: call [`open_at_most`](Self::open_at_most) before this.
    #[must_use]
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
    pub fn allow_mmap_reads(self, maps: bool) -> Self {
        #[cfg(target_os = "linux")]
        return NativeVfs {
            read_mappings_left: maps
                .then(|| Arc::new(AtomicUsize::new(read_mappings(self.descriptors.max_open())))),
            ..self
        };
        #[cfg(not(target_os = "linux"))]
        self
    }

    fn refuse_if_read_only(&self, action: &'static str, name: &str) -> Result<()> {
        if self.read_only {
            return Err(Error::read_only(action, name));
        }
        Ok(())
    }

    /// Locks the directory for this process until the lock is dropped; if it was opened read-only,
    /// together with other readers. `who` names this program in the errors of other processes.
    ///
    /// # Errors
    /// [`Busy`](terrane_table::error::ErrorKind::Busy), which names the holder, if it is locked.
    pub fn lock(&self, who: &str) -> Result<StoreLock> {
        if self.read_only {
            StoreLock::share(&self.dir)
        } else {
            StoreLock::acquire(&self.dir, who)
        }
    }

    fn file(
        &self,
        action: &'static str,
        name: &str,
        options: &fs::OpenOptions,
    ) -> Result<Arc<dyn File>> {
        let path = self.dir.join(name);
        let name = path.display().to_string();
        let descriptor =
            self.descriptors.open(path, options).map_err(|e| Error::io(action, &name, 0, e))?;
        let (descriptors, maps) = (self.descriptors.clone(), self.maps);
        Ok(Arc::new(NativeFile {
            name,
            descriptor,
            descriptors,
            maps,
            #[cfg(target_os = "linux")]
            read_mapping: ReadMapping::new(self.read_mappings_left.clone()),
        }))
    }
}

/// `most`, but at most half of the files that the process may open.
fn bounded(most: usize) -> usize {
    descriptors().map_or(most, |all| most.min(all / 2)).max(1)
}

impl Vfs for NativeVfs {
    fn place(&self) -> String {
        self.dir.display().to_string()
    }

    fn draw_id(&self) -> Result<StoreId> {
        StoreId::random()
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        self.refuse_if_read_only("create", name)?;
        // A new file instead of truncating the old one, whose readers keep its bytes.
        let path = self.dir.join(name);
        let removed = self.descriptors.repoint(&[&path], || match fs::remove_file(&path) {
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
        self.refuse_if_read_only("link", name)?;
        match fs::hard_link(from, self.dir.join(name)) {
            Ok(()) => Ok(true),
            // Another file system, one without links, or another user's file: copy it instead.
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::CrossesDevices
                        | ErrorKind::Unsupported
                        | ErrorKind::TooManyLinks
                        | ErrorKind::PermissionDenied
                ) =>
            {
                Ok(false)
            }
            Err(e) => Err(Error::io("link", name, 0, e)),
        }
    }

    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        self.file("open", name, &opening(!self.read_only))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.refuse_if_read_only("remove", name)?;
        let path = self.dir.join(name);
        // An open file is not freed until it is closed. Freeing a large one takes a while, so that
        // happens after `repoint` has released its lock.
        let kept = opening(false).open(&path);
        let removed = self.descriptors.repoint(&[&path], || fs::remove_file(&path));
        drop(kept);
        removed.map_err(|e| Error::io("remove", name, 0, e))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.refuse_if_read_only("rename", from)?;
        let paths = [from, to].map(|name| self.dir.join(name));
        let [old, new] = &paths;
        let renamed = self.descriptors.repoint(&[old, new], || rename(old, new));
        renamed.map_err(|e| Error::io("rename", from, 0, e))
    }

    fn list(&self) -> Result<Vec<String>> {
        let place = self.place();
        let refuse = |e| Error::io("list", &place, 0, e);
        let mut names = Vec::new();
        for entry in self.descriptors.retry(|| fs::read_dir(&self.dir)).map_err(refuse)? {
            names.push(entry.map_err(refuse)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn sizes(&self) -> Result<Vec<Listed>> {
        let place = self.place();
        let refuse = |e| Error::io("list", &place, 0, e);
        let entries = self.descriptors.retry(|| fs::read_dir(&self.dir)).map_err(refuse)?;
        measured(entries).map_err(refuse)
    }

    fn sync_names(&self) -> Result<()> {
        self.refuse_if_read_only("sync", &self.place())?;
        let synced = self.descriptors.retry(|| sync_directory(&self.dir));
        synced.map_err(|e| Error::io("sync", &self.place(), 0, e))
    }
}

/// The sizes of the files of a directory, sorted by name.
fn measured(entries: impl Iterator<Item = io::Result<fs::DirEntry>>) -> io::Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for entry in entries {
        let entry = entry?;
        match entry.metadata() {
            Ok(found) => {
                let name = entry.file_name().to_string_lossy().into_owned();
                listed.push(Listed { name, len: found.len(), taken: taken(&found) });
            }
            // Removed meanwhile.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    listed.sort();
    Ok(listed)
}

/// Creates a directory and its parents. Each name is made durable, by `sync` of its parent, before
/// anything is created inside, so that a directory that is not empty needs no sync.
pub(super) fn create_directory(
    dir: &Path,
    sync: &dyn Fn(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let Some(parent) = directory_of(dir) else { return Ok(()) };
    let is_empty = fs::read_dir(dir).map(|mut names| names.next().is_none());
    match is_empty {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            create_directory(parent, sync)?;
            match fs::create_dir(dir) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
                _ => sync(parent),
            }
        }
        // An earlier call may have ended before its sync. If the parent cannot be read, someone else
        // created the directory.
        Ok(true) => match sync(parent) {
            Err(e) if e.kind() != ErrorKind::PermissionDenied => Err(e),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;

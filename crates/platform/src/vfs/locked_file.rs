//! A file that this process holds alone, or shares with other readers, until it is closed.
//!
//! Closing it lets others have it while handles to it still exist: every later call on them fails.

use crate::vfs::descriptor_table::{Descriptor, DescriptorTable};
use crate::vfs::native::create_directory;
use crate::vfs::native_file::NativeFile;
#[cfg(target_os = "linux")]
use crate::vfs::read_mapping::ReadMapping;
use crate::vfs::system::{directory_of, holder_of, sync_directory};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane_table::error::{Closed, Error, Result};
use terrane_table::file::File;

/// Opens the file `path` and locks it for this process until it is closed or its last handle
/// dropped. Creates a missing file, and the directories that it needs, if `create` is set.
///
/// # Errors
/// [`NoStore`](terrane_table::error::ErrorKind::NoStore) if it is missing and not to be created,
/// [`Busy`](terrane_table::error::ErrorKind::Busy) if another process holds it.
pub fn open_locked(path: &Path, create: bool) -> Result<Arc<dyn File>> {
    let path = &absolute(path)?;
    let name = path.display().to_string();
    // A table of its own, which never closes the file: that would release the lock.
    let descriptors = Arc::new(DescriptorTable::new(usize::MAX));
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true);
    let descriptor = match descriptors.open(path.to_owned(), &options) {
        Err(e) if e.kind() == ErrorKind::NotFound && create => {
            let refuse = |e| Error::io("create", &name, 0, e);
            let directory = directory_of(path);
            directory
                .map_or(Ok(()), |directory| create_directory(directory, &sync_directory))
                .map_err(refuse)?;
            let created = descriptors.open(path.to_owned(), options.create_new(true));
            let descriptor = created.map_err(refuse)?;
            directory.map_or(Ok(()), sync_directory).map_err(refuse)?;
            descriptor
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let why = "there is no such file".to_owned();
            return Err(Error::no_store(name, why));
        }
        opened => opened.map_err(|e| Error::io("open", &name, 0, e))?,
    };
    locked(name, descriptor, descriptors, fs::File::try_lock)
}

/// Opens the file `path` for reading, together with other readers.
///
/// # Errors
/// [`NoStore`](terrane_table::error::ErrorKind::NoStore) if it is missing,
/// [`Busy`](terrane_table::error::ErrorKind::Busy) if another process holds it.
pub fn open_shared(path: &Path) -> Result<Arc<dyn File>> {
    let path = absolute(path)?;
    let name = path.display().to_string();
    let descriptors = Arc::new(DescriptorTable::read_only(usize::MAX));
    match descriptors.open(path, fs::OpenOptions::new().read(true)) {
        Ok(descriptor) => locked(name, descriptor, descriptors, fs::File::try_lock_shared),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            Err(Error::no_store(name, "there is no such file"))
        }
        Err(e) => Err(Error::io("open", &name, 0, e)),
    }
}

/// Makes a path independent of the process's current directory: later syncs look for the file there.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Error::io("open", &path.display().to_string(), 0, e))
}

/// Locks a descriptor's file.
fn locked(
    name: String,
    descriptor: Arc<Descriptor>,
    descriptors: Arc<DescriptorTable>,
    lock: impl Fn(&fs::File) -> Result<(), fs::TryLockError>,
) -> Result<Arc<dyn File>> {
    let locked = descriptors.with(&descriptor, |file| Ok(lock(file)));
    match locked {
        Ok(Ok(())) => {
            let file = NativeFile {
                name,
                descriptor,
                descriptors,
                maps: false,
                #[cfg(target_os = "linux")]
                read_mapping: ReadMapping::default(),
            };
            Ok(Arc::new(LockedFile { file, is_closed: AtomicBool::new(false) }))
        }
        // The file has no place for its holder's name, but some systems know it.
        Ok(Err(fs::TryLockError::WouldBlock)) => {
            let holder = descriptors.with(&descriptor, |file| Ok(holder_of(file))).ok().flatten();
            let other = || "another process".to_owned();
            Err(Error::busy(name, holder.map_or_else(other, |pid| format!("process {pid}"))))
        }
        Ok(Err(fs::TryLockError::Error(e))) | Err(e) => Err(Error::io("lock", &name, 0, e)),
    }
}

struct LockedFile {
    file: NativeFile,
    is_closed: AtomicBool,
}

impl LockedFile {
    fn opened(&self) -> Result<&NativeFile> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Closed::File.into());
        }
        Ok(&self.file)
    }
}

impl File for LockedFile {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.opened()?.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.opened()?.write_at(buf, offset)
    }

    fn sync(&self) -> Result<()> {
        self.opened()?.sync()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.opened()?.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.opened()?.allocate(len)
    }

    fn len(&self) -> Result<u64> {
        self.opened()?.len()
    }

    fn allocated(&self) -> Result<u64> {
        self.opened()?.allocated()
    }

    fn next_data(&self, offset: u64) -> Result<u64> {
        self.opened()?.next_data(offset)
    }

    fn close(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            self.file.unlock();
        }
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_table::error::ErrorKind;

    #[test]
    fn a_single_file_is_held_by_one_opener_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.terrane");
        assert!(matches!(
            open_locked(&path, false).map_err(Error::into_kind),
            Err(ErrorKind::NoStore(_))
        ));
        let held = open_locked(&path, true).unwrap();
        held.write_at(b"bytes", 0).unwrap();
        assert!(matches!(
            open_locked(&path, true).map_err(Error::into_kind),
            Err(ErrorKind::Busy(_))
        ));
        drop(held);
        assert_eq!(open_locked(&path, true).unwrap().len().unwrap(), 5);
    }

    #[cfg(unix)]
    #[test]
    fn a_relative_path_is_made_absolute() {
        let place = tempfile::tempdir_in(".").unwrap();
        let relative = Path::new(place.path().file_name().unwrap()).join("store.terrane");
        let there = std::env::current_dir().unwrap().join(&relative).display().to_string();
        assert_eq!(open_locked(&relative, true).unwrap().name(), there);
        assert_eq!(open_shared(&relative).unwrap().name(), there);
    }

    #[test]
    fn readers_share_a_file_that_no_writer_holds() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.terrane");
        assert!(matches!(open_shared(&path).map_err(Error::into_kind), Err(ErrorKind::NoStore(_))));
        fs::write(&path, b"bytes").unwrap();
        let shared = [open_shared(&path).unwrap(), open_shared(&path).unwrap()];
        assert!(matches!(
            open_locked(&path, false).map_err(Error::into_kind),
            Err(ErrorKind::Busy(_))
        ));
        drop(shared);
        let held = open_locked(&path, false).unwrap();
        assert!(matches!(open_shared(&path).map_err(Error::into_kind), Err(ErrorKind::Busy(_))));
        drop(held);
    }

    #[test]
    fn a_closed_file_is_free_for_others_and_refuses_every_call() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.terrane");
        let held = open_locked(&path, true).unwrap();
        held.write_at(b"bytes", 0).unwrap();
        held.close();
        let next = open_locked(&path, false).unwrap();
        assert_eq!(held.name(), path.display().to_string());
        let calls = [
            held.read_at(&mut [0], 0).map(drop),
            held.write_at(b"x", 0).map(drop),
            held.sync(),
            held.set_len(1),
            held.allocate(1),
            held.len().map(drop),
            held.allocated().map(drop),
            held.next_data(0).map(drop),
        ];
        for call in calls {
            let refused = call.map_err(Error::into_kind);
            assert!(matches!(refused, Err(ErrorKind::Closed(Closed::File))));
        }
        assert_eq!(next.len().unwrap(), 5);
    }

    #[test]
    fn a_dropped_file_is_free_though_a_child_has_its_descriptor() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.terrane");
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true);
        let descriptors = Arc::new(DescriptorTable::new(usize::MAX));
        let descriptor = descriptors.open(path.clone(), &options).unwrap();
        let copy = descriptors.with(&descriptor, fs::File::try_clone).unwrap();
        let name = "store.terrane".to_owned();
        drop(locked(name, descriptor, descriptors, fs::File::try_lock).unwrap());
        open_locked(&path, false).unwrap();
        drop(copy);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_held_file_names_the_process_that_holds_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.terrane");
        let _other = open_locked(&place.path().join("other"), true).unwrap();
        let held = open_locked(&path, true).unwrap();
        for refused in [open_locked(&path, false), open_shared(&path)] {
            let Err(ErrorKind::Busy(busy)) = refused.map_err(Error::into_kind) else { panic!() };
            assert_eq!(busy.holder, format!("process {}", std::process::id()));
        }
        drop(held);
        open_shared(&path).unwrap();
    }

    #[test]
    fn a_path_below_a_file_is_an_error_and_not_a_missing_store() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), b"").unwrap();
        let path = place.path().join("file/store.terrane");
        assert!(matches!(open_shared(&path).map_err(Error::into_kind), Err(ErrorKind::Io(_))));
        for create in [false, true] {
            let Err(ErrorKind::Io(refused)) = open_locked(&path, create).map_err(Error::into_kind)
            else {
                panic!()
            };
            assert_eq!(refused.action, "open");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_held_file_reports_its_space_and_notices_its_removal() {
        use std::os::unix::fs::MetadataExt;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.terrane");
        let held = open_locked(&path, true).unwrap();
        held.write_at(&[1; 100_000], 0).unwrap();
        held.sync().unwrap();
        let blocks = fs::metadata(&path).unwrap().blocks();
        assert!(blocks > 0);
        assert_eq!(held.allocated().unwrap(), blocks * 512);
        assert_eq!(held.next_data(3).unwrap(), 3);
        fs::remove_file(&path).unwrap();
        assert!(held.sync().is_err());
    }
}

//! A bound on the files that are open at once: a process may hold only so many descriptors, and a
//! store may have more tables than that.
//!
//! 1. A [`Descriptor`] is a file that its user holds; whether it is open at the moment shows nowhere.
//!    Whoever uses a closed one opens it again, by its path.
//! 2. Open handles stand in a queue. Where there are more than the bound, the first is closed, or
//!    sent back to the end if it was used since it stood there last (second chance, which is close
//!    to least recently used): so a use only sets a flag.
//! 3. A handle is not closed while it has writes that no sync has covered: the system reports a
//!    failed write-back to the handles that were open then, and nobody else may learn of it.
//! 4. Nor is one whose path leads elsewhere now, as the file was removed, replaced or renamed. Before
//!    that happens every handle of the path is opened, and kept so ([`DescriptorTable::repoint`]).
//! 5. Where the process has no descriptor left, as others of its files took them, the bound is halved
//!    and what is too many is closed ([`DescriptorTable::retry`]). It does not rise again: a lower one costs
//!    time alone.
//! 6. A sync looks whether the path leads to the file, unless the store itself moved it. If not,
//!    somebody replaced or removed a store that is in use: what was written is lost, and it says so.

use crate::error::Message;
use crate::storage::lock;
use crate::storage::vfs::system::{lacks_descriptors, leads_to};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, RwLock};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// The handles of one directory.
pub(super) struct DescriptorTable {
    most: AtomicUsize,
    read_only: bool,
    /// Those that their path leads to. Locked before a handle's file, and that before `open`.
    by_path: Mutex<BTreeMap<PathBuf, Vec<Arc<Descriptor>>>>,
    /// Those that are open.
    open: Mutex<VecDeque<Arc<Descriptor>>>,
}

/// A file, open or not.
pub(super) struct Descriptor {
    path: PathBuf,
    file: RwLock<Option<File>>,
    /// It was used since it stood at the front of the queue.
    used: AtomicBool,
    unsynced: AtomicBool,
    /// The path leads to it no more.
    moved: AtomicBool,
}

impl DescriptorTable {
    /// No handles yet; about `most` are to be open at once.
    pub(super) fn new(most: usize) -> Self {
        let most = AtomicUsize::new(most);
        DescriptorTable {
            most,
            read_only: false,
            by_path: Mutex::default(),
            open: Mutex::default(),
        }
    }

    /// As [`new`](Self::new), for files that are only read.
    pub(super) fn read_only(most: usize) -> Self {
        DescriptorTable { read_only: true, ..DescriptorTable::new(most) }
    }

    /// Opens or creates a file.
    pub(super) fn open(&self, path: PathBuf, options: &OpenOptions) -> io::Result<Arc<Descriptor>> {
        let mut by_path = lock(&self.by_path);
        let file = self.retry(|| options.open(&path))?;
        let handle = Arc::new(Descriptor {
            path: path.clone(),
            file: RwLock::new(Some(file)),
            used: AtomicBool::new(true),
            unsynced: AtomicBool::new(false),
            moved: AtomicBool::new(false),
        });
        by_path.entry(path).or_default().push(handle.clone());
        drop(by_path);
        self.admit(&handle);
        Ok(handle)
    }

    /// Lets go of a handle that nobody uses any more.
    pub(super) fn forget(&self, handle: &Arc<Descriptor>) {
        let mut by_path = lock(&self.by_path);
        if let Some(same) = by_path.get_mut(&handle.path) {
            same.retain(|h| !Arc::ptr_eq(h, handle));
            if same.is_empty() {
                by_path.remove(&handle.path);
            }
        }
        drop(by_path);
        lock(&self.open).retain(|h| !Arc::ptr_eq(h, handle));
    }

    /// Changes what `paths` lead to, by `change`. The handles there are keep their files.
    pub(super) fn repoint(
        &self,
        paths: &[&Path],
        change: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        // Held to the end, so that none is opened between and not kept.
        let mut by_path = lock(&self.by_path);
        for path in paths {
            for handle in by_path.get(*path).into_iter().flatten() {
                handle.moved.store(true, Ordering::Release);
                match self.with(handle, |_| Ok(())) {
                    // There is no file to be kept.
                    Err(e) if e.kind() == ErrorKind::NotFound => {}
                    other => other?,
                }
            }
            by_path.remove(*path);
        }
        change()
    }

    /// Uses a handle's file.
    pub(super) fn with<T>(
        &self,
        handle: &Arc<Descriptor>,
        work: impl FnOnce(&File) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            // Held during the work: an open handle that is used is not closed.
            if let Some(file) = &*handle.file.read().unwrap_or_else(PoisonError::into_inner) {
                if !handle.used.load(Ordering::Relaxed) {
                    handle.used.store(true, Ordering::Relaxed);
                }
                return work(file);
            }
            self.open_again(handle)?;
        }
    }

    /// As [`with`](Self::with), for work that a sync must follow, whether it succeeds or not.
    pub(super) fn write<T>(
        &self,
        handle: &Arc<Descriptor>,
        work: impl FnOnce(&File) -> io::Result<T>,
    ) -> io::Result<T> {
        self.with(handle, |file| {
            let done = work(file);
            // After the work, so that a sync beside it does not take it for its own.
            handle.unsynced.store(true, Ordering::Release);
            done
        })
    }

    /// Makes every earlier change of a file durable, in the file that its path leads to.
    pub(super) fn sync(&self, handle: &Arc<Descriptor>) -> io::Result<()> {
        self.with(handle, |file| {
            // Before the sync, so that a write beside it is not taken for covered.
            handle.unsynced.swap(false, Ordering::AcqRel);
            let synced = file.sync_data().and_then(|()| handle.still_there(file));
            synced.inspect_err(|_| handle.unsynced.store(true, Ordering::Release))
        })
    }

    fn open_again(&self, handle: &Arc<Descriptor>) -> io::Result<()> {
        let mut file = handle.file.write().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            let mut options = OpenOptions::new();
            options.read(true).write(!self.read_only);
            *file = Some(self.retry(|| options.open(&handle.path))?);
            handle.used.store(true, Ordering::Relaxed);
            self.admit(handle);
        }
        Ok(())
    }

    /// Puts a handle that was opened into the queue, and closes what is too many.
    fn admit(&self, handle: &Arc<Descriptor>) {
        let mut open = lock(&self.open);
        open.push_back(handle.clone());
        let closed = close_beyond(&mut open, self.most.load(Ordering::Relaxed));
        // The system closes them when the queue is not locked any more.
        drop(open);
        drop(closed);
    }

    /// Does what needs a descriptor; where there is none, again, with fewer files open.
    pub(super) fn retry<T>(&self, mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match work() {
                Err(e) if lacks_descriptors(&e) && self.halve() => {}
                done => return done,
            }
        }
    }

    /// Halves the bound, of as many as are open now. Whether any file was closed.
    fn halve(&self) -> bool {
        let mut open = lock(&self.open);
        let most = open.len() / 2;
        self.most.fetch_min(most.max(1), Ordering::Relaxed);
        let closed = close_beyond(&mut open, most);
        drop(open);
        !closed.is_empty()
    }
}

/// Takes files out of the queue until `most` are left there, or none may be closed.
fn close_beyond(open: &mut VecDeque<Arc<Descriptor>>, most: usize) -> Vec<File> {
    let mut closed = Vec::new();
    // In the first round each may lose its chance, in the second any is closed that may be.
    for _ in 0..2 * open.len() {
        if open.len() <= most {
            break;
        }
        let Some(first) = open.pop_front() else { break };
        match first.close() {
            Some(file) => closed.push(file),
            None => open.push_back(first),
        }
    }
    closed
}

impl Descriptor {
    /// Fails where the path leads elsewhere, and not by this store's doing.
    fn still_there(&self, file: &File) -> io::Result<()> {
        // The mark comes before the change.
        if leads_to(&self.path, file)? || self.moved.load(Ordering::Acquire) {
            return Ok(());
        }
        let why =
            "its path leads to another file, or to none: somebody else replaced or removed it";
        Err(io::Error::other(Message(why.to_owned())))
    }

    /// Takes the file out, if the handle may be closed.
    fn close(&self) -> Option<File> {
        if self.used.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut file = self.file.try_write().ok()?;
        let kept = self.unsynced.load(Ordering::Acquire) || self.moved.load(Ordering::Acquire);
        if kept { None } else { file.take() }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn no_descriptor() -> io::Error {
        rustix::io::Errno::MFILE.into()
    }

    fn file_in(dir: &Path, name: &str, descriptors: &DescriptorTable) -> Arc<Descriptor> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        descriptors.open(dir.join(name), &options).unwrap()
    }

    #[test]
    fn files_are_closed_where_no_descriptor_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let descriptors = DescriptorTable::new(100);
        let files: Vec<_> =
            (0..8).map(|n| file_in(dir.path(), &n.to_string(), &descriptors)).collect();
        let mut tries = 0;
        let done = descriptors.retry(|| {
            tries += 1;
            if tries < 3 { Err(no_descriptor()) } else { Ok(lock(&descriptors.open).len()) }
        });
        assert_eq!(done.unwrap(), 2);
        for file in &files {
            descriptors.with(file, |file| file.metadata().map(drop)).unwrap();
        }
        // The bound stays low.
        assert_eq!(lock(&descriptors.open).len(), 2);
    }

    #[test]
    fn a_lack_of_descriptors_that_closing_cannot_end_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let descriptors = DescriptorTable::new(100);
        let file = file_in(dir.path(), "unsynced", &descriptors);
        descriptors.write(&file, |_| Ok(())).unwrap();
        let refused = descriptors.retry(|| Err::<(), _>(no_descriptor())).unwrap_err();
        assert!(lacks_descriptors(&refused));
    }
}

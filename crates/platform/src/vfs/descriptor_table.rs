//! The descriptor table: bounds how many files are open at once, since a store may have more tables
//! than a process may have file descriptors.
//!
//! 1. A [`Descriptor`] stands for a file. Callers cannot tell whether it is open: using a closed one
//!    opens it again, by its path.
//! 2. Open descriptors are in a queue. If there are more than the bound, the first one is closed, or
//!    moved to the end if it was used since it was last at the front (second chance, an approximation
//!    of LRU), so that a use only sets a flag.
//! 3. A descriptor with unsynced writes is not closed: the system reports a failed write-back only to
//!    descriptors that were open then. Nor is one that is mapped to be written.
//! 4. Nor is one whose path now leads to another file, since its file was removed, replaced or
//!    renamed. Before such a change every descriptor of the path is opened and kept open
//!    ([`DescriptorTable::repoint`]).
//! 5. If the process runs out of descriptors, the bound is halved and files beyond it are closed
//!    ([`DescriptorTable::retry`]). It is not raised again: a low bound only costs time.
//! 6. A sync checks that the path still leads to the file, unless the store itself moved it. If not,
//!    somebody replaced or removed a store in use, what was written is lost, and the sync fails.

use crate::vfs::system::{lacks_descriptors, leads_to, opening};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use terrane_table::error::Message;
use terrane_table::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrane_table::sync::lock;
use terrane_table::sync::{Mutex, RwLock};

/// The descriptors of one directory.
pub(super) struct DescriptorTable {
    max_open: AtomicUsize,
    read_only: bool,
    /// Descriptors whose path leads to their file. Locked before a descriptor's `file`, and that
    /// before `open`.
    by_path: Mutex<BTreeMap<PathBuf, Vec<Arc<Descriptor>>>>,
    /// Open descriptors.
    open: Mutex<VecDeque<Arc<Descriptor>>>,
}

/// A file, which may be closed at times.
pub(super) struct Descriptor {
    path: PathBuf,
    file: RwLock<Option<File>>,
    /// It was used since it was last at the front of the queue.
    used: AtomicBool,
    unsynced: AtomicBool,
    /// Number of its mappings for writing.
    mapped: AtomicUsize,
    /// The path no longer leads to it.
    moved: AtomicBool,
}

impl DescriptorTable {
    /// An empty table with at most about `max_open` open files.
    pub(super) fn new(max_open: usize) -> Self {
        let max_open = AtomicUsize::new(max_open);
        DescriptorTable {
            max_open,
            read_only: false,
            by_path: Mutex::default(),
            open: Mutex::default(),
        }
    }

    /// Like [`new`](Self::new), for files that are only read.
    pub(super) fn read_only(max_open: usize) -> Self {
        DescriptorTable { read_only: true, ..DescriptorTable::new(max_open) }
    }

    /// About how many files may be open.
    #[cfg(target_os = "linux")]
    pub(super) fn max_open(&self) -> usize {
        self.max_open.load(Ordering::Relaxed)
    }

    /// Opens or creates a file.
    pub(super) fn open(&self, path: PathBuf, options: &OpenOptions) -> io::Result<Arc<Descriptor>> {
        let mut by_path = lock(&self.by_path);
        let file = self.retry(|| options.open(&path))?;
        let descriptor = Arc::new(Descriptor {
            path: path.clone(),
            file: RwLock::new(Some(file)),
            used: AtomicBool::new(true),
            unsynced: AtomicBool::new(false),
            mapped: AtomicUsize::new(0),
            moved: AtomicBool::new(false),
        });
        by_path.entry(path).or_default().push(descriptor.clone());
        drop(by_path);
        self.enqueue(&descriptor);
        Ok(descriptor)
    }

    /// Removes a descriptor that is no longer used.
    pub(super) fn forget(&self, descriptor: &Arc<Descriptor>) {
        let mut by_path = lock(&self.by_path);
        if let Some(same) = by_path.get_mut(&descriptor.path) {
            same.retain(|h| !Arc::ptr_eq(h, descriptor));
            if same.is_empty() {
                by_path.remove(&descriptor.path);
            }
        }
        drop(by_path);
        lock(&self.open).retain(|h| !Arc::ptr_eq(h, descriptor));
    }

    /// Runs `change`, which changes what `paths` lead to. Existing descriptors keep their files.
    pub(super) fn repoint(
        &self,
        paths: &[&Path],
        change: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        // Held to the end, so that no descriptor is opened in between.
        let mut by_path = lock(&self.by_path);
        for path in paths {
            for descriptor in by_path.get(*path).into_iter().flatten() {
                descriptor.moved.store(true, Ordering::Release);
                match self.with(descriptor, |_| Ok(())) {
                    // There is no file to keep.
                    Err(e) if e.kind() == ErrorKind::NotFound => {}
                    other => other?,
                }
            }
            by_path.remove(*path);
        }
        change()
    }

    /// Calls `work` with the descriptor's file.
    pub(super) fn with<T>(
        &self,
        descriptor: &Arc<Descriptor>,
        work: impl FnOnce(&File) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            // Held during the work, so that the file is not closed.
            if let Some(file) = &*descriptor.file.read().unwrap_or_else(PoisonError::into_inner) {
                if !descriptor.used.load(Ordering::Relaxed) {
                    descriptor.used.store(true, Ordering::Relaxed);
                }
                return work(file);
            }
            self.reopen(descriptor)?;
        }
    }

    /// Like [`with`](Self::with), for work that must be followed by a sync, even if it fails.
    pub(super) fn write<T>(
        &self,
        descriptor: &Arc<Descriptor>,
        work: impl FnOnce(&File) -> io::Result<T>,
    ) -> io::Result<T> {
        self.with(descriptor, |file| {
            let done = work(file);
            descriptor.wrote();
            done
        })
    }

    /// Makes all earlier changes durable. Fails if the path no longer leads to the file.
    pub(super) fn sync(&self, descriptor: &Arc<Descriptor>) -> io::Result<()> {
        self.with(descriptor, |file| {
            // Before the sync, so that a concurrent write is not counted as covered.
            descriptor.unsynced.swap(false, Ordering::AcqRel);
            let synced = file.sync_data().and_then(|()| descriptor.still_there(file));
            synced.inspect_err(|_| descriptor.unsynced.store(true, Ordering::Release))
        })
    }

    fn reopen(&self, descriptor: &Arc<Descriptor>) -> io::Result<()> {
        let mut file = descriptor.file.write().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            let options = opening(!self.read_only);
            *file = Some(self.retry(|| options.open(&descriptor.path))?);
            descriptor.used.store(true, Ordering::Relaxed);
            self.enqueue(descriptor);
        }
        Ok(())
    }

    /// Adds an opened descriptor to the queue, and closes files beyond the bound.
    fn enqueue(&self, descriptor: &Arc<Descriptor>) {
        let mut open = lock(&self.open);
        open.push_back(descriptor.clone());
        let closed = close_beyond(&mut open, self.max_open.load(Ordering::Relaxed));
        // Files are closed after the queue is unlocked.
        drop(open);
        drop(closed);
    }

    /// Calls `work`, which needs a descriptor; while there is none, again with fewer files open.
    pub(super) fn retry<T>(&self, mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match work() {
                Err(e) if lacks_descriptors(&e) && self.halve() => {}
                done => return done,
            }
        }
    }

    /// Halves the bound, from the number of files open now; returns whether any was closed.
    fn halve(&self) -> bool {
        let mut open = lock(&self.open);
        let half = open.len() / 2;
        self.max_open.fetch_min(half.max(1), Ordering::Relaxed);
        let closed = close_beyond(&mut open, half);
        drop(open);
        !closed.is_empty()
    }
}

/// Takes files out of the queue until `max_open` are left, or none can be closed.
fn close_beyond(open: &mut VecDeque<Arc<Descriptor>>, max_open: usize) -> Vec<File> {
    let mut closed = Vec::new();
    // The first round may clear every used flag; the second closes what can be closed.
    for _ in 0..2 * open.len() {
        if open.len() <= max_open {
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
    /// It is mapped to be written, while its file is open.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux maps files"))]
    pub(super) fn begin_mapping(&self) {
        self.mapped.fetch_add(1, Ordering::AcqRel);
    }

    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux maps files"))]
    pub(super) fn end_mapping(&self) {
        self.mapped.fetch_sub(1, Ordering::AcqRel);
    }

    /// The file was written to: after that, so that a concurrent sync does not count it as covered.
    pub(super) fn wrote(&self) {
        self.unsynced.store(true, Ordering::Release);
    }

    /// Fails if the path no longer leads to the file, and this store did not change it.
    fn still_there(&self, file: &File) -> io::Result<()> {
        // `moved` is set before the change.
        if leads_to(&self.path, file)? || self.moved.load(Ordering::Acquire) {
            return Ok(());
        }
        let why =
            "its path leads to another file, or to none: somebody else replaced or removed it";
        Err(io::Error::other(Message(why.to_owned())))
    }

    /// Takes the file out, if the descriptor can be closed.
    fn close(&self) -> Option<File> {
        if self.used.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut file = self.file.try_write().ok()?;
        let kept = self.unsynced.load(Ordering::Acquire)
            || self.mapped.load(Ordering::Acquire) > 0
            || self.moved.load(Ordering::Acquire);
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

    #[test]
    fn an_error_that_is_no_lack_of_descriptors_closes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let descriptors = DescriptorTable::new(100);
        let files = ["a", "b"].map(|name| file_in(dir.path(), name, &descriptors));
        let mut tries = 0;
        let refused = descriptors.retry(|| {
            tries += 1;
            Err::<(), _>(ErrorKind::NotFound.into())
        });
        assert_eq!((refused.unwrap_err().kind(), tries), (ErrorKind::NotFound, 1));
        assert!(files.iter().all(|file| is_open(file)));
    }

    fn is_open(descriptor: &Descriptor) -> bool {
        descriptor.file.read().unwrap().is_some()
    }

    #[test]
    fn a_closed_file_is_reopened_for_calls_on_its_descriptor() {
        use std::os::unix::fs::FileExt;
        for (descriptors, writes) in
            [(DescriptorTable::new(1), true), (DescriptorTable::read_only(1), false)]
        {
            let dir = tempfile::tempdir().unwrap();
            let [closed, _open] = ["a", "b"].map(|name| file_in(dir.path(), name, &descriptors));
            assert!(!is_open(&closed));
            descriptors.with(&closed, |file| file.read_at(&mut [0], 0)).unwrap();
            let written = descriptors.with(&closed, |file| file.write_at(b"a", 0));
            assert_eq!(written.is_ok(), writes, "{written:?}");
        }
    }

    #[test]
    fn a_file_in_use_is_not_the_next_to_be_closed() {
        let dir = tempfile::tempdir().unwrap();
        let descriptors = DescriptorTable::new(3);
        let open = |name| file_in(dir.path(), name, &descriptors);
        let [a, b, c, d] = ["a", "b", "c", "d"].map(open);
        assert!(!is_open(&a), "four are more than three");
        descriptors.with(&b, |_| Ok(())).unwrap();
        let e = open("e");
        assert_eq!([&b, &c, &d, &e].map(|file| is_open(file)), [true, false, true, true]);
    }

    #[test]
    fn a_file_that_is_mapped_stays_open_until_no_mapping_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let descriptors = DescriptorTable::new(1);
        let mapped = file_in(dir.path(), "mapped", &descriptors);
        mapped.begin_mapping();
        mapped.begin_mapping();
        for (name, open) in [("a", true), ("b", true), ("c", false)] {
            file_in(dir.path(), name, &descriptors);
            assert_eq!(is_open(&mapped), open, "{name}");
            if open {
                mapped.end_mapping();
            }
        }
    }
}

//! A file that is memory-mapped to be read: bytes that are in the page cache cost neither a system call nor a
//! copy.
//!
//! A page that cannot be read ends the process with a signal, where a read would return an error: the device
//! fails, or somebody truncates the file. So whoever opens a store must ask for it
//! ([`NativeVfs::allow_mmap_reads`](super::NativeVfs::allow_mmap_reads)).

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::fs::File;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{Arc, OnceLock};
use terrane_table::sync::atomic::{AtomicUsize, Ordering};

/// Number of further files of a directory that may be mapped for reading: a process may have some 65,000
/// mappings, and allocating memory fails once they are used up.
pub(super) type ReadMappingsLeft = Arc<AtomicUsize>;

/// The most files of a directory that may be mapped, however many may be open: half of those mappings.
const READ_MAPPINGS_MAX: usize = 32 << 10;

/// Returns the number of files that may be mapped if `max_open` may be open.
pub(super) fn read_mappings(max_open: usize) -> usize {
    max_open.min(READ_MAPPINGS_MAX)
}

/// A file's mapping, made when it is first asked for.
#[derive(Default)]
pub(super) struct ReadMapping {
    /// `None` for no mappings.
    left: Option<ReadMappingsLeft>,
    pages: OnceLock<Option<Pages>>,
}

/// The pages of a mapped file.
pub(super) struct Pages {
    start: NonNull<u8>,
    len: usize,
    left: ReadMappingsLeft,
}

// SAFETY: the pages are only read, and no thread has an affinity to them.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl ReadMapping {
    /// A mapping that is one of those left, if it is made.
    pub(super) fn new(left: Option<ReadMappingsLeft>) -> Self {
        ReadMapping { left, pages: OnceLock::new() }
    }

    /// The file's bytes, which do not change; `None` where they are not to be mapped, or cannot.
    /// `map` is called once.
    #[inline]
    pub(super) fn bytes(
        &self,
        map: impl FnOnce(&ReadMappingsLeft) -> Option<Pages>,
    ) -> Option<&[u8]> {
        let left = self.left.as_ref()?;
        self.pages.get_or_init(|| map(left)).as_ref().map(Pages::bytes)
    }
}

impl Pages {
    /// Maps a file, as one of those left; `None` if none is left, or the system cannot.
    pub(super) fn map(file: &File, left: &ReadMappingsLeft) -> Option<Self> {
        let len = usize::try_from(file.metadata().ok()?.len()).ok().filter(|len| *len > 0)?;
        left.try_update(Ordering::AcqRel, Ordering::Relaxed, |left| left.checked_sub(1)).ok()?;
        let (access, flags) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: a new mapping, where the system has room.
        let start = unsafe { mmap(ptr::null_mut(), len, access, flags, file, 0) };
        let Some(start) = start.ok().and_then(|start| NonNull::new(start.cast::<u8>())) else {
            left.fetch_add(1, Ordering::AcqRel);
            return None;
        };
        // Scans that read ahead do not come here. Without the advice it is only slower.
        // SAFETY: this mapping.
        let _ = unsafe { madvise(start.as_ptr().cast(), len, Advice::Random) };
        Some(Pages { start, len, left: left.clone() })
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes are mapped from `start` on until this is dropped, and nobody changes them.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this mapping, which nobody refers to. It stays if the system fails.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        self.left.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::read_mappings;
    use crate::vfs::{NativeVfs, Vfs};
    use std::sync::Arc;
    use terrane_table::file::File;

    fn written(vfs: &NativeVfs, name: &str) -> Arc<dyn File> {
        let file = vfs.create(name).unwrap();
        file.write_at(name.as_bytes(), 0).unwrap();
        file
    }

    #[test]
    fn a_mapped_file_has_its_bytes_after_it_is_closed_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = NativeVfs::open(dir.path(), true).unwrap().open_at_most(1).allow_mmap_reads(true);
        let file = written(&vfs, "a");
        let mapped = file.mapped().expect("a temporary folder whose files can be mapped");
        assert_eq!(mapped, b"a");
        vfs.remove("a").unwrap();
        assert_eq!(file.mapped(), Some(mapped));
        assert_eq!(vfs.create("empty").unwrap().mapped(), None);
    }

    #[test]
    fn no_more_files_are_mapped_than_may_be_open() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = NativeVfs::open(dir.path(), true).unwrap().open_at_most(2).allow_mmap_reads(true);
        let [a, b, c] = ["a", "b", "c"].map(|name| written(&vfs, name));
        assert!(a.mapped().is_some() && b.mapped().is_some());
        assert!(c.mapped().is_none());
        drop(a);
        assert!(c.mapped().is_none(), "asked once");
        assert!(written(&vfs, "d").mapped().is_some());
    }

    #[test]
    fn mappings_are_left_for_memory_if_very_many_files_may_be_open() {
        assert_eq!(read_mappings(1000), 1000);
        // The default limit of Linux.
        assert!(read_mappings(1 << 20) < 65_530 * 2 / 3);
    }

    #[test]
    fn files_are_not_mapped_unless_that_is_allowed() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = NativeVfs::open(dir.path(), true).unwrap();
        assert!(written(&vfs, "a").mapped().is_none());
    }
}

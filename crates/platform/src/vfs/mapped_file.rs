//! A file that is written through memory: no system call for each write, and what was written is the
//! operating system's as it is after a `write`, whatever becomes of the process.
//!
//! A page that cannot be read or allocated when it is written to ends the process with a signal. So pages
//! are populated before, some at a time, by a call that returns an error instead: from there on the caller
//! writes to the file again. That is no guarantee: a page that was written back may have to be allocated
//! again on a file system that copies on write, and others may cut the file. Who opens a store decides
//! ([`NativeVfs::allow_mmap_writes`](super::NativeVfs::allow_mmap_writes)).

use crate::vfs::descriptor_table::Descriptor;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::fs::File;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use terrane_table::file::MappedFile;

/// Bytes of pages that are populated at a time: a system call for some thousand small writes.
const STEP_BYTES: usize = 64 << 10;

/// The first bytes of a file, mapped.
pub(super) struct Mapped {
    start: NonNull<u8>,
    len: usize,
    /// The pages up to here are populated, or are not written to.
    populated: usize,
    descriptor: Arc<Descriptor>,
}

// SAFETY: the mapping belongs to this alone, and no thread has an affinity to it.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps the first `len` bytes of a file, whose blocks are allocated, to be written from offset `from`
    /// on; `None` where the system cannot.
    pub(super) fn new(
        file: &File,
        from: u64,
        len: u64,
        descriptor: &Arc<Descriptor>,
    ) -> Option<Self> {
        let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
        // What is before is not written to.
        let populated = usize::try_from(from).ok()? / STEP_BYTES * STEP_BYTES;
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, where the system has room.
        let start = unsafe { mmap(ptr::null_mut(), len, access, flags, file, 0) }.ok()?;
        let start = NonNull::new(start.cast())?;
        descriptor.begin_mapping();
        let mut mapped = Mapped { start, len, populated, descriptor: descriptor.clone() };
        mapped.populate(populated + 1).then_some(mapped)
    }

    /// Populates the pages of the first `end` bytes, and of some more; returns whether they are there.
    fn populate(&mut self, end: usize) -> bool {
        if end <= self.populated {
            return true;
        }
        if end > self.len {
            return false;
        }
        let until = end.next_multiple_of(STEP_BYTES).min(self.len);
        // SAFETY: `populated` is a multiple of the page size below `len`, so this is within the mapping.
        let done = unsafe {
            let from = self.start.add(self.populated).as_ptr().cast();
            madvise(from, until - self.populated, Advice::LinuxPopulateWrite)
        };
        if done.is_ok() {
            self.populated = until;
        }
        done.is_ok()
    }
}

impl MappedFile for Mapped {
    fn write(&mut self, bytes: &[u8], offset: u64) -> bool {
        let Some(at) = usize::try_from(offset).ok() else { return false };
        if !at.checked_add(bytes.len()).is_some_and(|end| self.populate(end)) {
            return false;
        }
        // SAFETY: all of it is within the mapping, which nobody else refers to.
        unsafe {
            self.start.add(at).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len())
        };
        // In the order of the calls, wherever the process ends.
        fence(Ordering::Release);
        self.descriptor.wrote();
        true
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: this mapping, which nobody refers to. It stays if the system fails.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        self.descriptor.end_mapping();
    }
}

#[cfg(test)]
mod tests {
    use crate::vfs::{NativeVfs, Vfs};

    #[test]
    fn what_is_written_through_memory_is_read_from_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = NativeVfs::open(dir.path(), true).unwrap().allow_mmap_writes(true);
        let file = vfs.create("a").unwrap();
        const LEN: u64 = 1_000_000;
        file.allocate(LEN).unwrap();
        let mut mapped = file.map(0, LEN).expect("a temporary folder whose files can be mapped");
        for (at, len) in [(0, 5), (262_140, 10), (700_000, 4096), (LEN - 3, 3)] {
            let bytes = vec![at as u8 | 1; len];
            assert!(mapped.write(&bytes, at));
            let mut found = vec![0; len];
            assert_eq!(file.read_at(&mut found, at).unwrap(), len);
            assert_eq!(found, bytes);
        }
        assert!(!mapped.write(b"over", LEN - 3) && !mapped.write(b"", u64::MAX));
        file.sync().unwrap();
        drop(mapped);
        let mut found = [0; 3];
        file.read_at(&mut found, LEN - 3).unwrap();
        assert_ne!(found, [0; 3]);
        assert_eq!(file.len().unwrap(), LEN);
    }

    #[test]
    fn a_file_is_mapped_if_allowed_from_any_offset_and_stays_open() {
        let dir = tempfile::tempdir().unwrap();
        let open = || NativeVfs::open(dir.path(), true).unwrap().open_at_most(1);
        let plain = open().create("plain").unwrap();
        plain.allocate(4096).unwrap();
        assert!(plain.map(0, 4096).is_none());
        let vfs = open().allow_mmap_writes(true);
        let file = vfs.create("a").unwrap();
        file.allocate(1 << 20).unwrap();
        let mut mapped = file.map(700_000, 1 << 20).expect("a folder whose files can be mapped");
        file.sync().unwrap();
        // Others take the only place of an open file; this one's path leads to another.
        for other in ["b", "c", "d"] {
            vfs.create(other).unwrap();
        }
        std::fs::copy(dir.path().join("a"), dir.path().join("copy")).unwrap();
        std::fs::rename(dir.path().join("copy"), dir.path().join("a")).unwrap();
        assert!(mapped.write(b"lost", 700_000));
        assert!(file.sync().is_err(), "a sync of a file that was replaced");
    }

    #[test]
    fn writing_beyond_what_the_file_has_is_refused_and_ends_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = NativeVfs::open(dir.path(), true).unwrap().allow_mmap_writes(true);
        let file = vfs.create("a").unwrap();
        file.allocate(8192).unwrap();
        assert!(file.map(0, 0).is_none() && file.map(0, 1 << 20).is_none());
        // Cut after it was mapped, and before those pages were populated.
        file.allocate(1 << 20).unwrap();
        let mut mapped =
            file.map(0, 1 << 20).expect("a temporary folder whose files can be mapped");
        file.set_len(8192).unwrap();
        assert!(!mapped.write(b"a", 1 << 19));
    }

    #[test]
    fn a_mapping_that_is_dropped_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = NativeVfs::open(dir.path(), true).unwrap().allow_mmap_writes(true);
        let file = vfs.create("a").unwrap();
        file.allocate(1 << 20).unwrap();
        let path = dir.path().join("a").display().to_string();
        let mappings = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().filter(|line| line.ends_with(&path)).count()
        };
        let mapped = file.map(0, 1 << 20).expect("a temporary folder whose files can be mapped");
        assert_eq!(mappings(), 1);
        drop(mapped);
        assert_eq!(mappings(), 0);
    }
}

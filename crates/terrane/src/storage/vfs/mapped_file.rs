//! A file that is written through memory: no system call for each write, and what was written is the
//! operating system's as it is after a `write`, whatever becomes of the process.
//!
//! A page that cannot be had when it is written to would end the process with a signal. So pages are had
//! before, some at a time, by a call that returns the error; then writes go through the file again.

use crate::storage::MappedFile;
use crate::storage::vfs::descriptor_table::Descriptor;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::fs::File;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Bytes of pages that are had at a time: a system call for some thousand small writes.
const READY_BYTES: usize = 256 << 10;

/// The first bytes of a file, mapped.
pub(super) struct Mapped {
    start: NonNull<u8>,
    len: usize,
    /// So many bytes have their pages.
    ready: usize,
    descriptor: Arc<Descriptor>,
}

// SAFETY: the mapping belongs to this alone, and no thread has an affinity to it.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps the first `len` bytes of a file, whose blocks are allocated; `None` where the system cannot.
    pub(super) fn new(file: &File, len: u64, descriptor: &Arc<Descriptor>) -> Option<Self> {
        let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, where the system has room.
        let start = unsafe { mmap(ptr::null_mut(), len, access, flags, file, 0) }.ok()?;
        let start = NonNull::new(start.cast())?;
        let mut mapped = Mapped { start, len, ready: 0, descriptor: descriptor.clone() };
        mapped.make_ready(1).then_some(mapped)
    }

    /// Has the pages of the first `end` bytes, and of some more; returns whether they are there.
    fn make_ready(&mut self, end: usize) -> bool {
        if end <= self.ready {
            return true;
        }
        if end > self.len {
            return false;
        }
        let until = end.next_multiple_of(READY_BYTES).min(self.len);
        // SAFETY: `ready` is a multiple of the page size below `len`, so this is within the mapping.
        let done = unsafe {
            let from = self.start.add(self.ready).as_ptr().cast();
            madvise(from, until - self.ready, Advice::LinuxPopulateWrite)
        };
        if done.is_ok() {
            self.ready = until;
        }
        done.is_ok()
    }
}

impl MappedFile for Mapped {
    fn write(&mut self, bytes: &[u8], offset: u64) -> bool {
        let Some(at) = usize::try_from(offset).ok() else { return false };
        if !at.checked_add(bytes.len()).is_some_and(|end| self.make_ready(end)) {
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
        // SAFETY: this mapping, which nobody refers to any more. It stays if the system fails.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use crate::storage::vfs::{NativeVfs, Vfs};

    #[test]
    fn what_is_written_through_memory_is_read_from_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = NativeVfs::open(dir.path(), true).unwrap().create("a").unwrap();
        const LEN: u64 = 1_000_000;
        file.allocate(LEN).unwrap();
        let mut mapped = file.map(LEN).expect("a temporary folder whose files can be mapped");
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
    fn pages_that_the_file_does_not_have_are_no_fault() {
        let dir = tempfile::tempdir().unwrap();
        let file = NativeVfs::open(dir.path(), true).unwrap().create("a").unwrap();
        file.allocate(8192).unwrap();
        assert!(file.map(0).is_none() && file.map(8193).is_none());
        // Cut after it was mapped, and before the pages were had.
        file.allocate(1 << 20).unwrap();
        let mut mapped = file.map(1 << 20).expect("a temporary folder whose files can be mapped");
        file.set_len(8192).unwrap();
        assert!(!mapped.write(b"a", 1 << 19));
    }
}

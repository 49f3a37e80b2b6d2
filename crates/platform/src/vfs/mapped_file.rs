//! A file that is appended to through memory, without a system call for each record. Appended records survive the end
//! of the process, as after a `write`: they are in the operating system's page cache.
//!
//! 1. A part of the file is mapped. A record within this *mapping* is copied into it, its head last. The first record
//!    after the mapping moves it, unless the record is large: moving it for every few records takes longer than writing
//!    them to the file. Such a record is left to the caller, and so is one that crosses the edge of a mapping.
//! 2. A store to a page that cannot be read, or has no space, would end the process with SIGBUS. So the pages of a
//!    mapping are populated for writing, by a call that returns an error instead, and locked in memory: they are not
//!    reclaimed, so nothing reads them from a device that fails later. After a write-back the next store to a page asks
//!    the file system again. So files are mapped only on file systems that then need neither space nor the device
//!    ([`keeps_pages_writable`]).
//! 3. Once a mapping is refused, the caller writes to the file from there on. Linux before 5.14 refuses it, and so does
//!    a limit on locked memory (`RLIMIT_MEMLOCK`).
//!
//! A failed write-back is an error of the next sync, as after a `write`. Truncating a file in use, punching holes in
//! it, or making it immutable (`chattr +i`), still ends the process.

use crate::vfs::descriptor_table::{Descriptor, DescriptorTable};
use rustix::fs::fstatfs;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::fs::File;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use terrane_table::file::MappedFile;

/// Bytes of a mapping, and the alignment of its offset: a multiple of the page size, and at most what Linux lets every
/// process lock.
const MAPPING_BYTES: u64 = 64 << 10;

/// The longest record for which the mapping moves. A move takes as long as some 16 appends by the system call.
const MOVING_BYTES: usize = MAPPING_BYTES as usize / 16;

/// ext2, ext3 and ext4, in the numbers of `statfs`.
const EXT: u64 = 0xef53;

/// tmpfs, in the numbers of `statfs`.
const TMPFS: u64 = 0x0102_1994;

/// Whether a file system of this type always lets a page in memory be written again after a write-back, once its blocks
/// are allocated, even on a full disk or a failed device. btrfs and other copy-on-write file systems allocate anew for
/// each write-back, and so does XFS after `cp --reflink`; XFS also refuses once the device has failed.
fn keeps_pages_writable(file_system: u64) -> bool {
    matches!(file_system, EXT | TMPFS)
}

/// A file that is written through a mapping of a part of it.
pub(super) struct Mapped {
    mapping: Option<Mapping>,
    /// Bytes of the file that are allocated.
    len: u64,
    descriptor: Arc<Descriptor>,
    descriptors: Arc<DescriptorTable>,
}

/// A part of a file in memory, populated and locked.
struct Mapping {
    start: NonNull<u8>,
    /// Offset in the file.
    from: u64,
    len: usize,
}

// SAFETY: the mapping belongs to this alone, and no thread has an affinity to it.
unsafe impl Send for Mapping {}

impl Mapped {
    /// Maps a file whose first `len` bytes have allocated blocks, for appends from offset `from` on. Returns `None`
    /// where the system cannot.
    pub(super) fn new(
        from: u64,
        len: u64,
        descriptor: &Arc<Descriptor>,
        descriptors: &Arc<DescriptorTable>,
    ) -> Option<Self> {
        let type_of = |file: &File| Ok(fstatfs(file)?.f_type);
        let file_system = descriptors.with(descriptor, type_of).ok()?;
        if !u64::try_from(file_system).is_ok_and(keeps_pages_writable) {
            return None;
        }
        descriptor.begin_mapping();
        let (descriptor, descriptors) = (descriptor.clone(), descriptors.clone());
        let mut mapped = Mapped { mapping: None, len, descriptor, descriptors };
        mapped.mapping = mapped.map_at(from);
        mapped.mapping.is_some().then_some(mapped)
    }

    /// Maps the part of the file that contains `offset`.
    fn map_at(&self, offset: u64) -> Option<Mapping> {
        let map = |file: &File| Ok(Mapping::map(file, offset, self.len));
        self.descriptors.with(&self.descriptor, map).ok()?
    }

    /// Returns the address of `bytes` bytes at `offset`. Moves the mapping if they lie in another part of the file,
    /// unless they are more than [`MOVING_BYTES`].
    fn place(&mut self, offset: u64, bytes: usize) -> Option<NonNull<u8>> {
        let mapping = self.mapping.as_ref()?;
        if let Some(place) = mapping.place(offset, bytes) {
            return Some(place);
        }
        if bytes > MOVING_BYTES {
            return None;
        }
        let end = offset.checked_add(bytes as u64)?;
        let next = offset - offset % MAPPING_BYTES;
        if next == mapping.from || end - next > MAPPING_BYTES || end > self.len {
            return None;
        }
        // Unmaps the old one first, so that at most one is locked.
        self.mapping = None;
        self.mapping = self.map_at(offset);
        self.mapping.as_ref()?.place(offset, bytes)
    }
}

impl MappedFile for Mapped {
    fn append(&mut self, head: &[u8], rest: &[u8], offset: u64) -> bool {
        let Some(bytes) = head.len().checked_add(rest.len()) else { return false };
        let Some(place) = self.place(offset, bytes) else { return false };
        let copy = |from: &[u8], at: NonNull<u8>| {
            // SAFETY: all of it is within the mapping, which nobody else refers to.
            unsafe { at.copy_from_nonoverlapping(NonNull::from(from).cast(), from.len()) };
            // A killed process must not leave `head` without `rest`.
            fence(Ordering::Release);
        };
        // SAFETY: `head` and `rest` fit at `place`.
        copy(rest, unsafe { place.add(head.len()) });
        copy(head, place);
        self.descriptor.wrote();
        true
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.mapping = None;
        self.descriptor.end_mapping();
    }
}

impl Mapping {
    /// Maps the part of a file that contains `offset`, up to `len` at most.
    fn map(file: &File, offset: u64, len: u64) -> Option<Self> {
        let from = offset - offset % MAPPING_BYTES;
        let len = len.saturating_sub(from).min(MAPPING_BYTES);
        let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::LOCKED;
        // SAFETY: a new mapping, where the system has room.
        let start = unsafe { mmap(ptr::null_mut(), len, access, flags, file, from) }.ok()?;
        let mapping = Mapping { start: NonNull::new(start.cast())?, from, len };
        // SAFETY: `start` is the mapping above.
        unsafe { madvise(start, len, Advice::LinuxPopulateWrite) }.ok()?;
        Some(mapping)
    }

    /// Returns the address of `bytes` bytes at `offset` of the file, if they lie in the mapping.
    #[inline]
    fn place(&self, offset: u64, bytes: usize) -> Option<NonNull<u8>> {
        let at = usize::try_from(offset.checked_sub(self.from)?).ok()?;
        if at.checked_add(bytes)? > self.len {
            return None;
        }
        // SAFETY: `at` is within the mapping.
        Some(unsafe { self.start.add(at) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping, which nobody refers to. It stays if the system fails.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::{NativeVfs, Vfs};
    use std::path::Path;
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use tempfile::TempDir;

    /// Held by each test, since a process may be allowed to lock one mapping only.
    static LOCKS_MEMORY: Mutex<()> = Mutex::new(());

    /// A directory, in memory if there is such a file system.
    struct Place {
        dir: TempDir,
        /// Whether its files can be mapped.
        maps: bool,
        _alone: MutexGuard<'static, ()>,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
            Place::at(dir.unwrap())
        }

        fn at(dir: TempDir) -> Self {
            let _alone = LOCKS_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
            let maps = can_map(dir.path());
            if !maps {
                println!("this system cannot map files: the test only checks that none is mapped");
            }
            Place { dir, maps, _alone }
        }

        fn vfs(&self) -> NativeVfs {
            NativeVfs::open(self.dir.path(), true).unwrap().allow_mmap_writes(true)
        }

        /// Returns a file of `len` bytes mapped from `from` on, or `None` where the system cannot map it.
        fn mapped(
            &self,
            vfs: &NativeVfs,
            from: u64,
            len: u64,
        ) -> Option<(Arc<dyn terrane_table::file::File>, Box<dyn MappedFile>)> {
            let file = vfs.create("log").unwrap();
            file.allocate(len).unwrap();
            let mapped = file.map(from, len);
            assert_eq!(mapped.is_some(), self.maps);
            Some((file, mapped?))
        }

        /// The mappings of a file in this process.
        fn mappings(&self) -> usize {
            let path = self.dir.path().join("log").display().to_string();
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().filter(|line| line.ends_with(&path)).count()
        }
    }

    /// Whether a file in `dir` can be mapped: by file system, lockable memory and Linux 5.14.
    fn can_map(dir: &Path) -> bool {
        let file = tempfile::tempfile_in(dir).unwrap();
        file.set_len(MAPPING_BYTES).unwrap();
        let file_system = fstatfs(&file).unwrap().f_type;
        let (len, access) = (MAPPING_BYTES as usize, ProtFlags::READ | ProtFlags::WRITE);
        let flags = MapFlags::SHARED | MapFlags::LOCKED;
        // SAFETY: a new mapping, which only this refers to.
        let Ok(start) = (unsafe { mmap(ptr::null_mut(), len, access, flags, &file, 0) }) else {
            return false;
        };
        // SAFETY: that mapping.
        let populated = unsafe { madvise(start, len, Advice::LinuxPopulateWrite) };
        // SAFETY: that mapping, which is not used again.
        unsafe { munmap(start, len) }.unwrap();
        [0xef53, 0x0102_1994].contains(&file_system) && populated.is_ok()
    }

    fn read(file: &dyn terrane_table::file::File, offset: u64, len: usize) -> Vec<u8> {
        let mut found = vec![0; len];
        assert_eq!(file.read_at(&mut found, offset).unwrap(), len);
        found
    }

    #[test]
    fn records_in_memory_are_read_from_the_file() {
        const LEN: u64 = 1_000_000;
        let place = Place::new();
        let Some((file, mut mapped)) = place.mapped(&place.vfs(), 0, LEN) else { return };
        for (at, len) in [(0, 5), (262_144, 10), (700_000, 4096), (LEN - 3, 3)] {
            let bytes = vec![at as u8 | 1; len];
            assert!(mapped.append(&bytes[..2], &bytes[2..], at), "{at}");
            assert_eq!(read(&*file, at, len), bytes);
        }
        assert!(!mapped.append(b"ov", b"er", LEN - 3) && !mapped.append(b"", b"", u64::MAX));
        file.sync().unwrap();
        drop(mapped);
        assert_ne!(read(&*file, LEN - 3, 3), [0; 3]);
        assert_eq!(file.len().unwrap(), LEN);
    }

    #[test]
    fn a_record_over_an_edge_is_left_to_the_caller() {
        let place = Place::new();
        let Some((file, mut mapped)) = place.mapped(&place.vfs(), 0, 4 * MAPPING_BYTES) else {
            return;
        };
        let large = vec![7; MAPPING_BYTES as usize];
        for offset in [MAPPING_BYTES - 1, 2 * MAPPING_BYTES - 9] {
            assert!(!mapped.append(b"01234567", b"89", offset));
            assert_eq!(read(&*file, offset, 10), [0; 10]);
            assert!(!mapped.append(b"0", &large, offset + 10), "more than a mapping");
            assert!(mapped.append(b"01234567", b"89", offset + 10));
            assert_eq!(read(&*file, offset + 10, 10), b"0123456789");
            assert_eq!(place.mappings(), 1, "a mapping");
        }
        drop(mapped);
        assert_eq!(place.mappings(), 0);
    }

    #[test]
    fn a_large_record_after_the_mapping_is_left_to_the_caller() {
        let place = Place::new();
        let Some((file, mut mapped)) = place.mapped(&place.vfs(), 0, 4 * MAPPING_BYTES) else {
            return;
        };
        let rest = vec![7; MOVING_BYTES];
        assert!(mapped.append(b"0", &rest, 0), "within the mapping");
        assert!(!mapped.append(b"0", &rest, MAPPING_BYTES), "a byte more than moves the mapping");
        assert_eq!(read(&*file, MAPPING_BYTES, 1), [0]);
        assert!(mapped.append(b"0", &rest, 2 * MOVING_BYTES as u64), "the mapping is still there");
        assert!(mapped.append(b"0", &rest[1..], MAPPING_BYTES));
        assert!(!mapped.append(b"0", &rest, 0), "the mapping has moved");
        assert_eq!(place.mappings(), 1);
    }

    #[test]
    fn no_file_is_mapped_unless_that_is_allowed() {
        let place = Place::new();
        let file = NativeVfs::open(place.dir.path(), true).unwrap().create("log").unwrap();
        file.allocate(4096).unwrap();
        assert!(file.map(0, 4096).is_none());
    }

    #[test]
    fn a_file_is_mapped_from_any_offset_and_stays_open() {
        let place = Place::new();
        let vfs = place.vfs().open_at_most(1);
        let Some((file, mut mapped)) = place.mapped(&vfs, 700_000, 1 << 20) else { return };
        file.sync().unwrap();
        // Others take the only place of an open file; this one's path leads to another.
        for other in ["b", "c", "d"] {
            vfs.create(other).unwrap();
        }
        let [path, copy] = ["log", "copy"].map(|name| place.dir.path().join(name));
        std::fs::copy(&path, &copy).unwrap();
        std::fs::rename(copy, path).unwrap();
        assert!(mapped.append(b"lo", b"st", 700_000));
        assert!(file.sync().is_err(), "a sync of a file that was replaced");
    }

    #[test]
    fn a_mapping_beyond_the_end_of_a_file_is_refused_for_good() {
        let place = Place::new();
        let vfs = place.vfs();
        let small = vfs.create("small").unwrap();
        small.allocate(8192).unwrap();
        assert!(
            small.map(0, 0).is_none() && small.map(MAPPING_BYTES, 8192).is_none(),
            "nothing is left"
        );
        assert!(small.map(0, 1 << 20).is_none());
        let Some((file, mut mapped)) = place.mapped(&vfs, 0, 1 << 20) else { return };
        // Truncated after the mapping.
        file.set_len(MAPPING_BYTES).unwrap();
        assert!(mapped.append(b"a", b"b", 100));
        assert!(!mapped.append(b"a", b"b", 1 << 19));
        assert!(!mapped.append(b"a", b"b", 100), "no mapping is left");
        assert_eq!(place.mappings(), 0);
    }

    #[test]
    fn blocks_of_a_mapping_are_allocated_when_it_is_made() {
        // On a disk, if temporary files are on one: tmpfs allocates a page as soon as it is read.
        let place = Place::at(tempfile::tempdir().unwrap());
        let file = place.vfs().create("log").unwrap();
        // Holes, as a copy of a log may have.
        file.set_len(2 * MAPPING_BYTES).unwrap();
        let mapped = file.map(0, 2 * MAPPING_BYTES);
        assert_eq!(mapped.is_some(), place.maps);
        if !place.maps {
            return;
        }
        // With delayed allocation the blocks are only reserved until a sync.
        file.sync().unwrap();
        assert!((MAPPING_BYTES..2 * MAPPING_BYTES).contains(&file.allocated().unwrap()));
    }

    #[test]
    fn file_systems_that_allocate_for_write_backs_are_not_mapped() {
        let (btrfs, xfs, f2fs, overlay, nfs) =
            (0x9123_683e, 0x5846_5342, 0xf2f5_2010, 0x794c_7630, 0x6969);
        assert!(keeps_pages_writable(EXT) && keeps_pages_writable(TMPFS));
        assert!(![btrfs, xfs, f2fs, overlay, nfs].into_iter().any(keeps_pages_writable));
    }
}

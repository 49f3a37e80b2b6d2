//! Preallocation: a file's blocks are allocated before they are written.

use crate::vfs::repeat::write;
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
use crate::vfs::system::reserve;
use std::fs::File;
use std::io::{self, ErrorKind};

/// Extends `file` to `len` bytes that read as zeros and have their blocks, so that a full disk is an
/// error now and not when they are written. A longer file is left as it is.
///
/// If the file system cannot preallocate, zeros are written. One that compresses or copies on write
/// may still need space when they are overwritten.
pub(super) fn allocate(file: &File, len: u64) -> io::Result<()> {
    allocate_with(file, len, reserve)
}

/// Allocates what `reserve` can, or else by writing.
fn allocate_with(
    file: &File,
    len: u64,
    reserve: impl Fn(&File, u64, u64) -> io::Result<()>,
) -> io::Result<()> {
    let end = file.metadata()?.len();
    if end >= len {
        return Ok(());
    }
    let allocated = match reserve(file, end, len) {
        Err(e) if e.kind() == ErrorKind::Unsupported => write_zeros(file, end, len),
        other => other,
    };
    // On a full disk, free what was allocated.
    allocated.inspect_err(|_| drop(file.set_len(end)))
}

/// Asks the file system for the blocks from `end` to `len`.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn reserve(file: &File, end: u64, len: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    if cfg!(target_vendor = "apple") && end > 0 {
        // There the whole new length would be allocated on top of the old.
        return file.set_len(len);
    }
    loop {
        match fallocate(file, FallocateFlags::empty(), end, len - end) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Err(ErrorKind::Unsupported.into()),
            other => return Ok(other?),
        }
    }
}

fn write_zeros(file: &File, end: u64, len: u64) -> io::Result<()> {
    let zeros = vec![0; 64 << 10];
    let mut at = end;
    while at < len {
        let n = usize::try_from(len - at).unwrap_or(usize::MAX).min(zeros.len());
        match write(file, zeros.get(..n).unwrap_or(&zeros), at)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => at += written as u64,
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn an_allocated_file_has_its_blocks() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        for extend in [allocate, |file: &File, len| write_zeros(file, file.metadata()?.len(), len)]
        {
            let file = File::create(&path).unwrap();
            for len in [1 << 20, 3 << 20] {
                extend(&file, len).unwrap();
                let found = file.metadata().unwrap();
                assert_eq!(found.len(), len);
                assert!(found.blocks() * 512 >= len, "{} blocks", found.blocks());
            }
        }
        let file = File::options().write(true).open(&path).unwrap();
        allocate(&file, 5).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 3 << 20, "it is longer");
        // Not with `allocate`, which may continue to write as much.
        assert!(reserve(&file, 3 << 20, 1 << 61).is_err());
    }

    #[test]
    fn zeros_are_written_without_preallocation_and_errors_undo_them() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let file = File::create(&path).unwrap();
        write(&file, b"before", 0).unwrap();
        let cannot = |_: &File, _, _| Err(ErrorKind::Unsupported.into());
        allocate_with(&file, 100_005, cannot).unwrap();
        let mut expected = b"before".to_vec();
        expected.resize(100_005, 0);
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        assert!(file.metadata().unwrap().blocks() * 512 >= 100_005);
        let full =
            |file: &File, _, len| file.set_len(len / 2).and(Err(ErrorKind::StorageFull.into()));
        let refused = allocate_with(&file, 300_000, full).unwrap_err();
        assert_eq!(
            (refused.kind(), file.metadata().unwrap().len()),
            (ErrorKind::StorageFull, 100_005)
        );
    }
}

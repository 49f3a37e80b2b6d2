//! Preallocation: a file's blocks are allocated before they are written.

use std::fs::File;
use std::io::{self, ErrorKind};

/// Extends `file` to `len` bytes that read as zeros and have their blocks, so that a full disk is an
/// error now and not when they are written. A longer file is left as it is.
///
/// If the file system cannot preallocate, zeros are written. One that compresses or copies on write
/// may still need space when they are overwritten.
pub(super) fn allocate(file: &File, len: u64) -> io::Result<()> {
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

/// Setting the length allocates the clusters: files are sparse only on request.
#[cfg(windows)]
fn reserve(file: &File, _end: u64, len: u64) -> io::Result<()> {
    file.set_len(len)
}

#[cfg(not(any(windows, target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn reserve(_: &File, _end: u64, _len: u64) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

fn write_zeros(file: &File, end: u64, len: u64) -> io::Result<()> {
    use super::system::FileExt;
    let zeros = vec![0; 64 << 10];
    let mut at = end;
    while at < len {
        let n = usize::try_from(len - at).unwrap_or(usize::MAX).min(zeros.len());
        match file.write_at(zeros.get(..n).unwrap_or(&zeros), at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => at += written as u64,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
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
        assert!(allocate(&file, 1 << 61).is_err());
        assert_eq!(file.metadata().unwrap().len(), 3 << 20, "as it was");
    }
}

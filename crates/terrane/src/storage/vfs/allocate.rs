//! A file's blocks, allocated before they are written.

use std::fs::File;
use std::io::{self, ErrorKind};

/// Extends `file` to `len` bytes that read as zeros and have their blocks: a full disk is an
/// error now, and not when the blocks are written. A file that is as long is left as it is.
///
/// Where the file system cannot allocate, the zeros are written. One that copies on write, or
/// compresses, may need room again for what is written over them.
pub(super) fn allocate(file: &File, len: u64) -> io::Result<()> {
    let end = file.metadata()?.len();
    if end >= len {
        return Ok(());
    }
    let allocated = match reserve(file, end, len) {
        Err(e) if e.kind() == ErrorKind::Unsupported => write_zeros(file, end, len),
        other => other,
    };
    // What a full disk had room for goes back.
    allocated.inspect_err(|_| drop(file.set_len(end)))
}

/// Asks the file system for the blocks from `end` to `len`.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn reserve(file: &File, end: u64, len: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    if cfg!(target_vendor = "apple") && end > 0 {
        // There a file is given the whole of its new length once more.
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

/// A length that is set has its clusters: files are sparse only where that is asked for.
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

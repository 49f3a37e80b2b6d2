//! Fallbacks for systems without these calls: they do nothing, know nothing, or fail.

/// There are no files, so none is read or written.
#[cfg(not(any(unix, windows)))]
pub(in crate::vfs) trait FileExt {
    fn read_at(&self, _: &mut [u8], _offset: u64) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn write_at(&self, _: &[u8], _offset: u64) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(any(unix, windows)))]
impl FileExt for std::fs::File {}

/// An open lock file and its directory keep their names, and so do the files.
#[cfg(not(unix))]
pub(in crate::vfs) fn leads_to(_: &std::path::Path, _: &std::fs::File) -> std::io::Result<bool> {
    Ok(true)
}

/// Returns `offset`: the system does not say where data starts.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    target_os = "freebsd"
)))]
pub(in crate::vfs) fn next_data(_: &std::fs::File, offset: u64) -> std::io::Result<u64> {
    Ok(offset)
}

/// Other systems have no way to do that.
#[cfg(not(any(unix, windows)))]
pub(in crate::vfs) fn sync_directory(_: &std::path::Path) -> std::io::Result<()> {
    Ok(())
}

/// Files are allocated by writing.
#[cfg(not(any(windows, target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(in crate::vfs) fn reserve(_: &std::fs::File, _end: u64, _len: u64) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

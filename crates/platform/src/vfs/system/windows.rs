//! Windows: reads and writes at an offset, renames that are durable at once, and directories that are synced
//! as files.

use std::fs;
use std::io;
use std::path::Path;

pub(in crate::vfs) trait FileExt {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;
}

impl FileExt for fs::File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(self, buf, offset)
    }
}

/// Renames a file, replacing `to`. Durable when it returns.
pub(in crate::vfs) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::windows::ffi::OsStrExt;
    use windows_sys::Win32::Storage::FileSystem::{
        MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH, MoveFileExW,
    };
    let wide = |path: &Path| path.as_os_str().encode_wide().chain([0]).collect::<Vec<u16>>();
    let (from, to) = (wide(from), wide(to));
    let flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    // SAFETY: both paths end in a zero and outlive the call, which keeps neither.
    match unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), flags) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// NTFS logs names in its own journal, in order, and flushes that with any writable handle, also a
/// directory's. If a directory cannot be opened that way, the next sync of a file does it: the name is
/// in the journal before that file's own changes.
pub(in crate::vfs) fn sync_directory(dir: &Path) -> io::Result<()> {
    use std::os::windows::fs::OpenOptionsExt;
    use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_BACKUP_SEMANTICS;
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    match options.open(dir).and_then(|dir| dir.sync_all()) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

/// Setting the length allocates the clusters: files are sparse only on request.
pub(in crate::vfs) fn reserve(file: &fs::File, _end: u64, len: u64) -> io::Result<()> {
    file.set_len(len)
}

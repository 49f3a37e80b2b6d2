//! Differences between operating systems: positional reads and writes, durable names, and whether a
//! path still leads to a file.

use std::fs;
use std::io;
use std::path::Path;

mod fallback;
#[cfg(windows)]
mod windows;

#[cfg(not(any(unix, windows)))]
pub(super) use fallback::FileExt;
#[cfg(not(unix))]
pub(super) use fallback::leads_to;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    target_os = "freebsd"
)))]
pub(super) use fallback::next_data;
#[cfg(not(any(
    windows,
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple"
)))]
pub(super) use fallback::reserve;
#[cfg(not(any(unix, windows)))]
pub(super) use fallback::sync_directory;
#[cfg(unix)]
pub(super) use std::os::unix::fs::FileExt;
#[cfg(windows)]
pub(super) use windows::{FileExt, rename, reserve, sync_directory};

/// Options that open a file. A fifo under a file's name is opened as well, rather than waited for.
pub(super) fn opening(write: bool) -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(write);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options
}

/// The limit of open files of this process, if there is one.
pub(super) fn descriptors() -> Option<usize> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        getrlimit(Resource::Nofile).current.and_then(|most| usize::try_from(most).ok())
    }
    #[cfg(not(unix))]
    None
}

/// Whether a file could not be opened because the process or the system has too many open files.
pub(super) fn lacks_descriptors(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
    }
    #[cfg(not(unix))]
    {
        const TOO_MANY_OPEN_FILES: i32 = 4;
        cfg!(windows) && error.raw_os_error() == Some(TOO_MANY_OPEN_FILES)
    }
}

/// Returns the id of the process that has locked a file; `None` where the system does not report it, or for a process
/// that is not visible here.
pub(super) fn holder_of(file: &fs::File) -> Option<u32> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use std::os::unix::fs::MetadataExt;
        let found = file.metadata().ok()?;
        let device = found.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let place = format!("{major:02x}:{minor:02x}:{}", found.ino());
        // A line is `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`.
        fs::read_to_string("/proc/locks").ok()?.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            (words.next() == Some("FLOCK")).then_some(())?;
            let pid = words.nth(2)?.parse().ok().filter(|pid| *pid > 0);
            (words.next() == Some(&*place)).then_some(pid)?
        })
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = file;
        None
    }
}

/// The directory of a path; `None` for a root.
pub(super) fn directory_of(path: &Path) -> Option<&Path> {
    let parent = path.parent()?;
    Some(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}

/// Whether `path` leads to `file`.
#[cfg(unix)]
pub(super) fn leads_to(path: &Path, file: &fs::File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    match fs::metadata(path) {
        Ok(there) => Ok(id(there) == id(file.metadata()?)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// The offset of the next data at or after `offset`; the end of the file if there is none, and `offset`
/// if the file system cannot tell.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos", target_os = "freebsd"))]
pub(super) fn next_data(file: &fs::File, offset: u64) -> io::Result<u64> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    // Reads and writes are positional, so the file's own offset does not matter.
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => Ok(data),
        Err(Errno::NXIO) => Ok(file.metadata()?.len()),
        Err(Errno::INVAL | Errno::NOTSUP) => Ok(offset),
        Err(e) => Err(e.into()),
    }
}

/// Renames a file, replacing `to`. Durable after [`sync_directory`].
#[cfg(not(windows))]
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Makes creations, removals and renames in a directory durable.
#[cfg(unix)]
pub(super) fn sync_directory(dir: &Path) -> io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_is_in_the_current_directory() {
        for (path, directory) in
            [("a", Some(".")), ("a/b", Some("a")), ("/a", Some("/")), ("/", None)]
        {
            assert_eq!(directory_of(Path::new(path)), directory.map(Path::new), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_leads_to_its_file_and_to_no_other() {
        let place = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| place.path().join(name));
        let [file, other] = [&a, &b].map(|path| fs::File::create(path).unwrap());
        assert!(leads_to(&a, &file).unwrap() && !leads_to(&a, &other).unwrap());
        assert!(leads_to(&a.join("below"), &file).is_err(), "it cannot be told");
        fs::remove_file(&a).unwrap();
        assert!(!leads_to(&a, &file).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn names_are_made_durable_where_there_is_a_directory() {
        let place = tempfile::tempdir().unwrap();
        sync_directory(place.path()).unwrap();
        assert!(sync_directory(&place.path().join("missing")).is_err());
    }
}

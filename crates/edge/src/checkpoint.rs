//! Checkpoints: copies of the store in a directory that its owner chose, a new directory each.
//!
//! 1. The copy is written to `NAME.unfinished`, which must not exist.
//! 2. When it is complete and durable it is renamed: `NAME` is the whole copy or nothing.
//! 3. A copy that fails is removed. That of a killed process stays, and its name is refused.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terrane::storage::Directory;
use terrane::storage::vfs::{NativeVfs, Vfs};
use terrane::{Db, Error};

/// Bytes of the longest name.
const NAME_BYTES_MAX: usize = 128;

/// A checkpoint that was not written.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The place is taken.
    Taken(PathBuf),
    /// The server stops.
    Stopped,
    /// A failure of the store, or of the copy.
    Store(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Store(error)
    }
}

/// Returns the name of a checkpoint, if it is a name and no path.
pub(crate) fn parse_name(name: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
    let is_name = name.first().is_some_and(|first| *first != b'.')
        && name.len() <= NAME_BYTES_MAX
        && name.iter().all(is_plain);
    let text = std::str::from_utf8(name).ok().filter(|_| is_name)?;
    Some(text.to_owned())
}

/// Writes a checkpoint, unless `go_on` returns `false` meanwhile. Returns its path.
pub(crate) fn write(
    db: &Db,
    dir: &Path,
    name: &str,
    go_on: impl Fn() -> bool,
) -> Result<PathBuf, Refused> {
    let target = dir.join(name);
    let unfinished = dir.join(format!("{name}.unfinished"));
    if fs::symlink_metadata(&target).is_ok() {
        return Err(Refused::Taken(target));
    }
    fs::create_dir(&unfinished).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Refused::Taken(unfinished.clone()),
        _ => failed("create", &unfinished, e),
    })?;
    let written = fill(db, &unfinished, go_on).and_then(|()| {
        fs::rename(&unfinished, &target).map_err(|e| failed("rename", &unfinished, e))
    });
    if let Err(refused) = written {
        // A folder that cannot be removed blocks only its own name.
        let _ = fs::remove_dir_all(&unfinished);
        return Err(refused);
    }
    NativeVfs::open(dir, false)?.sync_names()?;
    Ok(target)
}

fn fill(db: &Db, place: &Path, go_on: impl Fn() -> bool) -> Result<(), Refused> {
    let vfs = NativeVfs::open(place, false)?;
    let _lock = vfs.lock("terrane serve")?;
    let target = Directory::open(Arc::new(vfs))?;
    let mut checkpoint = db.begin_checkpoint(&target)?;
    while checkpoint.step(&target)? {
        if !go_on() {
            return Err(Refused::Stopped);
        }
    }
    Ok(())
}

fn failed(action: &'static str, place: &Path, error: io::Error) -> Refused {
    Refused::Store(Error::io(action, &place.display().to_string(), 0, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        assert_eq!(parse_name(b"2026-11-27.a_b"), Some("2026-11-27.a_b".to_owned()));
        for name in
            [&b""[..], b".", b"..", b".hidden", b"a/b", b"a\\b", b"a b", b"\xff", &[b'a'; 129]]
        {
            assert_eq!(parse_name(name), None, "{name:?}");
        }
    }
}

//! Writes a whole new store, or none: for `checkpoint`, `export`, `import` and `repair`.
//!
//! 1. The copy is written beside the target, under an unused name: the target's with `.unfinished` after
//!    it, and a number if that is taken.
//! 2. When it is complete and durable it is renamed: the target is the whole copy or nothing.
//! 3. A copy that fails or is interrupted is removed. Nothing else is removed: a killed copy stays.

use crate::exit::{Exit, Failure};
use crate::message;
use crate::{interrupt, store};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terrane::Db;
use terrane::storage::vfs::{NativeVfs, Vfs};
use terrane::storage::{Directory, Storage, Volume};

/// The suffix of a copy that is not complete yet.
const UNFINISHED: &str = ".unfinished";
/// The most names that are tried for a copy that is not complete yet.
const NAMES_MAX: u32 = 1000;

/// Kind of a copy.
#[derive(Clone, Copy)]
pub enum Kind {
    Directory,
    File,
}

/// Copies the store `source` to `target`, which must not exist.
pub fn copy(source: &Path, target: &Path, kind: Kind) -> Result<(), Failure> {
    interrupt::listen()?;
    let db = store::reading(source)?;
    into_new(target, kind, |place| kind.fill(place, |storage| copy_into(&db, storage)))?;
    Ok(db.close()?)
}

/// Creates the directory `target`: `fill` writes a store into the directory that it is given.
pub fn into_new_directory(
    target: &Path,
    fill: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    into_new(target, Kind::Directory, fill)
}

/// Creates a store at `target`: `fill` writes it elsewhere, and it is renamed.
fn into_new(
    target: &Path,
    kind: Kind,
    fill: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let target = &kind.named(target)?;
    if fs::symlink_metadata(target).is_ok() {
        return Err(Failure::taken(target));
    }
    let unfinished = kind.claim(target)?;
    interrupt::remove_at_exit(&unfinished);
    let made = fill(&unfinished)
        .and_then(|()| interrupt::check())
        .and_then(|()| rename(&unfinished, target));
    let made = made.map_err(|failure| match kind.remove(&unfinished) {
        Ok(()) if failure.is_interrupt() => failure.and(&format!(
            "removed {}; there is no {}",
            unfinished.display(),
            target.display()
        )),
        Ok(()) => failure,
        Err(e) => failure.and(&format!("{} is left: {e}", unfinished.display())),
    });
    interrupt::keep_at_exit();
    made?;
    sync_name(target)
}

/// Renames a complete copy, unless another process has created the target meanwhile.
fn rename(unfinished: &Path, target: &Path) -> Result<(), Failure> {
    match rename_no_replace(unfinished, target) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(Failure::taken(target)),
        renamed => {
            renamed.map_err(|e| Failure::io(&format!("rename {}", unfinished.display()), &e))
        }
    }
}

/// Renames `from` unless `to` exists: in one step, where the system can.
fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system, or the system, cannot.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            renamed => return Ok(renamed?),
        }
    }
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

fn copy_into(db: &Db, target: &dyn Storage) -> Result<(), Failure> {
    let mut checkpoint = db.begin_checkpoint(target)?;
    while checkpoint.step(target)? {
        interrupt::check()?;
    }
    Ok(())
}

impl Kind {
    fn fill(
        self,
        place: &Path,
        fill: impl FnOnce(&dyn Storage) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Kind::Directory => {
                let vfs = NativeVfs::open(place, false)?;
                let _lock = vfs.lock("terrane")?;
                fill(&Directory::open(Arc::new(vfs))?)
            }
            Kind::File => {
                let volume = Volume::open_file(place, true)?;
                fill(&volume)?;
                // Returns the space at the end that the last growth left.
                while volume.vacuum()? {}
                Ok(())
            }
        }
    }

    /// Returns `target` without slashes at its end, which only a directory's path may have.
    fn named(self, target: &Path) -> Result<PathBuf, Failure> {
        let named: PathBuf = target.components().collect();
        let end = target.as_os_str().as_encoded_bytes().last();
        let slash = end.is_some_and(|end| std::path::is_separator(char::from(*end)));
        if slash && matches!(self, Kind::File) {
            let (found, named) = (target.display(), named.display());
            let sentence = format!(
                "expected the path of a file, found {found}, which ends as a directory's; for \
                 example: {named}"
            );
            return Err(Failure::new(Exit::Input, sentence));
        }
        Ok(named)
    }

    /// Creates an empty file or directory beside `target` under an unused name; returns its path.
    fn claim(self, target: &Path) -> Result<PathBuf, Failure> {
        let create = |place: &Path| match self {
            Kind::Directory => fs::create_dir(place),
            Kind::File => File::create_new(place).map(drop),
        };
        let first = with_suffix(target, UNFINISHED);
        let others = (2..=NAMES_MAX).map(|n| with_suffix(target, &format!("{UNFINISHED}-{n}")));
        for place in std::iter::once(first.clone()).chain(others) {
            match create(&place) {
                Ok(()) if place == first => return Ok(place),
                Ok(()) => {
                    let (first, beside) = (first.display(), place.display());
                    let sentence = format!("{first} is there already, and is left alone");
                    message::note(&format!("{sentence}; the copy is written to {beside}"));
                    return Ok(place);
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Failure::io(&format!("create {}", place.display()), &e)),
            }
        }
        Err(Failure::taken(&first))
    }

    /// Removes the copy, which this process made.
    fn remove(self, place: &Path) -> io::Result<()> {
        match self {
            Kind::Directory => fs::remove_dir_all(place),
            Kind::File => fs::remove_file(place),
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Makes the name of a new file or directory durable.
fn sync_name(place: &Path) -> Result<(), Failure> {
    let parent = place.parent().filter(|dir| !dir.as_os_str().is_empty());
    Ok(NativeVfs::open(parent.unwrap_or(Path::new(".")), false)?.sync_names()?)
}

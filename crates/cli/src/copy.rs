//! Writes a whole new store, or none: for `checkpoint`, `export`, `import` and `repair`.
//!
//! 1. The copy is written beside the target, under its name with `.unfinished` after it.
//! 2. When it is complete and durable it is renamed: the target is the whole copy or nothing.
//! 3. A copy that fails or is interrupted is removed. One that was killed stays under its name, and
//!    the next one replaces it.

use crate::exit::Failure;
use crate::{interrupt, store};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terrane::storage::vfs::{NativeVfs, Vfs};
use terrane::storage::{Directory, Storage, Volume};
use terrane::{Db, ErrorKind};

/// The suffix of a copy that is not complete yet.
const UNFINISHED: &str = ".unfinished";

/// What is written.
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
    if fs::symlink_metadata(target).is_ok() {
        return Err(Failure::taken(target));
    }
    let unfinished = with_suffix(target, UNFINISHED);
    kind.claim(&unfinished)?;
    let made = fill(&unfinished).and_then(|()| {
        let failed = |e| Failure::io(&format!("rename {}", unfinished.display()), &e);
        fs::rename(&unfinished, target).map_err(failed)
    });
    made.inspect_err(|_| {
        // One that cannot be removed is replaced by the next copy.
        let _ = kind.remove(&unfinished);
    })?;
    sync_name(target)
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
                // Gives back the space at the end that the last growth left.
                while volume.vacuum()? {}
                Ok(())
            }
        }
    }

    /// Creates an empty one, replacing a copy that was killed.
    fn claim(self, place: &Path) -> Result<(), Failure> {
        let create = || match self {
            Kind::Directory => fs::create_dir(place),
            Kind::File => File::create_new(place).map(drop),
        };
        let failed = |e: io::Error| Failure::io(&format!("create {}", place.display()), &e);
        match create() {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                if !self.is_left_over(place)? {
                    return Err(Failure::taken(place));
                }
                self.remove(place).and_then(|()| create()).map_err(failed)
            }
            created => created.map_err(failed),
        }
    }

    fn remove(self, place: &Path) -> io::Result<()> {
        match self {
            Kind::Directory => fs::remove_dir_all(place),
            Kind::File => fs::remove_file(place),
        }
    }

    /// Whether there is a store, or the beginning of one, that no process has open.
    fn is_left_over(self, place: &Path) -> Result<bool, Failure> {
        match self {
            Kind::Directory if place.is_dir() => {
                let vfs = NativeVfs::open(place, false)?;
                if !vfs.list()?.iter().all(|name| Directory::is_name(name)) {
                    return Ok(false);
                }
                Ok(vfs.lock("terrane").map(|_| true)?)
            }
            Kind::File if place.is_file() => match Volume::open_file(place, false)?.recover() {
                Ok(_) => Ok(true),
                Err(e) => match e.kind() {
                    ErrorKind::Corrupt(_) => Ok(true),
                    ErrorKind::NoStore(_) => Ok(false),
                    _ => Err(e.into()),
                },
            },
            _ => Ok(false),
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

//! `checkpoint`, `export` and `import`: whole stores, into a place where there is nothing yet.

use crate::exit::{Exit, Failure};
use crate::store;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terrane::Db;
use terrane::storage::medium::{Medium, NativeMedium};
use terrane::storage::{Directory, Storage, Volume};

/// Copies a store into the new directory `target`.
pub fn into_directory(source: &Path, target: &Path) -> Result<(), Failure> {
    let db = store::existing(source)?;
    claim(target, fs::create_dir(target))?;
    copy_into(&db, target).inspect_err(|_| {
        // It was made here, and holds no store. One that cannot be removed is told by the next try.
        let _ = fs::remove_dir_all(target);
    })?;
    Ok(db.close()?)
}

/// Writes a store into the new file `target`.
pub fn into_file(source: &Path, target: &Path) -> Result<(), Failure> {
    if fs::symlink_metadata(target).is_ok() {
        return Err(taken(target));
    }
    let db = store::existing(source)?;
    let unfinished = with_suffix(target, ".tmp");
    claim(&unfinished, File::create_new(&unfinished).map(drop))?;
    write_into(&db, &unfinished, target).inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })?;
    Ok(db.close()?)
}

/// Puts the store in the file `source` into the new directory `target`.
pub fn import(source: &Path, target: &Path) -> Result<(), Failure> {
    if source.is_dir() {
        let place = source.display();
        let sentence = format!("expected the file of a volume, found the directory {place}");
        return Err(Failure::new(Exit::NoStore, sentence));
    }
    into_directory(source, target)
}

fn copy_into(db: &Db, target: &Path) -> Result<(), Failure> {
    let medium = NativeMedium::open(target, false)?;
    let _lock = medium.lock("terrane")?;
    db.checkpoint(&Directory::open(Arc::new(medium))?)?;
    sync_name(target)
}

fn write_into(db: &Db, unfinished: &Path, target: &Path) -> Result<(), Failure> {
    let volume = Volume::open_file(unfinished, true)?;
    db.checkpoint(&volume)?;
    // Room that the last growth left at the end is given back.
    while volume.tidy()? {}
    drop(volume);
    let failed = |e| Failure::io(&format!("rename {}", unfinished.display()), &e);
    fs::rename(unfinished, target).map_err(failed)?;
    sync_name(target)
}

/// Makes of an attempt to create `place` the failure that something is there, if so it is.
fn claim(place: &Path, created: io::Result<()>) -> Result<(), Failure> {
    created.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => taken(place),
        _ => Failure::io(&format!("create {}", place.display()), &e),
    })
}

fn taken(place: &Path) -> Failure {
    let place = place.display();
    Failure::new(Exit::Input, format!("expected a name not taken, found {place} there already"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Puts the name of a new file or directory on the medium.
fn sync_name(place: &Path) -> Result<(), Failure> {
    let parent = place.parent().filter(|dir| !dir.as_os_str().is_empty());
    Ok(NativeMedium::open(parent.unwrap_or(Path::new(".")), false)?.sync_names()?)
}

//! The places of stores, and what is done there without opening one by name: copies, removals.

use crate::guard::guard;
use crate::steps::Steps;
use crate::work::{self, Answer, Promise};
use napi::Env;
use napi_derive::napi;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terrane::executor::{SliceExecutor, ThreadExecutor};
use terrane::storage::vfs::{LOCK, MemoryVfs, NativeVfs, Vfs};
use terrane::storage::{Directory, Storage, Volume};
use terrane::{Db, Error, Options, Result};

/// The form of a store on files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A directory with a file for each table, as the command line makes it.
    Directory,
    /// A volume in one file, as a page exports it.
    File,
}

impl Layout {
    /// Returns the name by which JavaScript knows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Layout::Directory => "directory",
            Layout::File => "file",
        }
    }
}

/// The place of a store on files.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) layout: Layout,
}

impl Place {
    /// Returns the place of a store that is one file or, otherwise, a directory.
    pub(crate) fn new(path: String, one_file: bool) -> Self {
        let layout = if one_file { Layout::File } else { Layout::Directory };
        Place { path: path.into(), layout }
    }

    /// Opens the store that is there.
    pub(crate) fn open(&self, options: Options) -> Result<Db> {
        match self.layout {
            Layout::Directory => Db::open(&self.path, options),
            Layout::File => Db::open_file(&self.path, options),
        }
    }

    /// Starts to copy a store to this place, where there must be none.
    pub(crate) fn copy_of(&self, db: &Db) -> Result<terrane_session::Steps> {
        match self.layout {
            Layout::Directory => {
                let vfs = Arc::new(NativeVfs::open(&self.path, true)?);
                terrane_session::copy(db, Directory::open(vfs)?)
            }
            Layout::File => terrane_session::copy(db, Volume::open_file(&self.path, true)?),
        }
    }
}

/// Opens a store in memory.
pub(crate) fn open_in_memory(options: Options) -> Result<Db> {
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new()))?);
    let executor = Arc::new(ThreadExecutor::new(options.workers));
    Db::open_storage(storage, options, executor)
}

/// Starts to copy the store in the file `source` to a path, where there must be none.
///
/// # Errors
/// A file without a store, damage in it, a store at the target; an I/O error is returned by a step.
#[napi(js_name = "import_file")]
pub fn import_file(
    env: &Env,
    source: String,
    target: String,
    one_file: bool,
) -> napi::Result<Steps> {
    guard(env, || {
        let options = Options::small().create(false);
        let storage = Arc::new(Volume::open_file(Path::new(&source), false)?);
        let db = Db::open_storage(storage, options, Arc::new(SliceExecutor::default()))?;
        Place::new(target, one_file).copy_of(&db).map(Steps::new)
    })
}

/// Deletes the store at a path, if there is one: its files, and then their directory if it is empty.
///
/// # Errors
/// A store that is open anywhere, files of another kind, an I/O error.
#[napi]
pub fn destroy(env: &Env, path: String) -> napi::Result<Promise<'_>> {
    work::start(env, move || destroy_at(Path::new(&path)).map(|()| Answer::Nothing))
}

/// Deletes the store that a path leads to, and then the path itself if it is a link.
fn destroy_at(path: &Path) -> Result<()> {
    let failed = |why| Error::io("remove", &path.display().to_string(), 0, why);
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        destroy_at(&real)?;
        return fs::remove_file(path).map_err(failed);
    }
    match fs::metadata(path) {
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(failed(why)),
        Ok(found) if found.is_dir() => destroy_directory(path),
        Ok(_) => {
            // Held while it is removed.
            let volume = Volume::open_file(path, false)?;
            if volume.recover()?.is_none() {
                let why = "it is not a store file".to_owned();
                return Err(Error::no_store(path.display().to_string(), why));
            }
            fs::remove_file(path).map_err(failed)?;
            drop(volume);
            Ok(())
        }
    }
}

fn destroy_directory(path: &Path) -> Result<()> {
    let place = path.display().to_string();
    let vfs = Arc::new(NativeVfs::open(path, false)?);
    let names = vfs.list()?;
    if let Some(other) = names.iter().find(|name| !Directory::is_name(name)) {
        return Err(Error::no_store(
            place,
            format!("it has the file {other}, which is not part of a store"),
        ));
    }
    let lock = vfs.lock("node")?;
    // The manifest first: what is left after a crash is no store.
    let manifest_first = |name: &String| !name.starts_with("CURRENT");
    let mut names = vfs.list()?;
    names.sort_by_key(manifest_first);
    // Windows removes no lock file that is open.
    let (locked, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| cfg!(windows) && name == LOCK);
    others.iter().try_for_each(|name| vfs.remove(name))?;
    drop(lock);
    locked.iter().try_for_each(|name| vfs.remove(name))?;
    fs::remove_dir(path).map_err(|why| Error::io("remove", &place, 0, why))
}

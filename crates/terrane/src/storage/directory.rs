//! The storage in a directory: a raw file for each table and log.
//!
//! 1. `CURRENT` names a generation; `MANIFEST-<generation>` is its manifest. The manifest names all
//!    other files; what it does not name is a leftover.
//! 2. A commit syncs the directory if files were created, then appends one record. If the manifest is
//!    full, or an earlier commit failed or left an irregularity, it rolls over instead: the next
//!    manifest is written with a snapshot and synced, `CURRENT` is replaced by a rename, and the old
//!    manifest is removed.
//! 3. A new store makes a file `CREATING` with its id durable before its first other file, and removes it
//!    when `CURRENT` is durable. This distinguishes an unfinished creation, which may be removed, from a
//!    store that lost its `CURRENT`, beside which a stale `CREATING` may lie.
//! 4. Opening removes what no record names: files of unfinished commits, dropped files that were not
//!    removed, old manifests. Files with other names are left alone.
//! 5. While a store is restored from a backup, a file `RESTORING` is there. The directory cannot be opened meanwhile,
//!    and is not taken for an unfinished creation.
//! 6. After a failed commit it is unknown whether its record is durable. Files that it may name are
//!    only removed after a later commit, in a new manifest.

use crate::entry::Seq;
use crate::error::{Corruption, Error, Result};
use crate::storage::commit_state::CommitState;
use crate::storage::lock;
use crate::storage::manifest::{Manifest, ManifestId};
use crate::storage::record::Placement;
use crate::storage::vfs::{LOCK, Listed, Vfs};
use crate::storage::{Commit, File, FileId, FileKind, Orphan, Recovered, Space, Storage, StoreId};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::table::footer::{FOOTER_BYTES, Footer};
use crate::vec_map::VecMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

mod commit;
mod current;
mod files;
mod foreign;
mod names;
mod orphans;

pub use current::decode_current;
pub(super) use orphans::footer;

use files::{Files, Size, find};
use names::{CREATING, CURRENT, CURRENT_TEMP, RESTORING, manifest_generation, manifest_name};

/// A store in a directory.
pub struct Directory {
    vfs: Arc<dyn Vfs>,
    read_only: bool,
    id: Mutex<StoreId>,
    commits: AtomicU64,
    /// Locked before `files`; held during a commit.
    commit_state: Mutex<CommitState>,
    files: Mutex<Files>,
    /// A file was created since the last sync of the directory.
    names_changed: AtomicBool,
    /// There is a store, or `CREATING` is durable with its id.
    started: AtomicBool,
}

impl Directory {
    /// The name of a file that is there while a store is restored from a backup. Whatever else is there is no store
    /// yet.
    pub const RESTORING: &str = RESTORING;

    /// Opens `vfs` for a store; reads nothing yet.
    ///
    /// # Errors
    /// The errors of [`Vfs::draw_id`].
    pub fn open(vfs: Arc<dyn Vfs>) -> Result<Directory> {
        Self::with(vfs, false)
    }

    /// Opens `vfs` read-only: nothing is repaired or cleaned up, and every change is refused.
    ///
    /// # Errors
    /// The errors of [`Directory::open`].
    pub fn read_only(vfs: Arc<dyn Vfs>) -> Result<Directory> {
        Self::with(vfs, true)
    }

    fn with(vfs: Arc<dyn Vfs>, read_only: bool) -> Result<Directory> {
        Ok(Directory {
            id: Mutex::new(vfs.draw_id()?),
            commits: AtomicU64::new(0),
            vfs,
            read_only,
            commit_state: Mutex::default(),
            files: Mutex::default(),
            names_changed: AtomicBool::new(false),
            started: AtomicBool::new(false),
        })
    }

    fn refuse_if_read_only(&self, action: &'static str) -> Result<()> {
        if self.read_only { Err(Error::read_only(action, &self.vfs.place())) } else { Ok(()) }
    }

    /// Whether `vfs` has any file of a store, damaged or not. Changes nothing.
    ///
    /// # Errors
    /// I/O failures.
    pub fn is_there(vfs: &dyn Vfs) -> Result<bool> {
        Ok(vfs
            .list()?
            .iter()
            .any(|name| ![LOCK, CURRENT_TEMP].contains(&name.as_str()) && Directory::is_name(name)))
    }

    /// The generation of the manifest with this name, if it is a manifest's name.
    pub(super) fn manifest_generation(name: &str) -> Option<u64> {
        manifest_generation(name)
    }

    /// Whether this is the name of a file of a store.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        [CURRENT, CURRENT_TEMP, CREATING, RESTORING, LOCK].contains(&name)
            || FileId::parse(name).is_some()
            || manifest_generation(name).is_some()
    }

    /// Lists the files with their sizes, and updates the space they take.
    fn measure(&self) -> Result<Vec<Listed>> {
        let listed = self.vfs.sizes()?;
        lock(&self.files).measure(&listed);
        Ok(listed)
    }
}

/// The damage if a file that the manifest names is missing.
fn missing_file(name: &str, len: u64) -> Corruption {
    Corruption::new(name, 0, format_args!("{len} bytes"), "no such file")
}

/// The damage if a file of `len` bytes has only `found`.
fn missing_end(name: &str, len: u64, found: u64) -> Option<Corruption> {
    let before = || format!("{found} before the end of the file");
    (found < len).then(|| Corruption::new(name, 0, format_args!("{len} bytes"), before()))
}

impl Storage for Directory {
    fn name(&self) -> String {
        self.vfs.place()
    }

    fn read_only(&self) -> bool {
        self.read_only
    }

    fn id(&self) -> StoreId {
        *lock(&self.id)
    }

    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    fn recover(&self) -> Result<Option<Recovered>> {
        let mut state = lock(&self.commit_state);
        let names = self.vfs.list()?;
        if !names.iter().any(|n| n == CURRENT) {
            return self.without_current(&names);
        }
        let mut repaired = Vec::new();
        let (id, generation) = self.read_current(&mut repaired)?;
        *lock(&self.id) = id;
        let name = manifest_name(generation);
        if !names.contains(&name) {
            return Err(Corruption::new(name, 0, "the manifest", "no such file").into());
        }
        let file = self.vfs.open(&name)?;
        let capacity = file.len()?;
        let opened = Manifest::open(file, 0, capacity, ManifestId { store: id, generation })?;
        repaired.extend(opened.repaired);
        state.needs_rollover = !repaired.is_empty() || opened.discarded_bytes > 0;
        state.last_generation = generation;
        let synced = opened.manifest.synced();
        state.manifest = Some(opened.manifest);
        let live = opened.replayed.live.into_iter();
        let size = |placement: Placement| Size { len: placement.len, taken: 0 };
        let live: VecMap<_, _> = live.map(|(id, placement)| (id, size(placement))).collect();
        let ids = names.iter().filter_map(|name| FileId::parse(name));
        let unnamed = ids.filter(|id| !live.contains_key(id)).collect();
        *lock(&self.files) = Files { live, unnamed, generation, ..Files::default() };
        self.started.store(true, Ordering::Release);
        self.publish_commits(&state);
        let orphans = self.find_orphans(&names, opened.witnessed);
        self.check_unnamed_tables(&orphans, &name)?;
        lock(&self.files).orphans = orphans;
        Ok(Some(Recovered {
            edits: opened.replayed.edits,
            repaired,
            discarded_bytes: opened.discarded_bytes,
            synced,
        }))
    }

    fn resume(&self) -> Result<()> {
        if self.read_only {
            return Ok(());
        }
        if let Some(manifest) = &mut lock(&self.commit_state).manifest {
            manifest.confirm()?;
        }
        self.vfs.sync_names()?;
        self.sweep()
    }

    fn orphans(&self) -> Result<Vec<Orphan>> {
        let files = lock(&self.files);
        let exists =
            |o: &&Orphan| FileId::parse(&o.file).is_none_or(|id| files.unnamed.contains(&id));
        Ok(files.orphans.iter().filter(exists).cloned().collect())
    }

    fn close(&self, synced: Seq) {
        if !self.read_only
            && let Some(manifest) = &mut lock(&self.commit_state).manifest
        {
            manifest.close(synced);
        }
    }

    fn create(&self, id: FileId, capacity: u64) -> Result<Arc<dyn File>> {
        self.refuse_if_read_only("create")?;
        if !self.started.load(Ordering::Acquire) {
            self.start(&mut lock(&self.commit_state))?;
        }
        if lock(&self.files).live.contains_key(&id) {
            return Err(Error::invalid("file to create", "an unused number", id));
        }
        let file = self.vfs.create(&id.to_string())?;
        self.names_changed.store(true, Ordering::Release);
        if id.kind == FileKind::Log {
            // Nobody knows of the file yet.
            file.allocate(capacity).and_then(|()| file.sync()).inspect_err(|_| {
                let _ = self.vfs.remove(&id.to_string());
            })?;
        }
        let mut files = lock(&self.files);
        files.unnamed.insert(id);
        files.orphans.retain(|orphan| orphan.file != file.name());
        drop(files);
        Ok(file)
    }

    fn link(&self, id: FileId, from: &dyn Storage) -> Result<bool> {
        self.refuse_if_read_only("link")?;
        let Some(path) = from.path_of(id) else { return Ok(false) };
        if !self.started.load(Ordering::Acquire) {
            self.start(&mut lock(&self.commit_state))?;
        }
        let linked = self.vfs.link(&path, &id.to_string())?;
        if linked {
            lock(&self.files).unnamed.insert(id);
        }
        self.names_changed.store(true, Ordering::Release);
        Ok(linked)
    }

    fn path_of(&self, id: FileId) -> Option<PathBuf> {
        self.vfs.path_of(&id.to_string())
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn File>> {
        let name = id.to_string();
        let named = lock(&self.files).live.get(&id).copied();
        let opened = self.vfs.open(&name);
        let Some(Size { len, .. }) = named else { return opened };
        match opened {
            Ok(file) => match missing_end(&name, len, file.len()?) {
                Some(damage) => Err(damage.into()),
                None => Ok(file),
            },
            Err(e) if self.vfs.list()?.contains(&name) => Err(e),
            Err(_) => Err(missing_file(&name, len).into()),
        }
    }

    fn commit(&self, commit: &Commit<'_>) -> Result<()> {
        self.refuse_if_read_only("commit")?;
        self.make(&mut lock(&self.commit_state), commit, false)
    }

    fn reserve(&self, next: &Commit<'_>) -> Result<()> {
        self.refuse_if_read_only("commit")?;
        let mut state = lock(&self.commit_state);
        if state.has_room(&self.record(next)?.0)? {
            return Ok(());
        }
        self.make(&mut state, &Commit { dropped: &[], ..*next }, true)
    }

    fn in_doubt(&self) -> bool {
        lock(&self.commit_state).unsettled
    }

    fn remove(&self, id: FileId) -> Result<()> {
        self.refuse_if_read_only("remove")?;
        let mut state = lock(&self.commit_state);
        if lock(&self.files).live.contains_key(&id) {
            return Err(Error::invalid("file to remove", "one that no commit names", id));
        }
        if state.in_doubt.contains(&id) {
            state.removed_in_doubt.insert(id);
            return Ok(());
        }
        // Removing a large file takes a while. Commits may proceed, since none names this file.
        drop(state);
        match self.vfs.remove(&id.to_string()) {
            // Already removed, perhaps by a call that returned an error.
            Err(e) if e.io_kind() == Some(io::ErrorKind::NotFound) => {}
            other => other?,
        }
        lock(&self.files).unnamed.remove(&id);
        Ok(())
    }

    fn files(&self) -> Result<Vec<FileId>> {
        let mut ids: Vec<_> =
            self.vfs.list()?.iter().filter_map(|name| FileId::parse(name)).collect();
        ids.sort();
        Ok(ids)
    }

    fn space(&self) -> Result<Space> {
        if !lock(&self.files).measured {
            self.measure()?;
        }
        let files = lock(&self.files);
        let mut space = files.tables;
        let logs = files.live.below(&FileId::table(0)).iter().map(|(id, _)| id);
        let few: Vec<_> = logs.chain(files.unnamed.iter()).map(FileId::to_string).collect();
        let manifest = manifest_name(files.generation);
        drop(files);
        for name in few {
            // A file that was removed meanwhile takes no space.
            let Ok(file) = self.vfs.open(&name) else { continue };
            space.taken += file.allocated().unwrap_or(0);
        }
        if let Ok(file) = self.vfs.open(&manifest) {
            space.taken += file.allocated().unwrap_or(0);
            space.live += file.len().unwrap_or(0);
        }
        Ok(space)
    }

    fn manifest_bytes(&self) -> u64 {
        lock(&self.commit_state).manifest_bytes
    }

    /// Checks the manifest, `CURRENT`, and that each named file exists with its length.
    fn check(&self) -> Result<Vec<Corruption>> {
        let state = lock(&self.commit_state);
        let Some(manifest) = &state.manifest else { return Ok(Vec::new()) };
        let mut damage = Vec::new();
        match self.read_current(&mut damage) {
            Ok((id, found))
                if id == self.id() && (found == manifest.generation() || state.needs_rollover) => {}
            Ok((id, found)) => {
                let name = |id, generation| format!("generation {generation} of store {id}");
                let expected = name(self.id(), manifest.generation());
                damage.push(Corruption::new(CURRENT, 0, expected, name(id, found)));
            }
            Err(e) => damage.push(e.into_corruption()?),
        }
        damage.extend(manifest.check()?);
        damage.extend(self.check_files()?);
        Ok(damage)
    }

    fn check_files(&self) -> Result<Vec<Corruption>> {
        let listed = self.measure()?;
        let mut damage = Vec::new();
        for (id, Size { len, .. }) in lock(&self.files).live.iter() {
            let name = id.to_string();
            match find(&listed, &name) {
                Some(found) => damage.extend(missing_end(&name, *len, found.len)),
                None => damage.push(missing_file(&name, *len)),
            }
        }
        Ok(damage)
    }
}

#[cfg(test)]
mod tests;

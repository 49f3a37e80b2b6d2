//! A raw file for each table and log, in one directory.
//!
//! 1. `CURRENT` names a generation; `MANIFEST-<generation>` is its manifest. Everything else is
//!    named by the manifest, or is a leftover.
//! 2. A commit makes new names durable, then appends one record. Where the manifest is full, or an
//!    earlier commit failed or was irregular, it begins a new one instead: the next manifest is
//!    written and synced with a snapshot, `CURRENT` is replaced by a renamed file, and the manifest
//!    before is removed.
//! 3. Before the first of its files a new store makes a file `CREATING` durable, and removes it when
//!    `CURRENT` is: so a creation that never ended is told from a store that lost its `CURRENT`.
//! 4. Opening removes what no record names: files of commits that never ended, dropped files that
//!    were not removed, old manifests. Files of other names are left alone.
//! 5. After a commit that failed, it is not known whether its record is durable: files that
//!    it may name are removed only when a later commit, in a new manifest, has settled it.

use crate::error::{Corruption, Error, Result};
use crate::storage::lock;
use crate::storage::manifest::{Manifest, ManifestId};
use crate::storage::record::Placement;
use crate::storage::vfs::{LOCK, Listed, Vfs};
use crate::storage::{Commit, File, FileId, FileKind, Orphan, Recovered, Space, Storage, StoreId};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::table::footer::{FOOTER_BYTES, Footer};
use crate::vec_map::VecMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

mod commit;
mod current;
mod files;
mod orphans;

pub use current::decode_current;
pub(super) use orphans::footer;

use commit::CommitState;
use files::{Files, Size, find};

const CURRENT: &str = "CURRENT";
const CURRENT_TEMP: &str = "CURRENT.tmp";
const CREATING: &str = "CREATING";
const MANIFEST: &str = "MANIFEST-";

/// A store in a directory.
pub struct Directory {
    vfs: Arc<dyn Vfs>,
    read_only: bool,
    id: Mutex<StoreId>,
    commits: AtomicU64,
    /// Locked before `files`; held over a commit.
    commit_state: Mutex<CommitState>,
    files: Mutex<Files>,
    /// A file was created since the last sync of names.
    names_changed: AtomicBool,
    /// There is a store, or `CREATING` is durable.
    started: AtomicBool,
}

fn manifest_name(generation: u64) -> String {
    format!("{MANIFEST}{generation:06}")
}

fn manifest_generation(name: &str) -> Option<u64> {
    let generation = name.strip_prefix(MANIFEST)?.parse().ok()?;
    (manifest_name(generation) == name).then_some(generation)
}

impl Directory {
    /// The store in `vfs`, or the place for one.
    ///
    /// # Errors
    /// None but for the file system's source of ids: [`Storage::recover`] looks at the file system.
    pub fn open(vfs: Arc<dyn Vfs>) -> Result<Directory> {
        Self::with(vfs, false)
    }

    /// The store in `vfs`, to be read and left as it is, to the byte: nothing is repaired or
    /// cleared up, and every change is refused.
    ///
    /// # Errors
    /// As for [`Directory::open`].
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

    /// Whether `vfs` has any file of a store, sound or not. Nothing is changed there.
    ///
    /// # Errors
    /// A failing file system.
    pub fn is_there(vfs: &dyn Vfs) -> Result<bool> {
        Ok(vfs
            .list()?
            .iter()
            .any(|name| ![LOCK, CURRENT_TEMP].contains(&name.as_str()) && Directory::is_name(name)))
    }

    /// Whether a store, or a copy of one, was begun in `vfs` and never became whole: it holds
    /// none then. Nothing is changed there.
    ///
    /// # Errors
    /// A failing file system.
    pub fn is_unfinished(vfs: &dyn Vfs) -> Result<bool> {
        let names = vfs.list()?;
        let has = |name: &str| names.iter().any(|n| n == name);
        Ok(has(CREATING) && !has(CURRENT))
    }

    /// The generation of the manifest of this name, if it is one's.
    pub(super) fn manifest_generation(name: &str) -> Option<u64> {
        manifest_generation(name)
    }

    /// Whether a store gives one of its files this name.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        [CURRENT, CURRENT_TEMP, CREATING, LOCK].contains(&name)
            || FileId::parse(name).is_some()
            || manifest_generation(name).is_some()
    }

    /// Learns what the files take from one list of them.
    fn measure(&self) -> Result<Vec<Listed>> {
        let listed = self.vfs.sizes()?;
        lock(&self.files).measure(&listed);
        Ok(listed)
    }
}

/// What is wrong where a file that the manifest names is not there.
fn missing_file(name: &str, len: u64) -> Corruption {
    Corruption::new(name, 0, format_args!("{len} bytes"), "no such file")
}

/// What is wrong with a file that should have `len` bytes and has `found`, if anything is.
fn missing_end(name: &str, len: u64, found: u64) -> Option<Corruption> {
    let before = || format!("{found} before the end of the file");
    (found < len).then(|| Corruption::new(name, 0, format_args!("{len} bytes"), before()))
}

fn placement(len: u64) -> Placement {
    Placement { len, ..Placement::default() }
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
        let discarded_bytes = opened.discarded_bytes;
        Ok(Some(Recovered { edits: opened.replayed.edits, repaired, discarded_bytes }))
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
        let there =
            |o: &&Orphan| FileId::parse(&o.file).is_none_or(|id| files.unnamed.contains(&id));
        Ok(files.orphans.iter().filter(there).cloned().collect())
    }

    fn close(&self) {
        if let Some(manifest) = &mut lock(&self.commit_state).manifest {
            manifest.close();
        }
    }

    fn create(&self, id: FileId, capacity: u64) -> Result<Arc<dyn File>> {
        self.refuse_if_read_only("create")?;
        if !self.started.load(Ordering::Acquire) {
            self.start(&mut lock(&self.commit_state))?;
        }
        if lock(&self.files).live.contains_key(&id) {
            return Err(Error::invalid("file to create", "a number never used", id));
        }
        let file = self.vfs.create(&id.to_string())?;
        self.names_changed.store(true, Ordering::Release);
        if id.kind == FileKind::Log {
            // On failure nobody learns of the file.
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
        let mut state = lock(&self.commit_state);
        let (record, sizes) = self.record(commit)?;
        match self.put(&mut state, commit, &record) {
            Ok(()) => {
                self.apply(&mut state, &record, sizes);
                Ok(())
            }
            Err(e) => {
                state.needs_rollover = true;
                state.in_doubt.extend(commit.added.iter().copied());
                Err(e)
            }
        }
    }

    fn remove(&self, id: FileId) -> Result<()> {
        self.refuse_if_read_only("remove")?;
        let mut state = lock(&self.commit_state);
        if lock(&self.files).live.contains_key(&id) {
            return Err(Error::invalid(
                "file to remove",
                "one that a commit dropped, or that none named",
                id,
            ));
        }
        if state.in_doubt.contains(&id) {
            state.removed_in_doubt.insert(id);
            return Ok(());
        }
        // A large file takes its time to go, and commits go on meanwhile: none names this one.
        drop(state);
        match self.vfs.remove(&id.to_string()) {
            // Done already, perhaps by a call that returned an error.
            Err(Error::Io(refused)) if refused.source.kind() == ErrorKind::NotFound => {}
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
            // A file that is removed meanwhile takes no room.
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

    /// The manifest, `CURRENT`, and that each named file is there with its length.
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
            Err(Error::Corrupt(c)) => damage.push(*c),
            Err(e) => return Err(e),
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

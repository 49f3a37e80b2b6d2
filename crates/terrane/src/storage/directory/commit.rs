//! Commits to the manifest of a directory, and what remains unknown after one fails.

use super::Directory;
use super::current::encode_current;
use super::files::Size;
use super::names::{CREATING, CURRENT, CURRENT_TEMP, manifest_generation, manifest_name};
use crate::error::{Error, Result};
use crate::storage::commit_state::CommitState;
use crate::storage::manifest::{Inherited, Manifest, ManifestId, next_generation};
use crate::storage::record::{Placement, Record};
use crate::storage::{Commit, Storage, lock, write_all_at};
use crate::sync::atomic::Ordering;
use crate::vec_map::VecSet;

fn placement(len: u64) -> Placement {
    Placement { len, ..Placement::default() }
}

impl Directory {
    /// Makes `CREATING`, with the store's id, durable before the first other file of a new store. The
    /// caller holds the lock of the commit state, so that this happens once.
    pub(super) fn start(&self, _: &mut CommitState) -> Result<()> {
        if !self.started.load(Ordering::Acquire) {
            self.write_current(CREATING, 0)?;
            self.vfs.sync_names()?;
            self.started.store(true, Ordering::Release);
        }
        Ok(())
    }

    pub(super) fn sync_names(&self) -> Result<()> {
        if self.names_changed.swap(false, Ordering::AcqRel) {
            self.vfs.sync_names().inspect_err(|_| {
                self.names_changed.store(true, Ordering::Release);
            })?;
        }
        Ok(())
    }

    /// Publishes the number of commits.
    pub(super) fn publish_commits(&self, state: &CommitState) {
        let commits = state.manifest.as_ref().map_or(0, Manifest::commits);
        self.commits.store(commits, Ordering::Release);
    }

    /// Makes a commit durable, in a new manifest if `roll_over` says so or the old one is full.
    pub(super) fn make(
        &self,
        state: &mut CommitState,
        commit: &Commit<'_>,
        roll_over: bool,
    ) -> Result<()> {
        let (record, sizes) = self.record(commit)?;
        state.attempt(commit.added, |state| self.put(state, commit, &record, roll_over))?;
        self.apply(state, &record, sizes);
        Ok(())
    }

    fn put(
        &self,
        state: &mut CommitState,
        commit: &Commit<'_>,
        record: &Record<'_>,
        roll_over: bool,
    ) -> Result<()> {
        self.start(state)?;
        self.sync_names()?;
        if !roll_over && state.append(record)? {
            return Ok(());
        }
        let edit = (commit.snapshot)();
        let mut live = lock(&self.files).live.clone();
        let dropped: VecSet<_> = record.dropped.iter().copied().collect();
        live.retain(|id, _| !dropped.contains(id));
        let live = live.into_iter();
        let mut placed: Vec<_> = live.map(|(id, size)| (id, placement(size.len))).collect();
        placed.extend(record.placed.iter().cloned());
        self.begin_generation(state, &Record { placed, dropped: Vec::new(), edit: Some(&edit) })
    }

    /// Rolls over: starts a new manifest and switches `CURRENT` to it.
    pub(super) fn begin_generation(
        &self,
        state: &mut CommitState,
        snapshot: &Record<'_>,
    ) -> Result<()> {
        state.needs_rollover = true;
        let generation = next_generation(state.last_generation)?;
        state.last_generation = generation;
        let id = ManifestId { store: self.id(), generation };
        let inherited =
            state.manifest.as_ref().map_or(Inherited::NONE, Manifest::for_next_generation);
        let name = manifest_name(generation);
        let capacity = Manifest::capacity_for(snapshot, state.manifest.as_ref());
        let begun = self.vfs.create(&name).and_then(|file| {
            let manifest = Manifest::create(file, (0, capacity), id, inherited, snapshot)?;
            self.write_current(CURRENT_TEMP, generation)?;
            Ok(manifest)
        });
        let manifest = begun.inspect_err(|e| {
            state.not_begun(e);
            if e.is_no_space() {
                // Its space may be what the next attempt needs.
                let _ = self.vfs.remove(&name);
            }
        })?;
        self.vfs.sync_names()?;
        self.vfs.rename(CURRENT_TEMP, CURRENT)?;
        self.vfs.sync_names()?;
        state.manifest_bytes += manifest.region().1;
        state.manifest = Some(manifest);
        state.needs_rollover = false;
        lock(&self.files).generation = generation;
        // The commit is durable. What cannot be removed now is removed by the next recovery.
        for name in self.vfs.list().unwrap_or_default() {
            let created = name == CREATING;
            if created || manifest_generation(&name).is_some_and(|n| n < generation) {
                let removed = self.vfs.remove(&name);
                if created && removed.is_ok() {
                    let _ = self.vfs.sync_names();
                }
            }
        }
        Ok(())
    }

    /// Writes `CURRENT`'s contents to a file of this name, and syncs it, but not the name.
    fn write_current(&self, name: &str, generation: u64) -> Result<()> {
        let file = self.vfs.create(name)?;
        write_all_at(&*file, &encode_current(self.id(), generation), 0)?;
        file.sync()
    }

    /// The record of a commit, and the sizes of the files it adds.
    pub(super) fn record<'a>(&self, commit: &Commit<'a>) -> Result<(Record<'a>, Vec<Size>)> {
        let (mut placed, mut sizes) = (Vec::new(), Vec::new());
        for id in commit.added {
            let file = self.vfs.open(&id.to_string())?;
            let size = Size { len: file.len()?, taken: file.allocated()? };
            placed.push((*id, placement(size.len)));
            sizes.push(size);
        }
        let files = lock(&self.files);
        if let Some(id) = commit.dropped.iter().find(|id| !files.live.contains_key(id)) {
            return Err(Error::invalid("file to drop", "one that a commit named", id));
        }
        let record = Record { placed, dropped: commit.dropped.to_vec(), edit: Some(commit.edit) };
        Ok((record, sizes))
    }

    /// Applies a durable commit.
    pub(super) fn apply(&self, state: &mut CommitState, record: &Record<'_>, sizes: Vec<Size>) {
        self.publish_commits(state);
        let mut files = lock(&self.files);
        for ((id, _), size) in record.placed.iter().zip(sizes) {
            files.add_live(*id, size);
        }
        for id in &record.dropped {
            files.remove_live(*id);
            files.unnamed.insert(*id);
        }
        for id in state.settle().iter() {
            if !files.live.contains_key(id) {
                // If this fails, the next recovery removes it.
                let _ = self.vfs.remove(&id.to_string());
                files.unnamed.remove(id);
            }
        }
    }
}

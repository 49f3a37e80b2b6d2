//! Commits to the manifest of a volume, and what remains unknown after one fails.

use crate::error::{Error, Result};
use crate::rules::Rule;
use crate::storage::commit_state::CommitState;
use crate::storage::extent::Extent;
use crate::storage::lock;
use crate::storage::manifest::{
    FRAME_ALIGN, Inherited, MIN_CAPACITY, Manifest, ManifestId, next_generation,
};
use crate::storage::record::Record;
use crate::storage::volume::Volume;
use crate::storage::volume::file::VolumeFile;
use crate::storage::volume::sync_tracker::SyncTracker;
use crate::storage::{Commit, FileId, Storage};
use crate::sync::atomic::Ordering;
use crate::vec_map::VecMap;
use std::sync::Arc;

/// The manifest moves to a smaller region when its first record names this many times the files there
/// are now.
const OVERSIZED: usize = 4;

pub(super) type VolumeState = CommitState<Regions>;

/// State of a volume's regions, beside the manifest.
#[derive(Default)]
pub(super) struct Regions {
    /// Number of files in the manifest's first record, for which its region was sized.
    pub(super) files_at_first: usize,
    /// Regions that a failed switch may have named.
    pub(super) in_doubt: Vec<Extent>,
    /// Copies of files that a failed move may have named.
    pub(super) moves_in_doubt: Vec<Arc<VolumeFile>>,
}

impl Volume {
    /// The record of a commit. Makes the files it adds immutable.
    pub(super) fn record<'a>(&self, commit: &Commit<'a>) -> Result<Record<'a>> {
        let files = lock(&self.files);
        let invalid = |what, expected: &str, id: &FileId| Error::invalid(what, expected, id);
        let mut added = Vec::new();
        for id in commit.added {
            added.push((
                id,
                files.uncommitted(*id).ok_or_else(|| invalid("file to add", "a new file", id))?,
            ));
        }
        for id in commit.dropped {
            let file = files.live(*id).ok_or_else(|| invalid("file to drop", "a live file", id))?;
            if !Rule::ReuseAfterEdit.holds() {
                file.release_early();
            }
        }
        Ok(Record {
            placed: added.into_iter().map(|(id, file)| (*id, file.finish())).collect(),
            dropped: commit.dropped.to_vec(),
            edit: Some(commit.edit),
        })
    }

    /// Makes a commit durable, in a new manifest if `roll_over` says so, or the old one is full or far
    /// too large.
    pub(super) fn make(
        &self,
        state: &mut VolumeState,
        commit: &Commit<'_>,
        roll_over: bool,
    ) -> Result<()> {
        let record = self.record(commit)?;
        state.attempt(commit.added, |state| self.put(state, commit, &record, roll_over))?;
        self.apply(state, commit);
        Ok(())
    }

    fn put(
        &self,
        state: &mut VolumeState,
        commit: &Commit<'_>,
        record: &Record<'_>,
        roll_over: bool,
    ) -> Result<()> {
        self.start(state)?;
        self.space.sync_grown()?;
        if !roll_over && !self.is_oversized(state) && state.append(record)? {
            return Ok(());
        }
        let was_due = roll_over || state.needs_rollover;
        match self.roll_over(state, commit, record) {
            // A manifest that is far too large takes edits while no space is left for a smaller one.
            Err(_) if state.append_instead(record, was_due)? => Ok(()),
            rolled => rolled,
        }
    }

    /// Starts a manifest with what is live after a commit.
    fn roll_over(
        &self,
        state: &mut VolumeState,
        commit: &Commit<'_>,
        record: &Record<'_>,
    ) -> Result<()> {
        let edit = (commit.snapshot)();
        let mut placed: VecMap<_, _> =
            lock(&self.files).all_live().iter().map(|(id, f)| (*id, f.placement())).collect();
        record.dropped.iter().for_each(|id| drop(placed.remove(id)));
        placed.extend(record.placed.iter().cloned());
        let snapshot =
            Record { placed: placed.into_iter().collect(), dropped: Vec::new(), edit: Some(&edit) };
        self.begin_generation(state, &snapshot)
    }

    /// Whether the manifest's region was sized for far more files than there are now.
    pub(super) fn is_oversized(&self, state: &VolumeState) -> bool {
        let capacity = state.manifest.as_ref().map_or(0, |manifest| manifest.region().1);
        let files = lock(&self.files).all_live().len();
        capacity > MIN_CAPACITY && files < state.extra.files_at_first / OVERSIZED
    }

    /// Rolls over: starts a new manifest region and switches the superblocks to it.
    pub(super) fn begin_generation(
        &self,
        state: &mut VolumeState,
        snapshot: &Record<'_>,
    ) -> Result<()> {
        state.needs_rollover = true;
        let generation = next_generation(state.last_generation)?;
        state.last_generation = generation;
        let capacity = Manifest::capacity_for(snapshot, state.manifest.as_ref());
        let id = ManifestId { store: self.id(), generation };
        let inherited =
            state.manifest.as_ref().map_or(Inherited::NONE, Manifest::for_next_generation);
        let begun = self.space.allocate_aligned(0, capacity, FRAME_ALIGN).and_then(|region| {
            let file = Arc::new(SyncTracker::new(self.space.backing(0)?));
            let begun = Manifest::create(file, (region.offset, capacity), id, inherited, snapshot);
            begun.inspect_err(|_| self.space.free(0, &[region]))
        });
        let manifest = begun.inspect_err(|e| state.not_begun(e))?;
        self.switch(state, manifest)?;
        state.extra.files_at_first = snapshot.placed.len();
        Ok(())
    }

    /// Makes `manifest`, which is durable, the current one, and frees the old region.
    pub(super) fn switch(&self, state: &mut VolumeState, manifest: Manifest) -> Result<()> {
        let (offset, len) = manifest.region();
        let region = Extent { offset, len };
        let generation = manifest.generation();
        state.extra.in_doubt.push(region);
        state.manifest_bytes += len;
        let superblock = self.superblock(manifest.for_next_generation().format, generation, region);
        self.write_slot(0, &superblock)?;
        self.write_slot(1, &superblock)?;
        let old = state.manifest.replace(manifest).map(|old| old.region());
        let old = old.map(|(offset, len)| Extent { offset, len });
        state.extra.in_doubt.retain(|e| *e != region);
        self.space.free(0, &std::mem::take(&mut state.extra.in_doubt));
        self.space.free(0, old.as_slice());
        state.needs_rollover = false;
        Ok(())
    }

    /// Publishes the number of commits.
    pub(super) fn publish_commits(&self, state: &VolumeState) {
        let commits = state.manifest.as_ref().map_or(0, Manifest::commits);
        self.commits.store(commits, Ordering::Release);
    }

    /// Applies a durable commit.
    pub(super) fn apply(&self, state: &mut VolumeState, commit: &Commit<'_>) {
        self.publish_commits(state);
        let mut files = lock(&self.files);
        commit.added.iter().for_each(|id| files.mark_live(*id));
        commit.dropped.iter().for_each(|id| files.mark_dropped(*id));
        state.extra.moves_in_doubt.clear();
        for id in state.settle().iter() {
            files.remove(*id);
        }
    }
}

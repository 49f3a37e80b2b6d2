//! Housekeeping of a volume: tables move down into free room, and free room at the end is cut off.
//!
//! 1. Where more than half of a backing is free, the manifest apart, and more than four steps of growth,
//!    the live table that reaches highest is copied into free extents below it, a slice a call.
//! 2. The copy is synced, then a record of its own names the new extents. From then on the file is
//!    opened there; the old extents stay with those who read them.
//! 3. The manifest's region moves down where there is a place for it: its records are copied into a
//!    new region, which the superblocks then name, as if the manifest had been full.
//! 4. With nothing to move, free room at the end of each backing is cut off, but for one step.
//!
//! Every move lowers where what it moves ends, so moves come to an end. A record that does not fit
//! the manifest waits for the engine's next commit, which begins a new manifest.

use crate::error::Result;
use crate::storage::manifest::{FRAME_ALIGN, next_generation};
use crate::storage::record::{Placement, Record};
use crate::storage::volume::Volume;
use crate::storage::volume::commit::CommitState;
use crate::storage::volume::file::VolumeFile;
use crate::storage::volume::free_extents::FreeExtents;
use crate::storage::volume::sync_tracker::SyncTracker;
use crate::storage::{File, FileId, FileKind, lock};
use std::sync::Arc;

/// What one call copies at most, and with how little free room a backing is left alone, in least
/// steps of growth.
const STEPS: u64 = 4;

/// A table on its way down.
pub(super) struct Move {
    id: FileId,
    from: Arc<VolumeFile>,
    to: Arc<VolumeFile>,
    copied: u64,
}

/// Whether a move is over, and whether it waits for a commit.
enum Progress {
    Going,
    Over,
    Waiting,
}

impl Volume {
    /// Does one slice; whether more can be done now.
    pub(super) fn vacuum_step(&self) -> Result<bool> {
        let mut moving = lock(&self.moving);
        if moving.is_none() {
            if self.move_manifest()? {
                return Ok(true);
            }
            *moving = self.next_move();
        }
        if let Some(step) = moving.as_mut() {
            match self.advance(step) {
                Ok(Progress::Going) => return Ok(true),
                Ok(Progress::Waiting) => return Ok(false),
                Ok(Progress::Over) => {
                    *moving = None;
                    return Ok(true);
                }
                Err(e) => {
                    *moving = None;
                    return Err(e);
                }
            }
        }
        self.space.trim()?;
        Ok(false)
    }

    /// Whether so much of a backing is free, apart from `manifest` bytes of it, that what it holds
    /// should move down.
    fn is_sparse(&self, free: &FreeExtents, manifest: u64) -> bool {
        let others = free.end().saturating_sub(manifest);
        free.total() > STEPS * self.space.min_growth() && free.total() > others / 2
    }

    /// Moves the manifest's region down, if there is a place for it; whether it did.
    fn move_manifest(&self) -> Result<bool> {
        let mut state = lock(&self.commit_state);
        let CommitState {
            manifest: Some(manifest), needs_rollover: false, last_generation, ..
        } = &*state
        else {
            return Ok(false);
        };
        let (base, len) = manifest.region();
        let generation = next_generation(*last_generation)?;
        let file = Arc::new(SyncTracker::new(self.space.backing(0)?));
        let mut free = lock(&self.space.backing(0)?.free);
        // The place of the region before this one is where the next may go.
        let worth = free.total() > 2 * len && self.is_sparse(&free, len);
        let place = if worth { free.take_aligned(len, FRAME_ALIGN, base) } else { None };
        drop(free);
        let Some(region) = place else { return Ok(false) };
        let copied = manifest.copy(file, region.offset, generation);
        state.last_generation = generation;
        // If this fails, the next commit begins a new manifest.
        state.needs_rollover = true;
        let manifest = copied.inspect_err(|_| self.space.free(0, &[region]))?;
        self.switch(&mut state, manifest)?;
        Ok(true)
    }

    /// The next table to move, with room taken for it.
    fn next_move(&self) -> Option<Move> {
        let state = lock(&self.commit_state);
        let manifest = state.manifest.as_ref().map_or(0, |manifest| manifest.region().1);
        let files = lock(&self.files);
        for (number, backing) in self.space.backings().iter().enumerate() {
            let mut free = lock(&backing.free);
            if !self.is_sparse(&free, if number == 0 { manifest } else { 0 }) {
                continue;
            }
            let placed = files.all_live().iter().filter(|(id, _)| id.kind == FileKind::Table);
            let here = placed.filter(|(_, file)| usize::from(file.backing()) == number);
            let tops = here.filter_map(|(id, file)| Some((file.top()?, id, file)));
            let Some((top, id, from)) = tops.max_by_key(|(top, ..)| *top) else { continue };
            let Some(extents) = free.take_below(from.taken(), top) else { continue };
            let to = Placement { extents, ..from.placement() };
            let to = VolumeFile::placed(id.to_string(), self.space.clone(), to);
            return Some(Move { id: *id, from: from.clone(), to: Arc::new(to.ok()?), copied: 0 });
        }
        None
    }

    fn advance(&self, step: &mut Move) -> Result<Progress> {
        if step.copied < step.from.len()? {
            step.copied +=
                step.from.copy_to(&step.to, step.copied, STEPS * self.space.min_growth())?;
            return Ok(Progress::Going);
        }
        step.to.sync()?;
        let mut state = lock(&self.commit_state);
        let lives = |f: &Arc<VolumeFile>| Arc::ptr_eq(f, &step.from);
        if !lock(&self.files).live(step.id).is_some_and(lives) {
            return Ok(Progress::Over);
        }
        let placed = vec![(step.id, step.to.placement())];
        let record = Record { placed, ..Record::default() };
        if !self.append_move(&mut state, &record, &step.to)? {
            return Ok(Progress::Waiting);
        }
        lock(&self.files).place(step.id, step.to.clone());
        Ok(Progress::Over)
    }

    /// Appends the record of a move, if the manifest takes it.
    fn append_move(
        &self,
        state: &mut CommitState,
        record: &Record<'_>,
        to: &Arc<VolumeFile>,
    ) -> Result<bool> {
        if state.needs_rollover {
            return Ok(false);
        }
        let Some(manifest) = &mut state.manifest else { return Ok(false) };
        let appended = manifest.append(record);
        match &appended {
            Ok(true) => {}
            Ok(false) => state.needs_rollover = true,
            Err(_) => {
                state.needs_rollover = true;
                state.moves_in_doubt.push(to.clone());
            }
        }
        appended
    }
}

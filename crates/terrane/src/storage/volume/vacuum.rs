//! Vacuum: moves tables down into free space and truncates the backing files.
//!
//! 1. If more than half of a backing is free, without the manifest, and more than four growth steps
//!    are, the highest live table is copied into free extents below it, a slice per call.
//! 2. The copy is synced, then a record of its own names the new extents. The file is opened there
//!    from then on; readers of the old extents keep them.
//! 3. The manifest's region moves down if there is free space for it: its records are copied into a
//!    new region, which the superblocks then name, as in a rollover.
//! 4. When there is nothing to move, each backing is truncated down to one step of free space at its
//!    end.
//!
//! Every move lowers the end of what it moves, so there are finitely many. If the record of a move
//! does not fit the manifest, it waits for the engine's next commit, which rolls the manifest over.

use crate::error::Result;
use crate::storage::manifest::{FRAME_ALIGN, next_generation};
use crate::storage::record::{Placement, Record};
use crate::storage::volume::Volume;
use crate::storage::volume::commit::VolumeState;
use crate::storage::volume::file::VolumeFile;
use crate::storage::volume::free_extents::FreeExtents;
use crate::storage::volume::sync_tracker::SyncTracker;
use crate::storage::volume::table_move::Move;
use crate::storage::{File, FileKind, lock};
use std::sync::Arc;

/// The most that one call copies, and the free space below which a backing is left alone, in minimum
/// growth steps.
const STEPS: u64 = 4;

/// The state of a move after a step.
enum Progress {
    Going,
    Over,
    Waiting,
}

impl Volume {
    /// Does one slice; returns whether more can be done now.
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

    /// Returns whether enough of a backing is free, `manifest` bytes aside, for its contents to be
    /// moved down.
    fn is_sparse(&self, free: &FreeExtents, manifest: u64) -> bool {
        let others = free.end().saturating_sub(manifest);
        free.total() > STEPS * self.space.min_growth() && free.total() > others / 2
    }

    /// Moves the manifest's region down, if there is space for it; returns whether it did.
    fn move_manifest(&self) -> Result<bool> {
        let mut state = lock(&self.commit_state);
        let VolumeState {
            manifest: Some(manifest), needs_rollover: false, last_generation, ..
        } = &*state
        else {
            return Ok(false);
        };
        let (base, len) = manifest.region();
        let generation = next_generation(*last_generation)?;
        let file = Arc::new(SyncTracker::new(self.space.backing(0)?));
        let mut free = lock(&self.space.backing(0)?.free);
        // Space for two, since the next rollover takes another region.
        let worth = free.total() > 2 * len && self.is_sparse(&free, len);
        let place = if worth { free.take_aligned(len, FRAME_ALIGN, base) } else { None };
        drop(free);
        let Some(region) = place else { return Ok(false) };
        let copied = manifest.copy(file, region.offset, generation);
        state.last_generation = generation;
        // If this fails, the next commit rolls over.
        state.needs_rollover = true;
        let manifest = copied.inspect_err(|_| self.space.free(0, &[region]))?;
        self.switch(&mut state, manifest)?;
        Ok(true)
    }

    /// The next table to move, with space allocated for its copy.
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
        state: &mut VolumeState,
        record: &Record<'_>,
        to: &Arc<VolumeFile>,
    ) -> Result<bool> {
        let appended = state.append(record);
        match &appended {
            Ok(true) => {}
            Ok(false) => state.needs_rollover = true,
            Err(_) => state.extra.moves_in_doubt.push(to.clone()),
        }
        appended
    }
}

//! Housekeeping of a volume: tables move down into free room, and free room at the end is cut off.
//!
//! 1. Where more than half of a backing is free, and more than four steps of growth, the live table
//!    that reaches highest is copied into free extents below it, a slice a call.
//! 2. The copy is synced, then a record of its own names the new extents. From then on the file is
//!    opened there; the old extents stay with those who read them.
//! 3. With nothing to move, free room at the end of each backing is cut off, but for one step.
//!
//! Every move lowers where its table ends, so moves come to an end. A record that does not fit the
//! journal waits for the engine's next commit, which begins a new journal; the journal's own region
//! moves down that way too.

use crate::error::Result;
use crate::storage::record::{Placement, Record};
use crate::storage::volume::file::VolumeFile;
use crate::storage::volume::{Head, Volume};
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
    pub(super) fn tidy_step(&self) -> Result<bool> {
        let mut moving = lock(&self.moving);
        if moving.is_none() {
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
        self.room.trim()?;
        Ok(false)
    }

    /// The next table to move, with room taken for it.
    fn next_move(&self) -> Option<Move> {
        let mut head = lock(&self.head);
        let files = lock(&self.files);
        for (number, backing) in self.room.backings().iter().enumerate() {
            let mut free = lock(&backing.free);
            if free.total() <= STEPS * self.room.min_growth() || free.total() <= free.end() / 2 {
                continue;
            }
            if number == 0
                && let Some((base, len)) = head.journal.as_ref().map(|j| j.region())
                && let Some(below) = free.take_below(len, base)
            {
                // Only one extent that fits is a place for the region, and only a commit moves it.
                head.move_down |= below.len() == 1;
                below.into_iter().for_each(|extent| free.give(extent));
            }
            let placed = files.live.iter().filter(|(id, _)| id.kind == FileKind::Table);
            let here = placed.map(|(id, file)| (id, file, file.placement()));
            let here = here.filter(|(_, _, p)| usize::from(p.backing) == number);
            let tops = here.filter_map(|(id, file, p)| {
                let top = p.extents.iter().map(|e| e.offset).max()?;
                Some((top, id, file, p))
            });
            let highest = tops.max_by_key(|(top, ..)| *top);
            let Some((top, id, from, placement)) = highest else { continue };
            let room = placement.extents.iter().map(|e| e.len).sum();
            let Some(extents) = free.take_below(room, top) else { continue };
            let to = Placement { extents, ..placement };
            let to = VolumeFile::placed(id.to_string(), self.room.clone(), to);
            return Some(Move { id: *id, from: from.clone(), to: Arc::new(to.ok()?), copied: 0 });
        }
        None
    }

    fn advance(&self, step: &mut Move) -> Result<Progress> {
        if step.copied < step.from.len()? {
            step.copied +=
                step.from.copy_to(&step.to, step.copied, STEPS * self.room.min_growth())?;
            return Ok(Progress::Going);
        }
        step.to.sync()?;
        let mut head = lock(&self.head);
        let lives = |f: &Arc<VolumeFile>| Arc::ptr_eq(f, &step.from);
        if !lock(&self.files).live.get(&step.id).is_some_and(lives) {
            return Ok(Progress::Over);
        }
        let placed = vec![(step.id, step.to.placement())];
        let record = Record { placed, ..Record::default() };
        if !self.append_move(&mut head, &record, &step.to)? {
            return Ok(Progress::Waiting);
        }
        lock(&self.files).live.insert(step.id, step.to.clone());
        Ok(Progress::Over)
    }

    /// Appends the record of a move, if the journal takes it.
    fn append_move(
        &self,
        head: &mut Head,
        record: &Record<'_>,
        to: &Arc<VolumeFile>,
    ) -> Result<bool> {
        if head.begin_anew {
            return Ok(false);
        }
        let Some(journal) = &mut head.journal else { return Ok(false) };
        let appended = journal.append(record);
        match &appended {
            Ok(true) => {}
            Ok(false) => head.begin_anew = true,
            Err(_) => {
                head.begin_anew = true;
                head.moves_in_doubt.push(to.clone());
            }
        }
        appended
    }
}

//! The room of all backing files: hands out extents, grows a backing when none fits, cuts its end.

use crate::error::{Error, Result};
use crate::storage::volume::VolumeOptions;
use crate::storage::volume::backing::Backing;
use crate::storage::volume::extents::{Extent, Free, UNIT};
use crate::storage::{File, lock};
use std::sync::Arc;

/// The backing files and what is free in them.
pub(super) struct SpaceAllocator {
    backings: Vec<Backing>,
    min_growth: u64,
    max_growth: u64,
}

impl SpaceAllocator {
    /// The backings, with no room known yet.
    pub(super) fn new(backings: Vec<Arc<dyn File>>, options: &VolumeOptions) -> Self {
        SpaceAllocator {
            backings: backings.into_iter().map(Backing::new).collect(),
            min_growth: options.min_growth.max(UNIT).next_multiple_of(UNIT),
            max_growth: options.max_growth.max(options.min_growth).max(UNIT),
        }
    }

    /// The least by which a backing grows, in bytes.
    pub(super) fn min_growth(&self) -> u64 {
        self.min_growth
    }

    /// The backings.
    pub(super) fn backings(&self) -> &[Backing] {
        &self.backings
    }

    /// A backing by number.
    pub(super) fn backing(&self, number: u8) -> Result<&Backing> {
        self.backings.get(usize::from(number)).ok_or_else(|| {
            Error::invalid(
                "backing file",
                format_args!("one of {}", self.backings.len()),
                format_args!("number {number}"),
            )
        })
    }

    /// Takes `total` bytes (rounded up to units) of a backing, in extents of at least `least` where
    /// there is a choice; the backing grows where no such extent is free.
    pub(super) fn allocate(&self, number: u8, total: u64, least: u64) -> Result<Vec<Extent>> {
        let backing = self.backing(number)?;
        let mut free = lock(&backing.free);
        let mut taken: Vec<Extent> = Vec::new();
        let mut missing = total.checked_next_multiple_of(UNIT).ok_or_else(|| too_long(backing))?;
        while missing > 0 {
            let least = least.clamp(UNIT, missing);
            let mut found = free.take(missing, least);
            if found.is_none() {
                let grown = self.grow(backing, &mut free, missing);
                // A file system that is full may still have smaller pieces free.
                let least = if least < total { UNIT } else { least };
                found = free.take(missing, least);
                if let (Err(e), None) = (grown, found) {
                    taken.into_iter().for_each(|extent| free.give(extent));
                    return Err(e);
                }
            }
            if let Some(extent) = found {
                missing -= extent.len;
                taken.push(extent);
            }
        }
        Ok(taken)
    }

    /// Takes one extent of `len` bytes that begins at a multiple of `align`.
    pub(super) fn allocate_aligned(&self, number: u8, len: u64, align: u64) -> Result<Extent> {
        let backing = self.backing(number)?;
        let mut free = lock(&backing.free);
        let found = free.take_aligned(len, align, u64::MAX);
        if let Some(extent) = found {
            return Ok(extent);
        }
        self.grow(backing, &mut free, len.saturating_add(align))?;
        free.take_aligned(len, align, u64::MAX).ok_or_else(|| too_long(backing))
    }

    /// Grows a backing so that `want` bytes are free at its end, and by a step at least.
    fn grow(&self, backing: &Backing, free: &mut Free, want: u64) -> Result<()> {
        let end = free.end();
        let needed = end.checked_add(want - want.min(free.tail()));
        let needed = needed.filter(|n| *n <= i64::MAX as u64).ok_or_else(|| too_long(backing))?;
        let stepped = needed.max(end.saturating_add(self.step(end)));
        let grow = |to| backing.file.allocate(to).map(|()| to);
        let end = match grow(stepped) {
            Err(Error::NoSpace(_)) if needed < stepped => grow(needed)?,
            other => other?,
        };
        backing.set_grown();
        free.extend(end);
        Ok(())
    }

    /// By how much a backing of `len` bytes grows: an eighth, within bounds.
    pub(super) fn step(&self, len: u64) -> u64 {
        (len / 8).clamp(self.min_growth, self.max_growth).next_multiple_of(UNIT)
    }

    /// Gives extents of a backing back.
    pub(super) fn give(&self, number: u8, extents: &[Extent]) {
        if let Ok(backing) = self.backing(number) {
            let mut free = lock(&backing.free);
            extents.iter().for_each(|extent| free.give(*extent));
        }
    }

    /// Syncs every backing whose length changed since its last sync: a record may name extents only
    /// in a length that is durable.
    pub(super) fn sync_grown(&self) -> Result<()> {
        self.backings.iter().try_for_each(Backing::sync_grown)
    }

    /// Cuts free room off the end of every backing where it is more than two steps; one is kept.
    pub(super) fn trim(&self) -> Result<()> {
        for backing in &self.backings {
            let mut free = lock(&backing.free);
            let (end, tail) = (free.end(), free.tail());
            let step = self.step(end - tail);
            if tail > 2 * step && free.cut(end - tail + step) {
                backing.file.set_len(free.end())?;
            }
        }
        Ok(())
    }
}

fn too_long(backing: &Backing) -> Error {
    Error::no_space(backing.file.name(), u64::MAX)
}

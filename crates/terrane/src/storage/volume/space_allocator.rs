//! The space allocator: hands out extents of the backing files, grows a file when none fits, and
//! truncates it when its end is free.

use crate::error::{Error, Result};
use crate::storage::extent::{Extent, UNIT};
use crate::storage::volume::backing::Backing;
use crate::storage::volume::free_extents::FreeExtents;
use crate::storage::volume::options::VolumeOptions;
use crate::storage::{File, lock};
use std::sync::Arc;

/// The backing files and their free space.
pub(super) struct SpaceAllocator {
    backings: Vec<Arc<Backing>>,
    min_growth: u64,
    max_growth: u64,
}

impl SpaceAllocator {
    /// The backings, whose free space is not known yet.
    pub(super) fn new(backings: Vec<Arc<dyn File>>, options: &VolumeOptions) -> Self {
        SpaceAllocator {
            backings: backings.into_iter().map(Backing::new).map(Arc::new).collect(),
            min_growth: options.min_growth.max(UNIT).next_multiple_of(UNIT),
            max_growth: options.max_growth.max(options.min_growth).max(UNIT),
        }
    }

    /// The least by which a backing grows, in bytes.
    pub(super) fn min_growth(&self) -> u64 {
        self.min_growth
    }

    pub(super) fn backings(&self) -> &[Arc<Backing>] {
        &self.backings
    }

    /// A backing by number.
    pub(super) fn backing(&self, number: u8) -> Result<&Arc<Backing>> {
        self.backings.get(usize::from(number)).ok_or_else(|| {
            Error::invalid(
                "backing file",
                format_args!("one of {}", self.backings.len()),
                format_args!("number {number}"),
            )
        })
    }

    /// Allocates `total` bytes (rounded up to units) of a backing, preferably in extents of at least
    /// `least`. The backing grows if no such extent is free.
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
                // On a full file system smaller extents may still be free.
                let least = if least < total { UNIT } else { least };
                found = free.take(missing, least);
                if let (Err(e), None) = (grown, found) {
                    taken.into_iter().for_each(|extent| free.free(extent));
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

    /// Allocates one extent of `len` bytes that begins at a multiple of `align`.
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

    /// Grows a backing by at least one step, so that `want` bytes are free at its end.
    fn grow(&self, backing: &Backing, free: &mut FreeExtents, want: u64) -> Result<()> {
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

    /// The growth step of a backing of `len` bytes: an eighth of it, within bounds.
    pub(super) fn step(&self, len: u64) -> u64 {
        (len / 8).clamp(self.min_growth, self.max_growth).next_multiple_of(UNIT)
    }

    /// Frees extents of a backing.
    pub(super) fn free(&self, number: u8, extents: &[Extent]) {
        if let Ok(backing) = self.backing(number) {
            let mut free = lock(&backing.free);
            extents.iter().for_each(|extent| free.free(*extent));
        }
    }

    /// Syncs every backing whose length changed since its last sync: a record may only name extents
    /// within a durable length.
    pub(super) fn sync_grown(&self) -> Result<()> {
        self.backings.iter().try_for_each(|backing| backing.sync_grown())
    }

    /// Truncates every backing with more than two steps of free space at its end, down to one step.
    pub(super) fn trim(&self) -> Result<()> {
        for backing in &self.backings {
            let mut free = lock(&backing.free);
            let (end, tail) = (free.end(), free.tail());
            let step = self.step(end - tail);
            if tail > 2 * step && free.truncate(end - tail + step) {
                backing.file.set_len(free.end())?;
            }
        }
        Ok(())
    }
}

fn too_long(backing: &Backing) -> Error {
    Error::no_space(backing.file.name(), u64::MAX)
}

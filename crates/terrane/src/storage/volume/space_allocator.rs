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
                let least = if grown.is_ok() { least } else { UNIT };
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

    /// Allocates one extent of `len` bytes that starts at a multiple of `align`.
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
            Err(e) if e.is_no_space() && needed < stepped => grow(needed)?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::storage::vfs::fault::{Fault, Random};
    use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};

    const STEP: u64 = 16 << 10;

    /// An allocator of one backing of `len` bytes.
    fn of_length(vfs: &dyn Vfs, len: u64) -> SpaceAllocator {
        let file = vfs.create("backing").unwrap();
        file.set_len(len).unwrap();
        let options = VolumeOptions { min_growth: STEP, ..VolumeOptions::default() };
        let space = SpaceAllocator::new(vec![file], &options);
        space.backings[0].set_free(FreeExtents::new(len));
        space
    }

    #[test]
    fn extents_are_whole_disjoint_and_within_their_file() {
        let space = of_length(&MemoryVfs::new(), 3 * UNIT + 100);
        let backing = &space.backings[0];
        let mut random = Random(1);
        let mut held: Vec<Vec<Extent>> = Vec::new();
        for _ in 0..400 {
            let total = random.below(20 * UNIT);
            match random.below(5) {
                0 | 1 => {
                    let taken = space.allocate(0, total, random.below(4) * UNIT).unwrap();
                    let whole = taken.iter().map(|e| e.len).sum::<u64>();
                    assert_eq!(whole, total.next_multiple_of(UNIT));
                    held.push(taken);
                }
                2 => {
                    let len = total.next_multiple_of(UNIT) + UNIT;
                    let taken = space.allocate_aligned(0, len, 4 * UNIT).unwrap();
                    assert_eq!((taken.len, taken.offset % (4 * UNIT)), (len, 0));
                    held.push(vec![taken]);
                }
                3 if !held.is_empty() => {
                    let at = random.below(held.len() as u64) as usize;
                    space.free(0, &held.swap_remove(at));
                }
                _ => space.trim().unwrap(),
            }
            let mut all: Vec<_> = held.iter().flatten().collect();
            all.sort();
            assert!(all.iter().all(|e| e.len > 0 && e.offset % UNIT == 0 && e.len % UNIT == 0));
            assert!(all.windows(2).all(|pair| pair[0].end() <= pair[1].offset));
            let (free, len) = (lock(&backing.free), backing.file.len().unwrap());
            assert!(all.last().is_none_or(|last| last.end() <= free.end()));
            assert!(free.end() <= len && len < free.end() + UNIT);
            assert_eq!(free.total() + all.iter().map(|e| e.len).sum::<u64>(), free.end());
        }
        assert!(space.backing(1).is_err() && space.allocate(1, 1, 1).is_err());
    }

    #[test]
    fn a_file_is_cut_to_a_step_if_more_than_two_are_free_at_its_end() {
        for (free, left) in
            [(0, 0), (STEP, STEP), (2 * STEP, 2 * STEP), (2 * STEP + UNIT, STEP), (9 * STEP, STEP)]
        {
            let space = of_length(&MemoryVfs::new(), STEP + free);
            space.allocate(0, STEP, STEP).unwrap();
            space.trim().unwrap();
            assert_eq!(space.backings[0].file.len().unwrap(), STEP + left, "{free} bytes");
        }
    }

    #[test]
    fn fragments_are_used_only_where_the_file_cannot_grow() {
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
        let space = of_length(&vfs, 8 * UNIT);
        for offset in [1, 3, 5, 7] {
            let unit = Extent { offset: offset * UNIT, len: UNIT };
            assert!(lock(&space.backings[0].free).reserve(unit));
        }
        let large = space.allocate(0, 40 * UNIT, 4 * UNIT).unwrap();
        assert!(large.iter().all(|extent| extent.len >= 4 * UNIT), "{large:?}");
        // What is left at the end.
        let rest = lock(&space.backings[0].free).tail();
        space.allocate(0, rest, rest).unwrap();
        vfs.set_capacity(space.backings[0].file.len().unwrap(), Fault::NoSpace);
        assert!(matches!(
            space.allocate(0, 5 * UNIT, 4 * UNIT).map_err(Error::into_kind),
            Err(ErrorKind::NoSpace(_))
        ));
        let small = space.allocate(0, 4 * UNIT, 4 * UNIT).unwrap();
        let expected = [0, 2, 4, 6].map(|at| Extent { offset: at * UNIT, len: UNIT });
        assert_eq!(small, expected);
    }

    #[test]
    fn without_space_for_a_step_a_file_grows_by_the_missing_bytes() {
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
        let space = of_length(&vfs, 4 * UNIT);
        space.allocate(0, 2 * UNIT, UNIT).unwrap();
        vfs.set_capacity(5 * UNIT, Fault::NoSpace);
        let taken = space.allocate(0, 3 * UNIT, 3 * UNIT).unwrap();
        assert_eq!(taken, [Extent { offset: 2 * UNIT, len: 3 * UNIT }]);
        assert_eq!(space.backings[0].file.len().unwrap(), 5 * UNIT);
    }
}

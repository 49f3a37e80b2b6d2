//! A logical file of a volume: extents of one backing file.
//!
//! 1. A table grows by extents at first; a sync frees unused units at its end. The commit that names
//!    it makes it *final*: its extents never change again, so that reads take no lock.
//! 2. A log is final from the start, with all of its capacity; what was not written yet reads as
//!    whatever was there before.
//! 3. The extents are freed when the last handle is dropped. The volume itself holds one until the
//!    file is removed.

use crate::error::{Error, Result};
use crate::storage::extent::{Extent, UNIT};
use crate::storage::record::Placement;
use crate::storage::volume::space_allocator::SpaceAllocator;
use crate::storage::volume::sync_tracker::SyncTracker;
use crate::storage::{File, lock, write_all_at};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The largest growth of a table, in bytes. Smaller tables double, so that a small table takes no more
/// than it needs and a large one has few extents.
const MAX_STEP: u64 = 4 << 20;
/// The smallest extent to allocate if there is a choice, in bytes.
const MIN_EXTENT: u64 = 64 << 10;

/// A logical file and its extents.
pub(super) struct VolumeFile {
    name: String,
    space: Arc<SpaceAllocator>,
    backing: u8,
    sync_tracker: SyncTracker,
    growing: Mutex<Body>,
    final_body: OnceLock<Body>,
    /// The extents were freed before the last handle was dropped. Only with that rule disabled.
    released: AtomicBool,
}

#[derive(Default)]
struct Body {
    extents: Vec<Extent>,
    len: u64,
}

impl Body {
    fn capacity(&self) -> u64 {
        self.extents.iter().map(|e| e.len).sum()
    }
}

impl VolumeFile {
    /// A table with `capacity` bytes, which can grow.
    pub(super) fn table(
        name: String,
        space: Arc<SpaceAllocator>,
        backing: u8,
        capacity: u64,
    ) -> Result<Self> {
        let extents = space.allocate(backing, capacity, MIN_EXTENT)?;
        let growing = Mutex::new(Body { extents, len: 0 });
        let (final_body, released) = (OnceLock::new(), AtomicBool::new(false));
        let sync_tracker = SyncTracker::new(space.backing(backing)?);
        Ok(VolumeFile { name, space, backing, sync_tracker, growing, final_body, released })
    }

    /// A log of `capacity` bytes.
    pub(super) fn log(
        name: String,
        space: Arc<SpaceAllocator>,
        backing: u8,
        capacity: u64,
    ) -> Result<Self> {
        let extents = space.allocate(backing, capacity, MIN_EXTENT)?;
        Self::placed(name, space, Placement { len: capacity, backing, extents })
    }

    /// A final file at `placement`, whose extents are allocated already.
    pub(super) fn placed(
        name: String,
        space: Arc<SpaceAllocator>,
        placement: Placement,
    ) -> Result<Self> {
        let Placement { len, backing, extents } = placement;
        let final_body = OnceLock::from(Body { extents, len });
        let (growing, released) = (Mutex::default(), AtomicBool::new(false));
        let sync_tracker = SyncTracker::new(space.backing(backing)?);
        Ok(VolumeFile { name, space, backing, sync_tracker, growing, final_body, released })
    }

    /// Makes the file final, without its unused units; returns its placement.
    pub(super) fn finish(&self) -> Placement {
        let mut growing = lock(&self.growing);
        if self.final_body.get().is_none() {
            self.free_unused(&mut growing);
            let _ = self.final_body.set(std::mem::take(&mut *growing));
        }
        drop(growing);
        self.placement()
    }

    /// Frees the units that nothing was written to.
    fn free_unused(&self, body: &mut Body) {
        let mut missing = body.len.next_multiple_of(UNIT);
        let mut unused = Vec::new();
        body.extents.retain_mut(|extent| {
            let kept = extent.len.min(missing);
            missing -= kept;
            if kept < extent.len {
                unused.push(Extent { offset: extent.offset + kept, len: extent.len - kept });
            }
            extent.len = kept;
            kept > 0
        });
        self.space.free(self.backing, &unused);
    }

    /// The backing that holds it.
    pub(super) fn backing(&self) -> u8 {
        self.backing
    }

    /// The space that a final file takes, in bytes.
    pub(super) fn taken(&self) -> u64 {
        self.final_body.get().map_or(0, Body::capacity)
    }

    /// The offset of the highest extent of a final file.
    pub(super) fn top(&self) -> Option<u64> {
        self.final_body.get()?.extents.iter().map(|e| e.offset).max()
    }

    /// The placement of a final file.
    pub(super) fn placement(&self) -> Placement {
        let (extents, len) =
            self.final_body.get().map_or_else(Default::default, |b| (b.extents.clone(), b.len));
        Placement { len, backing: self.backing, extents }
    }

    /// Frees the extents while handles still read them, which the rule forbids.
    pub(super) fn release_early(&self) {
        if !self.released.swap(true, Ordering::AcqRel) {
            self.space.free(self.backing, &self.placement().extents);
        }
    }

    /// Reads or writes `len` bytes at `offset` of `extents`: calls `step` with each offset in the
    /// backing and a number of bytes; `step` returns how many it moved. Returns the sum, and stops
    /// after a short step.
    fn pieces(
        extents: &[Extent],
        offset: u64,
        len: usize,
        mut step: impl FnMut(u64, usize) -> Result<usize>,
    ) -> Result<usize> {
        let (mut skip, mut done) = (offset, 0);
        for extent in extents {
            if skip >= extent.len {
                skip -= extent.len;
                continue;
            }
            let here = usize::try_from(extent.len - skip).unwrap_or(usize::MAX).min(len - done);
            let moved = step(extent.offset + skip, here)?;
            done += moved;
            if moved != here || done == len {
                break;
            }
            skip = 0;
        }
        Ok(done)
    }

    fn read(&self, body: &Body, buf: &mut [u8], offset: u64) -> Result<usize> {
        let file = &self.sync_tracker;
        let present = usize::try_from(body.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buf.len().min(present);
        let mut rest = buf;
        Self::pieces(&body.extents, offset, len, |at, n| {
            let (state, tail) =
                std::mem::take(&mut rest).split_at_mut_checked(n).unwrap_or_default();
            rest = tail;
            file.read_at(state, at)
        })
    }

    fn write(&self, extents: &[Extent], buf: &[u8], offset: u64) -> Result<usize> {
        let file = &self.sync_tracker;
        let mut rest = buf;
        Self::pieces(extents, offset, buf.len(), |at, n| {
            let (state, tail) = rest.split_at_checked(n).unwrap_or_default();
            rest = tail;
            file.write_at(state, at)
        })
    }

    /// Allocates up to `end`: a step more than needed or, if there is not enough space, just that.
    fn reserve(&self, body: &mut Body, end: u64) -> Result<()> {
        let capacity = body.capacity();
        let needed = end.saturating_sub(capacity);
        if needed > 0 {
            let step = capacity.clamp(UNIT, MAX_STEP);
            let allocate = |total| self.space.allocate(self.backing, total, MIN_EXTENT);
            let more = match allocate(needed.max(step)) {
                Err(e) if e.is_no_space() && needed < step => allocate(needed)?,
                other => other?,
            };
            body.extents.extend(more);
        }
        Ok(())
    }

    /// Writes zeros from the end of a growing file up to `end`, over what its extents held before.
    fn zero_fill(&self, body: &mut Body, end: u64) -> Result<()> {
        let zeros = [0; UNIT as usize];
        while body.len < end {
            let n = usize::try_from(end - body.len).unwrap_or(usize::MAX).min(zeros.len());
            let chunk = zeros.get(..n).unwrap_or(&zeros);
            let moved = self.write(&body.extents, chunk, body.len)?;
            self.check_count("write", body.len, n as u64, moved as u64)?;
            body.len += n as u64;
        }
        Ok(())
    }

    fn check_count(
        &self,
        action: &'static str,
        offset: u64,
        expected: u64,
        found: u64,
    ) -> Result<()> {
        if expected == found {
            return Ok(());
        }
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        Err(Error::short(action, &self.name, offset, expected, found))
    }

    /// Copies up to `limit` bytes of this final file from `offset` into `to`, which has the same
    /// length; returns how many.
    pub(super) fn copy_to(&self, to: &VolumeFile, offset: u64, limit: u64) -> Result<u64> {
        let n = self.len()?.saturating_sub(offset).min(limit);
        let mut buf = vec![0; usize::try_from(n).unwrap_or(usize::MAX)];
        crate::storage::read_exact_at(self, &mut buf, offset)?;
        write_all_at(to, &buf, offset)?;
        Ok(n)
    }
}

impl File for VolumeFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        match self.final_body.get() {
            Some(body) => self.read(body, buf, offset),
            None => {
                let body = lock(&self.growing);
                self.read(self.final_body.get().unwrap_or(&body), buf, offset)
            }
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let mut growing = lock(&self.growing);
        let end = offset.saturating_add(buf.len() as u64);
        if let Some(body) = self.final_body.get() {
            drop(growing);
            let fits = body.len.saturating_sub(offset).min(buf.len() as u64);
            self.check_count("write", offset, buf.len() as u64, fits)?;
            return self.write(&body.extents, buf, offset);
        }
        self.reserve(&mut growing, end)?;
        self.zero_fill(&mut growing, offset)?;
        let moved = self.write(&growing.extents, buf, offset)?;
        growing.len = growing.len.max(offset + moved as u64);
        Ok(moved)
    }

    /// Frees unused units first: many finished files may wait for the commit that names them.
    fn sync(&self) -> Result<()> {
        let mut growing = lock(&self.growing);
        if self.final_body.get().is_none() {
            self.free_unused(&mut growing);
        }
        drop(growing);
        self.sync_tracker.sync()
    }

    /// The length of a final file cannot change.
    fn set_len(&self, len: u64) -> Result<()> {
        let mut growing = lock(&self.growing);
        match self.final_body.get() {
            Some(body) if body.len == len => Ok(()),
            Some(body) => Err(Error::invalid(
                "length of a file that a commit named",
                format_args!("{} bytes", body.len),
                format_args!("{len} bytes"),
            )),
            None => {
                self.reserve(&mut growing, len)?;
                self.zero_fill(&mut growing, len)?;
                growing.len = len;
                Ok(())
            }
        }
    }

    fn is_in_memory(&self) -> bool {
        self.sync_tracker.is_in_memory()
    }

    fn len(&self) -> Result<u64> {
        let growing = lock(&self.growing);
        Ok(self.final_body.get().map_or(growing.len, |body| body.len))
    }
}

impl Drop for VolumeFile {
    fn drop(&mut self) {
        if !*self.released.get_mut() {
            let growing = lock(&self.growing);
            let body = self.final_body.get().unwrap_or(&growing);
            self.space.free(self.backing, &body.extents);
        }
    }
}

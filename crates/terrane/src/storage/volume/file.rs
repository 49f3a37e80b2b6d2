//! A logical file of a volume: extents of one backing file.
//!
//! 1. A table begins unsealed and grows by extents. A sync gives its unused end back. Naming it in a
//!    commit seals it: its extents never change again, so that reads take no lock.
//! 2. A log is sealed from the start, with all of its capacity; what it does not hold yet reads as
//!    whatever lay there.
//! 3. The extents go back to the room when the last handle is dropped. The volume itself holds one
//!    until the file is removed.

use crate::error::{Error, Result};
use crate::storage::extent::{Extent, UNIT};
use crate::storage::record::Placement;
use crate::storage::volume::space_allocator::SpaceAllocator;
use crate::storage::volume::sync_tracker::SyncTracker;
use crate::storage::{File, lock, write_all_at};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The most by which a table grows beyond what is written, in bytes: less than this it doubles, so
/// that a small one takes no more than it needs and a large one has few extents.
const MAX_STEP: u64 = 4 << 20;
/// The least extent that a file is made of where there is a choice, in bytes.
const MIN_EXTENT: u64 = 64 << 10;

/// A file and the room it takes.
pub(super) struct VolumeFile {
    name: String,
    space: Arc<SpaceAllocator>,
    backing: u8,
    sync_tracker: SyncTracker,
    growing: Mutex<Body>,
    sealed: OnceLock<Body>,
    /// The extents went back before the last handle did (only with the rule against it broken).
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
    /// A table that can grow, with `capacity` bytes to begin with.
    pub(super) fn table(
        name: String,
        space: Arc<SpaceAllocator>,
        backing: u8,
        capacity: u64,
    ) -> Result<Self> {
        let extents = space.allocate(backing, capacity, MIN_EXTENT)?;
        let growing = Mutex::new(Body { extents, len: 0 });
        let (sealed, released) = (OnceLock::new(), AtomicBool::new(false));
        let sync_tracker = SyncTracker::new(space.backing(backing)?);
        Ok(VolumeFile { name, space, backing, sync_tracker, growing, sealed, released })
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

    /// A sealed file where `placement` says. Its extents are taken already.
    pub(super) fn placed(
        name: String,
        space: Arc<SpaceAllocator>,
        placement: Placement,
    ) -> Result<Self> {
        let Placement { len, backing, extents } = placement;
        let sealed = OnceLock::from(Body { extents, len });
        let (growing, released) = (Mutex::default(), AtomicBool::new(false));
        let sync_tracker = SyncTracker::new(space.backing(backing)?);
        Ok(VolumeFile { name, space, backing, sync_tracker, growing, sealed, released })
    }

    /// Gives back what the file does not use and fixes its extents and length; returns them.
    pub(super) fn seal(&self) -> Placement {
        let mut growing = lock(&self.growing);
        if self.sealed.get().is_none() {
            self.give_unused_back(&mut growing);
            let _ = self.sealed.set(std::mem::take(&mut *growing));
        }
        drop(growing);
        self.placement()
    }

    /// Gives the units back that nothing was written to.
    fn give_unused_back(&self, body: &mut Body) {
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

    /// Which backing holds it.
    pub(super) fn backing(&self) -> u8 {
        self.backing
    }

    /// The bytes that a sealed file takes.
    pub(super) fn taken(&self) -> u64 {
        self.sealed.get().map_or(0, Body::capacity)
    }

    /// Where the extent of a sealed file begins that reaches highest.
    pub(super) fn top(&self) -> Option<u64> {
        self.sealed.get()?.extents.iter().map(|e| e.offset).max()
    }

    /// Where a sealed file lies.
    pub(super) fn placement(&self) -> Placement {
        let (extents, len) =
            self.sealed.get().map_or_else(Default::default, |b| (b.extents.clone(), b.len));
        Placement { len, backing: self.backing, extents }
    }

    /// Gives the extents back while handles still read them: what the rule forbids.
    pub(super) fn release_early(&self) {
        if !self.released.swap(true, Ordering::AcqRel) {
            self.space.free(self.backing, &self.placement().extents);
        }
    }

    /// Moves bytes of `extents` from `offset` on: `step` is given a place in the backing and how
    /// many bytes go there, and returns how many it moved. The sum; short where a step was.
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

    /// Makes room up to `end`: by a step, or where the file system has not that much, just what is needed.
    fn reach(&self, body: &mut Body, end: u64) -> Result<()> {
        let capacity = body.capacity();
        let needed = end.saturating_sub(capacity);
        if needed > 0 {
            let step = capacity.clamp(UNIT, MAX_STEP);
            let allocate = |total| self.space.allocate(self.backing, total, MIN_EXTENT);
            let more = match allocate(needed.max(step)) {
                Err(Error::NoSpace(_)) if needed < step => allocate(needed)?,
                other => other?,
            };
            body.extents.extend(more);
        }
        Ok(())
    }

    /// Writes zeros from the end of an unsealed file up to `end`: extents hold what lay there.
    fn fill(&self, body: &mut Body, end: u64) -> Result<()> {
        let zeros = [0; UNIT as usize];
        while body.len < end {
            let n = usize::try_from(end - body.len).unwrap_or(usize::MAX).min(zeros.len());
            let chunk = zeros.get(..n).unwrap_or(&zeros);
            let moved = self.write(&body.extents, chunk, body.len)?;
            self.full("write", body.len, n as u64, moved as u64)?;
            body.len += n as u64;
        }
        Ok(())
    }

    fn full(&self, action: &'static str, offset: u64, expected: u64, found: u64) -> Result<()> {
        if expected == found {
            return Ok(());
        }
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        Err(Error::short(action, &self.name, offset, expected, found))
    }

    /// Copies up to `limit` bytes of this sealed file from `offset` into `to`, which has the same
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
        match self.sealed.get() {
            Some(body) => self.read(body, buf, offset),
            None => {
                let body = lock(&self.growing);
                self.read(self.sealed.get().unwrap_or(&body), buf, offset)
            }
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let mut growing = lock(&self.growing);
        let end = offset.saturating_add(buf.len() as u64);
        if let Some(body) = self.sealed.get() {
            drop(growing);
            let fits = body.len.saturating_sub(offset).min(buf.len() as u64);
            self.full("write", offset, buf.len() as u64, fits)?;
            return self.write(&body.extents, buf, offset);
        }
        self.reach(&mut growing, end)?;
        self.fill(&mut growing, offset)?;
        let moved = self.write(&growing.extents, buf, offset)?;
        growing.len = growing.len.max(offset + moved as u64);
        Ok(moved)
    }

    /// What is unused goes back first: many files may be whole and wait for the commit that names them.
    fn sync(&self) -> Result<()> {
        let mut growing = lock(&self.growing);
        if self.sealed.get().is_none() {
            self.give_unused_back(&mut growing);
        }
        drop(growing);
        self.sync_tracker.sync()
    }

    /// A sealed file keeps its length: any other is refused.
    fn set_len(&self, len: u64) -> Result<()> {
        let mut growing = lock(&self.growing);
        match self.sealed.get() {
            Some(body) if body.len == len => Ok(()),
            Some(body) => Err(Error::invalid(
                "length of a file that a commit named",
                format_args!("{} bytes", body.len),
                format_args!("{len} bytes"),
            )),
            None => {
                self.reach(&mut growing, len)?;
                self.fill(&mut growing, len)?;
                growing.len = len;
                Ok(())
            }
        }
    }

    fn len(&self) -> Result<u64> {
        let growing = lock(&self.growing);
        Ok(self.sealed.get().map_or(growing.len, |body| body.len))
    }
}

impl Drop for VolumeFile {
    fn drop(&mut self) {
        if !*self.released.get_mut() {
            let growing = lock(&self.growing);
            let body = self.sealed.get().unwrap_or(&growing);
            self.space.free(self.backing, &body.extents);
        }
    }
}

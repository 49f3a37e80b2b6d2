//! The storage in a volume: many logical files inside a few large backing files.
//!
//! 1. Backing 0 starts with two superblock slots, which name the manifest's region in it. With several
//!    backings, logs are in the second and tables in the others, so that syncing a log does not flush
//!    table data.
//! 2. A commit syncs backings that grew, then appends one manifest record: the extents of the files it
//!    adds, the files it drops, and the engine's edit.
//! 3. If the manifest is full, or an earlier commit failed or left an irregularity, the commit rolls
//!    over instead: it writes a snapshot of all live files to a new region and syncs it, switches the
//!    superblocks and frees the old region.
//! 4. Space is reused only when the commit that dropped a file is durable, *and* the file was removed,
//!    *and* no handle to it is left: a logical file frees its extents when its last handle is dropped,
//!    and the volume holds one until then.
//! 5. After a failed commit it is unknown whether its record is durable. What it names keeps its space
//!    until a later commit, in a new region.
//! 6. After a failed sync, the next sync fails for every writer with unsynced writes in that backing
//!    (`sync_tracker`).

mod backing;
mod check;
mod commit;
mod file;
mod files;
mod free_extents;
mod options;
mod slots;
mod space_allocator;
pub(crate) mod superblock;
mod sync_tracker;
mod table_move;
mod vacuum;

pub use options::VolumeOptions;

use crate::entry::Seq;
use crate::error::{Corruption, Error, Message, Result};
use crate::storage::extent::{Extent, UNIT};
use crate::storage::lock;
use crate::storage::manifest::{FRAME_ALIGN, Manifest, ManifestId};
use crate::storage::record::Placement;
use crate::storage::{Commit, File, FileId, FileKind, Recovered, Space, Storage, StoreId};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use commit::VolumeState;
use file::VolumeFile;
use files::Files;
use free_extents::FreeExtents;
use space_allocator::SpaceAllocator;
use std::io;
use std::sync::Arc;
use superblock::RESERVED;
use sync_tracker::SyncTracker;
use table_move::Move;

/// The most backing files of a volume.
pub const MAX_BACKINGS: usize = 8;

/// A store in backing files.
pub struct Volume {
    name: String,
    read_only: bool,
    id: Mutex<StoreId>,
    commits: AtomicU64,
    space: Arc<SpaceAllocator>,
    /// Locked before `files`, and that before any backing's free extents.
    commit_state: Mutex<VolumeState>,
    /// There is a store, or the superblock of an unfinished creation is durable.
    started: AtomicBool,
    files: Mutex<Files>,
    moving: Mutex<Option<Move>>,
}

impl Volume {
    /// Opens the volume in `backings`: 1 to [`MAX_BACKINGS`], always in the same order. Reads nothing
    /// yet.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for any other number of backings.
    pub fn open(backings: Vec<Arc<dyn File>>, options: VolumeOptions) -> Result<Volume> {
        if backings.is_empty() || backings.len() > MAX_BACKINGS {
            return Err(Error::invalid(
                "backing files of a volume",
                format_args!("1 to {MAX_BACKINGS}"),
                backings.len(),
            ));
        }
        Ok(Volume {
            space: Arc::new(SpaceAllocator::new(backings, &options)),
            name: options.name,
            read_only: options.read_only,
            id: Mutex::new(options.new_id),
            commits: AtomicU64::new(0),
            commit_state: Mutex::default(),
            started: AtomicBool::new(false),
            files: Mutex::default(),
            moving: Mutex::default(),
        })
    }

    /// Opens the volume in the single file `path`, which stays locked for this process until the volume
    /// is closed or dropped. Creates a missing file if `create` is set.
    ///
    /// # Errors
    /// The errors of [`open_locked`](crate::storage::vfs::open_locked).
    pub fn open_file(path: &std::path::Path, create: bool) -> Result<Volume> {
        let backing = crate::storage::vfs::open_locked(path, create)?;
        let name = path.display().to_string();
        let new_id = StoreId::random()?;
        Volume::open(vec![backing], VolumeOptions { name, new_id, ..VolumeOptions::default() })
    }

    /// Opens the volume in the single file `path` read-only, together with other readers.
    ///
    /// # Errors
    /// The errors of [`open_shared`](crate::storage::vfs::open_shared).
    pub fn read_file(path: &std::path::Path) -> Result<Volume> {
        let backing = crate::storage::vfs::open_shared(path)?;
        let name = path.display().to_string();
        let options = VolumeOptions { name, read_only: true, ..VolumeOptions::default() };
        Volume::open(vec![backing], options)
    }

    fn refuse_if_read_only(&self, action: &'static str) -> Result<()> {
        if self.read_only { Err(Error::read_only(action, &self.name)) } else { Ok(()) }
    }

    fn backing0(&self) -> Result<&Arc<dyn File>> {
        Ok(&self.space.backing(0)?.file)
    }

    /// The backing for a new file: the second for logs, the others from the third on for tables; with
    /// fewer backings they share.
    fn backing_for(&self, id: FileId) -> u8 {
        let n = self.space.backings().len() as u64;
        let number = match id.kind {
            FileKind::Log => 1 % n,
            FileKind::Table if n > 2 => 2 + id.number % (n - 2),
            FileKind::Table => 0,
        };
        number as u8
    }

    /// Marks everything but the superblocks as free.
    fn free_all_but_superblocks(&self) -> Result<()> {
        for (n, backing) in self.space.backings().iter().enumerate() {
            let mut free = FreeExtents::new(backing.file.len()?);
            if n == 0 {
                free.reserve(Extent { offset: 0, len: RESERVED });
            }
            backing.set_free(free);
        }
        Ok(())
    }

    /// Claims an extent that the manifest or a superblock names; if it is not free, that is damage.
    fn claim(&self, number: u8, extent: Extent, what: &str) -> Result<()> {
        let Ok(backing) = self.space.backing(number) else {
            let name = self.backing0()?.name();
            let found = format!("backing {number}");
            return Err(Corruption::new(
                name,
                0,
                format_args!("a backing that holds {what}"),
                found,
            )
            .into());
        };
        let mut free = lock(&backing.free);
        if free.reserve(extent) {
            return Ok(());
        }
        let found = if extent.end() > free.end() {
            format!("a backing file of {} bytes", free.end())
        } else {
            "space that another file uses".to_owned()
        };
        let expected = format!("{} bytes of {what}", extent.len);
        Err(Corruption::new(backing.file.name(), extent.offset, expected, found).into())
    }

    /// Claims the extents of a file that the manifest names.
    fn claim_file(&self, id: FileId, placement: &Placement) -> Result<()> {
        let what = id.to_string();
        for extent in &placement.extents {
            self.claim(placement.backing, *extent, &what)?;
        }
        let space = placement.extents.iter().fold(0, |space: u64, e| space.saturating_add(e.len));
        if space < placement.len {
            let expected = format!("extents for {} bytes", placement.len);
            return Err(Corruption::new(what, 0, expected, format_args!("for {space}")).into());
        }
        Ok(())
    }
}

impl Storage for Volume {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn read_only(&self) -> bool {
        self.read_only
    }

    fn id(&self) -> StoreId {
        *lock(&self.id)
    }

    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    fn recover(&self) -> Result<Option<Recovered>> {
        let mut state = lock(&self.commit_state);
        let mut repaired = Vec::new();
        let Some(superblock) = self.current(&mut repaired)? else {
            return Ok(None);
        };
        *lock(&self.id) = superblock.id;
        self.free_all_but_superblocks()?;
        let name = self.backing0()?.name().to_owned();
        let (offset, len) = (superblock.manifest_offset, superblock.manifest_len);
        let region = Extent::of_units(offset / UNIT, len / UNIT)
            .filter(|e| e.len == len && offset.is_multiple_of(FRAME_ALIGN))
            .ok_or_else(|| {
                let found = format!("{len} bytes from {offset}");
                let expected = format!("a manifest region at a multiple of {FRAME_ALIGN} bytes");
                Corruption::new(name, 0, expected, found)
            })?;
        self.claim(0, region, "the manifest")?;
        let file = Arc::new(SyncTracker::new(self.space.backing(0)?));
        let id = ManifestId { store: superblock.id, generation: superblock.generation };
        let mut opened = Manifest::open(file, offset, len, id)?;
        let (_, capacity) = opened.manifest.region();
        if capacity != len {
            // Its second copies would be elsewhere, and appends might leave the region.
            let (expected, found) =
                (format!("a manifest of {len} bytes"), format!("one of {capacity}"));
            return Err(Corruption::new(self.backing0()?.name(), offset, expected, found).into());
        }
        opened.manifest.add_features(superblock.format);
        let mut files = lock(&self.files);
        for (id, placement) in opened.replayed.live {
            self.claim_file(id, &placement)?;
            let file = VolumeFile::placed(id.to_string(), self.space.clone(), placement)?;
            files.place(id, Arc::new(file));
        }
        state.needs_rollover = !opened.repaired.is_empty() || opened.discarded_bytes > 0;
        state.last_generation = superblock.generation;
        state.extra.files_at_first = opened.replayed.live_at_first;
        self.started.store(true, Ordering::Release);
        let synced = opened.manifest.synced();
        state.manifest = Some(opened.manifest);
        self.publish_commits(&state);
        repaired.extend(opened.repaired);
        Ok(Some(Recovered {
            edits: opened.replayed.edits,
            repaired,
            discarded_bytes: opened.discarded_bytes,
            synced,
        }))
    }

    fn resume(&self) -> Result<()> {
        match &mut lock(&self.commit_state).manifest {
            Some(manifest) if !self.read_only => {
                self.confirm_slots(manifest)?;
                manifest.confirm()
            }
            _ => Ok(()),
        }
    }

    fn close(&self, synced: Seq) {
        if !self.read_only
            && let Some(manifest) = &mut lock(&self.commit_state).manifest
        {
            manifest.close(synced);
        }
        self.space.backings().iter().for_each(|backing| backing.file.close());
    }

    fn create(&self, id: FileId, capacity: u64) -> Result<Arc<dyn File>> {
        self.refuse_if_read_only("create")?;
        if !self.started.load(Ordering::Acquire) {
            self.start(&mut lock(&self.commit_state))?;
        }
        let (name, space, backing) = (id.to_string(), self.space.clone(), self.backing_for(id));
        let file = Arc::new(match id.kind {
            FileKind::Log => VolumeFile::log(name, space, backing, capacity)?,
            FileKind::Table => VolumeFile::table(name, space, backing, capacity)?,
        });
        if !lock(&self.files).create(id, file.clone()) {
            return Err(Error::invalid("file to create", "an unused number", id));
        }
        Ok(file)
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn File>> {
        match lock(&self.files).named(id) {
            Some(file) => Ok(file.clone()),
            None => {
                let why = Message("no file of the volume".to_owned());
                let source = io::Error::new(io::ErrorKind::NotFound, why);
                Err(Error::io("open", &id.to_string(), 0, source))
            }
        }
    }

    fn commit(&self, commit: &Commit<'_>) -> Result<()> {
        self.refuse_if_read_only("commit")?;
        self.make(&mut lock(&self.commit_state), commit, false)
    }

    fn reserve(&self, next: &Commit<'_>) -> Result<()> {
        self.refuse_if_read_only("commit")?;
        let mut state = lock(&self.commit_state);
        let has_room = state.has_room(&self.record(next)?)?;
        if has_room && !self.is_oversized(&state) {
            return Ok(());
        }
        match self.make(&mut state, &Commit { dropped: &[], ..*next }, true) {
            Err(e) if has_room && e.is_no_space() && !state.unsettled => Ok(()),
            made => made,
        }
    }

    fn in_doubt(&self) -> bool {
        lock(&self.commit_state).unsettled
    }

    fn remove(&self, id: FileId) -> Result<()> {
        self.refuse_if_read_only("remove")?;
        let mut state = lock(&self.commit_state);
        let mut files = lock(&self.files);
        if files.live(id).is_some() {
            return Err(Error::invalid("file to remove", "one that no commit names", id));
        }
        if state.in_doubt.contains(&id) {
            state.removed_in_doubt.insert(id);
        } else {
            files.remove(id);
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<FileId>> {
        Ok(lock(&self.files).ids().iter().copied().collect())
    }

    fn space(&self) -> Result<Space> {
        let state = lock(&self.commit_state);
        let manifest = state.manifest.as_ref().map_or(0, |j| j.region().1);
        let live = RESERVED + manifest + lock(&self.files).table_bytes();
        let mut space = Space { taken: 0, live };
        for backing in self.space.backings() {
            space.taken += backing.file.allocated()?;
        }
        Ok(space)
    }

    fn manifest_bytes(&self) -> u64 {
        lock(&self.commit_state).manifest_bytes
    }

    fn vacuum(&self) -> Result<bool> {
        if self.read_only { Ok(false) } else { self.vacuum_step() }
    }

    fn check(&self) -> Result<Vec<Corruption>> {
        self.check_all()
    }
}

#[cfg(test)]
mod tests;

//! Many logical files inside a few large backing files, and one manifest that says where each lies.
//!
//! 1. Backing 0 begins with two superblock slots, which name the manifest's region in it. With
//!    several backings logs lie in the second and tables in those after it, so that syncing a log
//!    does not flush table data.
//! 2. A commit syncs what grew, then appends one manifest record: the extents of the files it names
//!    for the first time, the files it drops, and the engine's edit.
//! 3. Where the manifest is full, or an earlier commit failed or was irregular, the commit begins a
//!    new region instead: first record a snapshot of all live files, region synced, superblocks
//!    switched, old region given back.
//! 4. Room is reused only when the commit that dropped a file is durable, *and* the file was
//!    removed, *and* no handle of it is left: the logical file gives its extents back when it is
//!    dropped, and the volume holds one handle until the first two are so.
//! 5. After a commit that failed, it is not known whether its record is durable. What that
//!    record names keeps its room until a later commit, in a new region, settles it.
//! 6. After a sync that failed, the next one by everyone with unsynced writes in that backing fails,
//!    too (`backing`).

mod backing;
mod check;
pub(crate) mod extents;
mod file;
mod files;
mod slots;
mod space_allocator;
pub(crate) mod superblock;
mod vacuum;

use crate::error::{Corruption, Error, Result};
use crate::rules::Rule;
use crate::storage::lock;
use crate::storage::manifest::{
    Inherited, LEAST_CAPACITY, Manifest, ManifestId, SLOT, next_generation,
};
use crate::storage::record::{Placement, Record};
use crate::storage::{Commit, File, FileId, FileKind, Recovered, Space, Storage, StoreId};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::vec_map::{VecMap, VecSet};
use backing::SyncTracker;
use extents::{Extent, Free, UNIT};
use file::VolumeFile;
use files::Files;
use space_allocator::SpaceAllocator;
use std::sync::Arc;
use superblock::RESERVED;
use vacuum::Move;

/// The most backing files of a volume.
pub const MAX_BACKINGS: usize = 8;

/// The manifest begins a smaller region when this many times as many files were named at its beginning
/// as there are now.
const OVERSIZED: usize = 4;

/// How a volume behaves.
#[derive(Clone, Debug)]
pub struct VolumeOptions {
    /// The place, for messages.
    pub name: String,
    /// The id of a store that is created here: one that was drawn at random. All zeros, the default,
    /// are none, and creation is refused.
    pub new_id: StoreId,
    /// The least by which a backing file grows, in bytes.
    pub min_growth: u64,
    /// The most by which a backing file grows at once, in bytes; in between, an eighth of it.
    pub max_growth: u64,
    /// The volume is read and left as it is, to the byte: nothing is repaired, and every change is
    /// refused.
    pub read_only: bool,
}

impl Default for VolumeOptions {
    fn default() -> Self {
        VolumeOptions {
            name: "volume".to_owned(),
            new_id: StoreId::default(),
            min_growth: 1 << 20,
            max_growth: 64 << 20,
            read_only: false,
        }
    }
}

/// Logical files in backing files.
pub struct Volume {
    name: String,
    read_only: bool,
    id: Mutex<StoreId>,
    commits: AtomicU64,
    space: Arc<SpaceAllocator>,
    /// Locked before `files`, and that before any backing's free extents.
    head: Mutex<Head>,
    /// There is a store, or the superblock that says "creation has begun" is durable.
    started: AtomicBool,
    files: Mutex<Files>,
    moving: Mutex<Option<Move>>,
}

/// The manifest's end, and what a failed commit left open.
#[derive(Default)]
struct Head {
    manifest: Option<Manifest>,
    /// Bytes written to manifests.
    manifest_bytes: u64,
    /// The greatest generation that was ever begun, whether it came to be named or not.
    last_generation: u64,
    /// The manifest takes no more records; the next commit begins a new one.
    begin_anew: bool,
    /// How many files the manifest's first record names, after which its region was measured.
    files_at_first: usize,
    /// Regions that a failed switch may have named.
    regions_in_doubt: Vec<Extent>,
    /// Files that a failed commit may have named, and which of them were to be removed.
    in_doubt: VecSet<FileId>,
    removed_in_doubt: VecSet<FileId>,
    /// Extents that a failed relocation may have named.
    moves_in_doubt: Vec<Arc<VolumeFile>>,
}

impl Volume {
    /// A volume in `backings` (1 to [`MAX_BACKINGS`], always in the same order).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for any other number of backings.
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
            head: Mutex::default(),
            started: AtomicBool::new(false),
            files: Mutex::default(),
            moving: Mutex::default(),
        })
    }

    /// The volume in the single file `path`, held for this process until it is dropped; the file is
    /// created if it is missing and `create` says so.
    ///
    /// # Errors
    /// As for [`open_locked`](crate::storage::vfs::open_locked).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_file(path: &std::path::Path, create: bool) -> Result<Volume> {
        let backing = crate::storage::vfs::open_locked(path, create)?;
        let name = path.display().to_string();
        let new_id = StoreId::random()?;
        Volume::open(vec![backing], VolumeOptions { name, new_id, ..VolumeOptions::default() })
    }

    /// The volume in the single file `path`, to be read and left as it is, together with others who
    /// do so.
    ///
    /// # Errors
    /// As for [`open_shared`](crate::storage::vfs::open_shared).
    #[cfg(not(target_arch = "wasm32"))]
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

    /// Which backing holds a file: logs in the second, tables from the third on; fewer backings
    /// share.
    fn backing_for(&self, id: FileId) -> u8 {
        let n = self.space.backings().len() as u64;
        let number = match id.kind {
            FileKind::Log => 1 % n,
            FileKind::Table if n > 2 => 2 + id.number % (n - 2),
            FileKind::Table => 0,
        };
        number as u8
    }

    /// Marks all room free but that of the superblocks.
    fn free_all_but_superblocks(&self) -> Result<()> {
        for (n, backing) in self.space.backings().iter().enumerate() {
            let mut free = Free::new(backing.file.len()?);
            if n == 0 {
                free.reserve(Extent { offset: 0, len: RESERVED });
            }
            backing.set_free(free);
        }
        Ok(())
    }

    /// Takes an extent that the file system names; one that is not free is damage.
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
            "room that other files hold".to_owned()
        };
        let expected = format!("{} bytes of {what}", extent.len);
        Err(Corruption::new(backing.file.name(), extent.offset, expected, found).into())
    }

    /// Takes the extents of a file that the manifest names.
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

    /// Seals the files that a commit adds, and says where all that it names lie.
    fn record<'a>(&self, commit: &Commit<'a>) -> Result<Record<'a>> {
        let files = lock(&self.files);
        let unknown = |what, id: &FileId| Error::invalid(what, "a file of this state", id);
        let mut added = Vec::new();
        for id in commit.added {
            added.push((id, files.fresh(*id).ok_or_else(|| unknown("file to name", id))?));
        }
        for id in commit.dropped {
            let file = files.live(*id).ok_or_else(|| unknown("file to drop", id))?;
            if !Rule::ReuseAfterEdit.holds() {
                file.release_early();
            }
        }
        Ok(Record {
            placed: added.into_iter().map(|(id, file)| (*id, file.seal())).collect(),
            dropped: commit.dropped.to_vec(),
            edit: Some(commit.edit),
        })
    }

    /// Makes `record`, that of `commit`, durable.
    fn put(&self, head: &mut Head, commit: &Commit<'_>, record: &Record<'_>) -> Result<()> {
        self.start(head)?;
        self.space.sync_grown()?;
        if !head.begin_anew
            && !self.is_oversized(head)
            && let Some(manifest) = &mut head.manifest
        {
            let before = manifest.appended_bytes();
            if manifest.append(record)? {
                head.manifest_bytes += manifest.appended_bytes() - before;
                return Ok(());
            }
        }
        let edit = (commit.snapshot)();
        let mut placed: VecMap<_, _> =
            lock(&self.files).all_live().iter().map(|(id, f)| (*id, f.placement())).collect();
        record.dropped.iter().for_each(|id| drop(placed.remove(id)));
        placed.extend(record.placed.iter().cloned());
        let snapshot =
            Record { placed: placed.into_iter().collect(), dropped: Vec::new(), edit: Some(&edit) };
        self.begin_generation(head, &snapshot)
    }

    /// Whether the manifest's region was made for far more files than there are now.
    fn is_oversized(&self, head: &Head) -> bool {
        let capacity = head.manifest.as_ref().map_or(0, |manifest| manifest.region().1);
        let files = lock(&self.files).all_live().len();
        capacity > LEAST_CAPACITY && files < head.files_at_first / OVERSIZED
    }

    /// Begins a new manifest region and switches the superblocks to it.
    fn begin_generation(&self, head: &mut Head, snapshot: &Record<'_>) -> Result<()> {
        head.begin_anew = true;
        let generation = next_generation(head.last_generation)?;
        head.last_generation = generation;
        let capacity = Manifest::capacity_for(snapshot);
        let region = self.space.allocate_aligned(0, capacity, SLOT)?;
        let file = Arc::new(SyncTracker::new(self.space.clone(), 0)?);
        let id = ManifestId { store: self.id(), generation };
        let inherited = head.manifest.as_ref().map_or(Inherited::NONE, Manifest::passes_on);
        let begun = Manifest::begin(file, (region.offset, capacity), id, inherited, snapshot);
        let manifest = begun.inspect_err(|_| self.space.give(0, &[region]))?;
        self.switch(head, manifest)?;
        head.files_at_first = snapshot.placed.len();
        Ok(())
    }

    /// Makes `manifest`, which is durable, the current one.
    fn switch(&self, head: &mut Head, manifest: Manifest) -> Result<()> {
        let (offset, len) = manifest.region();
        let region = Extent { offset, len };
        let generation = manifest.generation();
        head.regions_in_doubt.push(region);
        head.manifest_bytes += len;
        let superblock = self.superblock(manifest.passes_on().format, generation, region);
        self.write_slot(0, &superblock)?;
        self.write_slot(1, &superblock)?;
        let old = head.manifest.replace(manifest).map(|old| old.region());
        let old = old.map(|(offset, len)| Extent { offset, len });
        head.regions_in_doubt.retain(|e| *e != region);
        self.space.give(0, &std::mem::take(&mut head.regions_in_doubt));
        self.space.give(0, old.as_slice());
        head.begin_anew = false;
        Ok(())
    }

    /// Publishes the number of commits.
    fn publish_commits(&self, head: &Head) {
        let commits = head.manifest.as_ref().map_or(0, Manifest::commits);
        self.commits.store(commits, Ordering::Release);
    }

    /// Does what follows from a commit that is durable.
    fn wait_until_idle(&self, head: &mut Head, commit: &Commit<'_>) {
        self.publish_commits(head);
        let mut files = lock(&self.files);
        commit.added.iter().for_each(|id| files.name(*id));
        commit.dropped.iter().for_each(|id| files.forget(*id));
        head.in_doubt.clear();
        head.moves_in_doubt.clear();
        for id in std::mem::take(&mut head.removed_in_doubt).iter() {
            files.remove(*id);
        }
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
        let mut head = lock(&self.head);
        let mut repaired = Vec::new();
        let Some(superblock) = self.current(&mut repaired)? else {
            return Ok(None);
        };
        *lock(&self.id) = superblock.id;
        self.free_all_but_superblocks()?;
        let name = self.backing0()?.name().to_owned();
        let (offset, len) = (superblock.manifest_offset, superblock.manifest_len);
        let region = Extent::of_units(offset / UNIT, len / UNIT)
            .filter(|e| e.offset == offset && e.len == len && offset.is_multiple_of(SLOT))
            .ok_or_else(|| {
                let found = format!("{len} bytes from {offset}");
                let expected = format!("a manifest region at a multiple of {SLOT} bytes");
                Corruption::new(name, 0, expected, found)
            })?;
        self.claim(0, region, "the manifest")?;
        let file = Arc::new(SyncTracker::new(self.space.clone(), 0)?);
        let id = ManifestId { store: superblock.id, generation: superblock.generation };
        let mut opened = Manifest::open(file, offset, len, id)?;
        let (_, capacity) = opened.manifest.region();
        if capacity != len {
            // It would be written beyond its region, or its second copies looked for elsewhere.
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
        head.begin_anew = !opened.repaired.is_empty() || opened.discarded_bytes > 0;
        head.last_generation = superblock.generation;
        head.files_at_first = opened.replayed.live_at_first;
        self.started.store(true, Ordering::Release);
        head.manifest = Some(opened.manifest);
        self.publish_commits(&head);
        repaired.extend(opened.repaired);
        let discarded_bytes = opened.discarded_bytes;
        Ok(Some(Recovered { edits: opened.replayed.edits, repaired, discarded_bytes }))
    }

    fn resume(&self) -> Result<()> {
        match &mut lock(&self.head).manifest {
            Some(manifest) if !self.read_only => manifest.confirm(),
            _ => Ok(()),
        }
    }

    fn close(&self) {
        if let Some(manifest) = &mut lock(&self.head).manifest {
            manifest.end();
        }
    }

    fn create(&self, id: FileId, capacity: u64) -> Result<Arc<dyn File>> {
        self.refuse_if_read_only("create")?;
        if !self.started.load(Ordering::Acquire) {
            self.start(&mut lock(&self.head))?;
        }
        let (name, space, backing) = (id.to_string(), self.space.clone(), self.backing_for(id));
        let file = Arc::new(match id.kind {
            FileKind::Log => VolumeFile::log(name, space, backing, capacity)?,
            FileKind::Table => VolumeFile::table(name, space, backing, capacity)?,
        });
        if !lock(&self.files).create(id, file.clone()) {
            return Err(Error::invalid("file to create", "a number never used", id));
        }
        Ok(file)
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn File>> {
        match lock(&self.files).named(id) {
            Some(file) => Ok(file.clone()),
            None => {
                let source = std::io::ErrorKind::NotFound.into();
                Err(Error::io("open", &id.to_string(), 0, source))
            }
        }
    }

    fn commit(&self, commit: &Commit<'_>) -> Result<()> {
        self.refuse_if_read_only("commit")?;
        let mut head = lock(&self.head);
        let record = self.record(commit)?;
        match self.put(&mut head, commit, &record) {
            Ok(()) => {
                self.wait_until_idle(&mut head, commit);
                Ok(())
            }
            Err(e) => {
                head.begin_anew = true;
                head.in_doubt.extend(commit.added.iter().copied());
                Err(e)
            }
        }
    }

    fn remove(&self, id: FileId) -> Result<()> {
        self.refuse_if_read_only("remove")?;
        let mut head = lock(&self.head);
        let mut files = lock(&self.files);
        if files.live(id).is_some() {
            return Err(Error::invalid(
                "file to remove",
                "one that a commit dropped, or that none named",
                id,
            ));
        }
        if head.in_doubt.contains(&id) {
            head.removed_in_doubt.insert(id);
        } else {
            files.remove(id);
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<FileId>> {
        Ok(lock(&self.files).ids().iter().copied().collect())
    }

    fn space(&self) -> Result<Space> {
        let head = lock(&self.head);
        let manifest = head.manifest.as_ref().map_or(0, |j| j.region().1);
        let live = RESERVED + manifest + lock(&self.files).target_file_bytes();
        let mut space = Space { taken: 0, live };
        for backing in self.space.backings() {
            space.taken += backing.file.allocated()?;
        }
        Ok(space)
    }

    fn manifest_bytes(&self) -> u64 {
        lock(&self.head).manifest_bytes
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

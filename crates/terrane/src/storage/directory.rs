//! A raw file for each table and log, in one directory.
//!
//! 1. `CURRENT` names a generation; `MANIFEST-<generation>` is its journal. Everything else is
//!    named by the journal, or is a leftover.
//! 2. A commit makes new names durable, then appends one record. Where the journal is full, or an
//!    earlier commit failed or was irregular, it begins a new one instead: the next manifest is
//!    written and synced with a snapshot, `CURRENT` is replaced by a renamed file, and the manifest
//!    before is removed.
//! 3. Before the first of its files a new store makes a file `CREATING` durable, and removes it when
//!    `CURRENT` is: so a creation that never ended is told from a store that lost its `CURRENT`.
//! 4. Recovery removes what no record names: files of commits that never ended, dropped files that
//!    were not removed, old manifests. Files of other names are left alone.
//! 5. After a commit that failed, it is not known whether its record is on the medium: files that
//!    it may name are removed only when a later commit, in a new journal, has settled it.
//!
//! ```text
//! CURRENT:  magic 8 bytes | generation u64 | checksum u64 | zeros to 512, and all of it once more
//! ```

use crate::codec::{Decoder, checksum};
use crate::error::{Corruption, Error, Result};
use crate::sorted::{SortedMap, SortedSet};
use crate::storage::journal::{Journal, next_generation};
use crate::storage::medium::{LOCK, Medium};
use crate::storage::record::{Placement, Record};
use crate::storage::{Commit, File, FileId, FileKind, Recovered, Space, Storage};
use crate::storage::{lock, write_all_at};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

const CURRENT: &str = "CURRENT";
const CURRENT_TEMP: &str = "CURRENT.tmp";
const CREATING: &str = "CREATING";
const MANIFEST: &str = "MANIFEST-";

const MAGIC: &[u8; 8] = b"TRNCUR\r\n";
/// Each copy of `CURRENT` has a sector of its own.
const COPY: usize = 512;

/// A store in a directory.
pub struct Directory {
    medium: Arc<dyn Medium>,
    /// Locked before `live`.
    head: Mutex<Head>,
    live: Mutex<SortedMap<FileId, u64>>,
    /// A file was created since the last sync of names.
    names_changed: AtomicBool,
    /// There is a store, or `CREATING` is on the medium.
    started: AtomicBool,
}

/// The journal's end, and what a failed commit left open.
#[derive(Default)]
struct Head {
    journal: Option<Journal>,
    /// The greatest generation that was ever begun, whether it came to be named or not.
    last_generation: u64,
    /// The journal takes no more records; the next commit begins a new one.
    begin_anew: bool,
    /// Files that a failed commit may have named, and which of them were to be removed.
    in_doubt: SortedSet<FileId>,
    removed_in_doubt: SortedSet<FileId>,
}

fn manifest(generation: u64) -> String {
    format!("{MANIFEST}{generation:06}")
}

fn manifest_generation(name: &str) -> Option<u64> {
    let generation = name.strip_prefix(MANIFEST)?.parse().ok()?;
    (manifest(generation) == name).then_some(generation)
}

fn encode_current(generation: u64) -> Vec<u8> {
    let mut copy = MAGIC.to_vec();
    copy.extend_from_slice(&generation.to_le_bytes());
    copy.extend_from_slice(&checksum(&copy, 0).to_le_bytes());
    copy.resize(COPY, 0);
    copy.repeat(2)
}

/// Reads `CURRENT`: the generation that it names, and which of its copies (0, 1) are not valid.
/// `None` where neither is.
#[must_use]
pub fn decode_current(bytes: &[u8]) -> Option<(u64, Vec<usize>)> {
    let copies = [0, COPY].map(|at| {
        let mut d = Decoder::new(bytes.get(at..)?);
        let body = d.take(MAGIC.len() + 8)?;
        let sound = d.u64()? == checksum(body, 0);
        let generation = Decoder::new(body.strip_prefix(MAGIC)?).u64()?;
        sound.then_some(generation)
    });
    let generation = copies.iter().flatten().copied().next()?;
    let bad = copies.iter().enumerate().filter(|(_, c)| c.is_none()).map(|(n, _)| n);
    Some((generation, bad.collect()))
}

impl Directory {
    /// The store in `medium`, or the place for one.
    ///
    /// # Errors
    /// None yet: [`Storage::recover`] looks at the medium.
    pub fn open(medium: Arc<dyn Medium>) -> Result<Directory> {
        Ok(Directory {
            medium,
            head: Mutex::default(),
            live: Mutex::default(),
            names_changed: AtomicBool::new(false),
            started: AtomicBool::new(false),
        })
    }

    /// Whether `medium` has any file of a store, sound or not. Nothing is changed there.
    ///
    /// # Errors
    /// A failing medium.
    pub fn is_there(medium: &dyn Medium) -> Result<bool> {
        Ok(medium.list()?.iter().any(|name| {
            let head = [CURRENT, CREATING].contains(&name.as_str());
            head || FileId::parse(name).is_some() || manifest_generation(name).is_some()
        }))
    }

    /// Makes `CREATING` durable before the first file of a new store. Whoever calls has locked the
    /// head, so that it happens once.
    fn start(&self, _: &mut Head) -> Result<()> {
        if !self.started.load(Ordering::Acquire) {
            self.medium.create(CREATING)?;
            self.medium.sync_names()?;
            self.started.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn sync_names(&self) -> Result<()> {
        if self.names_changed.swap(false, Ordering::AcqRel) {
            self.medium.sync_names().inspect_err(|_| {
                self.names_changed.store(true, Ordering::Release);
            })?;
        }
        Ok(())
    }

    /// What names without `CURRENT` mean.
    fn without_current(&self, names: &[String]) -> Result<Option<Recovered>> {
        let creating = names.iter().any(|n| n == CREATING);
        let ours = |n: &&String| FileId::parse(n).is_some() || manifest_generation(n).is_some();
        let left: Vec<_> = names.iter().filter(ours).collect();
        if creating {
            // CREATING itself stays for the creation that may follow.
            left.into_iter().try_for_each(|name| self.medium.remove(name))?;
            return Ok(None);
        }
        if let Some(name) = left.first() {
            let expected = "the name of the journal, as there are files of a store";
            let found = format!("no such file beside {name}");
            return Err(Corruption::new(CURRENT, 0, expected, found).into());
        }
        match names.iter().find(|n| ![LOCK, CURRENT_TEMP].contains(&n.as_str())) {
            None => Ok(None),
            Some(other) => Err(Error::no_store(
                self.medium.place(),
                format!("it has no file {CURRENT}, but {other}"),
            )),
        }
    }

    /// The generation that `CURRENT` names; damage to one of its copies goes to `repaired`.
    fn read_current(&self, repaired: &mut Vec<Corruption>) -> Result<u64> {
        let file = self.medium.open(CURRENT)?;
        let mut bytes = [0; 2 * COPY];
        let n = file.read_at(&mut bytes, 0)?;
        let (generation, bad) =
            decode_current(bytes.get(..n).unwrap_or_default()).ok_or_else(|| {
                let found = format!("{n} bytes without a valid copy");
                Corruption::new(CURRENT, 0, "the journal's generation", found)
            })?;
        repaired.extend(bad.into_iter().map(|copy| {
            let expected = format!("copy {} of the journal's generation", copy + 1);
            let offset = (copy * COPY) as u64;
            Corruption::new(CURRENT, offset, expected, "bytes that fail their checksum")
        }));
        Ok(generation)
    }

    /// Removes what no record names.
    fn sweep(&self, names: &[String], generation: u64) -> Result<()> {
        let live = lock(&self.live);
        for name in names {
            let dead = match (FileId::parse(name), manifest_generation(name)) {
                (Some(id), _) => !live.contains_key(&id),
                (None, Some(found)) => found != generation,
                (None, None) => name == CREATING || name == CURRENT_TEMP,
            };
            if dead {
                self.medium.remove(name)?;
            }
        }
        Ok(())
    }

    /// Puts `record`, which `commit` makes, on the medium.
    fn put(&self, head: &mut Head, commit: &Commit<'_>, record: &Record<'_>) -> Result<()> {
        self.start(head)?;
        self.sync_names()?;
        if !head.begin_anew
            && let Some(journal) = &mut head.journal
            && journal.append(record)?
        {
            return Ok(());
        }
        let edit = (commit.snapshot)();
        let mut live = lock(&self.live).clone();
        live.retain(|id, _| !record.dropped.contains(id));
        let mut placed: Vec<_> = live.into_iter().map(|(id, len)| (id, placement(len))).collect();
        placed.extend(record.placed.iter().cloned());
        self.begin_generation(head, &Record { placed, dropped: Vec::new(), edit: Some(&edit) })
    }

    /// Begins a new manifest and switches `CURRENT` to it.
    fn begin_generation(&self, head: &mut Head, snapshot: &Record<'_>) -> Result<()> {
        head.begin_anew = true;
        let generation = next_generation(head.last_generation)?;
        head.last_generation = generation;
        let file = self.medium.create(&manifest(generation))?;
        let journal =
            Journal::begin(file, 0, Journal::capacity_for(snapshot), generation, snapshot)?;
        let current = self.medium.create(CURRENT_TEMP)?;
        write_all_at(&*current, &encode_current(generation), 0)?;
        current.sync()?;
        self.medium.sync_names()?;
        self.medium.rename(CURRENT_TEMP, CURRENT)?;
        self.medium.sync_names()?;
        head.journal = Some(journal);
        head.begin_anew = false;
        // The commit is on the medium: what goes wrong in clearing up, the next recovery clears.
        for name in self.medium.list().unwrap_or_default() {
            if name == CREATING || manifest_generation(&name).is_some_and(|n| n < generation) {
                let _ = self.medium.remove(&name);
            }
        }
        Ok(())
    }

    /// Where a commit's files are: the lengths of those added.
    fn record<'a>(&self, commit: &Commit<'a>) -> Result<Record<'a>> {
        let mut placed = Vec::new();
        for id in commit.added {
            placed.push((*id, placement(self.medium.open(&id.to_string())?.len()?)));
        }
        let live = lock(&self.live);
        if let Some(id) = commit.dropped.iter().find(|id| !live.contains_key(id)) {
            return Err(Error::invalid("file to drop", "one that a commit named", id));
        }
        Ok(Record { placed, dropped: commit.dropped.to_vec(), edit: Some(commit.edit) })
    }

    /// What follows from a commit that is on the medium.
    fn settle(&self, head: &mut Head, record: &Record<'_>) {
        let mut live = lock(&self.live);
        live.extend(record.placed.iter().map(|(id, placement)| (*id, placement.len)));
        live.retain(|id, _| !record.dropped.contains(id));
        head.in_doubt.clear();
        for id in std::mem::take(&mut head.removed_in_doubt).iter() {
            if !live.contains_key(id) {
                // Left where it is, the next recovery removes it.
                let _ = self.medium.remove(&id.to_string());
            }
        }
    }
}

fn placement(len: u64) -> Placement {
    Placement { len, ..Placement::default() }
}

impl Storage for Directory {
    fn name(&self) -> String {
        self.medium.place()
    }

    fn recover(&self) -> Result<Option<Recovered>> {
        let mut head = lock(&self.head);
        let names = self.medium.list()?;
        if !names.iter().any(|n| n == CURRENT) {
            return self.without_current(&names);
        }
        let mut repaired = Vec::new();
        let generation = self.read_current(&mut repaired)?;
        let name = manifest(generation);
        if !names.contains(&name) {
            return Err(Corruption::new(name, 0, "the journal", "no such file").into());
        }
        let file = self.medium.open(&name)?;
        let capacity = file.len()?;
        let opened = Journal::open(file, 0, capacity, generation)?;
        repaired.extend(opened.repaired);
        head.begin_anew = !repaired.is_empty() || opened.discarded_bytes > 0;
        head.last_generation = generation;
        head.journal = Some(opened.journal);
        let live = opened.replayed.live.into_iter();
        *lock(&self.live) = live.map(|(id, placement)| (id, placement.len)).collect();
        self.started.store(true, Ordering::Release);
        // What was read is acted on below: first it must be on the medium.
        self.medium.sync_names()?;
        self.sweep(&names, generation)?;
        let discarded_bytes = opened.discarded_bytes;
        Ok(Some(Recovered { edits: opened.replayed.edits, repaired, discarded_bytes }))
    }

    fn create(&self, id: FileId, capacity: u64) -> Result<Arc<dyn File>> {
        if !self.started.load(Ordering::Acquire) {
            self.start(&mut lock(&self.head))?;
        }
        if lock(&self.live).contains_key(&id) {
            return Err(Error::invalid("file to create", "a number never used", id));
        }
        let file = self.medium.create(&id.to_string())?;
        self.names_changed.store(true, Ordering::Release);
        if id.kind == FileKind::Log {
            // On failure nobody learns of the file.
            file.set_len(capacity).and_then(|()| file.sync()).inspect_err(|_| {
                let _ = self.medium.remove(&id.to_string());
            })?;
        }
        Ok(file)
    }

    fn link(&self, id: FileId, from: &dyn Storage) -> Result<bool> {
        let Some(path) = from.path_of(id) else { return Ok(false) };
        if !self.started.load(Ordering::Acquire) {
            self.start(&mut lock(&self.head))?;
        }
        let linked = self.medium.link(&path, &id.to_string())?;
        self.names_changed.store(true, Ordering::Release);
        Ok(linked)
    }

    fn path_of(&self, id: FileId) -> Option<PathBuf> {
        self.medium.path_of(&id.to_string())
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn File>> {
        let name = id.to_string();
        self.medium.open(&name).or_else(|e| {
            let present = self.medium.list()?.contains(&name);
            if present || !lock(&self.live).contains_key(&id) {
                return Err(e);
            }
            Err(Corruption::new(name, 0, "a file that the journal names", "no such file").into())
        })
    }

    fn commit(&self, commit: &Commit<'_>) -> Result<()> {
        let mut head = lock(&self.head);
        let record = self.record(commit)?;
        match self.put(&mut head, commit, &record) {
            Ok(()) => {
                self.settle(&mut head, &record);
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
        let mut head = lock(&self.head);
        if lock(&self.live).contains_key(&id) {
            return Err(Error::invalid(
                "file to remove",
                "one that a commit dropped, or that none named",
                id,
            ));
        }
        if head.in_doubt.contains(&id) {
            head.removed_in_doubt.insert(id);
            return Ok(());
        }
        match self.medium.remove(&id.to_string()) {
            // Done already, perhaps by a call that was answered with an error.
            Err(Error::Io(refused)) if refused.source.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn files(&self) -> Result<Vec<FileId>> {
        let mut ids: Vec<_> =
            self.medium.list()?.iter().filter_map(|name| FileId::parse(name)).collect();
        ids.sort();
        Ok(ids)
    }

    fn space(&self) -> Result<Space> {
        let mut space = Space::default();
        for name in self.medium.list()? {
            let id = FileId::parse(&name);
            let journal = manifest_generation(&name);
            if id.is_none() && journal.is_none() {
                continue;
            }
            // A file that is removed meanwhile takes no room.
            let len = self.medium.open(&name).and_then(|f| f.len()).unwrap_or(0);
            space.taken += len;
            if id.is_none_or(|id| lock(&self.live).contains_key(&id)) {
                space.live += len;
            }
        }
        Ok(space)
    }

    /// The journal, `CURRENT`, and that each named file is there with its length.
    fn check(&self) -> Result<Vec<Corruption>> {
        let head = lock(&self.head);
        let Some(journal) = &head.journal else { return Ok(Vec::new()) };
        let mut damage = Vec::new();
        match self.read_current(&mut damage) {
            Ok(found) if found == journal.generation() || head.begin_anew => {}
            Ok(found) => {
                let expected = format!("generation {}", journal.generation());
                damage.push(Corruption::new(CURRENT, 0, expected, found.to_string()));
            }
            Err(Error::Corrupt(c)) => damage.push(*c),
            Err(e) => return Err(e),
        }
        damage.extend(journal.check()?);
        let names = self.medium.list()?;
        for (id, len) in lock(&self.live).iter() {
            let name = id.to_string();
            if !names.contains(&name) {
                damage.push(Corruption::new(name, 0, format_args!("{len} bytes"), "no such file"));
                continue;
            }
            let found = self.medium.open(&name)?.len()?;
            if found < *len {
                let found = format!("{found} before the end of the file");
                damage.push(Corruption::new(name, 0, format_args!("{len} bytes"), found));
            }
        }
        Ok(damage)
    }
}

#[cfg(test)]
mod tests;

//! Restores of a store from a backup.
//!
//! 1. Find the moment, and read its base. All tables and logs that it needs must be there with their lengths, before
//!    anything is written.
//! 2. The directory must be empty, or hold an unfinished restore.
//! 3. Download the tables, several at once, and verify the checksum of each. Then read the logs in their order, and
//!    append their batches up to the moment.
//! 4. One commit makes a store of it. If anything fails before, all files are removed.
//!
//! A salvage leaves out missing and damaged objects. It makes a store of the others in another directory, and repairs
//! that into the wanted one. The batches end where the first log is missing.

use crate::base::blocking;
use crate::error::{Error, Result};
use crate::format::{Base, TableRef, decode_log};
use crate::names::Name;
use crate::place::{Object, Place};
use crate::points::{At, Found, find, lacking, needed, there};
use crate::writer::read_base;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStore;
use object_store::path::Path as Prefix;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane::entry::{Millis, Seq};
use terrane::storage::vfs::{LOCK, NativeVfs, StoreLock};
use terrane::storage::{Directory, FileId, Storage, write_all_at};
use terrane::{Restoration, Salvaged};
use xxhash_rust::xxh3::Xxh3;

/// Tables downloaded at once.
const DOWNLOADS: usize = 8;
/// Logs downloaded ahead.
const LOGS_AHEAD: usize = 4;

/// A store that was restored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Restored {
    /// Lineage of the store that was backed up, as 16 hexadecimal digits. The restored store has another one.
    pub lineage: String,
    /// Sequence number of its last batch.
    pub sequence: Seq,
    /// Time of the newest manifest with its base.
    pub time: Millis,
    /// Number of its tables.
    pub tables: u64,
    /// Bytes of its tables and logs.
    pub bytes: u64,
}

/// A store that was salvaged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Salvage {
    /// The store before its repair.
    pub restored: Restored,
    /// Objects that are missing or damaged, a sentence each.
    pub damage: Vec<String>,
    /// Report of the repair; `None` if nothing was missing or damaged.
    pub repaired: Option<Salvaged>,
}

/// Restores a moment of a backup into a directory, which is empty or does not exist.
///
/// # Errors
/// [`Error::Invalid`] for a directory that is not empty, and for a moment that the backup does not have;
/// [`Error::Damaged`], [`Error::Newer`] for objects that are missing, damaged or of a later release; requests and files
/// that fail. The directory is then as it was.
pub async fn restore(
    objects: Arc<dyn ObjectStore>,
    prefix: Prefix,
    dir: &Path,
    at: At,
) -> Result<Restored> {
    let place = Place::new(objects, prefix);
    let found = find(&place, at, false).await?;
    let base = read_base(&place, found.manifest.lineage, &found.content.base).await?;
    write(&place, &found, &base, dir, &mut None).await
}

/// Restores a moment of a damaged backup, as far as its objects are there.
///
/// # Errors
/// As for [`restore`], but missing and damaged objects are no errors, but for one manifest and its base.
pub async fn salvage(
    objects: Arc<dyn ObjectStore>,
    prefix: Prefix,
    dir: &Path,
    at: At,
) -> Result<Salvage> {
    let place = Place::new(objects, prefix);
    let found = find(&place, at, true).await?;
    let base = read_base(&place, found.manifest.lineage, &found.content.base).await?;
    let mut target = Target::claim(dir)?;
    // A path such as `.` has no name of its own.
    let found_dir = fs::canonicalize(dir);
    let dir = &found_dir.map_err(|e| Error::file(format!("read {}", dir.display()), &e))?;
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".salvage");
    let part = dir.with_file_name(name);
    let mut damage = Some(Vec::new());
    let restored = write(&place, &found, &base, &part, &mut damage).await?;
    let damage = damage.unwrap_or_default();
    if damage.is_empty() {
        let moved = fs::remove_dir_all(dir).and_then(|()| fs::rename(&part, dir));
        moved.map_err(|e| Error::file(format!("rename {}", part.display()), &e))?;
        target.keep();
        return Ok(Salvage { restored, damage, repaired: None });
    }
    target.unlock();
    let (from, to) = (part.clone(), dir.to_owned());
    let repaired = blocking(move || {
        let remains = terrane::storage::salvage::directory(&NativeVfs::read_only(&from)?)?;
        let db = terrane::Db::open(to, terrane::Options::default())?;
        let repaired = terrane::repair(remains, &db, terrane::DoubtfulRows::Together)?;
        db.close()?;
        Ok::<_, terrane::Error>(repaired)
    });
    let repaired = repaired.await;
    let _ = fs::remove_dir_all(&part);
    let repaired = repaired?;
    target.keep();
    Ok(Salvage { restored, damage, repaired: Some(repaired) })
}

/// Writes the store of a moment. If `damage` is given, notes damage there and continues.
async fn write(
    place: &Place,
    found: &Found,
    base: &Base,
    dir: &Path,
    damage: &mut Option<Vec<String>>,
) -> Result<Restored> {
    let (lineage, content) = (found.manifest.lineage, &found.content);
    let mut content = content.clone();
    content.logs.retain(|log| log.first <= found.sequence);
    let needed = needed(&content, &base.tables);
    if damage.is_none() {
        let there = there(place, lineage).await?;
        lacking(lineage, &there, &needed).next().map_or(Ok(()), Err)?;
    }
    let target = Target::claim(dir)?;
    let storage: Arc<dyn Storage> = Arc::new(target.storage()?);
    let own = storage.clone();
    let (version_set, additions) = (base.version_set.clone(), content.additions.clone());
    let restoration = blocking(move || Restoration::begin(own, version_set, additions)).await?;
    let mut named: Vec<_> = base.tables.iter().map(|table| (table.number, table.bytes)).collect();
    let mut tables = restoration.tables();
    named.sort_unstable();
    tables.sort_unstable();
    if named != tables {
        let object = format!("base of batch {}", content.base.last);
        return Err(Error::damaged(object, "the tables of its version set", "others"));
    }
    download_all(place, lineage, &storage, base, damage).await?;
    let restoration = append_logs(place, found, restoration, damage).await?;
    let sequence = blocking(move || restoration.finish()).await?;
    target.keep();
    Ok(Restored {
        lineage: crate::names::folder(lineage),
        sequence,
        time: found.manifest.time,
        tables: base.tables.len() as u64,
        bytes: needed.iter().map(|(_, bytes)| bytes).sum(),
    })
}

/// Adds an error to `damage`, if that is given and the error is damage; returns the error otherwise.
fn note(damage: &mut Option<Vec<String>>, error: Error) -> Result<()> {
    match (damage, &error) {
        (Some(noted), Error::Damaged { .. }) => {
            noted.push(error.to_string());
            Ok(())
        }
        _ => Err(error),
    }
}

/// Downloads the tables. After a failure it waits for those that are being written, so that none is written later.
async fn download_all(
    place: &Place,
    lineage: u64,
    storage: &Arc<dyn Storage>,
    base: &Base,
    damage: &mut Option<Vec<String>>,
) -> Result<()> {
    let has_failed = AtomicBool::new(false);
    let tables = base.tables.iter();
    let downloads = tables.map(|table| download(place, lineage, storage, *table, &has_failed));
    let mut downloads = stream::iter(downloads).buffer_unordered(DOWNLOADS);
    let mut failure = None;
    while let Some(downloaded) = downloads.next().await {
        if let Err(e) = downloaded.or_else(|e| note(damage, e)) {
            has_failed.store(true, Ordering::Relaxed);
            failure.get_or_insert(e);
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Downloads a table, unless another one has failed. What arrives is written even if it is damaged.
async fn download(
    place: &Place,
    lineage: u64,
    storage: &Arc<dyn Storage>,
    table: TableRef,
    has_failed: &AtomicBool,
) -> Result<()> {
    if has_failed.load(Ordering::Relaxed) {
        return Err(Error::Stopped);
    }
    let TableRef { number, bytes, checksum } = table;
    let object = Object { lineage, name: Name::Table { number, checksum } };
    let own = storage.clone();
    let file = blocking(move || own.create(FileId::table(number), bytes)).await?;
    let (mut sum, mut at) = (Xxh3::new(), 0);
    let is_there = place
        .stream(object, |piece| {
            sum.update(&piece);
            let (file, offset) = (file.clone(), at);
            at += piece.len() as u64;
            async move {
                if has_failed.load(Ordering::Relaxed) {
                    return Err(Error::Stopped);
                }
                Ok(blocking(move || write_all_at(&*file, &piece, offset)).await?)
            }
        })
        .await?;
    blocking(move || file.sync()).await?;
    let expected = || format!("{bytes} bytes with checksum {checksum:016x}");
    if !is_there {
        return Err(Error::damaged(object, expected(), "no object"));
    }
    if at != bytes || sum.digest() != checksum {
        let found = format!("{at} bytes with checksum {:016x}", sum.digest());
        return Err(Error::damaged(object, expected(), found));
    }
    Ok(())
}

/// Appends the batches of the logs, through the moment.
async fn append_logs(
    place: &Place,
    found: &Found,
    mut restoration: Restoration,
    damage: &mut Option<Vec<String>>,
) -> Result<Restoration> {
    let (lineage, through) = (found.manifest.lineage, found.sequence);
    let logs = found.content.logs.iter().filter(|log| log.first <= through);
    let reads = logs.map(|log| {
        let name = Name::Log { first: log.first, last: log.last, checksum: log.checksum };
        async move {
            let object = Object { lineage, name };
            let bytes = place.get(object).await?;
            let expected = || format!("{} bytes with checksum {:016x}", log.bytes, log.checksum);
            let bytes = bytes.ok_or_else(|| Error::damaged(object, expected(), "no object"))?;
            let sum = terrane::coding::checksum(&bytes, 0);
            if sum != log.checksum {
                let found = format!("{} bytes with checksum {sum:016x}", bytes.len());
                return Err(Error::damaged(object, expected(), found));
            }
            Ok((object, bytes))
        }
    });
    let mut reads = stream::iter(reads).buffered(LOGS_AHEAD);
    loop {
        let (object, bytes) = match reads.try_next().await {
            Ok(None) => break,
            Ok(Some(read)) => read,
            Err(e) => {
                note(damage, e)?;
                return Ok(restoration);
            }
        };
        let appended = blocking(move || {
            let (first, batches) = match decode_log(&bytes, &object.to_string(), lineage) {
                Ok(found) => found,
                Err(e) => return Ok((restoration, Some(e))),
            };
            for (sequence, batch) in (first..=through).zip(batches) {
                if sequence == restoration.next() {
                    restoration.append(batch)?;
                }
            }
            Ok::<_, Error>((restoration, None))
        });
        let malformed;
        (restoration, malformed) = appended.await?;
        if let Some(e) = malformed {
            note(damage, e)?;
            return Ok(restoration);
        }
    }
    if restoration.next() != through + 1 {
        let expected = format!("batches up to {through}");
        let found = format!("batches up to {}", restoration.next() - 1);
        let object = format!("lineage {}", crate::names::folder(lineage));
        note(damage, Error::damaged(object, expected, found))?;
    }
    Ok(restoration)
}

/// A directory for a store. Unless the store is kept, its files are removed.
struct Target {
    dir: PathBuf,
    is_new: bool,
    is_kept: bool,
    /// Lock that keeps other processes out.
    lock: Option<StoreLock>,
}

impl Target {
    /// Takes a directory that is empty, does not exist, or holds an unfinished restore.
    fn claim(dir: &Path) -> Result<Self> {
        let failed = |e| Error::file(format!("read {}", dir.display()), &e);
        let is_new = match fs::read_dir(dir) {
            Ok(entries) => {
                // A restore that was killed early leaves its lock.
                let is_empty = entries.flatten().all(|entry| entry.file_name() == LOCK);
                if !is_empty && !Directory::is_unfinished(&NativeVfs::read_only(dir)?)? {
                    let expected = "an empty directory, or one that does not exist";
                    let found = format!("{} with files in it", dir.display());
                    return Err(Error::invalid("place of a restore", expected, found));
                }
                false
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(dir).map_err(failed)?;
                true
            }
            Err(e) => return Err(failed(e)),
        };
        let lock = NativeVfs::open(dir, true)?.lock("terrane restore")?;
        Ok(Target { dir: dir.to_owned(), is_new, is_kept: false, lock: Some(lock) })
    }

    fn storage(&self) -> Result<Directory> {
        Ok(Directory::open(Arc::new(NativeVfs::open(&self.dir, true)?))?)
    }

    /// Releases the lock, so that a store can be opened in the directory.
    fn unlock(&mut self) {
        self.lock = None;
    }

    /// Keeps the written files.
    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // If this fails, an unfinished restore is left, which the next one accepts.
        if let Ok(entries) = fs::read_dir(&self.dir) {
            for entry in entries.flatten() {
                let _ = fs::remove_file(entry.path());
            }
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

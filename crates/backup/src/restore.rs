//! Restores of a store from a backup.
//!
//! 1. Find the moment, and read its base. All tables and logs that it needs must be there with their lengths, before
//!    anything is written.
//! 2. The directory must be empty, or hold an unfinished restore (`target`).
//! 3. Download the tables, several at once, and verify the checksum of each. Then read the logs in their order, and
//!    append their batches up to the moment.
//! 4. One commit makes a store of it. If anything fails before, or the restore is dropped, all files are removed.
//!
//! A salvage takes the manifest or the base before a damaged one, leaves out missing and damaged tables, and stops
//! before the first log that is missing. It makes a store of the rest in a second directory; if tables or logs are
//! missing, it repairs that store into a third one. The files of the last store move to the wanted directory.

use crate::error::{Error, Result};
use crate::format::{Base, TableRef, decode_log};
use crate::names::Name;
use crate::place::{Object, Place};
use crate::points::{At, Found, find, lacking, needed, sum, there};
use crate::target::{Gate, Scratch, Target};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStore;
use object_store::path::Path as Prefix;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane::entry::{Millis, Seq};
use terrane::storage::vfs::NativeVfs;
use terrane::storage::{FileId, Storage, write_all_at};
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
    /// The last batch that the newest sound manifest names, if batches before it are lost.
    pub lost_through: Option<Seq>,
    /// Rows whose newer version or delete may be lost.
    pub doubtful_rows: u64,
    /// Report of the repair; `None` if no table and no log is missing or damaged.
    pub repaired: Option<Salvaged>,
}

/// Restores a moment of a backup into a directory, which is empty or does not exist. If the future is dropped, the
/// directory is as it was.
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
    write(&place, &found, dir, &Gate::default(), &mut None).await
}

/// Restores a moment of a damaged backup, as far as its objects are there. Creates up to two directories of new names
/// beside `dir`, and removes them.
///
/// # Errors
/// As for [`restore`], but missing and damaged objects are no errors, unless no base is sound.
pub async fn salvage(
    objects: Arc<dyn ObjectStore>,
    prefix: Prefix,
    dir: &Path,
    at: At,
) -> Result<Salvage> {
    let place = Place::new(objects, prefix);
    let found = find(&place, at, true).await?;
    let gate = Gate::default();
    let target = Target::claim(dir, &gate)?;
    // A path such as `.` has no name of its own.
    let found_dir = fs::canonicalize(dir);
    let dir = &found_dir.map_err(|e| Error::file(format!("read {}", dir.display()), &e))?;
    let part = Scratch::beside(dir, "salvage", &gate)?;
    let mut damage = Some(Vec::new());
    let restored = write(&place, &found, part.path(), &gate, &mut damage).await?;
    let damage = damage.unwrap_or_default();
    let repaired = if damage.is_empty() {
        target.take(part.path())?;
        None
    } else {
        let whole = Scratch::beside(dir, "repaired", &gate)?;
        let repaired = repair(part.path(), whole.path(), &gate).await?;
        target.take(whole.path())?;
        Some(repaired)
    };
    target.keep()?;
    let doubtful_rows = repaired.as_ref().map_or(0, |repaired| {
        // Without the batches up to the base, tables have later versions of some rows than of others.
        let is_torn = restored.sequence < found.content.base.last;
        let rows = || repaired.rows.iter().map(|(_, rows)| rows).sum();
        if is_torn { rows() } else { repaired.doubtful_rows }
    });
    let lost_through = (restored.sequence < found.sequence).then_some(found.sequence);
    let damage = found.damage.iter().map(Error::to_string).chain(damage).collect();
    Ok(Salvage { restored, damage, lost_through, doubtful_rows, repaired })
}

/// Repairs the store in `from` into a new one in `to`.
async fn repair(from: &Path, to: &Path, gate: &Gate) -> Result<Salvaged> {
    let (from, to) = (from.to_owned(), to.to_owned());
    let repaired = gate.pass(move || {
        let remains = terrane::storage::salvage::directory(&NativeVfs::read_only(&from)?)?;
        let db = terrane::Db::open(to, terrane::Options::default())?;
        let repaired = terrane::repair(remains, &db, terrane::DoubtfulRows::Together)?;
        db.close()?;
        Ok::<_, terrane::Error>(repaired)
    });
    Ok(repaired.await?)
}

/// Writes the store of a moment. If `damage` is given, notes damage there and continues.
async fn write(
    place: &Place,
    found: &Found,
    dir: &Path,
    gate: &Gate,
    damage: &mut Option<Vec<String>>,
) -> Result<Restored> {
    let (lineage, content, base) = (found.manifest.lineage, &found.content, &found.base);
    let mut content = content.clone();
    content.logs.retain(|log| log.first <= found.sequence);
    let needed = needed(&content, &base.tables);
    if damage.is_none() {
        let there = there(place, lineage).await?;
        lacking(lineage, &there, &needed).next().map_or(Ok(()), Err)?;
    }
    let target = Target::claim(dir, gate)?;
    let storage: Arc<dyn Storage> = Arc::new(target.storage()?);
    let own = storage.clone();
    let (version_set, additions) = (base.version_set.clone(), content.additions.clone());
    let bytes = sum(content.logs.iter().map(|log| log.bytes));
    let begin = move || Restoration::begin(own, version_set, additions, bytes);
    let restoration = gate.pass(begin).await?;
    let mut named: Vec<_> = base.tables.iter().map(|table| (table.number, table.bytes)).collect();
    let mut tables = restoration.tables();
    named.sort_unstable();
    tables.sort_unstable();
    if named != tables {
        let object = format!("base of batch {}", content.base.last);
        return Err(Error::damaged(object, "the tables of its version set", "others"));
    }
    let downloads =
        Downloads { place, lineage, storage: &storage, gate, has_failed: AtomicBool::new(false) };
    downloads.all(base, damage).await?;
    let restoration = append_logs(place, found, restoration, gate, damage).await?;
    let sequence = gate.pass(move || restoration.finish()).await?;
    target.keep()?;
    Ok(Restored {
        lineage: crate::names::folder(lineage),
        sequence,
        time: found.manifest.time,
        tables: base.tables.len() as u64,
        bytes: sum(needed.iter().map(|(_, bytes)| *bytes)),
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

/// Downloads of tables.
struct Downloads<'a> {
    place: &'a Place,
    lineage: u64,
    storage: &'a Arc<dyn Storage>,
    gate: &'a Gate,
    has_failed: AtomicBool,
}

impl Downloads<'_> {
    /// Downloads the tables. After a failure it waits for those that are being written, so that none is written later.
    async fn all(&self, base: &Base, damage: &mut Option<Vec<String>>) -> Result<()> {
        let downloads = base.tables.iter().map(|table| self.one(*table));
        let mut downloads = stream::iter(downloads).buffer_unordered(DOWNLOADS);
        let mut failure = None;
        while let Some(downloaded) = downloads.next().await {
            if let Err(e) = downloaded.or_else(|e| note(damage, e)) {
                self.has_failed.store(true, Ordering::Relaxed);
                failure.get_or_insert(e);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn go_on(&self) -> Result<()> {
        if self.has_failed.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Downloads a table, unless another one has failed. What arrives is written even if it is damaged.
    async fn one(&self, table: TableRef) -> Result<()> {
        self.go_on()?;
        let TableRef { number, bytes, checksum } = table;
        let object = Object { lineage: self.lineage, name: Name::Table { number, checksum } };
        let own = self.storage.clone();
        let file = self.gate.pass(move || own.create(FileId::table(number), bytes)).await?;
        let (mut sum, mut at) = (Xxh3::new(), 0);
        let take = |piece: bytes::Bytes| {
            sum.update(&piece);
            let (file, offset) = (file.clone(), at);
            at += piece.len() as u64;
            async move {
                self.go_on()?;
                Ok(self.gate.pass(move || write_all_at(&*file, &piece, offset)).await?)
            }
        };
        let is_there = self.place.stream(object, take).await?;
        self.gate.pass(move || file.sync()).await?;
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
}

/// Appends the batches of the logs, through the moment.
async fn append_logs(
    place: &Place,
    found: &Found,
    mut restoration: Restoration,
    gate: &Gate,
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
        let appended = gate.pass(move || {
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

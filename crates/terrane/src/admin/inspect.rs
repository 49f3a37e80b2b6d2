//! Checking a store that is closed. Damage that keeps a store from being opened is found like any
//! other, and nothing is replayed into tables, flushed or compacted.
//!
//! 1. The manifest, as opening reads it. Where it is lost there is nothing more to go by.
//! 2. The storage's own structures, then every table that the manifest names.
//! 3. The logs, as recovery would read them, after what they say of the manifest.

use super::check::check_retained;
use crate::admin::CheckReport;
use crate::db::Db;
use crate::engine::HeldLog;
use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::recovery::check_log_numbers;
use crate::storage::{File, FileId, Storage, hold, hold_file};
use crate::table::{BlockCache, Table, TableFiles};
use crate::version::VersionSet;
use crate::wal::Replay;
use std::sync::Arc;
use terrane_policy::{TableId, TableInfo};

impl Db {
    /// Verifies the store in directory `path` without opening it, so that damage which keeps it
    /// from being opened is found as well.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Busy`] if a process holds it; what [`inspect()`] says.
    pub fn inspect(path: impl AsRef<std::path::Path>) -> Result<CheckReport> {
        let options = Options { read_only: true, ..Options::default() };
        let (storage, _lock) = hold(path.as_ref(), &options)?;
        inspect(&storage)
    }

    /// Verifies the store in the single file `path`, as [`Db::inspect`] does that in a directory.
    ///
    /// # Errors
    /// The errors of [`Db::inspect`].
    pub fn inspect_file(path: impl AsRef<std::path::Path>) -> Result<CheckReport> {
        inspect(&hold_file(path.as_ref(), false, true)?)
    }
}

/// Verifies everything in a storage that no engine has open.
///
/// # Errors
/// [`crate::ErrorKind::NoStore`] if there is none, [`crate::ErrorKind::NewerFormat`], an I/O error;
/// damage is not an error but part of the report.
pub fn inspect(storage: &dyn Storage) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let (version_set, synced) = match read_version_set(storage, &mut report) {
        Ok(found) => found,
        Err(e) => {
            report.take(e)?;
            return Ok(report);
        }
    };
    let repairable = report.repairable.clone();
    report.take_storage(storage, &repairable)?;
    let cache = Arc::new(BlockCache::new(0));
    for info in version_set.tables() {
        let found = inspect_table(storage, info, &cache, &mut report);
        found.or_else(|e| report.take(e))?;
    }
    check_log_numbers(storage, &version_set).or_else(|e| report.take(e))?;
    let found = inspect_retained(storage, &version_set, &mut report);
    found.or_else(|e| report.take(e))?;
    let floor = version_set.durable(synced);
    let found = inspect_logs(storage, &version_set, floor, &mut report);
    found.or_else(|e| report.take(e))?;
    Ok(report)
}

/// Returns the version set, and the sequence number of the closing claim.
fn read_version_set(storage: &dyn Storage, report: &mut CheckReport) -> Result<(VersionSet, Seq)> {
    let recovered =
        storage.recover()?.ok_or_else(|| Error::no_store(storage.name(), "it is empty"))?;
    report.repairable = recovered.repaired;
    report.discarded_bytes = recovered.discarded_bytes;
    Ok((VersionSet::replay(&recovered.edits)?, recovered.synced))
}

fn inspect_table(
    storage: &dyn Storage,
    info: &Arc<TableInfo>,
    cache: &Arc<BlockCache>,
    report: &mut CheckReport,
) -> Result<()> {
    let files = Arc::new(OneFile(storage.open(FileId::table(info.id.0))?));
    let table = Arc::new(Table::new(info.clone(), files, cache.clone()));
    report.tables += 1;
    report.entries += info.entries;
    report.damage.extend(table.check()?);
    Ok(())
}

/// A table's file, opened before.
struct OneFile(Arc<dyn File>);

impl TableFiles for OneFile {
    fn open(&self, _: TableId) -> Result<Arc<dyn File>> {
        Ok(self.0.clone())
    }
}

/// Reads the logs that are retained for the change feed.
fn inspect_retained(
    storage: &dyn Storage,
    version_set: &VersionSet,
    report: &mut CheckReport,
) -> Result<()> {
    for record in &version_set.retained {
        let file = storage.open(FileId::log(record.file))?;
        let (id, bytes, through) = (record.log, record.bytes, Some(record.last));
        let log = HeldLog { id, file, bytes, through };
        report.damage.extend(check_retained(record.first, log)?);
    }
    Ok(())
}

fn inspect_logs(
    storage: &dyn Storage,
    version_set: &VersionSet,
    floor: Seq,
    report: &mut CheckReport,
) -> Result<()> {
    let mut replay = Replay::new(version_set.log_start, floor);
    for log in &version_set.logs {
        let file = storage.open(FileId::log(log.file))?;
        replay.log(log.id(), &file, log.through, &mut |_, _| Ok(()))?;
    }
    let replayed = replay.end()?;
    report.quarantine_bytes = version_set.quarantine_bytes();
    report.wal_records = replayed.records;
    report.discarded_bytes += replayed.discarded_bytes;
    Ok(())
}

impl CheckReport {
    /// Takes damage into the report, once for a file that is missing; other errors are handed back.
    fn take(&mut self, error: Error) -> Result<()> {
        let damage = error.into_corruption()?;
        if !self.damage.contains(&damage) {
            self.damage.push(damage);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::executor::ThreadExecutor;
    use crate::storage::Directory;
    use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
    use crate::{Db, Durability, Options};

    fn storage(vfs: &FaultVfs) -> Arc<Directory> {
        Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap())
    }

    /// A store of three tables in level 0, and a log that was not full yet: it has all 3001 rows.
    fn store() -> FaultVfs {
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::default())).unwrap();
        let executor = Arc::new(ThreadExecutor::new(1));
        let db = Db::open_storage(storage(&vfs), Options::default(), executor).unwrap();
        let rows = db.default_keyspace();
        for table in 0..3 {
            for n in 0..1000u32 {
                rows.put(&n.to_be_bytes(), &[table; 20], Durability::Buffered).unwrap();
            }
            db.flush().unwrap();
        }
        rows.put(b"last", b"in the log", Durability::Sync).unwrap();
        db.close().unwrap();
        vfs
    }

    fn tables(vfs: &FaultVfs) -> Vec<String> {
        vfs.list().unwrap().into_iter().filter(|name| name.ends_with(".sst")).collect()
    }

    #[test]
    fn a_sound_store_is_read_whole_and_left_as_it_is() {
        let vfs = store();
        let report = inspect(&*storage(&vfs)).unwrap();
        assert_eq!((report.tables, report.entries, report.wal_records), (3, 3000, 3001));
        assert_eq!((report.damage, report.repairable), (vec![], vec![]));
        let again = inspect(&*storage(&vfs)).unwrap();
        assert_eq!(again.wal_records, 3001, "the log was not replayed into a table");
    }

    #[test]
    fn damage_that_prevents_opening_does_not_hide_other_damage() {
        let vfs = store();
        let tables = tables(&vfs);
        let len = vfs.open(&tables[0]).unwrap().len().unwrap();
        vfs.flip(&tables[0], (len - 1) * 8).unwrap();
        vfs.flip(&tables[1], 100 * 8).unwrap();
        vfs.remove(&tables[2]).unwrap();
        let executor = Arc::new(ThreadExecutor::new(1));
        let options = Options::default();
        assert!(Db::open_storage(storage(&vfs), options, executor).is_err());

        let damage = inspect(&*storage(&vfs)).unwrap().damage;
        let named: Vec<_> = damage.iter().map(|d| d.file.as_str()).collect();
        assert_eq!(named.len(), 3, "{damage:?}");
        assert!(tables.iter().all(|table| named.contains(&table.as_str())), "{named:?}");
    }

    fn open(vfs: &FaultVfs) -> crate::error::Result<Db> {
        Db::open_storage(storage(vfs), Options::default(), Arc::new(ThreadExecutor::new(1)))
    }

    #[test]
    fn damage_to_buffered_writes_of_a_closed_store_is_no_crash() {
        let written = || {
            let vfs = FaultVfs::new(Arc::new(MemoryVfs::default())).unwrap();
            let db = open(&vfs).unwrap();
            for n in 0..100u32 {
                let rows = db.default_keyspace();
                rows.put(&n.to_be_bytes(), b"acknowledged", Durability::Buffered).unwrap();
            }
            (vfs, db)
        };
        let log = |vfs: &FaultVfs| {
            vfs.list().unwrap().into_iter().find(|name| name.ends_with(".log")).unwrap()
        };
        let (vfs, db) = written();
        db.close().unwrap();
        vfs.flip(&log(&vfs), 40 * 8).unwrap();
        let report = inspect(&*storage(&vfs)).unwrap();
        assert_eq!(report.damage.len(), 1, "{report:?}");
        assert!(matches!(open(&vfs).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));

        // A sync leaves its claim.
        let (vfs, db) = written();
        db.sync().unwrap();
        vfs.flip(&log(&vfs), 40 * 8).unwrap();
        assert_eq!(db.check().unwrap().damage.len(), 1);
        assert_eq!(inspect(&*storage(&vfs)).unwrap().damage.len(), 1);
    }

    #[test]
    fn a_check_reports_discarded_bytes_before_and_after_opening() {
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::default())).unwrap();
        let db = open(&vfs).unwrap();
        db.default_keyspace().put(b"k", b"v", Durability::Buffered).unwrap();
        let name = vfs.list().unwrap().into_iter().find(|name| name.ends_with(".log")).unwrap();
        let log = vfs.open(&name).unwrap();
        let mut record = [0; 64];
        log.read_at(&mut record, 0).unwrap();
        db.close().unwrap();
        // As a crash may leave it: no claim in the log or in the manifest, and of the record not all.
        log.write_at(&[0; 64], 0).unwrap();
        log.write_at(&record[..33], 0).unwrap();
        let manifest = vfs.open("MANIFEST-000001").unwrap();
        let witness = manifest.len().unwrap() - (16 << 10);
        manifest.write_at(&[0; 16], witness + 16).unwrap();
        let report = inspect(&*storage(&vfs)).unwrap();
        assert_eq!((report.damage, report.discarded_bytes), (vec![], 40));
        // As well as a commit.
        let records = storage(&vfs).recover().unwrap().unwrap().edits.len() as u64;
        manifest.write_at(&[7; 100], records * (16 << 10)).unwrap();
        let report = inspect(&*storage(&vfs)).unwrap();
        assert_eq!((report.damage, report.discarded_bytes), (vec![], 140));
        manifest.write_at(&[0; 100], records * (16 << 10)).unwrap();
        let db = open(&vfs).unwrap();
        assert_eq!(db.default_keyspace().get(b"k").unwrap(), None);
        assert_eq!(db.check().unwrap().discarded_bytes, 40);
        assert_eq!(db.stats().unwrap().discarded_bytes, 40);
    }

    #[test]
    fn opening_refuses_what_inspect_calls_damage_and_nothing_else() {
        let names = store().list().unwrap();
        for name in &names {
            for left in [None, Some(0), Some(1)] {
                let vfs = store();
                match left {
                    None => vfs.remove(name).unwrap(),
                    Some(cut) => {
                        let file = vfs.open(name).unwrap();
                        file.set_len(cut * (file.len().unwrap() - 1)).unwrap();
                    }
                }
                let damaged = inspect(&*storage(&vfs)).map_or(true, |r| !r.damage.is_empty());
                assert_eq!(open(&vfs).is_err(), damaged, "{name} {left:?}");
            }
        }
    }

    #[test]
    fn several_files_with_the_same_damage_are_all_named() {
        let vfs = store();
        let tables = tables(&vfs);
        tables.iter().for_each(|table| vfs.remove(table).unwrap());
        let damage = inspect(&*storage(&vfs)).unwrap().damage;
        let named: Vec<_> = damage.iter().map(|d| d.file.as_str()).collect();
        assert_eq!(named, tables);
    }

    #[test]
    fn a_store_on_disk_is_inspected_in_a_directory_and_in_a_file() {
        let place = tempfile::tempdir().unwrap();
        let (directory, file) = (place.path().join("directory"), place.path().join("file"));
        let stores = [
            (Db::open(&directory, Options::default()), Db::inspect as fn(_) -> _, &directory),
            (Db::open_file(&file, Options::default()), Db::inspect_file as fn(_) -> _, &file),
        ];
        for (db, inspect, path) in stores {
            let db = db.unwrap();
            db.default_keyspace().put(b"k", b"v", Durability::Buffered).unwrap();
            db.flush().unwrap();
            let held: Result<CheckReport> = inspect(path);
            assert!(matches!(held.map_err(Error::into_kind), Err(ErrorKind::Busy(_))));
            db.close().unwrap();
            let report: CheckReport = inspect(path).unwrap();
            assert_eq!((report.tables, report.entries, report.damage), (1, 1, vec![]));
        }
    }

    #[test]
    fn one_damaged_copy_of_the_manifest_is_repairable() {
        let vfs = store();
        vfs.flip("MANIFEST-000001", 40 * 8).unwrap();
        let report = inspect(&*storage(&vfs)).unwrap();
        assert_eq!((report.damage.len(), report.repairable.len()), (0, 1));
        open(&vfs).unwrap();
    }

    #[test]
    fn an_empty_place_is_no_store() {
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::default())).unwrap();
        assert!(matches!(
            inspect(&*storage(&vfs)).map_err(Error::into_kind),
            Err(ErrorKind::NoStore(_))
        ));
    }
}

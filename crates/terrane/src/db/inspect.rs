//! Checking a store that is closed. Damage that keeps a store from being opened is found like any
//! other, and nothing is replayed into tables, flushed or compacted.
//!
//! 1. The journal, as opening reads it. Where it is lost there is nothing more to go by.
//! 2. The storage's own structures, then every table that the journal names.
//! 3. The logs, as recovery would read them.

use super::CheckReport;
use crate::batch;
use crate::error::{Corruption, Error, Result};
use crate::storage::{FileId, Storage};
use crate::table::{BlockCache, Table};
use crate::version::{Catalog, Edit};
use crate::wal::replay;
use std::sync::Arc;
use terrane_policy::TableInfo;

/// Verifies everything in a storage that no engine has open.
///
/// # Errors
/// [`Error::NoStore`] if there is none, [`Error::NewerFormat`], a failing medium; damage is not an
/// error but part of the report.
pub fn inspect(storage: &dyn Storage) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let catalog = match read_catalog(storage, &mut report) {
        Ok(catalog) => catalog,
        Err(e) => {
            report.take(e)?;
            return Ok(report);
        }
    };
    report.damage.extend(storage.check()?);
    let cache = Arc::new(BlockCache::new(0));
    for info in catalog.tables() {
        let found = inspect_table(storage, info, &cache, &mut report);
        found.or_else(|e| report.take(e))?;
    }
    let found = inspect_logs(storage, &catalog, &mut report);
    found.or_else(|e| report.take(e))?;
    Ok(report)
}

fn read_catalog(storage: &dyn Storage, report: &mut CheckReport) -> Result<Catalog> {
    let recovered =
        storage.recover()?.ok_or_else(|| Error::no_store(storage.name(), "it is empty"))?;
    report.repairable = recovered.repaired;
    let mut catalog = Catalog::default();
    for (record, edit) in recovered.edits.iter().enumerate() {
        catalog.apply(&Edit::decode(edit, record as u64)?)?;
    }
    Ok(catalog)
}

fn inspect_table(
    storage: &dyn Storage,
    info: &Arc<TableInfo>,
    cache: &Arc<BlockCache>,
    report: &mut CheckReport,
) -> Result<()> {
    let file = storage.open(FileId::table(info.id.0))?;
    let table = Table::open(file, info.clone(), cache.clone())?;
    report.tables += 1;
    report.entries += info.entries;
    report.damage.extend(table.check());
    Ok(())
}

fn inspect_logs(storage: &dyn Storage, catalog: &Catalog, report: &mut CheckReport) -> Result<()> {
    let mut logs = Vec::new();
    for log in &catalog.logs {
        logs.push((log.number, storage.open(FileId::log(log.file))?));
    }
    let sound = |_, payload: &[u8]| {
        batch::decode(payload).try_for_each(|entry| match entry {
            Ok(_) => Ok(()),
            Err(damage) => {
                let found = damage.to_string();
                Err(Corruption::new("log", 0, "a sound batch", found).into())
            }
        })
    };
    let floor = catalog.flushed_max();
    report.log_records += replay(&logs, catalog.log_start, floor, &mut { sound })?.records;
    Ok(())
}

impl CheckReport {
    /// Takes damage into the report, once for a file that is missing; other errors are handed back.
    fn take(&mut self, error: Error) -> Result<()> {
        let Error::Corrupt(damage) = error else { return Err(error) };
        let known = |d: &Corruption| d.file == damage.file && d.found == damage.found;
        if !self.damage.iter().any(known) {
            self.damage.push(*damage);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::ThreadDriver;
    use crate::storage::Directory;
    use crate::storage::medium::{FaultMedium, Medium, MemoryMedium};
    use crate::{Db, Durability, Options};

    fn storage(medium: &FaultMedium) -> Arc<Directory> {
        Arc::new(Directory::open(Arc::new(medium.clone())).unwrap())
    }

    /// A store of three tables in level 0, and a log that was not full yet: it has all 3001 rows.
    fn store() -> FaultMedium {
        let medium = FaultMedium::new(Arc::new(MemoryMedium::default())).unwrap();
        let driver = Arc::new(ThreadDriver::new(1));
        let db = Db::open_storage(storage(&medium), Options::default(), driver).unwrap();
        let rows = db.default_keyspace();
        for table in 0..3 {
            for n in 0..1000u32 {
                rows.put(&n.to_be_bytes(), &[table; 20], Durability::Buffered).unwrap();
            }
            db.flush().unwrap();
        }
        rows.put(b"last", b"in the log", Durability::Sync).unwrap();
        db.close().unwrap();
        medium
    }

    fn tables(medium: &FaultMedium) -> Vec<String> {
        medium.list().unwrap().into_iter().filter(|name| name.ends_with(".sst")).collect()
    }

    #[test]
    fn a_sound_store_is_read_whole_and_left_as_it_is() {
        let medium = store();
        let report = inspect(&*storage(&medium)).unwrap();
        assert_eq!((report.tables, report.entries, report.log_records), (3, 3000, 3001));
        assert_eq!((report.damage, report.repairable), (vec![], vec![]));
        let again = inspect(&*storage(&medium)).unwrap();
        assert_eq!(again.log_records, 3001, "the log was not replayed into a table");
    }

    #[test]
    fn damage_that_keeps_the_store_closed_does_not_hide_other_damage() {
        let medium = store();
        let tables = tables(&medium);
        let len = medium.open(&tables[0]).unwrap().len().unwrap();
        medium.flip(&tables[0], (len - 1) * 8).unwrap();
        medium.flip(&tables[1], 100 * 8).unwrap();
        medium.remove(&tables[2]).unwrap();
        let driver = Arc::new(ThreadDriver::new(1));
        let options = Options::default();
        assert!(Db::open_storage(storage(&medium), options, driver).is_err());

        let damage = inspect(&*storage(&medium)).unwrap().damage;
        let named: Vec<_> = damage.iter().map(|d| d.file.as_str()).collect();
        assert_eq!(named.len(), 3, "{damage:?}");
        assert!(tables.iter().all(|table| named.contains(&table.as_str())), "{named:?}");
    }

    #[test]
    fn an_empty_place_is_no_store() {
        let medium = FaultMedium::new(Arc::new(MemoryMedium::default())).unwrap();
        assert!(matches!(inspect(&*storage(&medium)), Err(Error::NoStore(_))));
    }
}

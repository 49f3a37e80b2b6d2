//! A restoration: a store that is made of a version set, its tables, and batches.
//!
//! 1. The tables are written under their numbers. They keep the salts of the store that wrote them, as in a checkpoint.
//! 2. The batches are written into logs, which the first opening replays: it leaves out what the tables have, and drops
//!    the keyspaces that they drop. A keyspace with the name of an older one that is still there was created after the
//!    last batch, and is left out.
//! 3. One commit names all of it. Until then the target holds no store.

use crate::batch::{Operation, decode};
use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::keyspace::KeyspaceId;
use crate::storage::{Commit, FileId, Storage};
use crate::version::{Change, Edit, LogRecord, VersionSet};
use crate::wal::{LogId, LogWriter, log_file_bytes, payload_bytes};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most bytes of a log, unless a batch is longer.
const LOG_BYTES: u64 = 16 << 20;

/// A store that is being restored.
pub struct Restoration {
    storage: Arc<dyn Storage>,
    version_set: VersionSet,
    log: Option<LogWriter>,
    /// Bytes of a log, unless a batch is longer.
    log_bytes: u64,
    /// The sequence number of the next batch.
    next: Seq,
    /// Keyspaces that the batches drop.
    dropped: Vec<KeyspaceId>,
}

impl Restoration {
    /// Starts to restore into `storage`, which holds no store yet. `version_set` and `additions` are edits of a
    /// [`VersionSetCopy`](super::VersionSetCopy). `bytes` is about the length of all batches, so that logs are not
    /// longer than that.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the storage holds a store; edits that are malformed, or of a later
    /// release; an I/O error.
    pub fn begin(
        storage: Arc<dyn Storage>,
        version_set: Vec<u8>,
        additions: Vec<u8>,
        bytes: u64,
    ) -> Result<Self> {
        if storage.recover()?.is_some() {
            let found = format_args!("one in {}", storage.name());
            return Err(Error::invalid("place of a restored store", "no store there yet", found));
        }
        let mut version_set = VersionSet::replay(&[version_set, additions])?;
        version_set.logs.clear();
        let next = version_set.log_start;
        // Records have headers and padding.
        let log_bytes = bytes.saturating_mul(2).min(LOG_BYTES);
        Ok(Restoration { storage, version_set, log: None, log_bytes, next, dropped: Vec::new() })
    }

    /// Returns the number and the length of each table. The caller creates, writes and syncs them in the storage.
    #[must_use]
    pub fn tables(&self) -> Vec<(u64, u64)> {
        self.version_set.tables().iter().map(|info| (info.id.0, info.bytes)).collect()
    }

    /// Returns the sequence number of the next batch.
    #[must_use]
    pub fn next(&self) -> Seq {
        self.next
    }

    /// Appends the next batch.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for an empty batch or one over its limit; a full disk, or an I/O error.
    pub fn append(&mut self, batch: &[u8]) -> Result<()> {
        let payload = payload_bytes([batch.len()].into_iter());
        if self.log.as_ref().is_none_or(|log| !log.fits(payload)) {
            self.end_log()?;
            self.begin_log(log_file_bytes(payload).max(self.log_bytes))?;
        }
        if let Some(Ok((id, Operation::DropKeyspace(_)))) = decode(batch).next() {
            self.dropped.push(id);
        }
        if let Some(log) = &mut self.log {
            log.append(self.next, self.next - 1, &[batch])?;
            self.next += 1;
        }
        Ok(())
    }

    fn begin_log(&mut self, bytes: u64) -> Result<()> {
        let (number, salt) = (self.version_set.next_id, self.storage.id().salt());
        self.version_set.next_id += 1;
        let file = self.storage.create(FileId::log(number), bytes)?;
        self.log = Some(LogWriter::begin(file, LogId { number, salt }, bytes)?);
        self.version_set.logs.push(LogRecord { number, file: number, salt, through: None });
        Ok(())
    }

    fn end_log(&mut self) -> Result<()> {
        let Some(mut log) = self.log.take() else { return Ok(()) };
        log.claim(self.next, self.next - 1)?;
        log.file().sync()
    }

    /// Removes keyspaces that were created after the last batch, whose names older ones have.
    fn leave_out_later_keyspaces(&mut self) -> Result<()> {
        let keyspaces = self.version_set.keyspaces.clone();
        let (mut names, mut later) = (BTreeSet::new(), Vec::new());
        for (&id, record) in keyspaces.iter().filter(|(id, _)| !self.dropped.contains(id)) {
            if !names.insert(&record.name) {
                later.push(Change::DropKeyspace { id, sequence: 0 });
            }
        }
        self.version_set.apply(&Edit { changes: later })
    }

    /// Makes the store durable. Returns the sequence number of its last batch.
    ///
    /// # Errors
    /// A full disk, or an I/O error.
    pub fn finish(mut self) -> Result<Seq> {
        self.end_log()?;
        self.leave_out_later_keyspaces()?;
        let last = self.next - 1;
        let edit = self.version_set.snapshot().encode();
        let logs = self.version_set.logs.iter().map(|log| FileId::log(log.number));
        let tables = self.version_set.tables();
        let tables = tables.iter().map(|info| FileId::table(info.id.0));
        let added: Vec<_> = logs.chain(tables).collect();
        let snapshot = || edit.clone();
        self.storage.commit(&Commit {
            edit: &edit,
            added: &added,
            dropped: &[],
            snapshot: &snapshot,
        })?;
        self.storage.close(last);
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::Pin;
    use crate::executor::SliceExecutor;
    use crate::operand::Operand;
    use crate::storage::vfs::MemoryVfs;
    use crate::storage::{Directory, read_exact_at};
    use crate::{Db, Durability, FeedCursor, Options};

    fn storage() -> Arc<dyn Storage> {
        Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap())
    }

    fn open(storage: Arc<dyn Storage>) -> Db {
        Db::open_storage(storage, Options::small(), Arc::new(SliceExecutor::default())).unwrap()
    }

    fn add(db: &Db, keyspace: &str, n: i64) {
        let counters = db.create_keyspace(keyspace).unwrap();
        counters.merge("sum", Operand::Add(n), Durability::Buffered).unwrap();
    }

    /// Copies the tables of a pin into a store with the batches from its start through `last`.
    fn restored(db: &Db, pin: &Pin, additions: Vec<u8>, last: Seq) -> Db {
        let target = storage();
        let version_set = pin.version_set().encode();
        let mut restoration =
            Restoration::begin(target.clone(), version_set, additions, 1 << 20).unwrap();
        for table in pin.tables() {
            table.verify().unwrap();
            let (from, bytes) = (table.open().unwrap(), table.bytes());
            let to = target.create(FileId::table(table.number()), bytes).unwrap();
            let mut content = vec![0; bytes as usize];
            read_exact_at(&*from, &mut content, 0).unwrap();
            crate::storage::write_all_at(&*to, &content, 0).unwrap();
            to.sync().unwrap();
        }
        let cursor = FeedCursor { lineage: pin.lineage(), sequence: pin.start() - 1 };
        let mut changes = db.changes(cursor).unwrap();
        while restoration.next() <= last {
            let batch = changes.try_next().unwrap().unwrap();
            assert_eq!(batch.cursor().sequence, restoration.next());
            restoration.append(batch.encoded()).unwrap();
        }
        assert_eq!(restoration.finish().unwrap(), last);
        let refused = Restoration::begin(target.clone(), Vec::new(), Vec::new(), 0).err().unwrap();
        assert!(refused.to_string().contains("expected no store there yet"), "{refused}");
        open(target)
    }

    fn sum(db: &Db, keyspace: &str) -> Option<Vec<u8>> {
        db.open_keyspace(keyspace).unwrap()?.get("sum").unwrap()
    }

    #[test]
    fn what_tables_have_is_not_applied_again() {
        let db = open(storage());
        add(&db, "a", 1);
        add(&db, "b", 10);
        // The table of one keyspace has a batch after the first that the other's lacks.
        db.open_keyspace("a").unwrap().unwrap().compact_range(..).unwrap();
        add(&db, "a", 2);
        let pin = Pin::take(&db).unwrap();
        add(&db, "b", 20);
        add(&db, "c", 5);
        db.sync().unwrap();
        let last = db.latest_sequence();
        assert!(pin.start() <= pin.last() && pin.last() < last);
        let additions = additions(&db, &pin);
        let copy = restored(&db, &pin, additions, last);
        for (keyspace, expected) in [("a", "3"), ("b", "30"), ("c", "5")] {
            assert_eq!(sum(&copy, keyspace), Some(expected.into()), "{keyspace}");
        }
        assert_eq!(copy.latest_sequence(), last);
        assert_eq!(copy.check().unwrap().damage, []);
    }

    #[test]
    fn a_flushed_store_is_restored_without_batches() {
        let db = open(storage());
        (0..9).for_each(|n| add(&db, "a", n));
        db.flush().unwrap();
        let pin = Pin::take(&db).unwrap();
        assert_eq!(pin.start(), pin.last() + 1);
        let additions = additions(&db, &pin);
        let copy = restored(&db, &pin, additions, pin.last());
        assert_eq!(sum(&copy, "a"), Some("36".into()));
        add(&copy, "a", 4);
        assert_eq!(sum(&copy, "a"), Some("40".into()));
        assert_eq!(copy.latest_sequence(), pin.last() + 1);
    }

    /// Returns the additions to the version set of a pin that the batches from its start on need.
    fn additions(db: &Db, pin: &Pin) -> Vec<u8> {
        let cursor = FeedCursor { lineage: pin.lineage(), sequence: pin.start() - 1 };
        let (mut changes, mut named) = (db.changes(cursor).unwrap(), Vec::new());
        while let Some(batch) = changes.try_next().unwrap() {
            named.extend(batch.keyspaces());
        }
        // Those of the last batch count.
        named.reverse();
        named.sort_by_key(|keyspace| keyspace.id);
        named.dedup_by_key(|keyspace| keyspace.id);
        pin.version_set().additions(db, named.iter()).unwrap().unwrap()
    }

    #[test]
    fn each_moment_around_removals_of_a_name_is_restored() {
        let db = open(storage());
        add(&db, "a", 1);
        add(&db, "b", 1);
        let pin = Pin::take(&db).unwrap();
        let mut sums = vec![(db.latest_sequence(), Some("1"))];
        add(&db, "a", 2);
        sums.push((db.latest_sequence(), Some("3")));
        for n in [5, 7] {
            assert!(db.drop_keyspace("a").unwrap());
            sums.push((db.latest_sequence(), None));
            add(&db, "a", n);
            sums.push((db.latest_sequence(), Some(if n == 5 { "5" } else { "7" })));
        }
        add(&db, "fleeting", 9);
        let fleeting = db.latest_sequence();
        assert!(db.drop_keyspace("fleeting").unwrap());
        db.sync().unwrap();
        let additions = additions(&db, &pin);
        for (last, sum) in sums {
            let copy = restored(&db, &pin, additions.clone(), last);
            assert_eq!(self::sum(&copy, "a").as_deref(), sum.map(str::as_bytes), "at {last}");
            assert_eq!(self::sum(&copy, "b"), Some("1".into()));
            let names = copy.keyspaces();
            assert!(names.iter().filter(|name| *name == "a").count() <= 1, "{names:?}");
            add(&copy, "a", 1);
            let next: i64 = sum.map_or(0, |sum| sum.parse().unwrap());
            assert_eq!(self::sum(&copy, "a"), Some((next + 1).to_string().into()));
            assert_eq!(copy.check().unwrap().damage, []);
        }
        let copy = restored(&db, &pin, additions.clone(), fleeting);
        assert_eq!(self::sum(&copy, "fleeting"), Some("9".into()));
        let copy = restored(&db, &pin, additions, db.latest_sequence());
        assert_eq!(copy.open_keyspace("fleeting").unwrap().map(drop), None);
    }

    #[test]
    fn a_lineage_that_ended_has_no_additions() {
        let db = open(storage());
        add(&db, "a", 1);
        let version_set = Pin::take(&db).unwrap().version_set();
        db.begin_lineage().unwrap();
        assert_eq!(version_set.additions(&db, [].iter()).unwrap(), None);
    }
}

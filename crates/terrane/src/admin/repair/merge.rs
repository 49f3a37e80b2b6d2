//! The entries of a keyspace, merged into the new store.

use super::doubt::{Covered, Doubts, Part};
use super::known::{Known, Sources};
use super::report::Salvaged;
use crate::batch::WriteBatch;
use crate::db::{Db, Keyspace};
use crate::entry::{MAX_SEQ, Seq, Tag, newer_kind, value_of};
use crate::error::Result;
use crate::memtable::MemtableCursor;
use crate::operand::Merged;
use crate::options::Durability;
use crate::table::Salvage;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use terrane_table::read::{Cursor, Reader, Sight, Stored, is_operand, join_first, sight};
use terrane_types::range_deletes::RangeDeletes;

/// Bytes of rows at which a batch is written.
const BATCH_BYTES: usize = 1 << 20;

/// One of the sources that are merged.
enum Source {
    Table(usize, Box<Salvage>),
    Log(MemtableCursor),
}

impl Source {
    fn entry(&self) -> Option<(&[u8], Tag, &[u8])> {
        match self {
            Source::Table(_, table) => table.entry(),
            Source::Log(log) => log.valid().then(|| (log.key(), log.tag(), log.value())),
        }
    }

    /// Returns the name of the file.
    fn file<'a>(&self, report: &'a Salvaged) -> &'a str {
        let Source::Table(at, _) = self else { return "log" };
        report.files.get(*at).map_or("table", |file| &file.file)
    }

    fn next(&mut self) -> Result<()> {
        match self {
            Source::Table(_, table) => table.next(),
            Source::Log(log) => log.next()?,
        }
        Ok(())
    }
}

/// The merge of one keyspace.
pub(super) struct Merge<'a> {
    pub target: &'a Db,
    pub keyspace: Keyspace,
    /// The name of the keyspace for doubtful rows, if they are kept apart.
    pub apart: Option<&'a str>,
    pub doubts: Doubts,
    pub known: &'a Known,
    pub covered: &'a Covered,
    pub id: u32,
    /// Range deletes of the logs and of the manifest.
    pub range_deletes: RangeDeletes,
}

/// The versions of a key whose newest version is an operand.
struct Versions {
    key: Vec<u8>,
    stored: Vec<Stored>,
    /// The source of the newest version.
    source: usize,
    /// The name of that source's file.
    file: String,
}

/// Returns the oldest sequence number that a version stands for: 0 if it is no operand, since it stands for all older
/// versions.
fn oldest((tag, stored): &Stored) -> Seq {
    if !is_operand(*tag) {
        return 0;
    }
    Merged::decode(*tag, stored).map_or(tag.seq(), |merged| merged.since)
}

/// Rows that wait to be written, and counts of all rows.
#[derive(Default)]
struct Rows {
    batch: WriteBatch,
    bytes: usize,
    /// Rows in the keyspace itself.
    put: u64,
    apart: u64,
    doubtful: u64,
    keyspace_apart: Option<Keyspace>,
}

impl Merge<'_> {
    /// Merges the entries into the new store. Returns the number of rows in the keyspace, and of rows apart.
    pub fn write(&mut self, sources: Sources, report: &mut Salvaged) -> Result<(u64, u64)> {
        let mut all = Vec::new();
        for (at, table) in sources.tables {
            all.push(Source::Table(at, Box::new(table)));
        }
        if let Some(log) = &sources.log {
            let mut cursor = log.cursor();
            cursor.seek_first()?;
            all.push(Source::Log(cursor));
        }
        // Number of lost blocks of each source that were seen.
        let mut seen = vec![0; all.len()];
        let mut heap = BinaryHeap::new();
        let place = |source: &Source, n: usize| {
            source.entry().map(|(key, tag, _)| Reverse((key.to_vec(), Reverse(tag), n)))
        };
        for (n, source) in all.iter().enumerate() {
            self.see(source, seen.get_mut(n));
            heap.extend(place(source, n));
        }
        let (mut rows, mut last) = (Rows::default(), None);
        let mut versions: Option<Versions> = None;
        // Reasons why entries cannot be taken, by source.
        let mut refused = BTreeSet::new();
        while let Some(Reverse((key, _, n))) = heap.pop() {
            let Some(source) = all.get_mut(n) else { continue };
            let is_new = last.as_ref() != Some(&key);
            if is_new && let Some(versions) = versions.take() {
                self.take_joined(versions, &mut refused, &mut rows)?;
            }
            if let Some((found, tag, value)) = source.entry() {
                match &mut versions {
                    Some(versions) => versions.stored.push((tag, value.to_vec())),
                    None if is_new && is_operand(tag) => {
                        let stored = vec![(tag, value.to_vec())];
                        let file = source.file(report).to_owned();
                        versions = Some(Versions { key: key.clone(), stored, source: n, file });
                    }
                    None if is_new => {
                        let entry = (found, tag, value);
                        let taken = self.take(entry, tag.seq(), source.file(report), &mut rows)?;
                        refused.extend(taken.err().map(|why| (n, why)));
                    }
                    None => {}
                }
            }
            last = Some(key);
            source.next()?;
            self.see(source, seen.get_mut(n));
            heap.extend(place(source, n));
        }
        if let Some(versions) = versions {
            self.take_joined(versions, &mut refused, &mut rows)?;
        }
        self.target.write(rows.batch, Durability::Buffered)?;
        for (n, source) in all.into_iter().enumerate() {
            let refused = refused.iter().filter(|(other, _)| *other == n);
            let refused = refused.map(|(_, why)| why.clone());
            match source {
                Source::Table(at, table) => {
                    let Some(file) = report.files.get_mut(at) else { continue };
                    file.lost.extend(refused);
                    file.entries = table.entries();
                    file.lost_blocks = table.lost().to_vec();
                }
                Source::Log(_) => report.notes.extend(refused.map(|why| format!("the log: {why}"))),
            }
        }
        report.doubtful_rows += rows.doubtful;
        Ok((rows.put, rows.apart))
    }

    /// Adds the lost blocks of a table before its current entry. None of them has keys before the last key
    /// that was visited.
    fn see(&mut self, source: &Source, seen: Option<&mut usize>) {
        let (Source::Table(_, table), Some(seen)) = (source, seen) else { return };
        for block in table.lost().iter().skip(*seen) {
            let part = self.known.lost_block(self.id, table.number(), block, self.covered);
            part.into_iter().for_each(|part| self.doubts.add(part));
            *seen += 1;
        }
    }

    /// Takes the versions of a key of which the newest is an operand, joined; if they cannot be joined, what lies below
    /// the operands, as a doubtful row.
    fn take_joined(
        &mut self,
        versions: Versions,
        refused: &mut BTreeSet<(usize, String)>,
        rows: &mut Rows,
    ) -> Result<()> {
        let Versions { key, mut stored, source, file } = versions;
        // A log has an operand alone, where a table has it joined with older ones under the same number: that one
        // counts.
        stored.dedup_by(|next, kept| {
            let is_same = next.0.seq() == kept.0.seq();
            if is_same && oldest(next) < oldest(kept) {
                std::mem::swap(next, kept);
            }
            is_same
        });
        // The row is as doubtful as the value below the operands.
        let below = stored.iter().find(|(tag, _)| !is_operand(*tag)).cloned();
        let base = below.as_ref().map_or(0, |(tag, _)| tag.seq());
        let newest = stored.first().map_or(0, |(tag, _)| tag.seq());
        let list = &self.range_deletes;
        let hides = |older, newer| list.newest_at(&key, newer) > older;
        let operator = self.target.engine().options.merge_operator.as_ref();
        let row = join_first(&stored, hides, || true, operator).unwrap_or_else(|why| {
            let why = why.to_string();
            self.doubt(&key, newest, &file, format!("with a merge that cannot be applied: {why}"));
            refused.insert((source, why));
            below
        });
        if let Some((tag, stored)) = row {
            let taken = self.take((&key, tag, &stored), base, &file, rows)?;
            refused.extend(taken.err().map(|why| (source, why)));
        }
        Ok(())
    }

    /// Takes the newest version of a key, which rests on versions from the sequence number `base` on. The inner error
    /// is the reason why it cannot be taken.
    fn take(
        &mut self,
        (key, tag, stored): (&[u8], Tag, &[u8]),
        base: Seq,
        file: &str,
        rows: &mut Rows,
    ) -> Result<Result<(), String>> {
        let sight = sight(tag, stored, Reader::NEWEST);
        let is_deleted = self.range_deletes.newest_at(key, MAX_SEQ) > tag.seq();
        let put = matches!(sight, Ok(Some(Sight::Value))) && !is_deleted;
        let doubtful = self.doubts.doubt(key, base, put);
        if sight.is_err() {
            let newer = newer_kind(file, tag.kind_byte()).to_string();
            self.doubt(key, tag.seq(), file, newer.clone());
            return Ok(Err(newer));
        }
        if !put {
            return Ok(Ok(()));
        }
        if rows.bytes + key.len() + stored.len() > BATCH_BYTES {
            self.target.write(std::mem::take(&mut rows.batch), Durability::Buffered)?;
            rows.bytes = 0;
        }
        rows.bytes += key.len() + stored.len();
        let apart = self.apart.filter(|_| doubtful);
        let keyspace = match (apart, &rows.keyspace_apart) {
            (Some(_), Some(apart)) => apart,
            (Some(name), None) => rows.keyspace_apart.insert(self.target.create_keyspace(name)?),
            (None, _) => &self.keyspace,
        };
        let put = match value_of(tag, stored) {
            (value, None) => rows.batch.put(keyspace.id(), key, value),
            (value, Some(at)) => rows.batch.put_expiring_at(keyspace.id(), key, value, at),
        };
        if let Err(e) = put {
            let why = e.to_string();
            self.doubt(key, tag.seq(), file, format!("with a row that cannot be written: {why}"));
            return Ok(Err(why));
        }
        rows.doubtful += u64::from(doubtful);
        *(if apart.is_some() { &mut rows.apart } else { &mut rows.put }) += 1;
        Ok(Ok(()))
    }

    /// Reports a key as doubtful, whose version of the sequence number `last` is lost.
    fn doubt(&mut self, key: &[u8], last: Seq, file: &str, reason: String) {
        let own = || Some(key.to_vec());
        let (keyspace, from, through) = (Some(self.id), own(), own());
        self.doubts.add(Part { keyspace, from, through, ..Part::everything(file, reason, last) });
    }
}

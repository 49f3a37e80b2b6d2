//! Repair: what the tables and logs of a store that cannot be opened still hold, as a new store. The
//! damaged one is only read.
//!
//! 1. The manifest says, as far as it can be read, which keyspaces there are, which tables live, and
//!    in which file each log lies. If its end is lost, or all of it, the other tables and logs
//!    count as well, since they may be newer. A table itself says for which keyspace it was written,
//!    if the manifest does not, and which table it is, if its file was renamed.
//! 2. Every valid record of each log is used ([`logs`]), also those that were flushed: the table may be
//!    damaged.
//! 3. Keyspace by keyspace, tables and logs are merged. Of each key the version with the greatest
//!    sequence counts, and is put into the new store, unless it is a delete.
//!
//! Deletes come back where the table with the tombstone was merged away and one that it hid is
//! still there: the report says if tables were used that the manifest does not name.

mod logs;

use crate::batch::WriteBatch;
use crate::db::{Db, Keyspace};
use crate::entry::{Kind, Tag};
use crate::error::{Corruption, Result};
use crate::keyspace::{DEFAULT_KEYSPACE, KeyspaceId, MAX_KEYSPACE_NAME_BYTES};
use crate::memtable::{Memtable, MemtableCursor};
use crate::options::Durability;
use crate::storage::salvage::{self, Remains};
use crate::storage::{File, FileId, FileKind};
use crate::table::{KnownTable, LostBlock, Properties, Salvage};
use crate::version::{Edit, VersionSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use terrane_policy::{TableId, TableInfo};
use terrane_table::read::Cursor;

/// Bytes of rows at which a batch is written.
const BATCH_BYTES: usize = 1 << 20;
/// The id, which no keyspace has, for tables of which nobody knows whose they are.
const UNKNOWN: u32 = u32::MAX;

/// What became of one file of the damaged store.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct SalvagedFile {
    /// Its name.
    pub file: String,
    /// The keyspace of a table.
    pub keyspace: Option<String>,
    /// Entries read from it, all versions and deletes counted.
    pub entries: u64,
    /// Blocks of a table that could not be read.
    pub lost_blocks: Vec<LostBlock>,
    /// What else could not be, a sentence each.
    pub lost: Vec<String>,
}

/// What a repair read, and what it could not.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Salvaged {
    /// The files.
    pub files: Vec<SalvagedFile>,
    /// Rows in the new store, by keyspace.
    pub rows: Vec<(String, u64)>,
    /// What is to be known of it, a sentence each.
    pub notes: Vec<String>,
    /// Whether nothing was lost, as far as the manifest can tell.
    pub complete: bool,
}

/// What is known of the damaged store.
struct Known {
    version_set: Option<VersionSet>,
    /// Whether what the manifest does not name is dead.
    whole: bool,
    /// Names of keyspaces that tables or logs speak of.
    names: BTreeMap<u32, String>,
}

/// The entries of one keyspace.
#[derive(Default)]
struct Sources {
    tables: Vec<(usize, Salvage)>,
    log: Option<Arc<Memtable>>,
}

/// Puts into `target`, which is new, all that `remains` hold.
///
/// # Errors
/// What writing into the target says. What cannot be read of the damaged store is part of the
/// report.
pub fn repair(remains: Remains, target: &Db) -> Result<Salvaged> {
    let mut report = Salvaged { notes: remains.notes.clone(), ..Salvaged::default() };
    let mut known = Known::of(&remains, &mut report);
    if let Some(note) = logs::lost_commit(&remains, &known) {
        report.notes.push(note);
        known.whole = false;
    }
    let mut sources: BTreeMap<u32, Sources> = BTreeMap::new();
    read_tables(&remains, &mut known, &mut sources, &mut report);
    logs::read(&remains, &known, &mut sources, &mut report);
    for (id, keyspace) in known.version_set.iter().flat_map(|c| &c.keyspaces) {
        sources.entry(id.0).or_default();
        known.names.insert(id.0, keyspace.name.clone());
    }
    // Of keyspaces of one name the last counts: the others were dropped before it was made.
    let mut taken = BTreeSet::new();
    for (id, sources) in sources.into_iter().rev() {
        let mut name = known.names.get(&id).cloned().unwrap_or_else(|| unnamed(id));
        if !taken.insert(name.clone()) {
            let longer = format!("{name} (keyspace {id})");
            name = if longer.len() > MAX_KEYSPACE_NAME_BYTES { unnamed(id) } else { longer };
        }
        let keyspace = known.keyspace(id, &name, target, &mut report)?;
        let rows = write(sources, target, &keyspace, &mut report)?;
        report.rows.push((name, rows));
    }
    report.rows.reverse();
    report.notes.extend(remains.unreadable());
    target.sync()?;
    let sound = |file: &SalvagedFile| file.lost.is_empty() && file.lost_blocks.is_empty();
    report.complete = known.whole && report.files.iter().all(sound);
    Ok(report)
}

fn unnamed(id: u32) -> String {
    if id == 0 { DEFAULT_KEYSPACE.to_owned() } else { format!("keyspace {id}") }
}

impl Known {
    fn of(remains: &Remains, report: &mut Salvaged) -> Known {
        let mut version_set = VersionSet::default();
        let mut whole = remains.whole;
        for (record, bytes) in remains.edits.iter().enumerate() {
            let applied =
                Edit::decode(bytes, record as u64).and_then(|edit| version_set.apply(&edit));
            if let Err(e) = applied {
                report.notes.push(format!("the manifest is read to record {record}: {e}"));
                whole = false;
                break;
            }
        }
        let version_set = (!remains.edits.is_empty()).then_some(version_set);
        Known { whole: whole && version_set.is_some(), version_set, names: BTreeMap::new() }
    }

    /// What the manifest says of a table, and the keyspace that it is in.
    fn table(&self, number: u64) -> Option<(u32, Arc<TableInfo>)> {
        let keyspaces = self.version_set.as_ref().map(|version_set| &version_set.keyspaces);
        let mut keyspaces = keyspaces.into_iter().flatten();
        keyspaces.find_map(|(id, record)| {
            Some((id.0, record.shape.table(TableId(number))?.table.clone()))
        })
    }

    /// The number of the table in a file: that of its footer, if the manifest names this table, or else
    /// that of its name.
    fn number(&self, id: FileId, file: &dyn File) -> u64 {
        let of_store = |(number, salt): &(u64, u64)| {
            self.table(*number).is_some_and(|(_, info)| info.salt == *salt)
        };
        salvage::table_in(file).filter(of_store).map_or(id.number, |(number, _)| number)
    }

    /// Makes a keyspace of the new store, with the policy that it had.
    fn keyspace(
        &self,
        id: u32,
        name: &str,
        target: &Db,
        report: &mut Salvaged,
    ) -> Result<Keyspace> {
        let keyspace = target.keyspace(name)?;
        let record = self.version_set.as_ref().and_then(|c| c.keyspaces.get(&KeyspaceId(id)));
        if let Some(record) = record {
            let policy = record.policy.parse().map_err(|e| format!("{e}"));
            let set = policy.and_then(|p| keyspace.set_policy(&p).map_err(|e| e.to_string()));
            if let Err(e) = set {
                report.notes.push(format!("keyspace {name} has the default policy now: {e}"));
            }
        }
        Ok(keyspace)
    }
}

/// Opens every table that counts.
fn read_tables(
    remains: &Remains,
    known: &mut Known,
    sources: &mut BTreeMap<u32, Sources>,
    report: &mut Salvaged,
) {
    let tables = remains.files.iter().filter(|(id, _)| id.kind == FileKind::Table);
    let tables: Vec<_> = tables.map(|(id, file)| (known.number(*id, &**file), id, file)).collect();
    let mut files: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for (number, id, file) in &tables {
        files.entry(*number).or_default().push((*id, *file));
    }
    let (mut strays, mut dead) = (0, 0);
    for (number, id, file) in &tables {
        let named = known.table(*number);
        if named.is_none() && known.whole {
            dead += 1;
            continue;
        }
        let info = named.as_ref().map(|(_, info)| &**info);
        let same = files.get(number).cloned().unwrap_or_default();
        match whole(same, *number, info) {
            Some(whole) if whole != *id && *number != id.number => {
                dead += 1;
                continue;
            }
            Some(whole) if whole != *id => {
                report.notes.push(format!("{id} was left out: {whole} is table {number}, whole"));
                continue;
            }
            _ if *number != id.number => {
                report.notes.push(format!("{id} is table {number} under another name"));
            }
            _ => {}
        }
        let mut salvaged = SalvagedFile { file: id.to_string(), ..SalvagedFile::default() };
        let what = info.map(|info| format!(", {} entries", info.entries));
        match open(file, *number, info, &remains.salts) {
            Ok(table) => {
                strays += usize::from(named.is_none());
                let named = named.map(|(keyspace, _)| keyspace);
                let keyspace = named.unwrap_or_else(|| known.guess(table.properties()));
                salvaged.keyspace = Some(known.name(keyspace));
                let tables = &mut sources.entry(keyspace).or_default().tables;
                tables.push((report.files.len(), table));
            }
            Err(e) => {
                salvaged.lost.push(format!("all of it{}: {e}", what.unwrap_or_default()));
            }
        }
        report.files.push(salvaged);
    }
    for info in known.version_set.iter().flat_map(VersionSet::tables) {
        if !files.contains_key(&info.id.0) {
            let (id, what) = (FileId::table(info.id.0), format!(", {} entries", info.entries));
            match tables.iter().find(|(_, file, _)| **file == id) {
                None => missing(id, &what, known, report),
                Some((number, ..)) => {
                    let note = format!("{id} is not there{what}: that file is table {number}");
                    report.notes.push(note);
                }
            }
        }
    }
    if dead > 0 {
        report.notes.push(format!(
            "{dead} tables that no commit names were left out: unfinished or merged away"
        ));
    }
    if strays > 0 {
        report.notes.push(format!(
            "{strays} tables were taken that no readable manifest names: what was deleted may be \
             back, if the table with the delete is gone and one with the row is not"
        ));
    }
}

/// Of several files of a table the first that is whole, the one with its name before others; it counts
/// alone.
fn whole<'a>(
    mut files: Vec<(&'a FileId, &'a Arc<dyn File>)>,
    number: u64,
    named: Option<&TableInfo>,
) -> Option<&'a FileId> {
    if files.len() < 2 {
        return None;
    }
    files.sort_by_key(|(id, _)| id.number != number);
    let is_whole = |file: &Arc<dyn File>| {
        let Ok(mut table) = open(file, number, named, &[]) else { return false };
        while table.entry().is_some() {
            table.next();
        }
        table.lost().is_empty()
    };
    files.into_iter().find(|(_, file)| is_whole(file)).map(|(id, _)| id)
}

/// Opens a table: the one that the manifest names, if it names one.
fn open(
    file: &Arc<dyn File>,
    number: u64,
    named: Option<&TableInfo>,
    salts: &[u64],
) -> Result<Salvage> {
    let salts = named.map_or(salts, |info| std::slice::from_ref(&info.salt));
    let table = Salvage::open(file.clone(), &KnownTable { number, salts, info: named })?;
    let found = (table.number(), table.salt());
    if let Some(named) = named.map(|info| (info.id.0, info.salt)).filter(|named| *named != found) {
        let text = |(number, salt)| format!("table {number} under salt {salt:016x}");
        return Err(Corruption::new(file.name(), 0, text(named), text(found)).into());
    }
    Ok(table)
}

/// Reports a file that the manifest names and that is not there.
fn missing(id: FileId, what: &str, known: &Known, report: &mut Salvaged) {
    if !known.whole {
        let note = format!("{id} is not there{what}: lost, or dropped by a commit that is");
        return report.notes.push(note);
    }
    let lost = vec![format!("all of it{what}: there is no such file")];
    report.files.push(SalvagedFile { file: id.to_string(), lost, ..SalvagedFile::default() });
}

impl Known {
    fn name(&self, keyspace: u32) -> String {
        let version_set = self.version_set.as_ref();
        let record = version_set.and_then(|c| c.keyspaces.get(&KeyspaceId(keyspace)));
        let name = record.map(|record| record.name.clone());
        name.or_else(|| self.names.get(&keyspace).cloned()).unwrap_or_else(|| unnamed(keyspace))
    }

    /// The keyspace of a table that the manifest does not name: the one for which it was written, as
    /// it says; or else the only one that there is, as far as is known, or one for all such tables, so
    /// that keys of several are not mixed.
    fn guess(&mut self, said: Option<&Properties>) -> u32 {
        if let Some(said) = said
            && let Some(id) = said.keyspace_id.filter(|id| *id != UNKNOWN)
        {
            self.names.extend(said.keyspace_name.clone().map(|name| (id, name)));
            return id;
        }
        let keyspaces =
            self.version_set.iter().flat_map(|version_set| version_set.keyspaces.keys());
        let mut ids = keyspaces.map(|id| id.0);
        match (ids.next(), ids.next()) {
            (None, _) => 0,
            (Some(only), None) => only,
            _ => {
                self.names.insert(UNKNOWN, "of unknown keyspace".to_owned());
                UNKNOWN
            }
        }
    }
}

/// One of the sequences that are merged.
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

    /// The name of the table.
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

/// Merges a keyspace's entries into the new store; returns the rows put.
fn write(sources: Sources, target: &Db, keyspace: &Keyspace, report: &mut Salvaged) -> Result<u64> {
    let mut all = Vec::new();
    for (at, table) in sources.tables {
        all.push(Source::Table(at, Box::new(table)));
    }
    if let Some(log) = &sources.log {
        let mut cursor = log.cursor();
        cursor.seek_first()?;
        all.push(Source::Log(cursor));
    }
    let mut heap = BinaryHeap::new();
    let place = |source: &Source, n: usize| {
        source.entry().map(|(key, tag, _)| Reverse((key.to_vec(), Reverse(tag), n)))
    };
    heap.extend(all.iter().enumerate().filter_map(|(n, source)| place(source, n)));
    let (mut batch, mut bytes, mut rows) = (WriteBatch::new(), 0, 0);
    let mut last = None;
    // What is wrong with entries that cannot be taken, by source.
    let mut refused = BTreeSet::new();
    while let Some(Reverse((key, _, n))) = heap.pop() {
        let Some(source) = all.get_mut(n) else { continue };
        if last.as_ref() != Some(&key) {
            if let Some((key, tag, value)) = source.entry() {
                match tag.kind() {
                    Some(Kind::Put) => {
                        if bytes + key.len() + value.len() > BATCH_BYTES {
                            target.write(std::mem::take(&mut batch), Durability::Buffered)?;
                            bytes = 0;
                        }
                        match batch.put(keyspace.id(), key, value) {
                            Ok(()) => rows += 1,
                            Err(e) => drop(refused.insert((n, e.to_string()))),
                        }
                        bytes += key.len() + value.len();
                    }
                    Some(Kind::Delete) => {}
                    None => {
                        let newer = Kind::newer(source.file(report), tag.kind_byte());
                        refused.insert((n, newer.to_string()));
                    }
                }
            }
            last = Some(key);
        }
        source.next()?;
        heap.extend(place(source, n));
    }
    target.write(batch, Durability::Buffered)?;
    for (n, source) in all.into_iter().enumerate() {
        if let Source::Table(at, table) = source
            && let Some(file) = report.files.get_mut(at)
        {
            let refused = refused.iter().filter(|(other, _)| *other == n);
            file.lost.extend(refused.map(|(_, why)| why.clone()));
            file.entries = table.entries();
            file.lost_blocks = table.lost().to_vec();
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;

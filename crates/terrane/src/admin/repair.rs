//! Repair: what the tables and logs of a store that cannot be opened still hold, as a new store. The
//! damaged one is only read.
//!
//! 1. The manifest says, as far as it can be read, which keyspaces there are, which tables live, and
//!    in which file each log lies. If its end is lost, or all of it, the other tables and logs
//!    count as well, since they may be newer. A table itself says for which keyspace it was written,
//!    if the manifest does not, and which table it is, if its file was renamed.
//! 2. Every valid record of each log is used ([`logs`]), also those that were flushed: the table may be
//!    damaged.
//! 3. Keyspace by keyspace, tables and logs are merged ([`merge`]). Of each key the version with the greatest
//!    sequence counts, and is put into the new store, unless it is a delete or a range delete hides it.
//! 4. A row is doubtful if a lost part may have had a newer version of it, or its delete ([`doubt`]). If
//!    the manifest is not whole, any row may be from a table that was merged away: all rows are doubtful.

mod doubt;
mod logs;
mod merge;

pub use doubt::DoubtfulRange;

use crate::db::{Db, Keyspace};
use crate::entry::Seq;
use crate::error::{Corruption, Result};
use crate::features::{COUNTERS, MERGE_OPERATOR};
use crate::keyspace::{DEFAULT_KEYSPACE, KeyspaceId, MAX_KEYSPACE_NAME_BYTES};
use crate::memtable::Memtable;
use crate::storage::salvage::{self, Remains};
use crate::storage::{File, FileId, FileKind};
use crate::table::{KnownTable, LostBlock, Properties, Salvage};
use crate::version::{Edit, VersionSet};
use doubt::{Covered, Doubts, Part};
use logs::Logs;
use merge::Merge;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use terrane_policy::{TableId, TableInfo};
use terrane_types::range_deletes::RangeDeletes;

/// The id, which no keyspace has, for tables of which nobody knows whose they are.
const UNKNOWN: u32 = u32::MAX;

/// Outcome of one file of the damaged store.
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
    /// Other losses, a sentence each.
    pub lost: Vec<String>,
}

/// Contents that a repair read, and losses.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Salvaged {
    /// The files.
    pub files: Vec<SalvagedFile>,
    /// Rows in the new store, by keyspace.
    pub rows: Vec<(String, u64)>,
    /// Key ranges whose rows may be outdated, deleted or missing, each with its reason. Ranges of different
    /// files may overlap.
    pub doubtful: Vec<DoubtfulRange>,
    /// Doubtful rows in the new store, each counted once.
    pub doubtful_rows: u64,
    /// Sequence number of the last write that was found, if the manifest is whole. Outside of the
    /// doubtful ranges all rows are as they were after it.
    pub last_write: Option<u64>,
    /// Remarks for the owner, a sentence each.
    pub notes: Vec<String>,
    /// Whether nothing was lost, as far as the manifest can tell, and no row is doubtful.
    pub complete: bool,
}

/// Knowledge about the damaged store.
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

/// The place of doubtful rows in the new store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DoubtfulRows {
    /// Among the other rows of their keyspace.
    #[default]
    Together,
    /// In keyspaces of their own: rows of keyspace `a` in `a.doubtful`.
    Apart,
}

/// Puts into `target`, which is new, all that `remains` hold, with doubtful rows where `doubtful` says.
///
/// # Errors
/// What writing into the target says. What cannot be read of the damaged store is part of the
/// report.
pub fn repair(remains: Remains, target: &Db, doubtful: DoubtfulRows) -> Result<Salvaged> {
    let mut report = Salvaged { notes: remains.notes.clone(), ..Salvaged::default() };
    let mut known = Known::of(&remains, &mut report);
    if let Some(note) = logs::lost_commit(&remains, &known) {
        report.notes.push(note);
        known.whole = false;
    }
    let mut sources: BTreeMap<u32, Sources> = BTreeMap::new();
    let lost_tables = read_tables(&remains, &mut known, &mut sources, &mut report);
    let Logs { covered, mut lost, last } = logs::read(&remains, &known, &mut sources, &mut report);
    report.last_write = last;
    lost.extend(lost_tables.iter().filter_map(|table| known.lost_table(*table, &covered)));
    if !known.whole {
        let reason = "which may have dropped tables, or named later ones".to_owned();
        lost.push(Part::everything("the manifest", reason, Seq::MAX));
        report.notes.push(
            "keys deleted by a range may reappear if only the lost part of the manifest recorded the delete"
                .to_owned(),
        );
    }
    for (id, keyspace) in known.version_set.iter().flat_map(|c| &c.keyspaces) {
        sources.entry(id.0).or_default();
        known.names.insert(id.0, keyspace.name.clone());
    }
    let names = names(&known, sources.keys().copied());
    let mut shared: Vec<_> = lost.iter().filter(|part| part.keyspace.is_none()).cloned().collect();
    for (id, sources) in sources {
        let Some(name) = names.get(&id) else { continue };
        let apart = (doubtful == DoubtfulRows::Apart).then(|| doubtful_name(id, name, &names));
        let mut merge = Merge {
            target,
            keyspace: known.keyspace(id, name, target, &mut report)?,
            apart: apart.as_deref(),
            doubts: Doubts::of(id, &lost),
            known: &known,
            covered: &covered,
            id,
            range_deletes: known.range_deletes(id, sources.log.as_deref()),
        };
        let (rows, rows_apart) = merge.write(sources, &mut report)?;
        let (own, of_all) = merge.doubts.finish();
        report.rows.push((name.clone(), rows));
        report.rows.extend(apart.filter(|_| rows_apart > 0).map(|name| (name, rows_apart)));
        report.doubtful.extend(doubt::ranges(own, Some(name)));
        for part in of_all {
            let same = |all: &&mut Part| (&all.file, &all.reason) == (&part.file, &part.reason);
            if let Some(all) = shared.iter_mut().find(same) {
                all.rows += part.rows;
            }
        }
    }
    report.doubtful.extend(doubt::ranges(shared, None));
    report.notes.extend(remains.unreadable());
    target.sync()?;
    let sound = |file: &SalvagedFile| file.lost.is_empty() && file.lost_blocks.is_empty();
    report.complete = known.whole && report.doubtful.is_empty() && report.files.iter().all(sound);
    Ok(report)
}

/// Returns the names of keyspaces in the new store. Of several keyspaces of one name the last keeps it: the
/// others were dropped before it was created.
fn names(known: &Known, ids: impl DoubleEndedIterator<Item = u32>) -> BTreeMap<u32, String> {
    let mut taken = BTreeSet::new();
    let mut names = BTreeMap::new();
    for id in ids.rev() {
        let mut name = known.names.get(&id).cloned().unwrap_or_else(|| unnamed(id));
        if !taken.insert(name.clone()) {
            let longer = format!("{name} (keyspace {id})");
            name = if longer.len() > MAX_KEYSPACE_NAME_BYTES { unnamed(id) } else { longer };
        }
        names.insert(id, name);
    }
    names
}

/// Returns an unused name for the keyspace of doubtful rows of keyspace `id`.
fn doubtful_name(id: u32, name: &str, names: &BTreeMap<u32, String>) -> String {
    let fits = |name: &String| {
        name.len() <= MAX_KEYSPACE_NAME_BYTES && !names.values().any(|other| other == name)
    };
    let mut candidates = [format!("{name}.doubtful"), format!("{name}.doubtful.{id}")].into_iter();
    candidates.find(fits).unwrap_or_else(|| format!("{}.doubtful", unnamed(id)))
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

    /// Returns the range deletes of a keyspace, those of its logs included.
    fn range_deletes(&self, id: u32, log: Option<&Memtable>) -> RangeDeletes {
        let record = self.version_set.as_ref().and_then(|c| c.keyspaces.get(&KeyspaceId(id)));
        let mut list = record.map_or_else(RangeDeletes::default, |r| r.range_deletes.clone());
        list.merge(&log.map_or_else(RangeDeletes::default, Memtable::range_deletes));
        list
    }

    /// Returns the manifest's record of a table, and its keyspace.
    fn table(&self, number: u64) -> Option<(u32, Arc<TableInfo>)> {
        let keyspaces = self.version_set.as_ref().map(|version_set| &version_set.keyspaces);
        let mut keyspaces = keyspaces.into_iter().flatten();
        keyspaces.find_map(|(id, record)| {
            Some((id.0, record.shape.table(TableId(number))?.table.clone()))
        })
    }

    /// Returns the greatest sequence number that a table may have and that the logs lack.
    fn lacked(&self, keyspace: u32, info: &TableInfo, covered: &Covered) -> Option<Seq> {
        let record = self.version_set.as_ref().and_then(|c| c.keyspaces.get(&KeyspaceId(keyspace)));
        let joins = record.is_some_and(|record| record.features & (COUNTERS | MERGE_OPERATOR) != 0);
        // An entry that operands were joined in has the number of the newest alone.
        covered.lacks(if joins { 1 } else { info.first_seq }, info.last_seq)
    }

    /// Returns the part of a lost table that the logs lack.
    fn lost_table(&self, number: u64, covered: &Covered) -> Option<Part> {
        let file = FileId::table(number).to_string();
        let Some((keyspace, info)) = self.table(number) else {
            return Some(Part::everything(&file, "which is lost".to_owned(), Seq::MAX));
        };
        let last = self.lacked(keyspace, &info, covered)?;
        let reason = format!("which is lost, {} entries", info.entries);
        let (from, through) = (Some(info.smallest.clone()), Some(info.largest.clone()));
        let keyspace = Some(keyspace);
        Some(Part { keyspace, from, through, ..Part::everything(&file, reason, last) })
    }

    /// Returns the part of a lost block that the logs lack.
    fn lost_block(
        &self,
        keyspace: u32,
        table: u64,
        block: &LostBlock,
        covered: &Covered,
    ) -> Option<Part> {
        let info = self.table(table).map(|(_, info)| info);
        let last = match &info {
            Some(info) => self.lacked(keyspace, info, covered)?,
            None => Seq::MAX,
        };
        let bound = |key: &Option<Vec<u8>>, of: fn(&TableInfo) -> &Vec<u8>| {
            key.clone().or_else(|| info.as_ref().map(|info| of(info).clone()))
        };
        let from = bound(&block.from, |info| &info.smallest);
        let through = bound(&block.through, |info| &info.largest);
        let lost = "of which blocks are lost".to_owned();
        let file = FileId::table(table).to_string();
        let keyspace = Some(keyspace);
        Some(Part { keyspace, from, through, ..Part::everything(&file, lost, last) })
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
        let keyspace = target.create_keyspace(name)?;
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

/// Opens every table that counts. Returns the numbers of tables of which nothing can be read.
fn read_tables(
    remains: &Remains,
    known: &mut Known,
    sources: &mut BTreeMap<u32, Sources>,
    report: &mut Salvaged,
) -> BTreeSet<u64> {
    let mut lost = BTreeSet::new();
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
                lost.insert(*number);
            }
        }
        report.files.push(salvaged);
    }
    for info in known.version_set.iter().flat_map(VersionSet::tables) {
        if !files.contains_key(&info.id.0) {
            lost.insert(info.id.0);
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
    lost
}

/// Returns the first whole file of several with a table's number, preferring the one with its own name; only
/// that one counts.
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

#[cfg(test)]
mod tests;

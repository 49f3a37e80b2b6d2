//! Repair: a new store with everything that the tables and logs of a damaged one still hold. The damaged one is only
//! read.
//!
//! 1. The manifest names, as far as it can be read, the keyspaces, the live tables, and the file of each log
//!    ([`known`]). If its end is lost, or all of it, the other tables and logs count as well, since they may be newer.
//!    A table itself names its keyspace, if the manifest does not, and its number, if its file was renamed.
//! 2. Every valid record of each log is used ([`logs`]), also if it was flushed, since the table may be damaged.
//!    A keyspace that a record drops is left out, unless the manifest is not whole.
//! 3. Keyspace by keyspace, tables and logs are merged ([`merge`]). Of each key the version with the greatest sequence
//!    number counts, joined with older ones if it is an operand. It is put into the new store unless it is a delete or
//!    a range delete hides it.
//! 4. A row is doubtful if a lost part may have had a newer version of it, or its delete ([`doubt`]). If the manifest
//!    is not whole, all rows are doubtful, since any of them may be from a table that was merged away.

mod doubt;
mod known;
mod logs;
mod merge;
mod report;

pub use doubt::DoubtfulRange;
pub use report::{Salvaged, SalvagedFile};

use crate::db::Db;
use crate::entry::Seq;
use crate::error::{Corruption, Result};
use crate::keyspace::{MAX_KEYSPACE_NAME_BYTES, is_reserved};
use crate::storage::salvage::Remains;
use crate::storage::{File, FileId, FileKind};
use crate::table::{KnownTable, Salvage};
use crate::version::VersionSet;
use doubt::{Doubts, Part};
use known::{Known, Sources, missing, unnamed};
use logs::Logs;
use merge::Merge;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use terrane_policy::TableInfo;

/// The place of doubtful rows in the new store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DoubtfulRows {
    /// Among the other rows of their keyspace.
    #[default]
    Together,
    /// In keyspaces of their own: rows of keyspace `a` in `a.doubtful`.
    Apart,
}

/// Writes everything that `remains` hold into `target`, a new store, with doubtful rows where `doubtful` says.
///
/// # Errors
/// A write into the target that fails. Damage of the other store is part of the report.
pub fn repair(remains: Remains, target: &Db, doubtful: DoubtfulRows) -> Result<Salvaged> {
    let mut report = Salvaged { notes: remains.notes.clone(), ..Salvaged::default() };
    let mut known = Known::of(&remains, &mut report);
    if let Some(note) = logs::lost_commit(&remains, &known) {
        report.notes.push(note);
        known.whole = false;
    }
    let mut sources: BTreeMap<u32, Sources> = BTreeMap::new();
    let lost_tables = read_tables(&remains, &mut known, &mut sources, &mut report);
    let Logs { covered, mut lost, last, dropped } =
        logs::read(&remains, &known, &mut sources, &mut report);
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
    sources.retain(|id, _| !dropped.contains(id));
    let names = names(&known, sources.keys().copied());
    let mut shared: Vec<_> = lost.iter().filter(|part| part.keyspace.is_none()).cloned().collect();
    for (id, sources) in sources {
        // Records of the store's owner say nothing of what is left.
        let Some(name) = names.get(&id).filter(|name| !is_reserved(name)) else { continue };
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

/// Opens every table that counts. Returns the numbers of the tables that cannot be read at all.
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

/// Returns the first whole file of several with a table's number, preferring the one with its own name. Only that file
/// counts.
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

/// Opens a table. It must be the one that the manifest names, if it names one.
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

#[cfg(test)]
mod tests;

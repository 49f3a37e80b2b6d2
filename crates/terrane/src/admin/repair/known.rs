//! The contents of a damaged store, as far as its manifest names them, and as far as its files do.

use super::doubt::{Covered, Part};
use super::report::{Salvaged, SalvagedFile};
use crate::db::{Db, Keyspace};
use crate::entry::Seq;
use crate::error::Result;
use crate::features::{COUNTERS, MERGE_OPERATOR};
use crate::keyspace::{DEFAULT_KEYSPACE, KeyspaceId};
use crate::memtable::Memtable;
use crate::storage::salvage::{self, Remains};
use crate::storage::{File, FileId};
use crate::table::{LostBlock, Properties, Salvage};
use crate::version::{Edit, KeyspaceRecord, VersionSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use terrane_policy::{TableId, TableInfo};
use terrane_types::range_deletes::RangeDeletes;

/// The id for tables of an unknown keyspace. No keyspace has it.
const UNKNOWN: u32 = u32::MAX;

/// Knowledge about the damaged store.
pub(super) struct Known {
    pub version_set: Option<VersionSet>,
    /// Whether the manifest is whole: files that it does not name are dead then.
    pub whole: bool,
    /// Names of keyspaces, as tables or the manifest give them.
    pub names: BTreeMap<u32, String>,
}

/// The tables and the logs' entries of one keyspace.
#[derive(Default)]
pub(super) struct Sources {
    /// Tables, each with the index of its file in the report.
    pub tables: Vec<(usize, Salvage)>,
    pub log: Option<Arc<Memtable>>,
}

impl Known {
    pub fn of(remains: &Remains, report: &mut Salvaged) -> Known {
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

    /// Returns the manifest's record of a keyspace.
    fn record(&self, keyspace: u32) -> Option<&KeyspaceRecord> {
        Some(self.version_set.as_ref()?.keyspaces.get(&KeyspaceId(keyspace))?)
    }

    /// Returns the range deletes of a keyspace, those of its logs included.
    pub fn range_deletes(&self, id: u32, log: Option<&Memtable>) -> RangeDeletes {
        let mut list =
            self.record(id).map_or_else(RangeDeletes::default, |r| r.range_deletes.clone());
        list.merge(&log.map_or_else(RangeDeletes::default, Memtable::range_deletes));
        list
    }

    /// Returns the manifest's record of a table, and its keyspace.
    pub fn table(&self, number: u64) -> Option<(u32, Arc<TableInfo>)> {
        let keyspaces = self.version_set.as_ref().map(|version_set| &version_set.keyspaces);
        let mut keyspaces = keyspaces.into_iter().flatten();
        keyspaces.find_map(|(id, record)| {
            Some((id.0, record.shape.table(TableId(number))?.table.clone()))
        })
    }

    /// Returns the greatest sequence number that a table may have and that the logs lack.
    fn lacked(&self, keyspace: u32, info: &TableInfo, covered: &Covered) -> Option<Seq> {
        let joins = self
            .record(keyspace)
            .is_some_and(|record| record.features & (COUNTERS | MERGE_OPERATOR) != 0);
        // An entry of joined operands has the number of the newest: the older ones may be from before the table's
        // first.
        covered.lacks(if joins { 1 } else { info.first_seq }, info.last_seq)
    }

    /// Returns the part of a lost table that the logs lack.
    pub fn lost_table(&self, number: u64, covered: &Covered) -> Option<Part> {
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
    pub fn lost_block(
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

    /// Returns the number of the table in a file: the one in its footer, if the manifest names that table, or else the
    /// one in its name.
    pub fn number(&self, id: FileId, file: &dyn File) -> u64 {
        let of_store = |(number, salt): &(u64, u64)| {
            self.table(*number).is_some_and(|(_, info)| info.salt == *salt)
        };
        salvage::table_in(file).filter(of_store).map_or(id.number, |(number, _)| number)
    }

    /// Creates a keyspace in the new store, with its policy.
    pub fn keyspace(
        &self,
        id: u32,
        name: &str,
        target: &Db,
        report: &mut Salvaged,
    ) -> Result<Keyspace> {
        let keyspace = target.create_keyspace(name)?;
        if let Some(record) = self.record(id) {
            let policy = record.policy.parse().map_err(|e| format!("{e}"));
            let set = policy.and_then(|p| keyspace.set_policy(&p).map_err(|e| e.to_string()));
            if let Err(e) = set {
                report.notes.push(format!("keyspace {name} has the default policy now: {e}"));
            }
        }
        Ok(keyspace)
    }

    pub fn name(&self, keyspace: u32) -> String {
        let name = self.record(keyspace).map(|record| record.name.clone());
        name.or_else(|| self.names.get(&keyspace).cloned()).unwrap_or_else(|| unnamed(keyspace))
    }

    /// Returns the keyspace of a table that the manifest does not name: the one in its properties; or else the only one
    /// that is known; or else one for all such tables, so that keys of several keyspaces are not mixed.
    pub fn guess(&mut self, properties: Option<&Properties>) -> u32 {
        if let Some(properties) = properties
            && let Some(id) = properties.keyspace_id.filter(|id| *id != UNKNOWN)
        {
            self.names.extend(properties.keyspace_name.clone().map(|name| (id, name)));
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

/// Reports a missing file that the manifest names.
pub(super) fn missing(id: FileId, what: &str, known: &Known, report: &mut Salvaged) {
    if !known.whole {
        let note = format!("{id} is not there{what}: lost, or dropped by a commit that is");
        return report.notes.push(note);
    }
    let lost = vec![format!("all of it{what}: there is no such file")];
    report.files.push(SalvagedFile { file: id.to_string(), lost, ..SalvagedFile::default() });
}

pub(super) fn unnamed(id: u32) -> String {
    if id == 0 { DEFAULT_KEYSPACE.to_owned() } else { format!("keyspace {id}") }
}

//! A reader written from FORMAT.md alone, which uses nothing of the engine. It checks everything that
//! the page says about the bytes it meets, and panics where they differ.
//!
//! 1. `bytes` - numbers, checksums, LZ4.
//! 2. `manifest` - from `CURRENT` or a superblock to records, their files and their edits.
//! 3. `log` and `table` - the contents of the files that the manifest names.
//! 4. [`Store::read`] combines them: of each key, the version with the greatest sequence.

mod bytes;
mod log;
mod manifest;
mod table;

use super::content::Entries;
use bytes::{Reader, u64_at};
use manifest::Manifest;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

/// The kind of storage.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    Directory,
    /// With one backing file.
    Volume,
}

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// One version of a key.
pub struct Entry {
    pub keyspace: u64,
    pub key: Vec<u8>,
    pub sequence: u64,
    pub change: Change,
}

/// The effect of a version on its key.
pub enum Change {
    Put(Vec<u8>),
    Delete,
    /// A value, and the time at which it expires, in milliseconds since the epoch.
    PutExpiring(u64, Vec<u8>),
    /// An operand of the newest version below a sequence.
    Merge(u64, Operand),
    /// Deletes the keys from this one on, before another if there is an end.
    DeleteRange(Option<Vec<u8>>),
    /// Drops the keyspace, whose name stands in place of a key.
    DropKeyspace,
}

/// Values of a key, each from a sequence on.
type Values = Vec<(u64, Option<Vec<u8>>)>;

/// A function of an integer, or of none.
pub struct Operand {
    add: i128,
    low: i64,
    high: i64,
    absent: i64,
}

impl Operand {
    /// Reads an operator and its numbers.
    fn read(from: &mut Reader) -> Operand {
        let all = Operand { add: 0, low: i64::MIN, high: i64::MAX, absent: 0 };
        let operator = from.u8();
        let add = if operator == 3 { from.i128() } else { 0 };
        let (first, mut rest) = (from.i64(), || from.i64());
        match operator {
            0 => Operand { add: first.into(), absent: first, ..all },
            1 => Operand { high: first, absent: first, ..all },
            2 => Operand { low: first, absent: first, ..all },
            3 => Operand { add, low: first, high: rest(), absent: rest() },
            other => panic!("{other} is no operator of these stores"),
        }
    }

    fn apply(&self, value: Option<&Vec<u8>>) -> Vec<u8> {
        let text = value.map(|value| String::from_utf8(value.clone()).expect("a counter"));
        let result = match text.and_then(|text| text.parse::<i64>().ok()) {
            Some(n) => (i128::from(n) + self.add).clamp(self.low.into(), self.high.into()),
            None => self.absent.into(),
        };
        result.to_string().into_bytes()
    }
}

/// The content of a store, and which features of the format it has.
#[derive(Default)]
pub struct Store {
    pub keyspaces: BTreeMap<String, Entries>,
    /// Groups of running compactions that are not installed yet.
    pub remaining: u64,
    /// The sequence number through which batches were durable when the store was closed.
    pub closed: u64,
    /// Keyspaces whose policy has state.
    pub policy_states: usize,
    /// Stored blocks without compression, and with LZ4.
    pub blocks: [usize; 2],
    /// Tables that name their keyspace.
    pub named: usize,
    /// Tables with several partitions.
    pub partitioned: usize,
    pub tombstones: usize,
    /// Tables that say which entries only snapshots kept, and have some.
    pub keeping: usize,
    /// Table entries that are not the newest version of their key in the table.
    pub old_versions: usize,
    /// Fragments of range deletes in the manifest, and range deletes in logs.
    pub fragments: usize,
    pub range_deletes: usize,
    /// Tables that range deletes were applied to.
    pub cleared: usize,
    /// Values that expire in tables and in logs, and tables that say when all of them have expired.
    pub expiring: usize,
    pub expiring_in_logs: usize,
    pub expiring_tables: usize,
    /// Operands in tables, those of several operators, and operands in logs.
    pub operands: usize,
    pub bounded: usize,
    pub operands_in_logs: usize,
    /// Records of logs, and those with entries of several keyspaces.
    pub records: usize,
    pub shared_records: usize,
    /// Claims in logs.
    pub claims: usize,
    /// Logs that end in a torn record.
    pub torn: usize,
    /// Files of logs that hold records of an earlier one.
    pub recycled: usize,
    /// Logs that are retained for the change feed.
    pub retained: usize,
    /// Dropped keyspaces of the manifest whose batch is in a live log.
    pub dropped: usize,
}

/// The value of an entry of kind 4.
fn expiring(stored: &[u8]) -> Change {
    Change::PutExpiring(u64_at(stored, 0), stored[8..].to_vec())
}

impl Store {
    /// Reads everything.
    pub fn read(files: &Files, place: Place) -> Store {
        let manifest = Manifest::read(files, place);
        let mut store =
            Store { remaining: manifest.remaining(), closed: manifest.closed, ..Store::default() };
        let mut versions = Vec::new();
        for (id, keyspace) in &manifest.keyspaces {
            store.policy_states += usize::from(!keyspace.policy_state.is_empty());
            // They hide only what is older, not entries of their own batch: these come later here.
            for (from, to, sequences) in &keyspace.range_deletes {
                store.fragments += 1;
                versions.extend(sequences.iter().map(|sequence| Entry {
                    keyspace: *id,
                    key: from.clone(),
                    sequence: *sequence,
                    change: Change::DeleteRange(to.clone()),
                }));
            }
            for (number, info) in &keyspace.tables {
                store.cleared += usize::from(info.cleared > 0);
                store.expiring_tables += usize::from(info.expires_by > 0);
                let bytes = manifest.file(files, table::KIND, *number);
                store.keeping += usize::from(info.kept.is_some_and(|[entries, ..]| entries > 0));
                versions.extend(table::read(
                    &mut store,
                    &bytes,
                    (*id, &keyspace.name),
                    *number,
                    info,
                ));
            }
        }
        let mut next = manifest.retained.values().next().map_or(0, |([_, first, ..], _)| *first);
        for (number, ([file, first, last, length], salt)) in &manifest.retained {
            let bytes = manifest.file(files, log::KIND, *file);
            assert_eq!(next, *first, "retained logs leave no gap");
            let records = &bytes[..*length as usize];
            // Their entries are in tables.
            log::read(&mut store, records, [*salt, *number], Some(*last), &mut next);
            assert_eq!(next, last + 1, "a retained log is whole");
            store.retained += 1;
        }
        assert!(next == 0 || next == manifest.log_start, "live logs follow the retained ones");
        let mut next = manifest.log_start;
        for (number, (file, salt)) in &manifest.logs {
            let bytes = manifest.file(files, log::KIND, *file);
            let through = manifest.ends.get(number).copied();
            for entry in log::read(&mut store, &bytes, [*salt, *number], through, &mut next) {
                if let Change::DropKeyspace = entry.change {
                    let named = (entry.sequence, String::from_utf8(entry.key).expect("a name"));
                    assert_eq!(manifest.dropped[&entry.keyspace], named);
                    store.dropped += 1;
                    continue;
                }
                let flushed = manifest.keyspaces.get(&entry.keyspace).map(|k| k.flushed);
                // Entries that are in a table, or in a dropped keyspace, are skipped.
                if flushed.is_some_and(|flushed| entry.sequence > flushed) {
                    versions.push(entry);
                }
            }
        }
        for (file, length) in &manifest.quarantined {
            let bytes = manifest.file(files, log::KIND, *file);
            assert!(bytes.starts_with(b"setaside") && bytes.len() as u64 == 8 + length);
        }
        store.keyspaces =
            manifest.keyspaces.values().map(|k| (k.name.clone(), Entries::new())).collect();
        versions.sort_by_key(|entry| entry.sequence);
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = since_epoch.expect("a clock").as_millis() as u64;
        // The values of keys with operands, oldest first.
        let mut counters: BTreeMap<(u64, Vec<u8>), Values> = BTreeMap::new();
        let merged: BTreeSet<_> = versions
            .iter()
            .filter(|entry| matches!(entry.change, Change::Merge(..)))
            .map(|entry| (entry.keyspace, entry.key.clone()))
            .collect();
        for entry in versions {
            let (keyspace, sequence) = (entry.keyspace, entry.sequence);
            let name = &manifest.keyspaces[&keyspace].name;
            let entries = store.keyspaces.get_mut(name).expect("listed above");
            match entry.change {
                Change::Merge(since, operand) => {
                    let values = counters.entry((keyspace, entry.key.clone())).or_default();
                    let below = values.iter().rfind(|(sequence, _)| *sequence < since);
                    let value = operand.apply(below.and_then(|(_, value)| value.as_ref()));
                    entries.insert(entry.key, value);
                }
                Change::Put(value) => drop(entries.insert(entry.key, value)),
                Change::PutExpiring(at, value) if at > now => {
                    drop(entries.insert(entry.key, value));
                }
                Change::PutExpiring(..) | Change::Delete => drop(entries.remove(&entry.key)),
                Change::DropKeyspace => panic!("its keyspace is gone"),
                Change::DeleteRange(to) => entries
                    .retain(|key, _| *key < entry.key || to.as_ref().is_some_and(|to| key >= to)),
            }
            for (keyspace, key) in merged.iter().filter(|(of, _)| *of == keyspace) {
                let values = counters.entry((*keyspace, key.clone())).or_default();
                values.push((sequence, entries.get(key).cloned()));
            }
        }
        store
    }
}

//! A reader of stores that was written from FORMAT.md and uses nothing of the engine. It checks all
//! that the page says of what it meets, and panics where that is not so.
//!
//! 1. `bytes` - numbers, checksums, LZ4.
//! 2. `manifest` - from `CURRENT` or a superblock to records, their files and their edits.
//! 3. `log` and `table` - what the files that the manifest names hold.
//! 4. [`Store::read`] puts it together: of each key the version with the greatest sequence.

mod bytes;
mod log;
mod manifest;
mod table;

use super::content::Entries;
use manifest::Manifest;
use std::collections::BTreeMap;

/// How the store lies on its file system.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    Directory,
    /// In one backing.
    Volume,
}

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// One version of a key.
pub struct Entry {
    pub keyspace: u64,
    pub key: Vec<u8>,
    pub sequence: u64,
    /// None for a delete.
    pub value: Option<Vec<u8>>,
}

/// What a store holds, and which features of the format it shows.
#[derive(Default)]
pub struct Store {
    pub keyspaces: BTreeMap<String, Entries>,
    /// Groups of compactions that have begun and are not installed.
    pub remaining: u64,
    /// Keyspaces whose policy remembers something.
    pub policy_states: usize,
    /// Stored blocks without compression, and with LZ4.
    pub blocks: [usize; 2],
    /// Tables that say whose they are.
    pub named: usize,
    /// Tables with several partitions.
    pub partitioned: usize,
    pub tombstones: usize,
    /// Entries of tables that are not the newest of their key in it.
    pub old_versions: usize,
    /// Records of logs, and those with entries of several keyspaces.
    pub records: usize,
    pub shared_records: usize,
    /// Claims in logs.
    pub claims: usize,
    /// Logs that end in a record that was cut short.
    pub torn: usize,
    /// Files of logs that hold records of an earlier one.
    pub recycled: usize,
}

impl Store {
    /// Reads everything.
    pub fn read(files: &Files, place: Place) -> Store {
        let manifest = Manifest::read(files, place);
        let mut store = Store { remaining: manifest.remaining(), ..Store::default() };
        let mut versions = Vec::new();
        for (id, keyspace) in &manifest.keyspaces {
            store.policy_states += usize::from(!keyspace.policy_state.is_empty());
            for (number, info) in &keyspace.tables {
                let bytes = manifest.file(files, table::KIND, *number);
                versions.extend(table::read(
                    &mut store,
                    &bytes,
                    (*id, &keyspace.name),
                    *number,
                    info,
                ));
            }
        }
        let mut next = manifest.log_start;
        for (number, (file, salt)) in &manifest.logs {
            let bytes = manifest.file(files, log::KIND, *file);
            for entry in log::read(&mut store, &bytes, [*salt, *number], &mut next) {
                let flushed = manifest.keyspaces.get(&entry.keyspace).map(|k| k.flushed);
                // What a table holds is not taken again; a keyspace that is gone takes nothing.
                if flushed.is_some_and(|flushed| entry.sequence > flushed) {
                    versions.push(entry);
                }
            }
        }
        store.keyspaces =
            manifest.keyspaces.values().map(|k| (k.name.clone(), Entries::new())).collect();
        versions.sort_by_key(|entry| entry.sequence);
        for entry in versions {
            let name = &manifest.keyspaces[&entry.keyspace].name;
            let entries = store.keyspaces.get_mut(name).expect("listed above");
            match entry.value {
                Some(value) => entries.insert(entry.key, value),
                None => entries.remove(&entry.key),
            };
        }
        store
    }
}

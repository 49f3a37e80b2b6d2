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
use bytes::u64_at;
use manifest::Manifest;
use std::collections::BTreeMap;
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
    /// Deletes the keys from this one on, before another if there is an end.
    DeleteRange(Option<Vec<u8>>),
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
    /// Records of logs, and those with entries of several keyspaces.
    pub records: usize,
    pub shared_records: usize,
    /// Claims in logs.
    pub claims: usize,
    /// Logs that end in a torn record.
    pub torn: usize,
    /// Files of logs that hold records of an earlier one.
    pub recycled: usize,
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
        let mut next = manifest.log_start;
        for (number, (file, salt)) in &manifest.logs {
            let bytes = manifest.file(files, log::KIND, *file);
            let through = manifest.ends.get(number).copied();
            for entry in log::read(&mut store, &bytes, [*salt, *number], through, &mut next) {
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
        for entry in versions {
            let name = &manifest.keyspaces[&entry.keyspace].name;
            let entries = store.keyspaces.get_mut(name).expect("listed above");
            match entry.change {
                Change::Put(value) => drop(entries.insert(entry.key, value)),
                Change::PutExpiring(at, value) if at > now => {
                    drop(entries.insert(entry.key, value));
                }
                Change::PutExpiring(..) | Change::Delete => drop(entries.remove(&entry.key)),
                Change::DeleteRange(to) => entries
                    .retain(|key, _| *key < entry.key || to.as_ref().is_some_and(|to| key >= to)),
            }
        }
        store
    }
}

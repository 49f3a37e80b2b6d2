//! Memtables: the active one, and the sealed ones that wait to be flushed.

use crate::entry::Entry;
use std::collections::{HashSet, VecDeque};

/// A memtable: entries in write order.
#[derive(Default)]
pub(crate) struct Memtable {
    pub(crate) entries: Vec<Entry>,
    pub(crate) bytes: u64,
    /// Its keys, if the workload reads.
    keys: HashSet<u64>,
}

/// All memtables.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) active: Memtable,
    /// Oldest first. The first one may be flushing.
    pub(crate) sealed: VecDeque<Memtable>,
    /// The last sequence number.
    pub(crate) seq: u64,
    /// Whether keys are indexed, for reads.
    indexed: bool,
}

impl Memory {
    pub(crate) fn new(indexed: bool) -> Self {
        Memory { indexed, ..Memory::default() }
    }

    /// Adds a version of a key, of this many bytes; returns its entry.
    pub(crate) fn write(&mut self, key: u64, delete: bool, bytes: impl Fn(Entry) -> u64) -> Entry {
        self.seq += 1;
        let entry = Entry::new(key, self.seq, delete);
        self.active.bytes += bytes(entry);
        self.active.entries.push(entry);
        if self.indexed {
            self.active.keys.insert(key);
        }
        entry
    }

    /// Seals the active memtable; returns its bytes, or nothing if it is empty.
    pub(crate) fn seal(&mut self) -> Option<u64> {
        if self.active.entries.is_empty() {
            return None;
        }
        let sealed = std::mem::take(&mut self.active);
        let bytes = sealed.bytes;
        self.sealed.push_back(sealed);
        Some(bytes)
    }

    /// Whether a memtable holds a version of the key.
    pub(crate) fn holds(&self, key: u64) -> bool {
        self.sealed.iter().chain([&self.active]).any(|m| m.keys.contains(&key))
    }
}

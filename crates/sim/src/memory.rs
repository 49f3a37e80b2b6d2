//! Memtables: the one that takes the writes, and those that wait for their flush.

use crate::entry::Entry;
use std::collections::{HashSet, VecDeque};

/// Entries in memory, in the order of their writing.
#[derive(Default)]
pub(crate) struct Memtable {
    pub(crate) entries: Vec<Entry>,
    pub(crate) bytes: u64,
    /// Its keys, if reads ask for them.
    keys: HashSet<u64>,
}

/// All memtables.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) active: Memtable,
    /// Oldest first. The first one may be under way.
    pub(crate) sealed: VecDeque<Memtable>,
    /// The last sequence number.
    pub(crate) seq: u64,
    /// Whether keys are indexed, since there are reads.
    indexed: bool,
}

impl Memory {
    pub(crate) fn new(indexed: bool) -> Self {
        Memory { indexed, ..Memory::default() }
    }

    /// Takes a version of a key that weighs so many bytes; returns its entry.
    pub(crate) fn write(&mut self, key: u64, delete: bool, bytes: impl Fn(Entry) -> u64) -> u64 {
        self.seq += 1;
        let entry = Entry::new(key, self.seq, delete);
        let bytes = bytes(entry);
        self.active.entries.push(entry);
        self.active.bytes += bytes;
        if self.indexed {
            self.active.keys.insert(key);
        }
        bytes
    }

    /// Closes the active memtable; returns its bytes, or nothing if it is empty.
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

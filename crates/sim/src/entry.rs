//! Entries without values: a key, a sequence number, put or delete.

use terrane_types::resolve::{Kind, Reader, Sight, Version};

/// One version of a key, in 16 bytes. They sort by key, then newest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u128);

impl Entry {
    /// A version; `seq` below 2^63.
    pub(crate) fn new(key: u64, seq: u64, delete: bool) -> Self {
        let tag = seq << 1 | u64::from(!delete);
        Entry(u128::from(key) << 64 | u128::from(!tag))
    }

    fn tag(self) -> u64 {
        !(self.0 as u64)
    }

    pub(crate) fn key(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub(crate) fn seq(self) -> u64 {
        self.tag() >> 1
    }

    /// The version, as the rule of versions has it.
    pub(crate) fn version(self) -> Version {
        let kind = if self.is_delete() { Kind::Delete } else { Kind::Put };
        Version { seq: self.seq(), kind, expires_at: 0 }
    }

    /// Whether a reader of the newest versions finds a value, if this is the newest version of its key.
    pub(crate) fn is_value(self) -> bool {
        Reader::NEWEST.sight(self.version()) == Sight::Value
    }

    pub(crate) fn is_delete(self) -> bool {
        self.tag() & 1 == 0
    }
}

/// Sizes of entries on the device, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) key: u64,
    pub(crate) value: u64,
}

impl Sizes {
    /// A put takes its key and value, a delete its key.
    pub(crate) fn of(self, entry: Entry) -> u64 {
        if entry.is_delete() { self.key } else { self.key + self.value }
    }

    pub(crate) fn put(self) -> u64 {
        self.key + self.value
    }
}

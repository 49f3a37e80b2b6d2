//! The record of a store's claims, in a reserved keyspace of the store. It says whether the store still is the writer
//! of a place.
//!
//! 1. Before a store creates a claim, its record of the place gets the claim's mark, durably, beside that of the claim
//!    before. So the record is right if the process dies before or after the claim is created. Then it has the new mark
//!    alone.
//! 2. The record is in every backup of the store: a restored store has the mark of the claim under which the restored
//!    moment was written, and may continue the backup as long as that claim is the newest one. So may a copy of the
//!    store. The first of them to start creates the next claim, and the others no longer have the newest mark.

use terrane::{Db, Durability, Keyspace, Result};

/// The reserved keyspace.
const NAME: &str = "backup";
/// Bytes of a mark.
const MARK_BYTES: usize = 8;

/// The marks of the claims that a store may follow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// The mark of the last claim that was there; 0 if there was none.
    pub known: u64,
    /// The mark of a claim that was about to be created; 0 if it was.
    pub next: u64,
}

impl Marks {
    pub fn contain(self, mark: u64) -> bool {
        mark != 0 && (mark == self.known || mark == self.next)
    }
}

/// The record of a store for a place.
#[derive(Clone)]
pub(crate) struct Record {
    keyspace: Keyspace,
    place: String,
}

impl Record {
    /// Returns the record of a store for a place.
    pub fn of(db: &Db, place: String) -> Result<Self> {
        let keyspace = db.reserved_keyspace(NAME, true)?;
        Ok(Record { keyspace: keyspace.ok_or(terrane::Closed::Keyspace)?, place })
    }

    /// Returns the marks; none if the store has never claimed the place.
    pub fn marks(&self) -> Result<Marks> {
        let found = self.keyspace.get(&self.place)?.unwrap_or_default();
        let mut marks =
            found.as_chunks::<MARK_BYTES>().0.iter().map(|mark| u64::from_le_bytes(*mark));
        let mut mark = || marks.next().unwrap_or_default();
        Ok(Marks { known: mark(), next: mark() })
    }

    /// Replaces the marks, durably.
    pub fn put(&self, marks: Marks) -> Result<()> {
        let bytes = [marks.known, marks.next].map(u64::to_le_bytes).concat();
        self.keyspace.put(&self.place, bytes, Durability::Sync).map(drop)
    }
}

//! The record of a store's claims, in a reserved keyspace of the store. It says whether the store still is the writer
//! of a place.
//!
//! 1. Before a store creates a claim, its record of the place gets the claim's mark, durably, beside that of the claim
//!    before. So the record is right if the process dies before or after the claim is created. Then it has the new mark
//!    alone. Until then it keeps the marks of earlier tries as well, since the request of one may arrive late.
//! 2. The record is in every backup of the store: a restored store has the mark of the claim under which the restored
//!    moment was written, and may continue the backup as long as that claim is the newest one. So may a copy of the
//!    store. The first of them to start creates the next claim, and the others no longer have the newest mark. So each
//!    try draws a mark of its own: copies that used one mark again would take each other's claim for theirs.
//! 3. A store that takes over forgets all marks but those of take-overs that failed before, so that an operator must
//!    ask again if it fails before its own claim is there. It is in a lineage of its own by then, where nothing shows
//!    that it is older than the backup. With its former marks it could follow a claim that becomes the newest one
//!    again, where another disk was mounted meanwhile, or when the request of an earlier start arrives.
//! 4. The record is that of a place by its text, the object store and the folder. A store has none of a place that has
//!    moved: another store's claims are there, and an operator must ask for it.

use crate::rules::Rule;
use terrane::{Db, Durability, Keyspace, Result};

/// The reserved keyspace.
const NAME: &str = "backup";
/// Bytes of a mark.
const MARK_BYTES: usize = 8;
/// The most tries of which a record keeps the marks.
const TRIES_MAX: usize = 16;

/// The marks of the claims that a store may follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// The mark of the last claim that the store has made or follows; 0 if there was none. While the store takes over,
    /// the mark of its last try.
    pub known: u64,
    /// The marks of claims that were about to be created since, the latest last.
    pub tries: Vec<u64>,
}

impl Marks {
    /// Returns the marks of a store that follows one claim alone.
    pub fn of(known: u64) -> Self {
        Marks { known, tries: Vec::new() }
    }

    pub fn contain(&self, mark: u64) -> bool {
        mark != 0 && (mark == self.known || self.tries.contains(&mark))
    }

    /// Returns the marks of a store that follows a claim unasked. The marks of tries after that claim stay.
    pub fn following(self, claim: u64) -> Self {
        if self.known == claim && !self.is_taking_over() { self } else { Marks::of(claim) }
    }

    /// Returns the marks of a store that takes over, by a claim with `mark`, from the writer of `claim`.
    pub fn taking_over(self, claim: u64, mark: u64) -> Self {
        let are_kept = self.is_taking_over() && !self.contain(claim);
        Marks { known: mark, tries: if are_kept { self.tries } else { Vec::new() } }
    }

    /// Whether the tries are take-overs.
    fn is_taking_over(&self) -> bool {
        self.tries.contains(&self.known)
    }

    /// Adds the mark of a claim that is about to be created.
    pub fn attempt(&mut self, mark: u64) {
        let most = if Rule::KeepTries.holds() { TRIES_MAX } else { 1 };
        let forgotten = (self.tries.len() + 1).saturating_sub(most);
        self.tries.drain(..forgotten);
        self.tries.push(mark);
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
        Ok(Marks { known: marks.next().unwrap_or_default(), tries: marks.collect() })
    }

    /// Replaces the marks, durably.
    pub fn put(&self, marks: &Marks) -> Result<()> {
        let marks = [marks.known].into_iter().chain(marks.tries.iter().copied());
        let bytes: Vec<_> = marks.flat_map(u64::to_le_bytes).collect();
        self.keyspace.put(&self.place, bytes, Durability::Sync).map(drop)
    }
}

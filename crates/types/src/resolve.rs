//! The rule of versions: what a reader sees of a key, and what a merge keeps of it.
//!
//! A key's versions come newest first. Readers, merges and the simulator all ask here; whoever has them in
//! another order, such as a scan backward, asks about each and takes the answer of the newest.
//!
//! 1. A [`Reader`] sees the newest version at or below its sequence number, unless that is a tombstone or has expired
//!    by its time.
//! 2. The sequence numbers at which readers look divide time into stripes. Of each key a reader can see only the
//!    newest version of each stripe, so that is what a merge keeps ([`DropRule`]).
//! 3. A tombstone is dropped, once it is in the oldest stripe and nothing older of its key can lie below the
//!    output.
//! 4. A version that only snapshots need stays until these are released: a superseded version until all of them
//!    have reached the version that was kept before it, and a tombstone with nothing below it until they have
//!    reached the tombstone.
//! 5. A version that has expired for every reader that can see it is a tombstone from then on. Readers with greater
//!    sequence numbers have later times.
//! 6. An operand changes what lies below it. Callers join an operand with older versions before judging it, so that it
//!    replaces them as a value does.
//! 7. A range delete hides the older versions of its keys. One that it hides stays only for readers before the
//!    range delete.

use crate::{Millis, Seq};

/// The kind of an entry, stored as one byte. Number 2 is that of range deletes, which only batches and logs have.
/// Number 5 is reserved for separated values; only later releases write other kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[repr(u8)]
pub enum Kind {
    /// A tombstone: the key is deleted.
    Delete = 0,
    /// The key has this value.
    Put = 1,
    /// The key's value is what an operand makes of the older one.
    Merge = 3,
    /// The key has this value until a time, which is stored before it.
    PutExpiring = 4,
}

impl Kind {
    /// Returns the kind with this number, if this build knows it: the browser's lean one knows no merges.
    #[inline]
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Kind::Delete),
            1 => Some(Kind::Put),
            3 if cfg!(feature = "all") => Some(Kind::Merge),
            4 => Some(Kind::PutExpiring),
            _ => None,
        }
    }
}

/// A version of a key, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Sequence number of the batch that wrote it.
    pub seq: Seq,
    /// Kind of the entry.
    pub kind: Kind,
    /// Time at which a [`Kind::PutExpiring`] expires; ignored for other kinds.
    pub expires_at: Millis,
}

impl Version {
    /// Whether it has expired by `now`.
    #[inline]
    #[must_use]
    pub fn has_expired(self, now: Millis) -> bool {
        self.kind == Kind::PutExpiring && self.expires_at <= now
    }
}

/// Visibility of a version to a reader of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The key has a value.
    Value,
    /// The key has no value.
    Nothing,
    /// The key's value is an operand's result for older versions.
    Operand,
}

/// A reader's moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// Greatest visible sequence number.
    pub at: Seq,
    /// Time of the reader; a value that expires then or before is not visible.
    pub now: Millis,
}

impl Reader {
    /// The reader of the newest versions, before anything expires.
    pub const NEWEST: Reader = Reader { at: Seq::MAX, now: 0 };

    /// Whether a version with this sequence number is visible. If not, the next older one counts.
    #[inline]
    #[must_use]
    pub fn reaches(self, seq: Seq) -> bool {
        seq <= self.at
    }

    /// Returns what the newest version that it [reaches](Reader::reaches) shows.
    #[inline]
    #[must_use]
    pub fn sight(self, newest: Version) -> Sight {
        match newest.kind {
            Kind::Put => Sight::Value,
            Kind::Merge => Sight::Operand,
            Kind::PutExpiring if !newest.has_expired(self.now) => Sight::Value,
            Kind::PutExpiring | Kind::Delete => Sight::Nothing,
        }
    }
}

/// Treatment of a version by a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No reader needs it.
    Dropped,
    /// A reader may need it.
    Kept,
    /// Only snapshots need it: it can be dropped once all of them have reached this sequence number.
    KeptUntil(Seq),
}

/// Decides which versions a merge keeps, key by key.
#[derive(Clone, Debug)]
pub struct DropRule {
    /// The moments at which readers look, ascending; the last is the present, which may have the sequence number of
    /// the one before it.
    readers: Vec<Reader>,
    /// The stripe of the version of this key that was judged last.
    stripe: Option<usize>,
    /// The version of this key that was kept last.
    kept: Seq,
}

impl DropRule {
    /// Keeps what readers at these moments see, which ascend.
    #[must_use]
    pub fn new(readers: Vec<Reader>) -> Self {
        DropRule { readers, stripe: None, kept: 0 }
    }

    /// Starts another key.
    #[inline]
    pub fn start_key(&mut self) {
        self.stripe = None;
    }

    /// Returns the number of readers below a sequence number.
    #[inline]
    fn stripe_of(&self, seq: Seq) -> usize {
        self.readers.partition_point(|reader| reader.at < seq)
    }

    /// Whether a version has expired for every reader that can see it, so that it is a tombstone.
    #[inline]
    #[must_use]
    pub fn is_expired(&self, version: Version) -> bool {
        version.kind == Kind::PutExpiring
            && self
                .readers
                .get(self.stripe_of(version.seq))
                .is_some_and(|first| version.has_expired(first.now))
    }

    /// Whether the next version of the key is its newest, and no snapshot sees it: the present alone does.
    #[must_use]
    pub fn is_only_of_the_present(&self, seq: Seq) -> bool {
        self.stripe.is_none() && self.stripe_of(seq) + 1 == self.readers.len()
    }

    /// Returns the sequence number that all readers must have reached for a version to end its key.
    fn ends_key_at(&self, version: Version, stripe: usize) -> Option<Seq> {
        if version.kind == Kind::Delete || self.is_expired(version) {
            return Some(version.seq);
        }
        let later = self.readers.get(stripe..).unwrap_or_default();
        let first = later.iter().position(|reader| version.has_expired(reader.now))?;
        let at = |index: usize| later.get(index).map(|reader| reader.at);
        // With a snapshot at the number of the present, no number says that it is released.
        at(first).filter(|end| first.checked_sub(1).and_then(at) != Some(*end))
    }

    /// Judges the next older version of the key, which the range delete with the sequence number `deleted` hides, if
    /// one does. `covered` says whether something older of the key may lie below the output; it is called only for
    /// tombstones and what has expired.
    #[inline]
    pub fn judge(
        &mut self,
        version: Version,
        deleted: Option<Seq>,
        covered: impl FnOnce() -> bool,
    ) -> Fate {
        let Some(deleted) = deleted else { return self.judge_shown(version, covered) };
        if self.stripe_of(version.seq) == self.stripe_of(deleted) {
            // What is older of the key is hidden as well.
            return Fate::Dropped;
        }
        match self.judge_shown(version, covered) {
            Fate::Dropped => Fate::Dropped,
            Fate::Kept => Fate::KeptUntil(deleted),
            Fate::KeptUntil(until) => Fate::KeptUntil(until.min(deleted)),
        }
    }

    /// Judges an operand that stays apart from what lies below it, and so hides nothing of it: what hides the operand
    /// hides that.
    pub fn judge_apart(&mut self, version: Version, deleted: Option<Seq>) -> Fate {
        let (stripe, kept) = (self.stripe, self.kept);
        let fate = self.judge(version, deleted, || true);
        (self.stripe, self.kept) = (stripe, kept);
        fate
    }

    #[inline]
    fn judge_shown(&mut self, version: Version, covered: impl FnOnce() -> bool) -> Fate {
        let stripe = self.stripe_of(version.seq);
        let newer = self.stripe.replace(stripe);
        if newer == Some(stripe) {
            return Fate::Dropped;
        }
        let ends_key = match version.kind {
            Kind::Put | Kind::Merge => None,
            Kind::Delete | Kind::PutExpiring => {
                self.ends_key_at(version, stripe).filter(|_| !covered())
            }
        };
        if ends_key == Some(version.seq) && stripe == 0 {
            return Fate::Dropped;
        }
        let superseded = std::mem::replace(&mut self.kept, version.seq);
        match ends_key.into_iter().chain(newer.map(|_| superseded)).min() {
            Some(until) => Fate::KeptUntil(until),
            None => Fate::Kept,
        }
    }
}

#[cfg(test)]
mod tests;

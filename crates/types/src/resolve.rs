//! The rule of versions: what a reader sees of a key, and what a merge keeps of it.
//!
//! A key's versions come newest first. Readers, merges and the simulator all ask here; whoever has them in
//! another order, such as a scan backward, asks about each and takes the answer of the newest.
//!
//! 1. A [`Reader`] sees the newest version at or below its sequence number, unless that is a tombstone.
//! 2. The sequence numbers at which readers look divide time into stripes. Of each key a reader can see only the
//!    newest version of each stripe, so that is what a merge keeps ([`DropRule`]).
//! 3. A tombstone is dropped, once it is in the oldest stripe and nothing older of its key can lie below the
//!    output.
//! 4. A version that only snapshots need stays until these are released: a superseded version until all of them
//!    have reached the version that was kept before it, and a tombstone with nothing below it until they have
//!    reached the tombstone.
//! 5. A range delete hides the older versions of its keys. One that it hides stays only for readers before the
//!    range delete.

use crate::Seq;

/// The kind of an entry, stored as one byte. Number 2 is that of range deletes, which only batches and logs have.
/// Numbers 3 to 5 are reserved for merges, values that expire and separated values; only later releases write other
/// kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[repr(u8)]
pub enum Kind {
    /// A tombstone: the key is deleted.
    Delete = 0,
    /// The key has this value.
    Put = 1,
}

impl Kind {
    /// Returns the kind with this number, if this release knows it.
    #[inline]
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Kind::Delete),
            1 => Some(Kind::Put),
            _ => None,
        }
    }
}

/// A version of a key, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its sequence number.
    pub seq: Seq,
    /// Its kind.
    pub kind: Kind,
}

/// Visibility of a version to a reader of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Its value.
    Value,
    /// The key has no value.
    Nothing,
}

/// A reader's moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The greatest sequence number that it sees.
    pub at: Seq,
}

impl Reader {
    /// The reader of the newest versions.
    pub const NEWEST: Reader = Reader { at: Seq::MAX };

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
            Kind::Delete => Sight::Nothing,
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
    /// The sequence numbers at which readers look, ascending; the last is the newest visible one.
    readers: Vec<Seq>,
    /// The stripe of the version of this key that was judged last.
    stripe: Option<usize>,
    /// The version of this key that was kept last.
    kept: Seq,
}

impl DropRule {
    /// Keeps what readers at these sequence numbers see, which ascend.
    #[must_use]
    pub fn new(readers: Vec<Seq>) -> Self {
        DropRule { readers, stripe: None, kept: 0 }
    }

    /// Starts another key.
    #[inline]
    pub fn start_key(&mut self) {
        self.stripe = None;
    }

    /// The number of readers below a sequence number.
    #[inline]
    fn stripe_of(&self, seq: Seq) -> usize {
        self.readers.partition_point(|reader| *reader < seq)
    }

    /// Judges the next older version of the key, which the range delete with the sequence number `deleted` hides, if
    /// one does. `covered` says whether something older of the key may lie below the output; it is called only for
    /// tombstones.
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

    #[inline]
    fn judge_shown(&mut self, version: Version, covered: impl FnOnce() -> bool) -> Fate {
        let Version { seq, kind } = version;
        let stripe = self.stripe_of(seq);
        let newer = self.stripe.replace(stripe);
        if newer == Some(stripe) {
            return Fate::Dropped;
        }
        let ends_key = kind == Kind::Delete && !covered();
        if ends_key && stripe == 0 {
            return Fate::Dropped;
        }
        let superseded = std::mem::replace(&mut self.kept, seq);
        match (ends_key, newer) {
            (true, _) => Fate::KeptUntil(seq),
            (false, Some(_)) => Fate::KeptUntil(superseded),
            (false, None) => Fate::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The newest version at or below `at`, unless one of `deletes`, which are ascending, hides it.
    fn seen(versions: &[(Seq, Kind)], deletes: &[Seq], at: Seq) -> Option<(Seq, Kind)> {
        let newest = versions.iter().copied().filter(|(s, _)| *s <= at).max_by_key(|(s, _)| *s)?;
        let is_hidden = deletes.iter().any(|delete| newest.0 < *delete && *delete <= at);
        (!is_hidden).then_some(newest)
    }

    #[test]
    fn a_reader_sees_the_newest_version_that_it_reaches() {
        let reader = Reader { at: 5 };
        assert_eq!([4, 5, 6].map(|seq| reader.reaches(seq)), [true, true, false]);
        let sight = |kind| reader.sight(Version { seq: 5, kind });
        assert_eq!((sight(Kind::Put), sight(Kind::Delete)), (Sight::Value, Sight::Nothing));
    }

    #[test]
    fn each_key_is_judged_for_itself() {
        let mut rule = DropRule::new(vec![9]);
        let mut judge = |seq, kind| rule.judge(Version { seq, kind }, None, || false);
        assert_eq!(judge(5, Kind::Put), Fate::Kept);
        assert_eq!(judge(4, Kind::Put), Fate::Dropped);
        rule.start_key();
        assert_eq!(rule.judge(Version { seq: 4, kind: Kind::Put }, None, || false), Fate::Kept);
    }

    proptest! {
        #[test]
        fn no_snapshot_sees_a_difference_and_nothing_needless_stays(
            seqs in prop::collection::btree_map(1u64..40, any::<bool>(), 1..12),
            snaps in prop::collection::btree_set(0u64..45, 0..5),
            deletes in prop::collection::btree_set(1u64..40, 0..3),
            covered: bool,
        ) {
            let deletes: Vec<Seq> = deletes.into_iter().collect();
            let hides = |seq: Seq| deletes.iter().copied().find(|delete| *delete > seq);
            // The newest visible sequence is always among the readers.
            let mut snapshots: Vec<Seq> = snaps.into_iter().collect();
            snapshots.retain(|s| *s < 40);
            snapshots.push(40);
            let versions: Vec<(Seq, Kind)> = seqs.into_iter().rev()
                .map(|(s, put)| (s, if put { Kind::Put } else { Kind::Delete }))
                .collect();
            let mut drop_rule = DropRule::new(snapshots.clone());
            let kept: Vec<_> = versions.iter().copied()
                .filter(|(s, kind)| {
                    let version = Version { seq: *s, kind: *kind };
                    drop_rule.judge(version, hides(*s), || covered) != Fate::Dropped
                })
                .collect();
            for at in &snapshots {
                let (before, after) = (seen(&versions, &deletes, *at), seen(&kept, &deletes, *at));
                let gone = !covered && after.is_none() && before.is_some_and(|(_, k)| k == Kind::Delete);
                prop_assert!(before == after || gone, "at {}: {:?} then {:?}", at, before, after);
            }
            // Once snapshots are released, exactly the entries that only they kept are dropped.
            let judge = |snapshots: &[Seq]| {
                let mut drop_rule = DropRule::new(snapshots.to_vec());
                let judge = |(s, kind): &(Seq, Kind)| {
                    drop_rule.judge(Version { seq: *s, kind: *kind }, hides(*s), || covered)
                };
                kept.iter().map(judge).collect::<Vec<_>>()
            };
            for (i, verdict) in judge(&snapshots).into_iter().enumerate() {
                match verdict {
                    Fate::Dropped => prop_assert!(false, "{:?} stayed before", kept[i]),
                    Fate::Kept => prop_assert!(judge(&[Seq::MAX])[i] != Fate::Dropped),
                    Fate::KeptUntil(until) => {
                        prop_assert_eq!(judge(&[until])[i], Fate::Dropped);
                        let is_needed = judge(&[until - 1, Seq::MAX])[i] != Fate::Dropped;
                        let is_tombstone = kept[i].1 == Kind::Delete;
                        let is_hidden = hides(kept[i].0).is_some();
                        prop_assert!(is_needed || is_tombstone && (i > 0 || is_hidden));
                    }
                }
            }
            for (i, (seq, _)) in kept.iter().enumerate() {
                let newer = i.checked_sub(1).map_or(Seq::MAX, |j| kept[j].0);
                let newer = newer.min(hides(*seq).unwrap_or(Seq::MAX));
                prop_assert!(snapshots.iter().any(|s| seq <= s && *s < newer));
            }
        }
    }
}

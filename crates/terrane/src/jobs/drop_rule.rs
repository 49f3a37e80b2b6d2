//! Which versions of a key a merge keeps.
//!
//! The snapshots' sequences divide time into stripes. Of each key a reader can see only the newest
//! version of each stripe, so that is what stays. A tombstone goes, too, once it is in the oldest
//! stripe and nothing older of its key can lie below the output ([`terrane_policy::TombstoneRule`]).
//!
//! A version that only snapshots need stays until these are released: a superseded version until all of
//! them have reached the version that was kept before it, and a tombstone with nothing below it until they
//! have reached the tombstone.

use crate::entry::{Kind, Seq, Tag};

/// The fate of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Dropped,
    Kept,
    /// Only snapshots need it: it can be dropped once all of them have reached this sequence number.
    KeptUntil(Seq),
}

/// Decides entry by entry; entries come in order: keys ascending, versions newest first.
pub(crate) struct DropRule {
    /// Sequences that readers hold, ascending; the last is the newest visible one.
    snapshots: Vec<Seq>,
    key: Vec<u8>,
    /// The stripe of the version decided last, if `key` has one.
    stripe: Option<usize>,
    /// The version of `key` that was kept last.
    kept: Seq,
}

impl DropRule {
    /// `snapshots`: the sequences at which readers may look, ascending.
    pub fn new(snapshots: Vec<Seq>) -> Self {
        DropRule { snapshots, key: Vec::new(), stripe: None, kept: 0 }
    }

    /// Judges an entry. `covered` says whether something older of the key may lie below the output; it is
    /// asked only for tombstones.
    pub fn judge(&mut self, key: &[u8], tag: Tag, covered: impl FnOnce(&[u8]) -> bool) -> Verdict {
        let (seq, is_delete) = (tag.seq(), tag.kind() == Some(Kind::Delete));
        let stripe = self.snapshots.partition_point(|s| *s < seq);
        let same_key = self.stripe.is_some() && self.key == key;
        if !same_key {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        let shadowed = same_key && self.stripe == Some(stripe);
        self.stripe = Some(stripe);
        if shadowed {
            return Verdict::Dropped;
        }
        let ends_key = is_delete && !covered(key);
        if ends_key && stripe == 0 {
            return Verdict::Dropped;
        }
        let until = match (ends_key, same_key) {
            (true, _) => Some(seq),
            (false, true) => Some(self.kept),
            (false, false) => None,
        };
        self.kept = seq;
        until.map_or(Verdict::Kept, Verdict::KeptUntil)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a reader at `at` sees: the newest version at or below it.
    fn seen(versions: &[(Seq, Kind)], at: Seq) -> Option<(Seq, Kind)> {
        versions.iter().copied().filter(|(s, _)| *s <= at).max_by_key(|(s, _)| *s)
    }

    proptest! {
        #[test]
        fn no_snapshot_sees_a_difference_and_nothing_needless_stays(
            seqs in prop::collection::btree_map(1u64..40, any::<bool>(), 1..12),
            snaps in prop::collection::btree_set(0u64..45, 0..5),
            covered: bool,
        ) {
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
                    drop_rule.judge(b"k", Tag::new(*s, *kind), |_| covered) != Verdict::Dropped
                })
                .collect();
            for at in &snapshots {
                let (before, after) = (seen(&versions, *at), seen(&kept, *at));
                let gone = !covered && after.is_none() && before.is_some_and(|(_, k)| k == Kind::Delete);
                prop_assert!(before == after || gone, "at {}: {:?} then {:?}", at, before, after);
            }
            // Once snapshots are released, exactly the entries that only they kept are dropped.
            let judge = |snapshots: &[Seq]| {
                let mut drop_rule = DropRule::new(snapshots.to_vec());
                let judge = |(s, kind): &(Seq, Kind)| {
                    drop_rule.judge(b"k", Tag::new(*s, *kind), |_| covered)
                };
                kept.iter().map(judge).collect::<Vec<_>>()
            };
            for (i, verdict) in judge(&snapshots).into_iter().enumerate() {
                match verdict {
                    Verdict::Dropped => prop_assert!(false, "{:?} stayed before", kept[i]),
                    Verdict::Kept => prop_assert!(judge(&[Seq::MAX])[i] != Verdict::Dropped),
                    Verdict::KeptUntil(until) => {
                        prop_assert_eq!(judge(&[until])[i], Verdict::Dropped);
                        let is_needed = judge(&[until - 1, Seq::MAX])[i] != Verdict::Dropped;
                        prop_assert!(is_needed || i > 0 && kept[i].1 == Kind::Delete);
                    }
                }
            }
            for (i, (seq, _)) in kept.iter().enumerate() {
                let newer = i.checked_sub(1).map_or(Seq::MAX, |j| kept[j].0);
                prop_assert!(snapshots.iter().any(|s| seq <= s && *s < newer));
            }
        }
    }
}

//! Keys that range deletes hide from a scan.

use crate::entry::Seq;
use terrane_types::range_deletes::RangeDeletes;

/// The range deletes that a scan sees, and the interval of keys around its position with the same newest one.
pub struct Cover {
    lists: Vec<RangeDeletes>,
    /// The sequence number of the reader.
    at: Seq,
    /// The stretch: from a key to before another, or to the end.
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    /// The newest deletion over it; 0 without one.
    seq: Seq,
    is_known: bool,
    /// Whether the sources were moved past what it hides.
    pub(crate) is_skipped: bool,
}

impl Cover {
    /// Covers the keys that these lists hide from a reader at `at`; `None` if they hide nothing.
    #[must_use]
    pub fn new(mut lists: Vec<RangeDeletes>, at: Seq) -> Option<Self> {
        lists.retain(|list| !list.is_empty());
        let (from, to) = (Vec::new(), None);
        let is_hidden = !lists.is_empty();
        is_hidden.then_some(Cover {
            lists,
            at,
            from,
            to,
            seq: 0,
            is_known: false,
            is_skipped: false,
        })
    }

    /// The sequence number of the newest deletion of a key; 0 without one.
    #[inline]
    pub fn newest_at(&mut self, key: &[u8]) -> Seq {
        let is_within = self.is_known
            && self.from.as_slice() <= key
            && self.to.as_deref().is_none_or(|to| key < to);
        if !is_within {
            self.enter(key);
        }
        self.seq
    }

    /// Finds the stretch around a key.
    fn enter(&mut self, key: &[u8]) {
        self.from.clear();
        (self.to, self.seq, self.is_known, self.is_skipped) = (None, 0, true, false);
        for list in &self.lists {
            let at = list.index_for(key);
            let fragments = list.fragments();
            let (before, next) =
                (at.checked_sub(1).and_then(|at| fragments.get(at)), fragments.get(at));
            let over = next.filter(|fragment| *fragment.from <= *key);
            let (from, to) = match over {
                Some(fragment) => (Some(&*fragment.from), fragment.to.key()),
                None => (before.and_then(|b| b.to.key()), next.map(|next| &*next.from)),
            };
            self.seq = self.seq.max(over.map_or(0, |fragment| fragment.newest_at(self.at)));
            if let Some(from) = from.filter(|from| *from > self.from.as_slice()) {
                self.from = from.to_vec();
            }
            if let Some(to) = to.filter(|to| self.to.as_deref().is_none_or(|end| *to < end)) {
                self.to = Some(to.to_vec());
            }
        }
    }

    /// The first key of the stretch.
    #[must_use]
    pub fn from(&self) -> &[u8] {
        &self.from
    }

    /// The first key behind the stretch; `None` at the end.
    #[must_use]
    pub fn to(&self) -> Option<&[u8]> {
        self.to.as_deref()
    }

    /// Forgets the skip after a seek.
    pub(crate) fn forget_skip(&mut self) {
        self.is_skipped = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use terrane_types::range_deletes::End;

    /// A deletion of some one-byte keys: from, length (none for an open end) and sequence number.
    type Deletion = (u8, Option<u8>, Seq);

    fn deletions() -> impl Strategy<Value = Vec<Deletion>> {
        prop::collection::vec((0u8..24, prop::option::weighted(0.9, 0u8..12), 1u64..20), 0..12)
    }

    fn list(deletions: &[Deletion]) -> RangeDeletes {
        let mut list = RangeDeletes::default();
        for (from, length, seq) in deletions {
            let end = length.map(|length| [from + length]);
            list.add(&[*from], &End::before(end.as_ref().map(<[u8; 1]>::as_slice)), *seq);
        }
        list
    }

    proptest! {
        #[test]
        fn a_cover_knows_the_newest_deletion_of_every_key(
            given in prop::collection::vec(deletions(), 1..4),
            at in 0u64..20,
            keys in prop::collection::vec(0u8..40, 1..40),
        ) {
            let all = given.concat();
            let newest = |key: u8| {
                let over = all.iter().filter(|(from, length, seq)| {
                    *from <= key && length.is_none_or(|n| key < from + n) && *seq <= at
                });
                over.map(|(.., seq)| *seq).max().unwrap_or(0)
            };
            let Some(mut cover) = Cover::new(given.iter().map(|d| list(d)).collect(), at) else {
                prop_assert!((0..40).all(|key| newest(key) == 0));
                return Ok(());
            };
            for key in keys {
                prop_assert_eq!(cover.newest_at(&[key]), newest(key));
                // All of the stretch has that number.
                let is_within = |key: &u8| {
                    cover.from() <= &[*key][..] && cover.to().is_none_or(|to| &[*key][..] < to)
                };
                prop_assert!(is_within(&key));
                prop_assert!((0..40).filter(is_within).all(|other| newest(other) == newest(key)));
            }
        }
    }
}

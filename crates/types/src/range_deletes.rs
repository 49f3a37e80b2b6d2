//! Range deletes: which keys are deleted, and by which batches.
//!
//! 1. They are held as [`Fragment`]s: sorted, disjoint key ranges, each with the sequence numbers of the range deletes
//!    over it. A deletion hides every entry of its range with a *lower* number, wherever that lies.
//! 2. Memtables have those of their batches; the version set has a list for each keyspace. A list is a value: a change
//!    makes another, which shares the keys.
//! 3. A read looks a key up in each list ([`RangeDeletes::newest_at`]).
//!
//! Only lookups are for speed: the browser's module is compiled for size here.

mod fragment;
mod heads;
#[cfg(test)]
mod tests;

pub use fragment::{End, Fragment};

use crate::Seq;
use heads::Heads;
use std::sync::{Arc, OnceLock};

/// A list of range deletes; see the [module](self).
#[derive(Clone, Debug, Default)]
pub struct RangeDeletes {
    fragments: Arc<Vec<Fragment>>,
    /// The beginnings of their first keys, once a key was looked up.
    heads: OnceLock<Arc<Heads>>,
    bytes: usize,
    newest: Seq,
}

impl PartialEq for RangeDeletes {
    fn eq(&self, other: &Self) -> bool {
        self.fragments == other.fragments
    }
}

impl Eq for RangeDeletes {}

impl RangeDeletes {
    /// A list of these fragments, which are sorted and disjoint, with neighbours that differ; `None` for others.
    #[must_use]
    pub fn from_fragments(fragments: Vec<Fragment>) -> Option<Self> {
        let sound = fragments.iter().all(Fragment::is_sound)
            && fragments.windows(2).all(|pair| match pair {
                [a, b] => a.to.is_at_most(&b.from),
                _ => true,
            });
        sound.then(|| RangeDeletes::of(fragments))
    }

    fn of(fragments: Vec<Fragment>) -> Self {
        let bytes = fragments.iter().map(Fragment::bytes).sum();
        let newest = fragments.iter().map(Fragment::newest).max().unwrap_or(0);
        RangeDeletes { fragments: Arc::new(fragments), heads: OnceLock::new(), bytes, newest }
    }

    /// Whether nothing is deleted.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// The fragments, in key order.
    #[must_use]
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// Bytes of memory that they take, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The greatest sequence number; 0 without any.
    #[must_use]
    pub fn newest(&self) -> Seq {
        self.newest
    }

    /// The index of the first fragment that ends above `key`.
    #[inline]
    #[must_use]
    pub fn index_for(&self, key: &[u8]) -> usize {
        let heads = self.heads.get_or_init(|| Arc::new(Heads::of(&self.fragments)));
        heads.first_above(key, &self.fragments)
    }

    /// The fragment over a key.
    #[inline]
    #[must_use]
    pub fn over(&self, key: &[u8]) -> Option<&Fragment> {
        let number = self.index_for(key);
        let fragment = self.fragments.get(number)?;
        self.heads.get()?.starts_through(number, key, fragment).then_some(fragment)
    }

    /// Whether there is a deletion of a key. Made for a list that changes between questions, as [`RangeDeletes::over`]
    /// is for one that does not.
    #[must_use]
    pub fn covers(&self, key: &[u8]) -> bool {
        let number = self.fragments.partition_point(|fragment| fragment.to.is_at_most(key));
        self.fragments.get(number).is_some_and(|fragment| *fragment.from <= *key)
    }

    /// The sequence number of the newest deletion of a key that a reader at `at` sees; 0 without one.
    #[inline]
    #[must_use]
    pub fn newest_at(&self, key: &[u8], at: Seq) -> Seq {
        self.over(key).map_or(0, |fragment| fragment.newest_at(at))
    }

    /// The fragments that share a key with the range.
    #[must_use]
    pub fn overlapping(&self, from: &[u8], to: &End) -> &[Fragment] {
        let places = self.places(from, to);
        self.fragments.get(places).unwrap_or_default()
    }

    /// The fragments that share a key with what lies between two keys, both included.
    #[must_use]
    pub fn between(&self, smallest: &[u8], largest: &[u8]) -> &[Fragment] {
        let end = self.fragments.partition_point(|fragment| *fragment.from <= *largest);
        self.fragments.get(self.index_for(smallest)..end).unwrap_or_default()
    }

    fn places(&self, from: &[u8], to: &End) -> std::ops::Range<usize> {
        // Without the heads, which a change would have to find again.
        let first = self.fragments.partition_point(|fragment| fragment.to.is_at_most(from));
        let end = self.fragments.partition_point(|fragment| !to.is_at_most(&fragment.from));
        first..end.max(first)
    }

    /// Adds a deletion of the keys from `from` to before `to`, if there are any.
    pub fn add(&mut self, from: &[u8], to: &End, seq: Seq) {
        if to.is_at_most(from) {
            return;
        }
        let places = self.places(from, to);
        let mut parts: Vec<Fragment> = Vec::with_capacity(2 * places.len() + 1);
        let mut at: Arc<[u8]> = from.into();
        for old in self.fragments.get(places.clone()).unwrap_or_default() {
            if *old.from < *at {
                parts.push(old.within(old.from.clone(), End::Before(at.clone())));
            } else if *at < *old.from {
                let gap = End::Before(old.from.clone());
                parts.push(Fragment::new(at.clone(), gap, seq));
                at = old.from.clone();
            }
            let end = if old.to.is_within(to) { old.to.clone() } else { to.clone() };
            let mut both = old.within(at.clone(), end.clone());
            both.add(seq);
            parts.push(both);
            match end {
                End::Before(end) if !to.is_at_most(&end) => at = end,
                End::Before(end) if !old.to.is_at_most(&end) => {
                    parts.push(old.within(end, old.to.clone()));
                    return self.splice(places, parts);
                }
                _ => return self.splice(places, parts),
            }
        }
        parts.push(Fragment::new(at, to.clone(), seq));
        self.splice(places, parts);
    }

    /// Puts `parts` in place of the fragments at `places`, and joins neighbours that are alike.
    fn splice(&mut self, places: std::ops::Range<usize>, parts: Vec<Fragment>) {
        let from = places.start.saturating_sub(1);
        let to = (places.end + 1).min(self.fragments.len());
        let before = self.fragments.get(from..places.start).unwrap_or_default();
        let behind = self.fragments.get(places.end..to).unwrap_or_default();
        let around = before.iter().cloned().chain(parts).chain(behind.iter().cloned());
        let mut joined: Vec<Fragment> = Vec::new();
        for part in around {
            match joined.last_mut() {
                Some(last) if last.continues_in(&part) => last.to = part.to,
                _ => joined.push(part),
            }
        }
        self.heads = OnceLock::new();
        let fragments = Arc::make_mut(&mut self.fragments);
        self.bytes -=
            fragments.get(from..to).unwrap_or_default().iter().map(Fragment::bytes).sum::<usize>();
        self.bytes += joined.iter().map(Fragment::bytes).sum::<usize>();
        self.newest = self.newest.max(joined.iter().map(Fragment::newest).max().unwrap_or(0));
        fragments.splice(from..to, joined);
    }

    /// Adds the deletions of another list, in one pass over both: one by one, each would go through all fragments.
    pub fn merge(&mut self, other: &RangeDeletes) {
        let Some((from, to)) = other.hull() else { return };
        let places = self.places(from, to);
        let ours = self.fragments.get(places.clone()).unwrap_or_default();
        let mut parts: Vec<Fragment> = Vec::with_capacity(2 * (ours.len() + other.fragments.len()));
        let (mut ours, mut others) = (ours.iter().cloned(), other.fragments.iter().cloned());
        let (mut one, mut two) = (ours.next(), others.next());
        loop {
            match (one.take(), two.take()) {
                (None, None) => break,
                (Some(a), Some(b)) if !a.to.is_at_most(&b.from) && !b.to.is_at_most(&a.from) => {
                    let (both, behind_a, behind_b) = a.overlay(b, &mut parts);
                    parts.push(both);
                    one = behind_a.or_else(|| ours.next());
                    two = behind_b.or_else(|| others.next());
                }
                (a, Some(b)) if a.as_ref().is_none_or(|a| b.to.is_at_most(&a.from)) => {
                    parts.push(b);
                    (one, two) = (a, others.next());
                }
                (a, b) => {
                    parts.extend(a);
                    (one, two) = (ours.next(), b);
                }
            }
        }
        self.splice(places, parts);
    }

    /// Puts the fragments of `part`, which lie within the range, in place of what is there.
    pub fn replace(&mut self, from: &[u8], to: &End, part: &RangeDeletes) {
        let mut kept: Vec<Fragment> = Vec::with_capacity(self.fragments.len());
        let mut behind: Vec<Fragment> = Vec::new();
        for old in self.fragments() {
            if *old.from < *from {
                let end =
                    if old.to.is_at_most(from) { old.to.clone() } else { End::Before(from.into()) };
                kept.push(old.within(old.from.clone(), end));
            }
            if let End::Before(end) = to
                && !old.to.is_at_most(end)
            {
                behind.push(old.within(old.from.clone().max(end.clone()), old.to.clone()));
            }
        }
        kept.extend(part.fragments().iter().cloned());
        kept.extend(behind);
        *self = RangeDeletes::default();
        self.splice(0..0, kept);
    }

    /// The same list within a range.
    #[must_use]
    pub fn slice(&self, from: &[u8], to: &End) -> RangeDeletes {
        let cut = |old: &Fragment| {
            let end = if old.to.is_within(to) { old.to.clone() } else { to.clone() };
            let from = if *old.from < *from { from.into() } else { old.from.clone() };
            old.within(from, end)
        };
        RangeDeletes::of(self.overlapping(from, to).iter().map(cut).collect())
    }

    /// The same list without the sequence numbers that `is_needed` says no to.
    #[must_use]
    pub fn retain(&self, is_needed: impl Fn(&Fragment, Seq) -> bool) -> RangeDeletes {
        let mut parts = Vec::with_capacity(self.fragments.len());
        for fragment in self.fragments() {
            let mut part = fragment.clone();
            if part.retain(|seq| is_needed(fragment, seq)) {
                parts.push(part);
            }
        }
        let mut list = RangeDeletes::default();
        list.splice(0..0, parts);
        list
    }

    /// The start of the first fragment and the end of the last; `None` without any.
    #[must_use]
    pub fn hull(&self) -> Option<(&[u8], &End)> {
        Some((&*self.fragments.first()?.from, &self.fragments.last()?.to))
    }
}

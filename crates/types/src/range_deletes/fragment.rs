//! Fragments of range deletes.

use crate::Seq;
use std::sync::Arc;

/// The end of a range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The range ends before this key.
    Before(Arc<[u8]>),
    /// The range has every key from its start on.
    Open,
}

impl End {
    /// The end before a key; the open one without a key.
    #[must_use]
    pub fn before(key: Option<&[u8]>) -> Self {
        key.map_or(End::Open, |key| End::Before(key.into()))
    }

    /// The key that the range ends before, if there is one.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        match self {
            End::Before(key) => Some(key),
            End::Open => None,
        }
    }

    /// Whether `key` lies behind the range.
    #[inline]
    #[must_use]
    pub fn is_at_most(&self, key: &[u8]) -> bool {
        matches!(self, End::Before(end) if **end <= *key)
    }

    /// Whether a range that ends here ends where another one with the same start does, or earlier.
    #[must_use]
    pub fn is_within(&self, other: &End) -> bool {
        match (self, other) {
            (_, End::Open) => true,
            (End::Open, End::Before(_)) => false,
            (End::Before(end), End::Before(other)) => end <= other,
        }
    }
}

/// A range of keys, and the sequence numbers of the range deletes over all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The first key.
    pub from: Arc<[u8]>,
    /// The end of the keys.
    pub to: End,
    newest: Seq,
    /// Older ones, newest first: readers before the newest may need them.
    older: Vec<Seq>,
}

impl Fragment {
    /// The keys of one range delete.
    #[must_use]
    pub fn new(from: Arc<[u8]>, to: End, seq: Seq) -> Self {
        Fragment { from, to, newest: seq, older: Vec::new() }
    }

    /// Keys with several range deletes, newest first; `None` without any, or in another order.
    #[must_use]
    pub fn of(from: &[u8], to: End, seqs: &[Seq]) -> Option<Self> {
        let (&newest, older) = seqs.split_first()?;
        let fragment = Fragment { from: from.into(), to, newest, older: older.to_vec() };
        fragment.is_sound().then_some(fragment)
    }

    pub(super) fn is_sound(&self) -> bool {
        let mut seqs = self.seqs();
        let mut last = seqs.next().unwrap_or(0);
        let descends = seqs.all(|seq| std::mem::replace(&mut last, seq) > seq);
        descends && last > 0 && !self.to.is_at_most(&self.from)
    }

    /// The sequence numbers, newest first.
    pub fn seqs(&self) -> impl Iterator<Item = Seq> {
        std::iter::once(self.newest).chain(self.older.iter().copied())
    }

    /// The greatest sequence number.
    #[must_use]
    pub fn newest(&self) -> Seq {
        self.newest
    }

    /// The greatest sequence number that a reader at `at` sees; 0 without one.
    #[inline]
    #[must_use]
    pub fn newest_at(&self, at: Seq) -> Seq {
        if self.newest <= at {
            return self.newest;
        }
        self.older.iter().copied().find(|seq| *seq <= at).unwrap_or(0)
    }

    /// The sequence number of the first deletion after an entry with the number `seq`: it hides the entry.
    #[inline]
    #[must_use]
    pub fn first_after(&self, seq: Seq) -> Option<Seq> {
        self.seqs().take_while(|deleted| *deleted > seq).last()
    }

    /// Bytes of memory, about.
    pub(super) fn bytes(&self) -> usize {
        let keys = self.from.len() + self.to.key().map_or(0, <[u8]>::len);
        size_of::<Self>() + keys + self.older.len() * size_of::<Seq>()
    }

    /// The same deletions of other keys.
    pub(super) fn within(&self, from: Arc<[u8]>, to: End) -> Self {
        Fragment { from, to, ..self.clone() }
    }

    pub(super) fn add(&mut self, seq: Seq) {
        match seq.cmp(&self.newest) {
            std::cmp::Ordering::Greater => {
                self.older.insert(0, std::mem::replace(&mut self.newest, seq))
            }
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Less => {
                let at = self.older.partition_point(|older| *older > seq);
                if self.older.get(at) != Some(&seq) {
                    self.older.insert(at, seq);
                }
            }
        }
    }

    /// Adds to `before` the part of two fragments with a key in common that lies before the other one. Returns the
    /// part that they share, with the deletions of both, and what is left of each behind that.
    pub(super) fn overlay(
        self,
        other: Self,
        before: &mut Vec<Fragment>,
    ) -> (Self, Option<Self>, Option<Self>) {
        let from = self.from.clone().max(other.from.clone());
        let to = if self.to.is_within(&other.to) { self.to.clone() } else { other.to.clone() };
        for fragment in [&self, &other] {
            if fragment.from < from {
                before.push(fragment.within(fragment.from.clone(), End::Before(from.clone())));
            }
        }
        let mut both = self.within(from, to.clone());
        both.add_all(&other);
        let behind = |fragment: Self| match &to {
            End::Before(end) if !fragment.to.is_at_most(end) => {
                Some(Fragment { from: end.clone(), ..fragment })
            }
            _ => None,
        };
        (both, behind(self), behind(other))
    }

    /// Adds the sequence numbers of another fragment.
    fn add_all(&mut self, other: &Self) {
        let mut seqs = Vec::with_capacity(2 + self.older.len() + other.older.len());
        let mut theirs = other.seqs().peekable();
        for seq in self.seqs() {
            while let Some(newer) = theirs.next_if(|their| *their >= seq) {
                seqs.push(newer);
            }
            if seqs.last() != Some(&seq) {
                seqs.push(seq);
            }
        }
        seqs.extend(theirs);
        let mut seqs = seqs.into_iter();
        self.newest = seqs.next().unwrap_or(self.newest);
        self.older = seqs.collect();
    }

    /// Keeps some sequence numbers; returns whether one is left.
    pub(super) fn retain(&mut self, is_needed: impl Fn(Seq) -> bool) -> bool {
        self.older.retain(|seq| is_needed(*seq));
        if is_needed(self.newest) {
            return true;
        }
        if self.older.is_empty() {
            return false;
        }
        self.newest = self.older.remove(0);
        true
    }

    /// Whether the next fragment starts where this one ends, and has the same deletions.
    pub(super) fn continues_in(&self, next: &Fragment) -> bool {
        self.to.key() == Some(&*next.from) && self.newest == next.newest && self.older == next.older
    }
}

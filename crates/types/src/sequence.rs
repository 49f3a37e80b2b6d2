//! A persistent sequence: a clone is cheap and shares everything, and a change copies one chunk rather
//! than the whole.
//!
//! 1. Items are in chunks of at most `CHUNK`, and the chunks in a list. Both are reference-counted.
//! 2. A change copies the list and the affected chunk, unless they are not shared.
//! 3. A full chunk is split in half, except that appending starts a new one, so that items inserted in
//!    order fill their chunks. Neighbours that fit into half a chunk together are joined.
//! 4. A search looks at the last items of the chunks, which the list holds, then into one chunk.

use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// The most items of a chunk.
const CHUNK: usize = if cfg!(test) { 16 } else { 256 };

/// Items in order, cheap to clone and to change.
pub struct Sequence<T> {
    chunks: Arc<Vec<Chunk<T>>>,
    len: usize,
}

/// Some consecutive items, at least one.
#[derive(Clone)]
struct Chunk<T> {
    items: Arc<Vec<T>>,
    last: T,
}

/// The position of an item, valid until the sequence changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    chunk: usize,
    at: usize,
}

impl<T> Sequence<T> {
    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The item at a place; none at the end.
    #[must_use]
    pub fn get(&self, place: Place) -> Option<&T> {
        self.chunks.get(place.chunk)?.items.get(place.at)
    }

    /// The first item.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.get(Place::default())
    }

    /// The last item.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.chunks.last().map(|chunk| &chunk.last)
    }

    /// The place after the last item.
    #[must_use]
    pub fn end(&self) -> Place {
        Place { chunk: self.chunks.len(), at: 0 }
    }

    /// The place after this one.
    #[must_use]
    pub fn after(&self, Place { chunk, at }: Place) -> Place {
        match self.chunks.get(chunk) {
            Some(found) if at + 1 < found.items.len() => Place { chunk, at: at + 1 },
            Some(_) => Place { chunk: chunk + 1, at: 0 },
            None => self.end(),
        }
    }

    /// The place before this one; none before the first.
    #[must_use]
    pub fn before(&self, Place { chunk, at }: Place) -> Option<Place> {
        if let Some(at) = at.checked_sub(1) {
            return Some(Place { chunk, at });
        }
        let chunk = chunk.checked_sub(1)?;
        Some(Place { chunk, at: self.chunks.get(chunk)?.items.len().checked_sub(1)? })
    }

    /// The place of the first item for which `is_before` is false; it must be true for all items before
    /// that, and false for all after.
    #[inline]
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> Place {
        let chunk = self.chunks.partition_point(|chunk| is_before(&chunk.last));
        let at = self.chunks.get(chunk).map_or(0, |c| c.items.partition_point(is_before));
        Place { chunk, at }
    }

    /// The items in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T> {
        self.range(Place::default(), self.end())
    }

    /// The items from one place to before another.
    #[must_use]
    pub fn range(&self, from: Place, to: Place) -> Iter<'_, T> {
        Iter { sequence: self, next: from, end: to }
    }
}

impl<T: Clone> Sequence<T> {
    /// Inserts an item at a place, before the item there.
    pub fn insert(&mut self, mut place: Place, item: T) {
        let chunks = Arc::make_mut(&mut self.chunks);
        self.len += 1;
        // Between two chunks the one before takes it, if it is not full.
        if place.at == 0
            && let Some(chunk) = place.chunk.checked_sub(1)
            && let Some(at) = chunks.get(chunk).map(|c| c.items.len()).filter(|n| *n < CHUNK)
        {
            place = Place { chunk, at };
        }
        let Some(chunk) = chunks.get_mut(place.chunk) else {
            chunks.extend(Chunk::of(vec![item]));
            return;
        };
        let items = Arc::make_mut(&mut chunk.items);
        items.insert(place.at.min(items.len()), item);
        let right = if items.len() > CHUNK { items.split_off(CHUNK / 2) } else { Vec::new() };
        if let Some(last) = items.last() {
            chunk.last = last.clone();
        }
        if let Some(right) = Chunk::of(right) {
            chunks.insert(place.chunk + 1, right);
        }
    }

    /// Removes the item at a place.
    pub fn remove(&mut self, place: Place) -> Option<T> {
        self.get(place)?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = chunks.get_mut(place.chunk)?;
        let items = Arc::make_mut(&mut chunk.items);
        let item = items.remove(place.at);
        self.len -= 1;
        match items.last() {
            Some(last) => chunk.last = last.clone(),
            None => drop(chunks.remove(place.chunk)),
        }
        for left in [Some(place.chunk), place.chunk.checked_sub(1)].into_iter().flatten() {
            join(chunks, left);
        }
        Some(item)
    }

    /// Maps each item of `source`. If `before` has an earlier sequence and its result, the results of
    /// the chunks that `source` shares with it are reused.
    pub fn made_of<S>(
        source: &Sequence<S>,
        before: Option<(&Sequence<S>, &Sequence<T>)>,
        mut make: impl FnMut(&S) -> Option<T>,
    ) -> Self {
        // If nothing was filtered out, the chunks of both correspond.
        let before = before.filter(|(old, made)| old.len == made.len);
        if let Some((old, made)) = before
            && Arc::ptr_eq(&old.chunks, &source.chunks)
        {
            return made.clone();
        }
        let mut chunks = Vec::with_capacity(source.chunks.len());
        let mut behind = 0;
        for chunk in source.chunks.iter() {
            let shared = before.and_then(|(old, made)| {
                let mut rest = old.chunks.iter().skip(behind);
                behind += rest.position(|c| Arc::ptr_eq(&c.items, &chunk.items))?;
                made.chunks.get(behind).cloned()
            });
            chunks.extend(
                shared.or_else(|| Chunk::of(chunk.items.iter().filter_map(&mut make).collect())),
            );
        }
        let len = chunks.iter().map(|chunk| chunk.items.len()).sum();
        Sequence { chunks: Arc::new(chunks), len }
    }
}

impl<T: Clone> Chunk<T> {
    fn of(items: Vec<T>) -> Option<Self> {
        let last = items.last()?.clone();
        Some(Chunk { items: Arc::new(items), last })
    }
}

/// Makes the chunk at `left` and the one after it one, if they are small.
fn join<T: Clone>(chunks: &mut Vec<Chunk<T>>, left: usize) {
    let len = |at: usize| chunks.get(at).map(|chunk| chunk.items.len());
    let (Some(first), Some(second)) = (len(left), len(left + 1)) else { return };
    if first + second > CHUNK / 2 {
        return;
    }
    let right = chunks.remove(left + 1);
    if let Some(chunk) = chunks.get_mut(left) {
        Arc::make_mut(&mut chunk.items).extend_from_slice(&right.items);
        chunk.last = right.last;
    }
}

impl<T> Clone for Sequence<T> {
    fn clone(&self) -> Self {
        Sequence { chunks: self.chunks.clone(), len: self.len }
    }
}

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        Sequence { chunks: Arc::default(), len: 0 }
    }
}

impl<T: PartialEq> PartialEq for Sequence<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for Sequence<T> {}

impl<T: fmt::Debug> fmt::Debug for Sequence<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T: Serialize> Serialize for Sequence<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<T: Clone> FromIterator<T> for Sequence<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut sequence = Sequence::default();
        for item in items {
            sequence.insert(sequence.end(), item);
        }
        sequence
    }
}

impl<'a, T> IntoIterator for &'a Sequence<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// Items of a sequence, in order.
pub struct Iter<'a, T> {
    sequence: &'a Sequence<T>,
    next: Place,
    end: Place,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { ..*self }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        let item = if self.next < self.end { self.sequence.get(self.next) } else { None };
        if item.is_some() {
            self.next = self.sequence.after(self.next);
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A step at a place that is drawn, of a thousand.
    fn steps() -> impl Strategy<Value = Vec<(bool, usize, u32)>> {
        let growing =
            prop::collection::vec((prop::bool::weighted(0.7), 0..1000usize, any::<u32>()), 0..600);
        let shrinking =
            prop::collection::vec((prop::bool::weighted(0.2), 0..1000usize, any::<u32>()), 0..400);
        (growing, shrinking).prop_map(|(a, b)| [a, b].concat())
    }

    fn place(sequence: &Sequence<u32>, at: usize) -> Place {
        (0..at).fold(Place::default(), |place, _| sequence.after(place))
    }

    fn check(sequence: &Sequence<u32>, model: &[u32]) -> Result<(), TestCaseError> {
        prop_assert!(sequence.iter().eq(model));
        prop_assert_eq!(sequence.len(), model.len());
        prop_assert_eq!((sequence.first(), sequence.last()), (model.first(), model.last()));
        let sizes = sizes(sequence);
        prop_assert!(sizes.iter().all(|n| (1..=CHUNK).contains(n)), "{sizes:?}");
        prop_assert!(sequence.chunks.iter().all(|c| c.items.last() == Some(&c.last)));
        let mut back = sequence.before(sequence.end());
        for item in model.iter().rev() {
            prop_assert_eq!(back.and_then(|at| sequence.get(at)), Some(item));
            back = back.and_then(|at| sequence.before(at));
        }
        prop_assert_eq!(back, None);
        Ok(())
    }

    fn sizes(sequence: &Sequence<u32>) -> Vec<usize> {
        sequence.chunks.iter().map(|chunk| chunk.items.len()).collect()
    }

    #[test]
    fn appended_items_fill_their_chunks() {
        let sequence: Sequence<_> = (0..2 * CHUNK as u32 + 3).collect();
        assert_eq!(sizes(&sequence), [CHUNK, CHUNK, 3]);
    }

    #[test]
    fn a_full_chunk_splits_in_half_unless_insertion_is_at_its_end() {
        let mut sequence: Sequence<_> = (0..2 * CHUNK as u32).collect();
        sequence.insert(Place { chunk: 0, at: 1 }, 9);
        assert_eq!(sizes(&sequence), [CHUNK / 2, CHUNK / 2 + 1, CHUNK]);
        sequence.insert(Place { chunk: 2, at: 0 }, 9);
        assert_eq!(sizes(&sequence), [CHUNK / 2, CHUNK / 2 + 2, CHUNK]);
    }

    #[test]
    fn chunks_that_fit_into_half_a_chunk_together_are_joined() {
        let mut sequence: Sequence<_> = (0..3 * CHUNK as u32).collect();
        for chunk in [1, 2] {
            for _ in 0..CHUNK * 3 / 4 - (chunk - 1) {
                sequence.remove(Place { chunk, at: 0 });
            }
        }
        assert_eq!(sizes(&sequence), [CHUNK, CHUNK / 4, CHUNK / 4 + 1]);
        sequence.remove(Place { chunk: 2, at: 0 });
        assert_eq!(sizes(&sequence), [CHUNK, CHUNK / 2]);
    }

    proptest! {
        #[test]
        fn a_sequence_changes_like_a_vector_and_its_clones_do_not(steps in steps(), cloned in 0..600usize) {
            let (mut sequence, mut model) = (Sequence::default(), Vec::new());
            let mut kept = (Sequence::default(), Vec::new());
            for (n, (inserts, drawn, value)) in steps.into_iter().enumerate() {
                if n == cloned {
                    kept = (sequence.clone(), model.clone());
                }
                if inserts {
                    let at = drawn * (model.len() + 1) / 1000;
                    sequence.insert(place(&sequence, at), value);
                    model.insert(at, value);
                } else if !model.is_empty() {
                    let at = drawn * model.len() / 1000;
                    prop_assert_eq!(sequence.remove(place(&sequence, at)), Some(model.remove(at)));
                }
            }
            check(&sequence, &model)?;
            check(&kept.0, &kept.1)?;
        }

        #[test]
        fn places_are_found_as_in_a_slice(
            values in prop::collection::btree_set(0u32..2000, 0..400),
            a in 0u32..2000,
            b in 0u32..2000,
        ) {
            let model: Vec<_> = values.into_iter().collect();
            let sequence: Sequence<_> = model.iter().copied().collect();
            check(&sequence, &model)?;
            let (from, to) = (model.partition_point(|v| *v < a), model.partition_point(|v| *v < b));
            let (start, end) = (sequence.partition_point(|v| *v < a), sequence.partition_point(|v| *v < b));
            prop_assert_eq!(sequence.get(start), model.get(from));
            let expected = model.get(from..to).unwrap_or_default();
            prop_assert!(sequence.range(start, end).eq(expected));
        }

        #[test]
        fn derived_sequences_reuse_chunks_that_did_not_change(steps in steps()) {
            let mut source: Sequence<u32> = (0..500).collect();
            let mut made = Sequence::made_of(&source, None, |v| Some(u64::from(*v)));
            for steps in steps.chunks(7) {
                let before = source.clone();
                for (inserts, drawn, value) in steps {
                    let at = place(&source, drawn * source.len() / 1000);
                    if *inserts {
                        source.insert(at, *value);
                    } else {
                        source.remove(at);
                    }
                }
                let mut calls = 0;
                made = Sequence::made_of(&source, Some((&before, &made)), |v| {
                    calls += 1;
                    Some(u64::from(*v))
                });
                prop_assert!(made.iter().eq(source.iter().map(|v| u64::from(*v)).collect::<Vec<_>>().iter()));
                prop_assert!(calls <= 7 * 2 * CHUNK, "{calls}");
            }
        }
    }
}

//! A persistent map: a clone is cheap and shares everything, and a change copies one chunk rather than
//! the whole.
//!
//! 1. Entries are in the order of their keys, in chunks of at most `CHUNK`, and the chunks in a list. Both
//!    are reference-counted.
//! 2. A change copies the list and the affected chunk, unless they are not shared.
//! 3. A full chunk is split in half, except that appending starts a new chunk, so that keys inserted in
//!    order fill their chunks. An empty chunk is removed.
//! 4. A search compares the last keys of chunks, then looks into one chunk.
//!
//! Unlike a [`Sequence`](crate::Sequence) it lets values be changed in place, and holds each once.

use std::fmt;
use std::slice;
use std::sync::Arc;

/// The most entries of a chunk.
const CHUNK: usize = if cfg!(test) { 8 } else { 128 };

type Chunk<K, V> = Arc<Vec<(K, V)>>;

/// A map in the order of the keys, cheap to clone and to change.
pub struct SharedMap<K, V> {
    chunks: Arc<Vec<Chunk<K, V>>>,
    len: usize,
}

impl<K: Ord, V> SharedMap<K, V> {
    /// Returns the chunk and the index of the key, or of the place where it would be inserted.
    fn find(&self, key: &K) -> (usize, Result<usize, usize>) {
        let is_before = |chunk: &Chunk<K, V>| chunk.last().is_some_and(|(last, _)| last < key);
        let at = self.chunks.partition_point(is_before);
        let chunk = self.chunks.get(at);
        (at, chunk.map_or(Err(0), |chunk| chunk.binary_search_by(|(k, _)| k.cmp(key))))
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        let (chunk, at) = self.find(key);
        self.chunks.get(chunk)?.get(at.ok()?).map(|(_, value)| value)
    }

    /// Whether the map has the key.
    #[must_use]
    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).1.is_ok()
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the map has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the entries in the order of their keys.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.into_iter()
    }

    /// Returns the entries from `key` on, in the order of their keys.
    #[must_use]
    pub fn from(&self, key: &K) -> Iter<'_, K, V> {
        let (chunk, Ok(at) | Err(at)) = self.find(key);
        let mut chunks = self.chunks.get(chunk..).unwrap_or_default().iter();
        let first = chunks.next().and_then(|chunk| chunk.get(at..)).unwrap_or_default();
        Iter { chunks, entries: first.iter() }
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Returns the list of chunks, to change it.
    #[inline(never)]
    fn list(&mut self) -> &mut Vec<Chunk<K, V>> {
        Arc::make_mut(&mut self.chunks)
    }

    /// Returns a chunk, to change it.
    #[inline(never)]
    fn chunk(&mut self, at: usize) -> Option<&mut Vec<(K, V)>> {
        self.list().get_mut(at).map(Arc::make_mut)
    }

    /// Returns the value of a key, to change it.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (chunk, at) = self.find(key);
        let at = at.ok()?;
        self.chunk(chunk)?.get_mut(at).map(|(_, value)| value)
    }

    /// Sets the value of a key; returns the value it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (mut at, place) = self.find(&key);
        let Err(mut place) = place else {
            return self.get_mut(&key).map(|old| std::mem::replace(old, value));
        };
        if at == self.chunks.len() {
            // Behind all others, the last chunk takes it if it is not full.
            match self.chunks.last().map(|last| last.len()).filter(|len| *len < CHUNK) {
                Some(len) => (at, place) = (at - 1, len),
                None => self.list().push(Chunk::default()),
            }
        }
        self.len += 1;
        let entries = self.chunk(at)?;
        entries.insert(place, (key, value));
        if entries.len() > CHUNK {
            let right = entries.split_off(CHUNK / 2);
            self.list().insert(at + 1, Arc::new(right));
        }
        None
    }

    /// Removes a key; returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (at, place) = self.find(key);
        let place = place.ok()?;
        let entries = self.chunk(at)?;
        let (_, value) = entries.remove(place);
        if entries.is_empty() {
            self.list().remove(at);
        }
        self.len -= 1;
        Some(value)
    }
}

impl<K, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> Self {
        SharedMap { chunks: self.chunks.clone(), len: self.len }
    }
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap { chunks: Arc::default(), len: 0 }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.into_iter().eq(other)
    }
}

impl<K: Eq, V: Eq> Eq for SharedMap<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<'a, K, V> IntoIterator for &'a SharedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        Iter { chunks: self.chunks.iter(), entries: slice::Iter::default() }
    }
}

/// The entries of a map in the order of their keys.
pub struct Iter<'a, K, V> {
    chunks: slice::Iter<'a, Chunk<K, V>>,
    entries: slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    #[inline(never)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.entries.next() {
                return Some((key, value));
            }
            self.entries = self.chunks.next()?.iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn check(map: &SharedMap<u8, u32>, model: &BTreeMap<u8, u32>) -> Result<(), TestCaseError> {
        prop_assert!(map.iter().eq(model));
        prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
        let sizes: Vec<_> = map.chunks.iter().map(|chunk| chunk.len()).collect();
        prop_assert!(sizes.iter().all(|n| (1..=CHUNK).contains(n)), "{:?}", sizes);
        for key in 0..=u8::MAX {
            prop_assert_eq!(map.get(&key), model.get(&key));
            prop_assert_eq!(map.contains_key(&key), model.contains_key(&key));
            prop_assert!(map.from(&key).eq(model.range(key..)));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_map_changes_like_a_tree_and_its_clones_do_not(
            growing in prop::collection::vec((0..4u8, any::<u8>(), any::<u32>()), 0..400),
            shrinking in prop::collection::vec((3..9u8, any::<u8>(), any::<u32>()), 0..400),
            cloned in 0..800usize,
        ) {
            let (mut map, mut model) = (SharedMap::default(), BTreeMap::new());
            let mut kept = (map.clone(), model.clone());
            for (n, (what, key, value)) in growing.into_iter().chain(shrinking).enumerate() {
                if n == cloned {
                    kept = (map.clone(), model.clone());
                }
                match what {
                    0..3 => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                    3 => {
                        let found = map.get_mut(&key).map(|old| std::mem::replace(old, value));
                        let old = model.get_mut(&key).map(|old| std::mem::replace(old, value));
                        prop_assert_eq!(found, old);
                    }
                    _ => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                }
            }
            check(&map, &model)?;
            check(&kept.0, &kept.1)?;
        }
    }

    #[test]
    fn a_change_copies_one_chunk_of_a_shared_map() {
        let mut map: SharedMap<u32, Arc<u32>> = SharedMap::default();
        for n in 0..1000 {
            map.insert(n, Arc::new(n));
        }
        let clone = map.clone();
        let copied = |map: &SharedMap<u32, Arc<u32>>| {
            map.values().filter(|value| Arc::strong_count(value) > 1).count()
        };
        assert_eq!(copied(&map), 0);
        map.insert(500, Arc::new(7));
        assert!((1..CHUNK).contains(&copied(&map)));
        map.remove(&1);
        map.insert(1000, Arc::default());
        assert!(copied(&map) < 4 * CHUNK);
        assert_eq!((clone.len(), clone.get(&500).map(|value| **value)), (1000, Some(500)));
    }
}

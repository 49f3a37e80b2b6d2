//! Maps and sets in a sorted vector.
//!
//! They suit few items (keyspaces, snapshots) or items that arrive nearly in order (files by number). A
//! lookup is a binary search; an insertion or removal shifts what follows, so it is cheap at the end; a
//! bulk insertion sorts. Each monomorphization of `BTreeMap` costs some KiB of code, which a browser
//! would download.

use crate::sort::sort_by;
use serde::{Serialize, Serializer};
use std::slice;

/// Up to this many entries are inserted one by one.
const FEW: usize = 16;

/// A map from `K` to `V`, in the order of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VecMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for VecMap<K, V> {
    fn default() -> Self {
        VecMap { entries: Vec::new() }
    }
}

impl<K: Ord, V> VecMap<K, V> {
    /// The index of the key, or where it would be inserted.
    fn find(&self, key: &K) -> Result<usize, usize> {
        match self.entries.last() {
            Some((last, _)) if last < key => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|(k, _)| k.cmp(key)),
        }
    }

    /// Sorts the entries, of which those from `came` on were appended in any order; the last of a key
    /// wins. The earlier ones are only touched if many were appended.
    fn sort_from(&mut self, came: usize) {
        let last = came.saturating_sub(1);
        let tail = self.entries.get(last..).unwrap_or_default();
        if tail.is_sorted_by(|(a, _), (b, _)| a < b) {
            return;
        }
        let mut entries = if self.entries.len() - came > FEW {
            std::mem::take(&mut self.entries)
        } else {
            self.entries.split_off(came)
        };
        sort_by(&mut entries, |(a, _), (b, _)| a.cmp(b));
        for (key, value) in entries {
            self.insert(key, value);
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let at = self.find(key).ok()?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    /// Whether the map has the key.
    #[must_use]
    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    /// Sets the value of a key; returns the value it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => self.entries.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes a key; returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.find(key).ok()?;
        Some(self.entries.remove(at).1)
    }

    /// Retains the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.entries.retain(|(key, value)| keep(key, value));
    }

    /// The entries whose keys are below `key`.
    #[must_use]
    pub fn below(&self, key: &K) -> &[(K, V)] {
        let count = self.entries.partition_point(|(k, _)| k < key);
        self.entries.get(..count).unwrap_or_default()
    }

    /// The entry with the greatest key.
    #[must_use]
    pub fn last(&self) -> Option<&(K, V)> {
        self.entries.last()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.into_iter()
    }

    /// The entries in order, to change their values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V: Default> VecMap<K, V> {
    /// Changes the value of a key, which is inserted with its default if missing.
    pub fn update<R>(&mut self, key: K, change: impl FnOnce(&mut V) -> R) -> R {
        let at = self.find(&key).unwrap_or_else(|at| {
            self.entries.insert(at, (key, V::default()));
            at
        });
        match self.entries.get_mut(at) {
            Some((_, value)) => change(value),
            // Unreachable: the key was found or inserted.
            None => change(&mut V::default()),
        }
    }
}

/// The entries of a map, in order.
pub type Iter<'a, K, V> = std::iter::Map<slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

impl<'a, K, V> IntoIterator for &'a VecMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter().map(|(key, value)| (key, value))
    }
}

impl<K, V> IntoIterator for VecMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<K: Ord + Serialize, V: Serialize> Serialize for VecMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<K: Ord, V> Extend<(K, V)> for VecMap<K, V> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        let came = self.entries.len();
        self.entries.extend(entries);
        self.sort_from(came);
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for VecMap<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let mut map = VecMap::default();
        map.extend(entries);
        map
    }
}

/// A set, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VecSet<K> {
    members: VecMap<K, ()>,
}

impl<K> Default for VecSet<K> {
    fn default() -> Self {
        VecSet { members: VecMap::default() }
    }
}

impl<K: Ord> VecSet<K> {
    /// Whether `key` is a member.
    #[must_use]
    pub fn contains(&self, key: &K) -> bool {
        self.members.contains_key(key)
    }

    /// Makes `key` a member; returns whether it was none.
    pub fn insert(&mut self, key: K) -> bool {
        self.members.insert(key, ()).is_none()
    }

    /// Takes `key` out; returns whether it was a member.
    pub fn remove(&mut self, key: &K) -> bool {
        self.members.remove(key).is_some()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The least member.
    #[must_use]
    pub fn first(&self) -> Option<&K> {
        self.iter().next()
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = &K> {
        self.members.keys()
    }

    /// Takes all members out.
    pub fn clear(&mut self) {
        self.members = VecMap::default();
    }
}

impl<K: Ord> Extend<K> for VecSet<K> {
    fn extend<T: IntoIterator<Item = K>>(&mut self, keys: T) {
        self.members.extend(keys.into_iter().map(|key| (key, ())));
    }
}

impl<K: Ord> FromIterator<K> for VecSet<K> {
    fn from_iter<T: IntoIterator<Item = K>>(keys: T) -> Self {
        let mut set = VecSet::default();
        set.extend(keys);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_sorted_map_answers_like_a_tree(
            steps in prop::collection::vec((0u8..6, 0u8..20, any::<u8>()), 0..80),
        ) {
            let (mut map, mut tree) = (VecMap::default(), BTreeMap::new());
            for (step, key, value) in steps {
                match step {
                    0 => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    1 => {
                        map.retain(|k, v| (k ^ v) % 8 != value % 8);
                        tree.retain(|k, v| (k ^ *v) % 8 != value % 8);
                    }
                    2 => {
                        map.update(key, |v| *v ^= value);
                        *tree.entry(key).or_default() ^= value;
                    }
                    3 => {
                        let several = [(key, value), (3, 1), (value % 20, 2), (key, value ^ 1)];
                        let times = usize::from(value) % (2 * FEW / several.len());
                        let many = several.repeat(times);
                        map.extend(many.iter().copied());
                        tree.extend(many);
                    }
                    _ => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                }
                prop_assert_eq!(map.get(&key), tree.get(&key));
                prop_assert!(map.below(&key).iter().map(|(k, v)| (k, v)).eq(tree.range(..key)));
                prop_assert!(map.iter().eq(&tree));
                prop_assert_eq!(map.last().map(|(k, v)| (k, v)), tree.last_key_value());
            }
        }
    }
}

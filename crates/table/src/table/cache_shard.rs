//! A shard of the block cache: what it holds, by key, and what it drops first.
//!
//! 1. Entries stand in the order in which they came. A hand goes from the oldest to the newest, and
//!    begins again (SIEVE: Zhang et al., NSDI 2024).
//! 2. Where room is needed, the hand passes an entry that was used since it came by, and drops the first
//!    that was not. So what is read once, as by a long scan, goes soon, and what is read again stays.
//! 3. An entry is found by its key: buckets of a hash table are lists of entries.
//!
//! A hit changes nothing but a flag: readers share the shard.

use super::cache::{Cached, Key, hash};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

/// An index of an entry. [`NONE`] is that of no entry.
type Link = u32;
const NONE: Link = Link::MAX;

/// A shard: what it holds weighs at most `capacity` bytes.
pub(super) struct Shard {
    capacity: u64,
    weight: u64,
    /// Those in use, and those that are free.
    entries: Vec<Entry>,
    /// The first entry of each bucket: a power of two of them, at least as many as entries.
    buckets: Vec<Link>,
    free: Link,
    oldest: Link,
    newest: Link,
    hand: Link,
}

struct Entry {
    key: Key,
    /// `None` in an entry that is free.
    cached: Option<Cached>,
    used: AtomicBool,
    /// The next in its bucket, or the next that is free.
    next: Link,
    older: Link,
    newer: Link,
}

impl Shard {
    /// An empty shard.
    pub fn new(capacity: u64) -> Self {
        Shard {
            capacity,
            weight: 0,
            entries: Vec::new(),
            buckets: vec![NONE],
            free: NONE,
            oldest: NONE,
            newest: NONE,
            hand: NONE,
        }
    }

    /// Bytes held.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Whether so much fits without an eviction.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.weight + bytes <= self.capacity
    }

    /// What is held of this key, which is used by it.
    #[inline]
    pub fn get(&self, key: Key) -> Option<&Cached> {
        let entry = self.entry(self.find(key))?;
        if !entry.used.load(Ordering::Relaxed) {
            entry.used.store(true, Ordering::Relaxed);
        }
        entry.cached.as_ref()
    }

    /// Adds what is cached in place of what is held of this key, and makes room for it; where it is
    /// larger than the shard, it is evicted at once.
    pub fn insert(&mut self, key: Key, cached: Cached) {
        drop(self.remove(self.find(key)));
        let weight = cached.weight();
        if weight > self.capacity {
            return cached.evict();
        }
        self.shrink(self.capacity - weight);
        self.weight += weight;
        let added = Entry {
            key,
            cached: Some(cached),
            used: AtomicBool::new(false),
            next: NONE,
            older: self.newest,
            newer: NONE,
        };
        let mut at = self.free;
        if let Some(free) = self.entry_mut(at) {
            let next = mem::replace(free, added).next;
            self.free = next;
        } else {
            at = self.entries.len() as Link;
            self.entries.push(added);
        }
        match self.entry_mut(self.newest) {
            Some(newest) => newest.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
        if self.entries.len() > self.buckets.len() {
            self.rehash();
        } else {
            self.put_in_bucket(at);
        }
    }

    /// Changes the bound, and evicts what is over it.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.shrink(capacity);
    }

    /// Removes what `keep` does not want.
    pub fn retain(&mut self, keep: impl Fn(Key) -> bool) {
        let mut at = self.oldest;
        while let Some(entry) = self.entry(at) {
            let (is_kept, newer) = (keep(entry.key), entry.newer);
            if !is_kept {
                drop(self.remove(at));
            }
            at = newer;
        }
    }

    /// Evicts until what is left weighs `most` bytes or less.
    fn shrink(&mut self, most: u64) {
        // Others may use entries while the hand goes round: the second time they are not asked.
        let mut to_ask = 2 * self.entries.len();
        while self.weight > most {
            let at = if self.hand == NONE { self.oldest } else { self.hand };
            let Some(entry) = self.entry(at) else { return };
            let is_slot_used = entry.cached.as_ref().is_some_and(Cached::was_used);
            let is_used = entry.used.swap(false, Ordering::Relaxed) || is_slot_used;
            self.hand = entry.newer;
            if is_used && to_ask > 0 {
                to_ask -= 1;
            } else if let Some(cached) = self.remove(at) {
                cached.evict();
            }
        }
    }

    fn remove(&mut self, at: Link) -> Option<Cached> {
        let free = self.free;
        let entry = self.entry_mut(at)?;
        let cached = entry.cached.take()?;
        let (key, next, older, newer) = (entry.key, entry.next, entry.older, entry.newer);
        entry.next = free;
        self.free = at;
        self.weight -= cached.weight();
        match self.entry_mut(older) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
        match self.entry_mut(newer) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        if self.hand == at {
            self.hand = newer;
        }
        self.take_from_bucket(key, at, next);
        Some(cached)
    }

    fn find(&self, key: Key) -> Link {
        let mut at = self.buckets.get(self.bucket(key)).copied().unwrap_or(NONE);
        while let Some(entry) = self.entry(at)
            && entry.key != key
        {
            at = entry.next;
        }
        at
    }

    fn bucket(&self, key: Key) -> usize {
        hash(key) as usize & (self.buckets.len() - 1)
    }

    fn put_in_bucket(&mut self, at: Link) {
        let Some(key) = self.entry(at).map(|entry| entry.key) else { return };
        let bucket = self.bucket(key);
        let first = self.buckets.get_mut(bucket).map_or(NONE, |first| mem::replace(first, at));
        if let Some(entry) = self.entry_mut(at) {
            entry.next = first;
        }
    }

    fn take_from_bucket(&mut self, key: Key, at: Link, next: Link) {
        let bucket = self.bucket(key);
        let Some(first) = self.buckets.get_mut(bucket) else { return };
        if *first == at {
            *first = next;
            return;
        }
        let mut before = *first;
        while let Some(entry) = self.entry_mut(before) {
            if entry.next == at {
                entry.next = next;
                return;
            }
            before = entry.next;
        }
    }

    /// Twice as many buckets.
    fn rehash(&mut self) {
        self.buckets = vec![NONE; 2 * self.buckets.len()];
        let mut at = self.oldest;
        while let Some(entry) = self.entry(at) {
            let newer = entry.newer;
            self.put_in_bucket(at);
            at = newer;
        }
    }

    fn entry(&self, at: Link) -> Option<&Entry> {
        self.entries.get(at as usize)
    }

    fn entry_mut(&mut self, at: Link) -> Option<&mut Entry> {
        self.entries.get_mut(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Block;
    use super::super::block_writer::BlockWriter;
    use super::*;
    use crate::entry::Tag;
    use std::collections::HashMap;
    use std::sync::Arc;
    use terrane_types::TableId;

    fn block(bytes: usize) -> Cached {
        let mut writer = BlockWriter::new(16);
        writer.add(0, b"key", Tag::at(1), &vec![7; bytes]);
        Cached::Block(Arc::new(Block::decode(writer.finish().to_vec()).unwrap()))
    }

    fn key(n: u64) -> Key {
        (TableId(n % 7 + 1), n / 7)
    }

    fn held(shard: &Shard) -> Vec<Key> {
        let mut held = Vec::new();
        let mut at = shard.oldest;
        while let Some(entry) = shard.entry(at) {
            held.push(entry.key);
            at = entry.newer;
        }
        held
    }

    #[test]
    fn what_was_read_since_the_hand_came_by_stays_and_the_oldest_of_the_others_goes() {
        let weight = block(100).weight();
        let mut shard = Shard::new(4 * weight);
        for n in 0..4 {
            shard.insert(key(n), block(100));
        }
        assert!(shard.get(key(0)).is_some() && shard.get(key(2)).is_some());
        // 0 was used, so 1 goes; the hand stays there.
        shard.insert(key(4), block(100));
        assert_eq!(held(&shard), [0, 2, 3, 4].map(key));
        // 2 was used, so 3 goes.
        shard.insert(key(5), block(100));
        assert_eq!(held(&shard), [0, 2, 4, 5].map(key));
        // 4 and 5 have not been used yet: what is read once goes before what was read again.
        shard.insert(key(6), block(100));
        shard.insert(key(7), block(100));
        assert_eq!(held(&shard), [0, 2, 6, 7].map(key));
        // Past the newest the hand begins again, where nobody asked for 0 and 2 any more.
        assert!(shard.get(key(6)).is_some() && shard.get(key(7)).is_some());
        shard.insert(key(8), block(100));
        assert_eq!(held(&shard), [2, 6, 7, 8].map(key));
    }

    #[test]
    fn a_shard_holds_what_a_map_would_within_its_bound() {
        let mut shard = Shard::new(40_000);
        let mut weights: HashMap<Key, u64> = HashMap::new();
        let mut state = 7u64;
        for round in 0..20_000u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let n = (state >> 33) % 400;
            match (state >> 20) % 50 {
                0 => shard.retain(|(table, _)| table.0 != n % 7 + 1),
                1 => shard.set_capacity(20_000 + (round % 5) * 10_000),
                2..20 => {
                    shard.insert(key(n), block(n as usize % 300));
                    weights.insert(key(n), block(n as usize % 300).weight());
                }
                _ => {
                    let weight = shard.get(key(n)).map(Cached::weight);
                    assert!(weight.is_none_or(|weight| weights.get(&key(n)) == Some(&weight)));
                }
            }
            if round % 50 == 49 {
                let held = held(&shard);
                let weight: u64 = held.iter().map(|key| weights[key]).sum();
                assert_eq!(weight, shard.weight());
                assert!(weight <= shard.capacity && !held.is_empty());
                assert!(held.iter().all(|key| shard.get(*key).is_some()));
            }
        }
        let (used, all) = (held(&shard).len(), shard.entries.len());
        let mut free = 0;
        let mut at = shard.free;
        while let Some(entry) = shard.entry(at) {
            assert!(entry.cached.is_none());
            free += 1;
            at = entry.next;
        }
        assert_eq!(used + free, all);
    }

    #[test]
    fn what_is_larger_than_the_shard_evicts_nothing_else() {
        let mut shard = Shard::new(1000);
        shard.insert(key(1), block(100));
        shard.insert(key(2), block(2000));
        assert_eq!(held(&shard), [key(1)]);
    }
}

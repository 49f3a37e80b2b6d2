//! A shard of the block cache: what it holds, by key, and what it drops first.
//!
//! 1. What is new, once three quarters of the shard are taken, comes on probation in the last. The oldest
//!    there is dropped when room is needed; but if it was used, it joins the others. What is read once, as
//!    by a long scan, drops nothing else, and of what is read in turns much for the shard, three
//!    quarters of a shard stay.
//! 2. The others stand in the order in which they came. Where these need room, a hand goes from the oldest
//!    to the newest, and starts again: it passes an entry that was used since it came by, and drops the
//!    first that was not (SIEVE: Zhang et al., NSDI 2024).
//! 3. An entry is found by its key: buckets of a hash table are lists of entries.
//!
//! A hit changes nothing but a flag: readers share the shard.

use super::cache::{Cached, Key, hash};
use super::partition_index::PartitionIndex;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An index of an entry. [`NONE`] is that of no entry.
type Link = u32;
const NONE: Link = Link::MAX;

/// A shard: what it holds weighs at most `capacity` bytes.
pub(super) struct Shard {
    capacity: u64,
    /// Those in use, and those that are free.
    entries: Vec<Entry>,
    /// The first entry of each bucket: a power of two of them, at least as many as entries.
    buckets: Vec<Link>,
    free: Link,
    probation: List,
    main: List,
}

/// Entries, from the oldest to the newest.
struct List {
    oldest: Link,
    newest: Link,
    hand: Link,
    weight: u64,
}

struct Entry {
    key: Key,
    /// `None` in an entry that is free.
    cached: Option<Cached>,
    used: AtomicBool,
    on_probation: bool,
    /// The next in its bucket, or the next that is free.
    next: Link,
    older: Link,
    newer: Link,
}

impl List {
    const EMPTY: Self = List { oldest: NONE, newest: NONE, hand: NONE, weight: 0 };
}

impl Shard {
    /// An empty shard.
    pub fn new(capacity: u64) -> Self {
        Shard {
            capacity,
            entries: Vec::new(),
            buckets: vec![NONE],
            free: NONE,
            probation: List::EMPTY,
            main: List::EMPTY,
        }
    }

    /// Bytes held.
    pub fn weight(&self) -> u64 {
        self.probation.weight + self.main.weight
    }

    /// Whether `bytes` fit without an eviction.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.weight() + bytes <= self.capacity
    }

    /// Returns the content of this key, and counts the use.
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
        let added = Entry {
            key,
            cached: Some(cached),
            used: AtomicBool::new(false),
            on_probation: self.main.weight + weight > self.main_capacity(),
            next: NONE,
            older: NONE,
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
        self.link(at);
        if self.entries.len() > self.buckets.len() {
            self.rehash();
        } else {
            self.put_in_bucket(at);
        }
    }

    /// Shows the block of this key, if there is one, at its place in the index of its partition.
    pub fn show(&mut self, key: Key, index: &Arc<PartitionIndex>, place: usize) {
        let at = self.find(key);
        let cached = self.entry_mut(at).and_then(|entry| entry.cached.as_mut());
        if let Some(cached) = cached {
            cached.hide();
            if let Cached::Block(block, shown) = cached {
                *shown = Some((Arc::downgrade(index), place));
                index.show(place, Some(Arc::clone(block)));
            }
        }
    }

    /// Changes the bound, and evicts what is over it.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.shrink(capacity);
    }

    /// Removes what `keep` does not want.
    pub fn retain(&mut self, keep: impl Fn(Key) -> bool) {
        for mut at in [self.probation.oldest, self.main.oldest] {
            while let Some(entry) = self.entry(at) {
                let (is_kept, newer) = (keep(entry.key), entry.newer);
                if !is_kept {
                    drop(self.remove(at));
                }
                at = newer;
            }
        }
    }

    /// Returns the capacity for blocks that are not on probation.
    fn main_capacity(&self) -> u64 {
        self.capacity - self.capacity / 4
    }

    /// Evicts until what is left weighs `most` bytes or less.
    fn shrink(&mut self, most: u64) {
        // Others may use entries while the hand goes round: the second time they are not asked.
        let mut to_ask = 2 * self.entries.len();
        while self.weight() > most {
            let List { oldest, hand, weight, .. } = self.main;
            let is_main = weight > self.main_capacity() || self.probation.oldest == NONE;
            let at = match (is_main, hand) {
                (false, _) => self.probation.oldest,
                (true, NONE) => oldest,
                (true, hand) => hand,
            };
            let Some(entry) = self.entry(at) else { return };
            let is_read = entry.cached.as_ref().is_some_and(Cached::was_used);
            let is_used = entry.used.swap(false, Ordering::Relaxed) || is_read;
            if is_main {
                self.main.hand = entry.newer;
            }
            if !is_used || to_ask == 0 {
                if let Some(cached) = self.remove(at) {
                    cached.evict();
                }
                continue;
            }
            to_ask -= 1;
            if !is_main {
                self.unlink(at);
                if let Some(entry) = self.entry_mut(at) {
                    entry.on_probation = false;
                }
                self.link(at);
            }
        }
    }

    fn remove(&mut self, at: Link) -> Option<Cached> {
        let key = self.entry(at)?.key;
        self.take_from_bucket(key, at);
        self.unlink(at);
        let free = mem::replace(&mut self.free, at);
        let entry = self.entry_mut(at)?;
        entry.next = free;
        entry.cached.iter_mut().for_each(Cached::hide);
        entry.cached.take()
    }

    /// Adds an entry to its list, as the newest.
    fn link(&mut self, at: Link) {
        let Some((entry, list)) = self.entry_and_list(at) else { return };
        let newest = mem::replace(&mut list.newest, at);
        list.weight += entry.weight();
        (entry.older, entry.newer) = (newest, NONE);
        if newest == NONE {
            list.oldest = at;
        } else if let Some(newest) = self.entry_mut(newest) {
            newest.newer = at;
        }
    }

    /// Takes an entry out of its list.
    fn unlink(&mut self, at: Link) {
        let Some((entry, list)) = self.entry_and_list(at) else { return };
        let (older, newer) = (entry.older, entry.newer);
        list.weight -= entry.weight();
        if list.hand == at {
            list.hand = newer;
        }
        if older == NONE {
            list.oldest = newer;
        }
        if newer == NONE {
            list.newest = older;
        }
        if let Some(older) = self.entry_mut(older) {
            older.newer = newer;
        }
        if let Some(newer) = self.entry_mut(newer) {
            newer.older = older;
        }
    }

    fn entry_and_list(&mut self, at: Link) -> Option<(&mut Entry, &mut List)> {
        let entry = self.entries.get_mut(at as usize)?;
        let list = if entry.on_probation { &mut self.probation } else { &mut self.main };
        Some((entry, list))
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
        // The bits below chose the shard.
        (hash(key) >> 36) as usize & (self.buckets.len() - 1)
    }

    fn put_in_bucket(&mut self, at: Link) {
        let Some(key) = self.entry(at).map(|entry| entry.key) else { return };
        let bucket = self.bucket(key);
        let first = self.buckets.get_mut(bucket).map_or(NONE, |first| mem::replace(first, at));
        if let Some(entry) = self.entry_mut(at) {
            entry.next = first;
        }
    }

    fn take_from_bucket(&mut self, key: Key, at: Link) {
        let bucket = self.bucket(key);
        let next = self.entry(at).map_or(NONE, |entry| entry.next);
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
        for mut at in [self.probation.oldest, self.main.oldest] {
            while let Some(entry) = self.entry(at) {
                let newer = entry.newer;
                self.put_in_bucket(at);
                at = newer;
            }
        }
    }

    fn entry(&self, at: Link) -> Option<&Entry> {
        self.entries.get(at as usize)
    }

    fn entry_mut(&mut self, at: Link) -> Option<&mut Entry> {
        self.entries.get_mut(at as usize)
    }
}

impl Entry {
    fn weight(&self) -> u64 {
        self.cached.as_ref().map_or(0, Cached::weight)
    }
}

#[cfg(test)]
mod tests;

//! A filter before the list: it says of a user key that it is surely absent, or may be present.
//!
//! Most keys that are looked up are not in a memtable, and a search of its list is many cache
//! misses. This is one: the upper half of a key's hash chooses a word, the lower half three bits of
//! it. It is made when the list holds as many bytes as it takes; a smaller list is quickly searched.

use super::skiplist::SkipList;
use crate::codec::key_hash;
use crate::sync::lock_free::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;

/// Of the bytes that a memtable is to hold, the filter takes one in so many: with entries of 130
/// bytes, 16 bits a key.
const SHARE: usize = 64;

pub(super) struct Filter {
    words: OnceLock<Box<[AtomicU64]>>,
    /// How many words there are to be; none for no filter.
    count: usize,
}

impl Filter {
    /// The filter of a memtable that is to hold about so many bytes.
    pub fn of(memtable_bytes: usize) -> Self {
        let count = memtable_bytes / SHARE / size_of::<AtomicU64>();
        Filter { words: OnceLock::new(), count: count.min(u32::MAX as usize) }
    }

    /// Adds a key that was inserted into the list, whose nodes take `bytes`; the caller still keeps
    /// others from inserting. Returns the bytes that the filter takes.
    ///
    /// No order is asked of the bits: whoever must see the entry was told of it after this.
    pub fn add(&self, key: &[u8], bytes: usize, list: &SkipList) -> usize {
        let size = self.count * size_of::<AtomicU64>();
        if let Some(words) = self.words.get() {
            set(words, key_hash(key));
        } else if self.count > 0 && bytes >= size {
            let words: Box<[_]> = (0..self.count).map(|_| AtomicU64::new(0)).collect();
            let mut node = list.first();
            while let Some(at) = node {
                set(&words, key_hash(at.key()));
                node = at.next();
            }
            // Only this thread inserts, so the place is empty.
            let _ = self.words.set(words);
        } else {
            return 0;
        }
        size
    }

    /// Whether the key with this hash may be there; `false` is certain.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        let word = self.words.get().and_then(|words| word_of(words, hash));
        word.is_none_or(|word| word.load(Relaxed) & bits(hash) == bits(hash))
    }
}

fn set(words: &[AtomicU64], hash: u64) {
    if let Some(word) = word_of(words, hash) {
        word.fetch_or(bits(hash), Relaxed);
    }
}

#[inline]
fn word_of(words: &[AtomicU64], hash: u64) -> Option<&AtomicU64> {
    words.get((((hash >> 32) * words.len() as u64) >> 32) as usize)
}

#[inline]
fn bits(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
}

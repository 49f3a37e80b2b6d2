//! A Bloom filter in front of the tree.
//!
//! Most keys that are looked up are not in a given memtable, and a search of its tree costs some
//! cache misses. The filter costs one: the upper half of a key's hash selects a word, the lower half
//! three bits in it. It is built once the tree is as large as the filter would be; smaller trees are
//! searched quickly.

use super::tree::Tree;
use crate::coding::key_hash;
use crate::prefetch::prefetch;
use crate::sync::lock_free::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;

/// The filter takes one byte for this many bytes of the memtable: with entries of 130 bytes, 16 bits
/// per key.
const SHARE: usize = 64;

pub(super) struct Filter {
    words: OnceLock<Box<[AtomicU64]>>,
    /// Number of the filter's words; 0 for no filter.
    count: usize,
}

impl Filter {
    /// The filter for a memtable of about this size.
    pub fn sized_for(memtable_bytes: usize) -> Self {
        let count = memtable_bytes / SHARE / size_of::<AtomicU64>();
        Filter { words: OnceLock::new(), count: count.min(u32::MAX as usize) }
    }

    /// Asks for the word of a key with this hash, which is added soon.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let word = self.words.get().and_then(|words| word_of(words, hash));
        word.into_iter().for_each(|word| prefetch(word, size_of::<AtomicU64>()));
    }

    /// Adds a key with this hash that was just inserted into the tree, which takes `bytes`; the caller still
    /// excludes other inserts. Returns the bytes that the filter takes.
    ///
    /// Relaxed stores suffice: readers that must see the entry synchronize with the writer after
    /// this.
    pub fn add(&self, hash: u64, bytes: usize, tree: &Tree) -> usize {
        let size = self.count * size_of::<AtomicU64>();
        if let Some(words) = self.words.get() {
            set(words, hash);
        } else if self.count > 0 && bytes >= size {
            let words: Box<[_]> = (0..self.count).map(|_| AtomicU64::new(0)).collect();
            let mut at = tree.first();
            while let Some(position) = at {
                set(&words, key_hash(position.entry.key()));
                at = tree.next(position);
            }
            // Only this thread inserts, so the cell is empty.
            let _ = self.words.set(words);
        } else {
            return 0;
        }
        size
    }

    /// Whether the key with this hash may be present; if `false`, it is not.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        let word = self.words.get().and_then(|words| word_of(words, hash));
        word.is_none_or(|word| word.load(Relaxed) & bits(hash) == bits(hash))
    }
}

fn set(words: &[AtomicU64], hash: u64) {
    if let Some(word) = word_of(words, hash) {
        // No locked instruction, which would wait for the word: only one thread inserts.
        word.store(word.load(Relaxed) | bits(hash), Relaxed);
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

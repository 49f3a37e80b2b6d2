//! The memtable: the newest entries of a keyspace, sorted, in memory.
//!
//! Writers insert one at a time; readers never wait (`skiplist`), and need not search for most keys
//! that are not there (`filter`). Entries and links lie in an arena (`arena`) that is freed with the
//! memtable: a cursor holds the memtable.
//!
//! A batch may write a key more than once, and its entries share a sequence: the last one replaces
//! those before it, so that no memtable and no table holds two entries of one key and sequence.

mod arena;
mod cursor;
mod filter;
mod skiplist;
#[cfg(test)]
mod tests;

pub use cursor::MemtableCursor;

use crate::entry::{Seq, Tag, check_limits};
use crate::error::Result;
use crate::sync::lock_free::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use filter::Filter;
use skiplist::SkipList;
use std::fmt;
use std::sync::Arc;

/// The least number of entries that a sample is drawn from.
const SAMPLE_KEYS: usize = 512;

/// Entries of one keyspace in memory, ordered by key, then newest first.
///
/// ```
/// use terrane_table::entry::{Kind, Tag};
/// use terrane_table::memtable::Memtable;
///
/// let table = Memtable::new(4 << 20);
/// table.insert(b"k", Tag::new(1, Kind::Put), b"old")?;
/// table.insert(b"k", Tag::new(2, Kind::Put), b"new")?;
/// assert_eq!(table.get(b"k", 1), Some((Tag::new(1, Kind::Put), &b"old"[..])));
/// assert_eq!(table.get(b"k", 9), Some((Tag::new(2, Kind::Put), &b"new"[..])));
/// # Ok::<(), terrane_table::error::Error>(())
/// ```
pub struct Memtable {
    list: SkipList,
    filter: Filter,
    bytes: AtomicUsize,
    entries: AtomicUsize,
    /// `Seq::MAX` while empty.
    first_seq: AtomicU64,
    last_seq: AtomicU64,
}

impl Memtable {
    /// An empty memtable that is to hold about so many bytes: its filter is made for them. It takes
    /// memory with its first entry.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Memtable {
            list: SkipList::new(),
            filter: Filter::of(bytes),
            bytes: AtomicUsize::new(0),
            entries: AtomicUsize::new(0),
            first_seq: AtomicU64::new(Seq::MAX),
            last_seq: AtomicU64::new(0),
        }
    }

    /// Adds an entry, or replaces the one of the same key and sequence, which no reader may see yet.
    /// Sequences may come in any order.
    ///
    /// Refuses a key or value over its limit.
    pub fn insert(&self, key: &[u8], tag: Tag, value: &[u8]) -> Result<()> {
        check_limits(key, value)?;
        self.list.insert(key, tag, value, |bytes, replaced| {
            let filter = self.filter.add(key, bytes, &self.list);
            self.bytes.store(bytes + filter, Relaxed);
            self.first_seq.fetch_min(tag.seq(), Relaxed);
            self.last_seq.fetch_max(tag.seq(), Relaxed);
            self.entries.fetch_add(usize::from(!replaced), Release);
        });
        Ok(())
    }

    /// Whether the key with this [`key_hash`](crate::codec::key_hash) may be in the memtable; `false`
    /// is certain.
    #[inline]
    #[must_use]
    pub fn may_contain(&self, hash: u64) -> bool {
        self.filter.may_contain(hash)
    }

    /// The newest entry of `key` with a sequence of at most `at`: a put's value, or a tombstone.
    #[must_use]
    pub fn get(&self, key: &[u8], at: Seq) -> Option<(Tag, &[u8])> {
        let node = self.list.at_or_after(key, Tag::at(at))?;
        (node.key() == key).then(|| (node.tag(), node.value()))
    }

    /// User keys drawn evenly from the entries, ascending without repetition: some hundreds, or all
    /// where there are fewer.
    #[must_use]
    pub fn sample(&self) -> Vec<Vec<u8>> {
        let mut keys: Vec<_> =
            self.list.sample(SAMPLE_KEYS).iter().map(|node| node.key().to_vec()).collect();
        keys.dedup();
        keys
    }

    /// A cursor over the entries. Entries inserted later may appear in it.
    #[must_use]
    pub fn cursor(self: &Arc<Self>) -> MemtableCursor {
        MemtableCursor::new(Arc::clone(self))
    }

    /// Bytes that the entries, and the filter before them, take in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// The number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries.load(Acquire)
    }

    /// Whether nothing was inserted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries() == 0
    }

    /// The least sequence inserted.
    #[must_use]
    pub fn first_seq(&self) -> Option<Seq> {
        (!self.is_empty()).then(|| self.first_seq.load(Relaxed))
    }

    /// The greatest sequence inserted.
    #[must_use]
    pub fn last_seq(&self) -> Option<Seq> {
        (!self.is_empty()).then(|| self.last_seq.load(Relaxed))
    }
}

/// One without a filter.
impl Default for Memtable {
    fn default() -> Self {
        Self::new(0)
    }
}

impl fmt::Debug for Memtable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memtable")
            .field("bytes", &self.bytes())
            .field("entries", &self.entries())
            .field("first_seq", &self.first_seq())
            .field("last_seq", &self.last_seq())
            .finish()
    }
}

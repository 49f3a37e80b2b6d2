//! The memtable: the newest entries of a keyspace, sorted, in memory.
//!
//! Writers insert one at a time; readers never wait (`tree`), and a filter spares them most
//! searches for absent keys (`filter`). Entries and links are in an arena (`arena`) that is freed with
//! the memtable, so cursors keep the memtable alive.
//!
//! A batch may write a key more than once, and its entries share a sequence number: the last one
//! replaces those before it, so that no memtable and no table has two entries with the same key and
//! sequence number.

mod arena;
mod cursor;
mod filter;
mod node;
mod stored;
#[cfg(test)]
mod tests;
mod tree;

pub use cursor::MemtableCursor;

use crate::coding::key_hash;
use crate::entry::{Kind, Seq, Tag, check_limits};
use crate::error::Result;
use crate::operand::{Function, MergeOperator, Merged, Operand};
use crate::read::{Joined, join};
use crate::sync::lock_free::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use crate::sync::swap::Swap;
use filter::Filter;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use stored::Target;
use terrane_types::range_deletes::RangeDeletes;
use tree::Tree;

/// The smallest number of entries to sample, if there are as many.
const SAMPLE_KEYS: usize = 512;
/// The longest value with which the operand of a merge operator is joined when it is written, in bytes: each join
/// copies it.
const JOINED_BYTES_MAX: usize = 1 << 10;

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
    tree: Tree,
    filter: Filter,
    bytes: AtomicUsize,
    entries: AtomicUsize,
    /// `Seq::MAX` while empty.
    first_seq: AtomicU64,
    last_seq: AtomicU64,
    range_deletes: Swap<RangeDeletes>,
    /// Range deletes that were added, and the bytes that they take.
    deletions: AtomicUsize,
    deletion_bytes: AtomicUsize,
}

impl Memtable {
    /// An empty memtable for about `bytes` bytes, which its filter is sized for. It allocates nothing
    /// until the first insert.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Memtable {
            tree: Tree::new(),
            filter: Filter::sized_for(bytes),
            bytes: AtomicUsize::new(0),
            entries: AtomicUsize::new(0),
            first_seq: AtomicU64::new(Seq::MAX),
            last_seq: AtomicU64::new(0),
            range_deletes: Swap::empty(),
            deletions: AtomicUsize::new(0),
            deletion_bytes: AtomicUsize::new(0),
        }
    }

    /// Inserts an entry, or replaces the one with the same key and sequence number, which must not be
    /// visible to readers yet. Sequence numbers may come in any order.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::ErrorKind::InvalidArgument) for a key or value over its limit.
    pub fn insert(&self, key: &[u8], tag: Tag, value: &[u8]) -> Result<()> {
        check_limits(key, value)?;
        let hash = key_hash(key);
        self.filter.prefetch(hash);
        self.tree.insert(key, tag, value, |bytes, replaced| {
            let filter = self.filter.add(hash, bytes, &self.tree);
            self.bytes.store(bytes + filter, Relaxed);
            self.note(tag.seq());
            self.entries.fetch_add(usize::from(!replaced), Release);
        });
        Ok(())
    }

    /// Inserts a merge with an encoded operand, joined with the newest entry of its key here. A merge with the operator
    /// must be the only operation of its key with this sequence number.
    ///
    /// # Errors
    /// The errors of [`Memtable::insert`].
    pub fn merge(
        &self,
        key: &[u8],
        seq: Seq,
        operand: &[u8],
        operator: Option<&MergeOperator>,
    ) -> Result<()> {
        let Some(operand) = Operand::decode(operand) else { return Ok(()) };
        let merged = Merged { function: Function::from(operand), since: seq };
        let (kind, stored) = match self.joined(key, &merged, operator) {
            Some(Joined::Value(value)) => (Kind::Put, value),
            Some(Joined::Operand(joined)) => (Kind::Merge, joined.encode(seq)),
            None => (Kind::Merge, merged.encode(seq)),
        };
        self.insert(key, Tag::new(seq, kind), &stored)
    }

    /// Inserts a merge with an encoded operand, joined with what its own batch did to the key before, and with nothing
    /// older: a table may have older operands joined with those here.
    ///
    /// # Errors
    /// The errors of [`Memtable::insert`]; a batch whose operations need a merge operator to be joined.
    pub fn merge_apart(&self, key: &[u8], seq: Seq, operand: &[u8]) -> Result<()> {
        let Some(operand) = Operand::decode(operand) else { return Ok(()) };
        let merged = Merged { function: Function::from(operand), since: seq };
        let own = self.get(key, seq).filter(|(tag, _)| tag.seq() == seq);
        if own.is_none() && self.deleted(key, seq) < seq {
            return self.insert(key, Tag::new(seq, Kind::Merge), &merged.encode(seq));
        }
        match join(merged, own, None)? {
            Joined::Value(value) => self.insert(key, Tag::new(seq, Kind::Put), &value),
            Joined::Operand(joined) => {
                self.insert(key, Tag::new(seq, Kind::Merge), &joined.encode(seq))
            }
        }
    }

    /// Returns what the newest entry of a key makes with an operand; `None` if there is none, or it is better left to
    /// readers: the operator would copy long values, panics, or fails.
    fn joined(
        &self,
        key: &[u8],
        merged: &Merged,
        operator: Option<&MergeOperator>,
    ) -> Option<Joined> {
        let deleted = self.deleted(key, merged.since);
        let newest = self.get(key, merged.since).filter(|(tag, _)| tag.seq() >= deleted);
        if newest.is_none() && deleted == 0 {
            return None;
        }
        let join = || join(merged.clone(), newest, operator);
        if matches!(merged.function, Function::Counter(_)) {
            return join().ok();
        }
        if newest.is_some_and(|(_, stored)| stored.len() > JOINED_BYTES_MAX) {
            return None;
        }
        // Its batch is in the log.
        catch_unwind(AssertUnwindSafe(join)).ok()?.ok()
    }

    /// Writers come one at a time.
    fn note(&self, seq: Seq) {
        self.first_seq.store(self.first_seq.load(Relaxed).min(seq), Relaxed);
        self.last_seq.store(self.last_seq.load(Relaxed).max(seq), Relaxed);
    }

    /// Adds range deletes, which hide entries with lower sequence numbers. No insert may be under way.
    pub fn delete_ranges(&self, ranges: &RangeDeletes) {
        let mut range_deletes = self.range_deletes();
        range_deletes.merge(ranges);
        self.deletion_bytes.store(range_deletes.bytes(), Relaxed);
        self.range_deletes.store(Some(Arc::new(range_deletes)));
        self.note(ranges.newest());
        self.deletions.fetch_add(ranges.fragments().len(), Release);
    }

    /// Its range deletes.
    #[must_use]
    pub fn range_deletes(&self) -> RangeDeletes {
        if self.deletions() == 0 {
            return RangeDeletes::default();
        }
        self.range_deletes.load().as_deref().map_or_else(RangeDeletes::default, RangeDeletes::clone)
    }

    /// The number of range deletes that were added.
    #[inline]
    #[must_use]
    pub fn deletions(&self) -> usize {
        self.deletions.load(Acquire)
    }

    /// The sequence number of the newest range delete of a key that a reader at `at` sees; 0 without one.
    #[inline]
    #[must_use]
    pub fn deleted(&self, key: &[u8], at: Seq) -> Seq {
        if self.deletions() == 0 {
            return 0;
        }
        self.range_deletes.load().as_deref().map_or(0, |list| list.newest_at(key, at))
    }

    /// Whether the key with this [`key_hash`] may be in the memtable; if
    /// `false`, it is not.
    #[inline]
    #[must_use]
    pub fn may_contain(&self, hash: u64) -> bool {
        self.filter.may_contain(hash)
    }

    /// The newest entry of `key` at or below sequence number `at`: a value or a tombstone.
    #[cfg_attr(not(target_arch = "wasm32"), inline)]
    #[must_use]
    pub fn get(&self, key: &[u8], at: Seq) -> Option<(Tag, &[u8])> {
        // An empty memtable, as it is once all is flushed, costs no call.
        if self.tree.is_empty() { None } else { self.find(key, at) }
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(never))]
    fn find(&self, key: &[u8], at: Seq) -> Option<(Tag, &[u8])> {
        let entry = self.tree.at_or_after(Target { key, seq: at })?.entry;
        (entry.key() == key).then(|| (entry.tag(), entry.value()))
    }

    /// An even sample of the user keys, ascending and without duplicates: the first, the last, and some
    /// hundreds between them, or all if there are fewer.
    #[must_use]
    pub fn sample(&self) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        self.tree.sample(SAMPLE_KEYS, |entry| {
            if keys.last().is_none_or(|last| last != entry.key()) {
                keys.push(entry.key().to_vec());
            }
        });
        keys
    }

    /// A cursor over the entries, which may also see entries inserted later.
    #[must_use]
    pub fn cursor(self: &Arc<Self>) -> MemtableCursor {
        MemtableCursor::new(Arc::clone(self))
    }

    /// Bytes of memory that the entries, the filter and the range deletes take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed) + self.deletion_bytes.load(Relaxed)
    }

    /// The number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries.load(Acquire)
    }

    /// Whether nothing was inserted or deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries() == 0 && self.deletions() == 0
    }

    /// The smallest sequence number of an entry or a range delete.
    #[must_use]
    pub fn first_seq(&self) -> Option<Seq> {
        (!self.is_empty()).then(|| self.first_seq.load(Relaxed))
    }

    /// The greatest sequence number of an entry or a range delete.
    #[must_use]
    pub fn last_seq(&self) -> Option<Seq> {
        (!self.is_empty()).then(|| self.last_seq.load(Relaxed))
    }
}

/// A memtable without a filter.
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

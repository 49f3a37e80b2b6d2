//! The block cache, shared by all tables of a store: blocks, partitions of indexes and filters, and
//! open tables, under one bound.

use super::block::Block;
use super::cache_shard::Shard;
use super::partition_index::PartitionIndex;
use super::slot::Evict;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use terrane_types::{TableId, sort_by};

/// The most shards: more than the usual number of reader threads. A small cache has fewer, since
/// nothing larger than a shard is cached.
const SHARDS: u64 = 16;
const SHARD_BYTES_MIN: u64 = 256 << 10;
/// The cache's own overhead per block, about.
const OVERHEAD_BYTES: usize = 64;
/// The key of an open table in place of an offset, which no part of a table has.
pub(super) const OPEN_TABLE: u64 = u64::MAX;

/// Caches the parts of tables by table and offset, up to a bound in bytes.
///
/// Blocks are added when they are read, and when they are written while there is room: what was just
/// written is likely to be read. A dropped table's blocks are removed with it.
pub struct BlockCache {
    /// A power of two of them; none in a cache that keeps nothing.
    shards: Vec<RwLock<Shard>>,
}

pub(super) type Key = (TableId, u64);

/// Content of the cache.
pub(super) enum Cached {
    /// A block, and the index that shows it, with its place there.
    Block(Arc<Block>, Option<(Weak<PartitionIndex>, usize)>),
    /// A full slot and its weight in bytes.
    Slot(Arc<dyn Evict>, usize),
}

impl Cached {
    /// Bytes that it takes.
    pub fn weight(&self) -> u64 {
        let bytes = match self {
            Cached::Block(block, _) => block.memory(),
            Cached::Slot(_, bytes) => *bytes,
        };
        (bytes + OVERHEAD_BYTES) as u64
    }

    /// Whether it was used since the last call, without a search of the cache.
    pub fn was_used(&self) -> bool {
        match self {
            Cached::Block(block, _) => block.was_used(),
            Cached::Slot(slot, _) => slot.was_used(),
        }
    }

    /// Hides a block where an index shows it.
    pub fn hide(&mut self) {
        if let Cached::Block(_, shown) = self
            && let Some((index, place)) = shown.take()
            && let Some(index) = index.upgrade()
        {
            index.show(place, None);
        }
    }

    /// Drops it, and empties it if it is a slot.
    pub fn evict(self) {
        match self {
            Cached::Slot(slot, _) => slot.evict(),
            Cached::Block(block, _) => super::spare::keep(block),
        }
    }
}

/// Hashes the two words of a key by multiplying and folding in 64 bits: WebAssembly has no wider
/// multiplication.
#[inline]
pub(super) fn hash((table, offset): Key) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    };
    mix(mix(0, table.0), offset)
}

impl BlockCache {
    /// A cache of at most `bytes` bytes; with 0 nothing is cached.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let shards = 1 << (bytes / SHARD_BYTES_MIN).clamp(1, SHARDS).ilog2();
        let shards = if bytes == 0 { 0 } else { shards };
        let shard = |_| RwLock::new(Shard::new(bytes / shards));
        BlockCache { shards: (0..shards).map(shard).collect() }
    }

    /// Changes the bound, dropping blocks where it shrinks. A cache made with 0 stays without.
    pub fn resize(&self, bytes: u64) {
        for shard in &self.shards {
            write(shard).set_capacity(bytes / self.shards.len() as u64);
        }
    }

    /// Bytes held now.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| read(shard).weight()).sum()
    }

    #[inline]
    pub(super) fn get(&self, table: TableId, offset: u64) -> Option<Arc<Block>> {
        match read(self.shard((table, offset))?).get((table, offset))? {
            Cached::Block(block, _) => Some(Arc::clone(block)),
            Cached::Slot(..) => None,
        }
    }

    /// Shows a block that the cache has at its place in the index of its partition, until it leaves the cache.
    pub(super) fn show(
        &self,
        table: TableId,
        offset: u64,
        index: &Arc<PartitionIndex>,
        place: usize,
    ) {
        if let Some(shard) = self.shard((table, offset)) {
            write(shard).show((table, offset), index, place);
        }
    }

    /// Whether a block of this size fits without an eviction.
    pub(super) fn has_room(&self, table: TableId, offset: u64, bytes: usize) -> bool {
        let needed = (bytes + size_of::<Block>() + OVERHEAD_BYTES) as u64;
        self.shard((table, offset)).is_some_and(|shard| read(shard).has_room(needed))
    }

    /// Removes everything of these tables, which will not be read again, to make room at once. This
    /// scans the whole cache, so that reads need not keep a list of blocks per table; call it for many
    /// tables at a time.
    pub fn remove(&self, mut tables: Vec<TableId>) {
        sort_by(&mut tables, Ord::cmp);
        for shard in self.shards.iter().filter(|_| !tables.is_empty()) {
            write(shard).retain(|(of, _)| tables.binary_search(&of).is_err());
        }
    }

    pub(super) fn insert(&self, table: TableId, offset: u64, block: &Arc<Block>) {
        if let Some(shard) = self.shard((table, offset)) {
            write(shard).insert((table, offset), Cached::Block(Arc::clone(block), None));
        }
    }

    /// Adds a full slot, that of the part at `offset`; empties it if it does not fit.
    pub(super) fn keep(&self, table: TableId, offset: u64, slot: Arc<dyn Evict>, weight: usize) {
        match self.shard((table, offset)) {
            Some(shard) => write(shard).insert((table, offset), Cached::Slot(slot, weight)),
            None => slot.evict(),
        }
    }

    /// By bits of the hash below those that buckets go by.
    #[inline]
    fn shard(&self, key: Key) -> Option<&RwLock<Shard>> {
        self.shards.get((hash(key) >> 32) as usize & self.shards.len().wrapping_sub(1))
    }
}

#[inline]
fn read(shard: &RwLock<Shard>) -> RwLockReadGuard<'_, Shard> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(shard: &RwLock<Shard>) -> RwLockWriteGuard<'_, Shard> {
    shard.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::block_writer::BlockWriter;
    use super::super::slot::Slot;
    use super::*;
    use crate::entry::Tag;

    /// A block that weighs 1 KiB and a little.
    fn block() -> Arc<Block> {
        let mut writer = BlockWriter::new(16);
        writer.add(0, b"key", Tag::at(1), &[7; 1024]);
        Arc::new(Block::decode(writer.finish().to_vec()).unwrap())
    }

    fn full(cache: &BlockCache, table: u64, offset: u64, weight: usize) -> Arc<Slot<u64>> {
        let slot = Slot::empty();
        let keep = |weight| cache.keep(TableId(table), offset, slot.clone(), weight);
        slot.load(|| Ok((offset, weight)), keep).unwrap();
        slot
    }

    #[test]
    fn removing_a_table_removes_its_blocks_and_no_others() {
        let cache = BlockCache::new(1 << 20);
        for table in 1..=4 {
            for offset in 0..4 {
                cache.insert(TableId(table), offset, &block());
            }
        }
        let bytes = cache.bytes();
        cache.remove(vec![TableId(4), TableId(2)]);
        assert_eq!(cache.bytes(), bytes / 2);
        for offset in 0..4 {
            let there = [1, 2, 3, 4].map(|table| cache.get(TableId(table), offset).is_some());
            assert_eq!(there, [true, false, true, false]);
        }
    }

    #[test]
    fn the_cache_stays_within_its_bound_and_empties_evicted_slots() {
        let cache = BlockCache::new(16 << 10);
        let slots: Vec<_> = (0..64).map(|n| full(&cache, 1, n, 1000)).collect();
        assert!((8 << 10..=16 << 10).contains(&cache.bytes()), "{} bytes", cache.bytes());
        cache.resize(4 << 10);
        assert!(cache.bytes() <= 4 << 10);
        // Counted last, since `get` marks a slot as used.
        let full = slots.iter().filter(|slot| slot.get().is_some()).count() as u64;
        assert_eq!(full * (1000 + OVERHEAD_BYTES as u64), cache.bytes());
    }

    #[test]
    fn a_new_bound_is_shared_by_all_shards() {
        let cache = BlockCache::new(4 << 20);
        let fill = || {
            for offset in 0..8000 {
                cache.insert(TableId(1), offset, &block());
            }
            cache.bytes()
        };
        for bound in [4 << 20, 2 << 20, 8 << 20] {
            cache.resize(bound);
            let bytes = fill();
            assert!((bound / 10 * 9..=bound).contains(&bytes), "{bytes} bytes of {bound}");
        }
    }

    #[test]
    fn a_shrunk_cache_keeps_to_its_bound_with_all_slots_used() {
        for kept in [8 << 10, 1 << 10, 0] {
            let cache = BlockCache::new(64 << 10);
            let slots: Vec<_> = (0..48).map(|n| full(&cache, 1, n, 1000)).collect();
            assert!(slots.iter().all(|slot| slot.get().is_some()));
            cache.resize(kept);
            assert!(cache.bytes() <= kept, "{} bytes, not {kept}", cache.bytes());
            let full = slots.iter().filter(|slot| slot.get().is_some()).count() as u64;
            assert_eq!(full * (1000 + OVERHEAD_BYTES as u64), cache.bytes());
        }
    }

    #[test]
    fn a_slot_in_use_outlives_others_that_are_not() {
        let cache = BlockCache::new(16 << 10);
        let before: Vec<_> = (200..300).map(|n| full(&cache, 1, n, 1000)).collect();
        let kept = full(&cache, 1, 0, 1000);
        let others: Vec<_> = (1..200)
            .map(|n| {
                assert!(kept.get().is_some(), "before {n}");
                full(&cache, 1, n, 1000)
            })
            .collect();
        let left = before.iter().chain(&others).filter(|slot| slot.get().is_some()).count();
        assert!(left < 16, "{left} of the others");
    }

    /// The index of two blocks.
    fn index() -> Arc<PartitionIndex> {
        let mut writer = BlockWriter::new(1);
        writer.add(0, b"a", Tag(0), b"");
        writer.add(0, b"b", Tag(0), b"");
        Arc::new(PartitionIndex::new(Block::decode(writer.finish().to_vec()).unwrap()))
    }

    #[test]
    fn a_block_is_shown_for_as_long_as_the_cache_has_it() {
        let cache = BlockCache::new(16 << 10);
        let (before, index) = (index(), index());
        let shown = |index: &PartitionIndex| [0, 1].map(|place| index.load(place).is_some());
        let show = |index| {
            cache.show(TableId(1), 0, index, 0);
            cache.show(TableId(1), 4096, index, 1);
        };
        show(&before);
        assert_eq!(shown(&before), [false, false], "the cache has no block");
        cache.insert(TableId(1), 0, &block());
        cache.insert(TableId(1), 4096, &block());
        show(&before);
        assert_eq!(shown(&before), [true, true]);
        // The index was loaded again.
        cache.show(TableId(1), 0, &index, 0);
        assert_eq!((shown(&before), shown(&index)), ([false, true], [true, false]));
        cache.insert(TableId(1), 0, &block());
        assert_eq!(shown(&index), [false, false], "another block took its place");
        show(&index);
        cache.remove(vec![TableId(1)]);
        assert_eq!((shown(&before), shown(&index)), ([false, false], [false, false]));
        cache.insert(TableId(1), 0, &block());
        show(&index);
        assert_eq!(shown(&index), [true, false]);
        cache.resize(0);
        assert_eq!(shown(&index), [false, false]);
    }

    #[test]
    fn a_block_read_where_it_is_shown_outlives_others() {
        let (cache, index) = (BlockCache::new(16 << 10), index());
        cache.insert(TableId(1), 0, &block());
        cache.show(TableId(1), 0, &index, 0);
        for n in 1..200 {
            index.load(0).unwrap().touch();
            cache.insert(TableId(2), n, &block());
        }
        cache.insert(TableId(1), 4096, &block());
        cache.show(TableId(1), 4096, &index, 1);
        (200..300).for_each(|n| cache.insert(TableId(2), n, &block()));
        assert!(index.load(1).is_none());
    }

    #[test]
    fn every_bit_of_a_hash_is_about_as_often_set_as_not() {
        let mut hashes = std::collections::BTreeSet::new();
        for table in 1..=32 {
            for block in 0..128 {
                hashes.insert(hash((TableId(table), 4096 * block)));
            }
        }
        assert_eq!(hashes.len(), 32 * 128);
        for bit in 0..64 {
            let set = hashes.iter().filter(|hash| *hash >> bit & 1 == 1).count();
            assert!((1800..2300).contains(&set), "bit {bit} in {set} of 4096");
        }
    }

    #[test]
    fn free_room_is_exact_to_the_byte() {
        let cache = BlockCache::new(16 << 10);
        cache.insert(TableId(1), 0, &block());
        let most = (16 << 10) - cache.bytes() as usize - size_of::<Block>() - OVERHEAD_BYTES;
        let has_room = |bytes| cache.has_room(TableId(1), 4096, bytes);
        assert!(has_room(most) && !has_room(most + 1));
    }

    #[test]
    fn a_cache_of_no_bytes_keeps_nothing() {
        let cache = BlockCache::new(0);
        cache.insert(TableId(1), 0, &block());
        assert!(cache.get(TableId(1), 0).is_none() && !cache.has_room(TableId(1), 0, 0));
        assert!(full(&cache, 1, 1, 10).get().is_none());
        assert_eq!(cache.bytes(), 0);
    }
}

//! The cache of blocks that all tables of a store share.

use super::block::Block;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use terrane_policy::TableId;

/// Shards: more than the threads that commonly read at once.
const SHARDS: usize = 16;
/// What a block is guessed to weigh, to size the cache's own tables.
const TYPICAL_BLOCK_BYTES: u64 = 4096;
/// What the cache itself spends on a block, about.
const OVERHEAD_BYTES: usize = 64;

/// Blocks by table and offset, up to a bound in bytes.
///
/// Blocks come in as they are read, and as they are written while there is room: what was just
/// written is likely to be read. Those of a table that is dropped go with it.
pub struct BlockCache {
    blocks: Option<Blocks>,
}

type Key = (TableId, u64);
type Blocks = Cache<Key, Arc<Block>, Bytes, BuildHasherDefault<Mix>, Life>;
type Life = DefaultLifecycle<Key, Arc<Block>>;

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Arc<Block>> for Bytes {
    fn weight(&self, _: &Key, block: &Arc<Block>) -> u64 {
        (block.memory() + OVERHEAD_BYTES) as u64
    }
}

/// Hashes the two words of a key by multiplying and folding, in 64 bits: WebAssembly has no wider
/// product.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(crate::codec::checksum(bytes, 0));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.0 = mixed ^ (mixed >> 32);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

impl BlockCache {
    /// A cache of at most about `bytes` bytes; with 0 nothing is cached.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let options = OptionsBuilder::new()
            .shards(SHARDS)
            .weight_capacity(bytes)
            .estimated_items_capacity((bytes / TYPICAL_BLOCK_BYTES) as usize)
            .build();
        let options = options.ok().filter(|_| bytes > 0);
        BlockCache {
            blocks: options
                .map(|o| Cache::with_options(o, Bytes, Default::default(), Life::default())),
        }
    }

    /// Changes the bound, dropping blocks where it shrinks. A cache made with 0 stays without.
    pub fn resize(&self, bytes: u64) {
        if let Some(blocks) = &self.blocks {
            blocks.set_capacity(bytes);
        }
    }

    /// Bytes held now.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blocks.as_ref().map_or(0, Cache::weight)
    }

    #[inline]
    pub(super) fn get(&self, table: TableId, offset: u64) -> Option<Arc<Block>> {
        self.blocks.as_ref()?.get(&(table, offset))
    }

    /// Whether a block of so many bytes fits beside those that are here.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let needed = (bytes + size_of::<Block>() + OVERHEAD_BYTES) as u64;
        self.blocks.as_ref().is_some_and(|blocks| blocks.weight() + needed <= blocks.capacity())
    }

    pub(super) fn remove(&self, table: TableId, offset: u64) {
        if let Some(blocks) = &self.blocks {
            blocks.remove(&(table, offset));
        }
    }

    pub(super) fn insert(&self, table: TableId, offset: u64, block: &Arc<Block>) {
        if let Some(blocks) = &self.blocks {
            blocks.insert((table, offset), Arc::clone(block));
        }
    }
}

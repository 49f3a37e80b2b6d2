//! The index of a partition in memory. Natively it also shows blocks that the cache holds: a get that has found the
//! place of its block there needs no search of the cache (`get_peeked`).
//!
//! 1. A block that is found in the cache is shown at its place, and the cache notes where.
//! 2. A block that leaves the cache is hidden first. Both happen under the lock of its shard.
//! 3. An index that is loaded again shows nothing at first.

use super::block::Block;
use crate::sync::swap::Swap;
#[cfg(not(target_arch = "wasm32"))]
use crate::sync::swap::{Pin, Pinned};
use std::ops::Deref;
use std::sync::Arc;

/// The index of a partition.
pub(super) struct PartitionIndex {
    index: Block,
    /// The blocks that are shown, by their places.
    shown: Box<[Swap<Block>]>,
}

impl PartitionIndex {
    /// Returns an index that shows no block.
    pub fn new(index: Block) -> Self {
        let places = if cfg!(target_arch = "wasm32") { 0 } else { index.restarts().len() };
        let shown = (0..places).map(|_| Swap::empty()).collect();
        PartitionIndex { index, shown }
    }

    /// Returns the index alone.
    pub fn into_block(self) -> Block {
        self.index
    }

    /// Returns the bytes held in memory.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.index.memory() + size_of_val(&*self.shown)
    }

    /// Borrows the block that is shown at a place, if there is one, for as long as this thread stays pinned.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub fn shown<'p>(&'p self, place: usize, pinned: &'p Pinned) -> Option<&'p Block> {
        self.shown.get(place)?.peek(pinned)
    }

    /// Asks for the block that is shown at a place, which is read soon.
    pub fn prefetch(&self, place: usize) {
        #[cfg(not(target_arch = "wasm32"))]
        self.shown.get(place).iter().for_each(|shown| shown.prefetch());
        let _ = place;
    }

    /// Asks for what a scan reads after the block at a place: the entries of the next block, and the one after that.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn prefetch_after(&self, place: usize) {
        if let Some(next) = self.shown(place + 1, Pin::default().pinned()) {
            next.prefetch_start();
        }
        self.prefetch(place + 2);
    }

    /// Returns the block that is shown at a place, if there is one.
    pub fn load(&self, place: usize) -> Option<Arc<Block>> {
        self.shown.get(place)?.load_full()
    }

    /// Shows a block, or none.
    pub fn show(&self, place: usize, block: Option<Arc<Block>>) {
        if let Some(shown) = self.shown.get(place) {
            shown.store(block);
        }
    }
}

impl Deref for PartitionIndex {
    type Target = Block;

    fn deref(&self) -> &Block {
        &self.index
    }
}

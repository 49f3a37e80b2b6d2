//! The block cache: least recently used blocks are evicted first.

use std::collections::HashMap;

/// No slot.
const NONE: usize = usize::MAX;

struct Node {
    key: (u64, u64),
    newer: usize,
    older: usize,
}

/// The blocks in memory. A block is identified by its table and its index there. Blocks of removed
/// tables stay until they are evicted, or are removed.
pub(crate) struct Cache {
    capacity: usize,
    slots: HashMap<(u64, u64), usize>,
    nodes: Vec<Node>,
    /// Slots of blocks that were removed.
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
}

impl Cache {
    /// A cache of this many blocks.
    pub(crate) fn new(capacity: u64) -> Self {
        let (slots, nodes, free) = (HashMap::new(), Vec::new(), Vec::new());
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        Cache { capacity, slots, nodes, free, newest: NONE, oldest: NONE }
    }

    /// Whether a block is in memory.
    pub(crate) fn holds(&self, table: u64, block: u64) -> bool {
        self.slots.contains_key(&(table, block))
    }

    /// Reads a block, which is cached afterwards; returns whether it was a hit.
    pub(crate) fn read(&mut self, table: u64, block: u64) -> bool {
        if self.capacity == 0 {
            return false;
        }
        let key = (table, block);
        if let Some(&slot) = self.slots.get(&key) {
            self.unlink(slot);
            self.link(slot);
            return true;
        }
        let slot = if let Some(slot) = self.free.pop() {
            if let Some(node) = self.nodes.get_mut(slot) {
                node.key = key;
            }
            slot
        } else if self.nodes.len() < self.capacity {
            self.nodes.push(Node { key, newer: NONE, older: NONE });
            self.nodes.len() - 1
        } else {
            let slot = self.oldest;
            self.unlink(slot);
            if let Some(node) = self.nodes.get_mut(slot) {
                self.slots.remove(&std::mem::replace(&mut node.key, key));
            }
            slot
        };
        self.slots.insert(key, slot);
        self.link(slot);
        false
    }

    /// Removes a block, if it is in memory.
    pub(crate) fn remove(&mut self, table: u64, block: u64) {
        if let Some(slot) = self.slots.remove(&(table, block)) {
            self.unlink(slot);
            self.free.push(slot);
        }
    }

    /// Unlinks a node.
    fn unlink(&mut self, slot: usize) {
        let Some(&Node { newer, older, .. }) = self.nodes.get(slot) else { return };
        match self.nodes.get_mut(newer) {
            Some(node) => node.older = older,
            None => self.newest = older,
        }
        match self.nodes.get_mut(older) {
            Some(node) => node.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Links a node as the most recently used.
    fn link(&mut self, slot: usize) {
        let older = std::mem::replace(&mut self.newest, slot);
        match self.nodes.get_mut(older) {
            Some(node) => node.newer = slot,
            None => self.oldest = slot,
        }
        if let Some(node) = self.nodes.get_mut(slot) {
            (node.newer, node.older) = (NONE, older);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_the_blocks_read_last(
            capacity in 0u64..6,
            reads in prop::collection::vec((0u64..2, 0u64..5, prop::bool::weighted(0.2)), 0..80),
        ) {
            let mut cache = Cache::new(capacity);
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (table, block, is_removed) in reads {
                let key = (table, block);
                let there = held.contains(&key);
                held.retain(|k| *k != key);
                prop_assert_eq!(cache.holds(table, block), there);
                if is_removed {
                    cache.remove(table, block);
                } else {
                    held.insert(0, key);
                    held.truncate(capacity as usize);
                    prop_assert_eq!(cache.read(table, block), there);
                }
            }
        }
    }
}

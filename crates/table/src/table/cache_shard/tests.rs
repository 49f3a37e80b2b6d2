//! Blocks that a shard keeps or evicts.

use super::super::block::Block;
use super::super::block_writer::BlockWriter;
use super::super::slot::Evict;
use super::*;
use crate::entry::Tag;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use terrane_types::TableId;

fn block(bytes: usize) -> Cached {
    let mut writer = BlockWriter::new(16);
    writer.add(0, b"key", Tag::at(1), &vec![7; bytes]);
    Cached::Block(Arc::new(Block::decode(writer.finish().to_vec()).unwrap()), None)
}

fn key(n: u64) -> Key {
    (TableId(n % 7 + 1), n / 7)
}

/// Those on probation, then the others, each from the oldest to the newest.
fn held(shard: &Shard) -> Vec<Key> {
    let mut held = Vec::new();
    for mut at in [shard.probation.oldest, shard.main.oldest] {
        while let Some(entry) = shard.entry(at) {
            held.push(entry.key);
            at = entry.newer;
        }
    }
    held
}

/// Returns a shard with room for `blocks` blocks, which holds those from 0 on.
fn full(blocks: u64) -> Shard {
    let mut shard = Shard::new(blocks * block(100).weight());
    for n in 0..blocks {
        shard.insert(key(n), block(100));
    }
    shard
}

#[test]
fn what_is_read_once_drops_nothing_but_what_is_on_probation() {
    let mut shard = full(8);
    for n in 8..100 {
        shard.insert(key(n), block(100));
    }
    assert_eq!(held(&shard), [98, 99, 0, 1, 2, 3, 4, 5].map(key));
}

#[test]
fn a_block_used_on_probation_replaces_the_oldest_unused_one() {
    let mut shard = full(8);
    assert_eq!(held(&shard), [6, 7, 0, 1, 2, 3, 4, 5].map(key));
    for used in [6, 0, 2] {
        assert!(shard.get(key(used)).is_some());
    }
    // 6 joins the others. 0 was used, so 1 goes; the hand stays there.
    shard.insert(key(8), block(100));
    assert_eq!(held(&shard), [7, 8, 0, 2, 3, 4, 5, 6].map(key));
    // 2 was used, so 3 goes.
    assert!(shard.get(key(7)).is_some());
    shard.insert(key(9), block(100));
    assert_eq!(held(&shard), [8, 9, 0, 2, 4, 5, 6, 7].map(key));
    // The others were all used but 8, which joins them last.
    for used in [4, 5, 6, 7, 8] {
        assert!(shard.get(key(used)).is_some());
    }
    shard.insert(key(10), block(100));
    assert_eq!(held(&shard), [9, 10, 0, 2, 4, 5, 6, 7].map(key));
    // Past the newest the hand starts again, where nobody asked for 0.
    assert!(shard.get(key(9)).is_some());
    shard.insert(key(11), block(100));
    assert_eq!(held(&shard), [10, 11, 2, 4, 5, 6, 7, 9].map(key));
}

#[test]
fn what_is_removed_moves_the_hand_only_where_it_points() {
    for (removed, evicted) in [(2, 3), (4, 2)] {
        let mut shard = full(8);
        // 0 is passed, and 1 goes: the hand is at 2.
        assert!(shard.get(key(6)).is_some() && shard.get(key(0)).is_some());
        shard.insert(key(8), block(100));
        shard.retain(|of| of != key(removed));
        shard.insert(key(9), block(100));
        assert!(shard.get(key(7)).is_some());
        let before = held(&shard);
        shard.insert(key(10), block(100));
        let gone: Vec<_> = before.into_iter().filter(|of| !held(&shard).contains(of)).collect();
        assert_eq!(gone, [key(evicted)]);
    }
}

#[test]
fn what_is_always_in_use_is_asked_twice_and_then_evicted() {
    #[derive(Default)]
    struct InUse {
        asked: AtomicU32,
        evicted: AtomicBool,
    }
    impl Evict for InUse {
        fn was_used(&self) -> bool {
            self.asked.fetch_add(1, Ordering::Relaxed);
            true
        }
        fn evict(&self) {
            self.evicted.store(true, Ordering::Relaxed);
        }
    }
    let mut shard = Shard::new(1 << 20);
    let slots: [Arc<InUse>; 5] = Default::default();
    for (n, slot) in (0..).zip(&slots) {
        shard.insert(key(n), Cached::Slot(slot.clone(), 100));
    }
    shard.set_capacity(0);
    for slot in &slots {
        assert!(slot.evicted.load(Ordering::Relaxed));
        // The third time nobody minds.
        assert_eq!(slot.asked.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn keys_are_spread_over_at_least_a_bucket_for_each_entry() {
    let mut shard = Shard::new(u64::MAX);
    for n in 0..64 {
        shard.insert(key(n), block(100));
        assert_eq!(shard.buckets.len(), shard.entries.len().next_power_of_two());
    }
    let taken = shard.buckets.iter().filter(|first| **first != NONE).count();
    assert!(taken > 32, "{taken} of 64");
}

#[test]
fn a_loop_over_more_than_the_shard_is_served_by_it_in_part() {
    let mut shard = full(64);
    let mut hits = 0;
    for n in (0..128).cycle().take(1280) {
        match shard.get(key(n)) {
            Some(_) => hits += 1,
            None => shard.insert(key(n), block(100)),
        }
    }
    assert!(hits > 10 * 40, "{hits} of 1280");
}

#[test]
fn a_shard_holds_what_a_map_would_within_its_bound() {
    let mut shard = Shard::new(40_000);
    let mut weights: HashMap<Key, u64> = HashMap::new();
    let mut state = 7u64;
    for round in 0..20_000u64 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
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
fn a_block_larger_than_the_shard_evicts_nothing_else() {
    let mut shard = Shard::new(1000);
    shard.insert(key(1), block(100));
    shard.insert(key(2), block(2000));
    assert_eq!(held(&shard), [key(1)]);
    assert_eq!(held(&full(1)), [key(0)]);
}

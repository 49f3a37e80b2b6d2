use super::*;
use crate::cursor::Cursor;
use crate::entry::{Kind, compare};
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;

/// Fewer steps where every access is interpreted.
const SCALE: usize = if cfg!(miri) { 1 } else { 40 };

type Entry = (Vec<u8>, Tag, Vec<u8>);

/// Keys from few bytes and few starts, so that versions and common prefixes are frequent.
fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let start = prop_oneof![Just(""), Just("user:0"), Just("user:00001")];
    let rest = prop::collection::vec(prop_oneof![0u8..3, any::<u8>()], 0..4);
    let key = (start, rest).prop_map(|(start, rest)| [start.as_bytes(), &rest].concat());
    let value = prop::collection::vec(any::<u8>(), 0..40);
    prop::collection::vec((key, any::<bool>(), value), 0..10 * SCALE).prop_shuffle().prop_map(|v| {
        let mut seq = 0;
        v.into_iter()
            .map(|(key, put, value)| {
                seq += 1;
                let kind = if put { Kind::Put } else { Kind::Delete };
                (key, Tag::new(seq, kind), value)
            })
            .collect()
    })
}

fn filled(entries: &[Entry]) -> Arc<Memtable> {
    let table = Arc::new(Memtable::default());
    for (key, tag, value) in entries {
        table.insert(key, *tag, value).unwrap();
    }
    table
}

fn here(cursor: &MemtableCursor) -> Option<Entry> {
    cursor.valid().then(|| (cursor.key().to_vec(), cursor.tag(), cursor.value().to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 96 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_memtable_iterates_like_a_sorted_vector(
        entries in entries(),
        probes in prop::collection::vec((prop::collection::vec(0u8..4, 0..4), 0u64..400), 1..10),
    ) {
        let table = filled(&entries);
        let mut sorted = entries.clone();
        sorted.sort_by(|a, b| compare(&a.0, a.1, &b.0, b.1));

        let mut cursor = table.cursor();
        prop_assert!(!cursor.valid() && cursor.key().is_empty() && cursor.tag() == Tag(0));
        cursor.seek_first().unwrap();
        for entry in &sorted {
            prop_assert_eq!(here(&cursor), Some(entry.clone()));
            cursor.next().unwrap();
        }
        prop_assert!(!cursor.valid());
        cursor.seek_last().unwrap();
        for entry in sorted.iter().rev() {
            prop_assert_eq!(here(&cursor), Some(entry.clone()));
            cursor.prev().unwrap();
        }
        prop_assert!(!cursor.valid());

        for (key, seq) in &probes {
            let tag = Tag::at(*seq);
            let place = sorted.partition_point(|e| compare(&e.0, e.1, key, tag).is_lt());
            cursor.seek(key, tag).unwrap();
            prop_assert_eq!(here(&cursor), sorted.get(place).cloned());
            cursor.seek_before(key, tag).unwrap();
            let before = place.checked_sub(1).and_then(|i| sorted.get(i)).cloned();
            prop_assert_eq!(here(&cursor), before);
            let newest = sorted.get(place).filter(|e| e.0 == *key);
            prop_assert_eq!(table.get(key, *seq), newest.map(|e| (e.1, &e.2[..])));
        }

        prop_assert_eq!(table.entries(), entries.len());
        prop_assert_eq!(table.first_seq(), entries.first().map(|e| e.1.seq()));
        prop_assert_eq!(table.last_seq(), entries.last().map(|e| e.1.seq()));
        let content: usize = entries.iter().map(|e| e.0.len() + e.2.len()).sum();
        prop_assert!(table.bytes() >= content);
    }

    #[test]
    fn the_last_entry_of_a_key_and_sequence_replaces_those_before(
        batches in prop::collection::vec(
            prop::collection::vec((0u8..6, any::<bool>(), any::<u8>()), 1..12), 1..=SCALE,
        ),
    ) {
        let table = Arc::new(Memtable::default());
        let mut model = std::collections::BTreeMap::new();
        for (seq, batch) in (1..).zip(&batches) {
            for (key, put, value) in batch {
                let tag = Tag::new(seq, if *put { Kind::Put } else { Kind::Delete });
                table.insert(&[*key], tag, &[*value]).unwrap();
                model.insert((*key, std::cmp::Reverse(seq)), (tag, *value));
            }
        }
        prop_assert_eq!(table.entries(), model.len());
        let expected: Vec<Entry> =
            model.iter().map(|((key, _), (tag, value))| (vec![*key], *tag, vec![*value])).collect();
        let mut cursor = table.cursor();
        cursor.seek_first().unwrap();
        for entry in &expected {
            prop_assert_eq!(here(&cursor), Some(entry.clone()));
            cursor.next().unwrap();
        }
        cursor.seek_last().unwrap();
        for entry in expected.iter().rev() {
            prop_assert_eq!(here(&cursor), Some(entry.clone()));
            cursor.prev().unwrap();
        }
        prop_assert!(!cursor.valid());
        for (key, tag, value) in &expected {
            prop_assert_eq!(table.get(key, tag.seq()), Some((*tag, &value[..])));
        }
    }
}

#[test]
fn large_entries_and_either_key_order_are_kept() {
    let value = |i: usize| vec![i as u8; if i.is_multiple_of(7) { 20_000 } else { i % 50 }];
    let n = 5 * SCALE;
    for reverse in [false, true] {
        let table = Arc::new(Memtable::default());
        for step in 0..n {
            let i = if reverse { n - 1 - step } else { step };
            let tag = Tag::new(1 + step as u64, Kind::Put);
            table.insert(format!("{i:05}").as_bytes(), tag, &value(i)).unwrap();
        }
        let mut cursor = table.cursor();
        cursor.seek_first().unwrap();
        for i in 0..n {
            assert_eq!(cursor.key(), format!("{i:05}").as_bytes());
            assert_eq!(cursor.value(), value(i));
            cursor.next().unwrap();
        }
        assert!(!cursor.valid());
    }
}

#[test]
fn a_key_or_value_over_its_limit_is_refused() {
    let table = Memtable::default();
    let tag = Tag::new(1, Kind::Put);
    assert!(table.insert(&vec![0; crate::entry::MAX_KEY_BYTES + 1], tag, b"").is_err());
    assert!(table.insert(b"", tag, &vec![0; crate::entry::MAX_VALUE_BYTES + 1]).is_err());
    assert!(table.is_empty());
    table.insert(&vec![7; crate::entry::MAX_KEY_BYTES], tag, b"v").unwrap();
    assert_eq!(table.get(&vec![7; crate::entry::MAX_KEY_BYTES], 1), Some((tag, &b"v"[..])));
}

/// One thread inserts, in an order that scatters the keys, and publishes each sequence; readers go
/// over the tree in both directions at the same time.
#[test]
fn readers_see_a_sorted_tree_and_everything_published() {
    let total = 100 * SCALE as u64 + 1;
    let key = |seq: u64| (seq * 7919 % total).to_be_bytes();
    let table = Arc::new(Memtable::default());
    let published = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for seq in 1..=total {
                table.insert(&key(seq), Tag::new(seq, Kind::Put), &seq.to_le_bytes()).unwrap();
                published.store(seq, Release);
            }
            done.store(true, Release);
        });
        scope.spawn(|| {
            let mut number = 0;
            while !done.load(Acquire) {
                let seen = published.load(Acquire);
                number = (number * 31 + 7) % seen.max(1);
                let found = table.get(&key(number + 1), seen).map(|(tag, _)| tag.seq());
                assert_eq!(found, (seen > 0).then_some(number + 1), "of {seen}");
            }
        });
        for forward in [true, false, true] {
            let (table, published, done) = (&table, &published, &done);
            scope.spawn(move || {
                let mut last_round = false;
                while !last_round {
                    last_round = done.load(Acquire);
                    let seen = published.load(Acquire);
                    let mut cursor = table.cursor();
                    let mut last: Option<(Vec<u8>, Tag)> = None;
                    let mut old = 0;
                    if forward { cursor.seek_first() } else { cursor.seek_last() }.unwrap();
                    while cursor.valid() {
                        let (k, tag) = (cursor.key(), cursor.tag());
                        assert_eq!(cursor.value(), tag.seq().to_le_bytes());
                        assert_eq!(k, key(tag.seq()));
                        if let Some((before, t)) = &last {
                            assert_eq!(compare(before, *t, k, tag).is_lt(), forward);
                        }
                        old += u64::from(tag.seq() <= seen);
                        last = Some((k.to_vec(), tag));
                        if forward { cursor.next() } else { cursor.prev() }.unwrap();
                    }
                    assert_eq!(old, seen);
                    if seen > 0 {
                        let value = seen.to_le_bytes();
                        assert_eq!(
                            table.get(&key(seen), seen),
                            Some((Tag::new(seen, Kind::Put), &value[..]))
                        );
                    }
                }
            });
        }
    });
    assert_eq!(table.entries() as u64, total);
}

#[test]
fn a_filter_lets_every_inserted_key_pass_and_few_others() {
    let memtable = Memtable::new(256 << 10);
    let key = |n: u32| n.to_be_bytes();
    for n in 0..2000 {
        memtable.insert(&key(n), Tag::new(1, Kind::Put), &[7; 90]).unwrap();
        assert!(memtable.may_contain(crate::table::key_hash(&key(n))), "{n}");
    }
    let passes = |n: &u32| memtable.may_contain(crate::table::key_hash(&key(*n)));
    assert!((0..2000).all(|n| passes(&n)), "a key from before the filter was made is lost");
    // 16 bits a key, of which 3 are set: the chance of three hits is below 1 in 100.
    let passed = (2000..12_000).filter(passes).count();
    assert!(passed < 100, "{passed}");
    let plain = Memtable::default();
    plain.insert(b"a", Tag::new(1, Kind::Put), b"").unwrap();
    assert!(plain.may_contain(crate::table::key_hash(b"b")), "without a filter all may be there");
}

#[test]
fn memory_is_that_of_the_entries_and_of_a_filter_once_large() {
    let (plain, filtered) = (Memtable::default(), Memtable::new(64 << 10));
    let filter = (64 << 10) / 64;
    for n in 0..100u32 {
        let tag = Tag::new(1, Kind::Put);
        for memtable in [&plain, &filtered] {
            memtable.insert(&n.to_be_bytes(), tag, &[7; 20]).unwrap();
        }
        let built = if plain.bytes() >= filter { filter } else { 0 };
        assert_eq!(filtered.bytes(), plain.bytes() + built);
        // A header of two words each, and a leaf; of keys in order, full leaves and few others.
        let entries = (n as usize + 1) * (4 + 20 + 16);
        let most = 2 * entries + 2 * size_of::<node::Node>();
        let least = entries + size_of::<node::Node>();
        assert!((least..=most).contains(&plain.bytes()), "{} bytes", plain.bytes());
    }
    assert!(plain.bytes() > 2 * filter);
}

#[test]
fn no_order_of_keys_makes_nodes_take_much_more_than_entries() {
    let n = 250 * SCALE as u64;
    // Ascending, descending, and a key whose versions, each before the last, follow a full leaf.
    let orders: [&dyn Fn(u64) -> u64; 3] = [&|i| i, &|i| n - i, &|i| i.min(32)];
    for (number, order) in orders.into_iter().enumerate() {
        let table = Memtable::default();
        for i in 0..n {
            table.insert(&order(i).to_be_bytes(), Tag::new(i + 1, Kind::Put), b"").unwrap();
        }
        let each = table.bytes() / n as usize;
        assert!(each < 24 + 80, "{each} bytes for an entry of 24 in order {number}");
    }
}

#[test]
fn a_sample_has_all_keys_of_a_few_and_both_ends_of_many() {
    let memtable = Memtable::default();
    let key = |n: u32| n.to_be_bytes().to_vec();
    assert!(memtable.sample().is_empty());
    let mut seq = 0;
    for (more, least, most) in [(40, 40, 40), (20_000, SAMPLE_KEYS, 8 * SAMPLE_KEYS)] {
        for n in 0..more {
            seq += 1;
            memtable.insert(&key(n), Tag::new(seq, Kind::Put), b"").unwrap();
        }
        let sample = memtable.sample();
        assert!((least..=most).contains(&sample.len()), "{} keys", sample.len());
        assert!(sample.is_sorted_by(|a, b| a < b));
        assert!(sample.iter().all(|found| (0..more).any(|n| *found == key(n))));
        // What a flush spans.
        assert_eq!([sample.first(), sample.last()], [Some(&key(0)), Some(&key(more - 1))]);
    }
}

use crate::db::Keyspace;
use crate::executor::SliceExecutor;
use crate::storage::Directory;
use crate::storage::vfs::MemoryVfs;
use crate::{Db, Durability::Buffered, KeyRange, Options};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use terrane_table::read::Step;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff)], 0..4)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        2 => key().prop_map(Bound::Included),
        2 => key().prop_map(Bound::Excluded),
    ]
}

/// A put of a key, its delete, or a flush.
fn operations() -> impl Strategy<Value = Vec<(Vec<u8>, u8)>> {
    prop::collection::vec((key(), 0u8..8), 0..60)
}

fn filled(operations: &[(Vec<u8>, u8)]) -> (Keyspace, Map) {
    let storage = Directory::open(Arc::new(MemoryVfs::default())).unwrap();
    let executor = Arc::new(SliceExecutor::default());
    let db = Db::open_storage(Arc::new(storage), Options::default(), executor).unwrap();
    let (keyspace, mut map) = (db.default_keyspace(), Map::new());
    for (at, (key, what)) in operations.iter().enumerate() {
        match what {
            0 => db.flush().unwrap(),
            1 | 2 => {
                keyspace.delete(key, Buffered).unwrap();
                map.remove(key);
            }
            _ => {
                keyspace.put(key, at.to_string(), Buffered).unwrap();
                map.insert(key.clone(), at.to_string().into_bytes());
            }
        }
    }
    (keyspace, map)
}

/// The rows of a map in a range, of which a map of the standard library panics for some empty ones.
fn rows(map: &Map, range: &KeyRange) -> Vec<(Vec<u8>, Vec<u8>)> {
    let empty = match (&range.from, &range.to) {
        (Bound::Excluded(from), Bound::Excluded(to)) => from >= to,
        (
            Bound::Included(from) | Bound::Excluded(from),
            Bound::Included(to) | Bound::Excluded(to),
        ) => from > to,
        _ => false,
    };
    if empty {
        return Vec::new();
    }
    map.range::<[u8], _>(range.clone()).map(|(k, v)| (k.clone(), v.clone())).collect()
}

proptest! {
    #[test]
    fn a_scan_taken_from_both_ends_shows_what_a_sorted_map_does(
        operations in operations(),
        bounds in (bound(), bound()),
        turns in prop::collection::vec(any::<bool>(), 0..16),
    ) {
        let (keyspace, map) = filled(&operations);
        let range = KeyRange::from(bounds.clone());
        let mut expected = rows(&map, &range).into_iter();
        prop_assert!(keyspace.scan(&range).unwrap().map(Result::unwrap).eq(expected.clone()));
        let backward = keyspace.scan(&range).unwrap().rev();
        prop_assert!(backward.map(Result::unwrap).eq(expected.clone().rev()));

        let mut scan = keyspace.scan(bounds).unwrap();
        for forward in turns {
            let shown = if forward { scan.next() } else { scan.next_back() };
            let wanted = if forward { expected.next() } else { expected.next_back() };
            prop_assert_eq!(shown.transpose().unwrap(), wanted);
        }
        prop_assert!(scan.map(Result::unwrap).eq(expected));
    }

    #[test]
    fn a_scan_of_a_prefix_shows_the_keys_that_begin_with_it(
        operations in operations(),
        prefix in key(),
    ) {
        let (keyspace, mut map) = filled(&operations);
        map.retain(|key, _| key.starts_with(&prefix));
        let scan = keyspace.scan(KeyRange::prefix(prefix)).unwrap();
        prop_assert!(scan.map(Result::unwrap).eq(map));
    }
}

#[test]
fn a_scan_reads_no_table_whose_keys_it_does_not_reach() {
    let storage = Directory::open(Arc::new(MemoryVfs::default())).unwrap();
    let executor = Arc::new(SliceExecutor::default());
    let db = Db::open_storage(Arc::new(storage), Options::default(), executor).unwrap();
    let keyspace = db.default_keyspace();
    let write = |keys: std::ops::Range<u16>| {
        for key in keys {
            keyspace.put(key.to_be_bytes(), [0; 40], Buffered).unwrap();
        }
        db.flush().unwrap();
    };
    write(0..3000);
    keyspace.compact_range(..).unwrap();
    // A run each, above that of all keys.
    [0..1000, 1000..2000, 2000..3000].into_iter().for_each(write);
    let shape = keyspace.shape().unwrap();
    assert_eq!(shape.runs().len(), 4);
    let mut left_alone = 0;
    for from in (0..3000u16).step_by(50) {
        let row = from.to_be_bytes().to_vec();
        let trace = keyspace.trace_seek(KeyRange::from(row.clone()..), false).unwrap();
        let mut smallest = &Vec::new();
        for step in trace.steps {
            match step {
                Step::Table { table } => {
                    smallest = &shape.table(table).unwrap().table.smallest;
                    left_alone += usize::from(*smallest > row);
                }
                Step::Block { .. } => assert!(*smallest <= row),
                _ => {}
            }
        }
        assert_eq!(trace.counts.blocks, 2);
    }
    assert_eq!(left_alone, 60, "two for each of the first keys, and one for each of the next");
}

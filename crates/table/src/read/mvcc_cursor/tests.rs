use super::*;
use crate::memtable::Memtable;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Versions of few keys: key, whether it is a put, and the memtable that has it.
fn versions() -> impl Strategy<Value = Vec<(u8, bool, usize)>> {
    prop::collection::vec((0u8..6, prop::bool::weighted(0.7), 0usize..3), 0..30)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        Just(Bound::Unbounded),
        (0u8..7).prop_map(|key| Bound::Included(vec![key])),
        (0u8..7).prop_map(|key| Bound::Excluded(vec![key])),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Next,
    Prev,
    Seek(u8),
}

/// The position of a cursor: not positioned, on a pair, or at a sought key.
#[derive(Clone, Copy, Debug)]
enum Place {
    Fresh,
    Shown(usize),
    Sought(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Next),
        4 => Just(Step::Prev),
        1 => (0u8..7).prop_map(Step::Seek),
    ];
    prop::collection::vec(step, 0..24)
}

proptest! {
    #[test]
    fn an_mvcc_cursor_iterates_like_a_sorted_map(
        versions in versions(),
        (from, to) in (bound(), bound()),
        seq in 0u64..32,
        steps in steps(),
    ) {
        let tables = [0; 3].map(|_| Arc::new(Memtable::default()));
        let mut live = BTreeMap::new();
        let range = Range { from, to };
        for (at, (key, put, table)) in (1u64..).zip(versions) {
            let kind = if put { Kind::Put } else { Kind::Delete };
            let value = if put { at.to_string().into_bytes() } else { Vec::new() };
            tables[table].insert(&[key], Tag::new(at, kind), &value).unwrap();
            if at > seq || !range.above_start(&[key]) || !range.below_end(&[key]) {
                continue;
            }
            if put { live.insert(vec![key], value) } else { live.remove(&vec![key]) };
        }
        let live: Vec<_> = live.into_iter().collect();
        let sources = tables.iter().map(|t| Source::Memtable(t.cursor(), ReadTracer::default()));
        let mut mvcc_cursor = MvccCursor::new(sources.collect(), range, seq, ReadTracer::default());
        let mut place = Place::Fresh;
        for step in steps {
            let (wanted, found) = match step {
                Step::Seek(key) => {
                    mvcc_cursor.seek(&[key]);
                    place = Place::Sought(key);
                    continue;
                }
                Step::Next => {
                    let at = match place {
                        Place::Fresh => 0,
                        Place::Shown(at) => at + 1,
                        Place::Sought(key) => live.partition_point(|(k, _)| k[0] < key),
                    };
                    (Some(at), mvcc_cursor.next().unwrap())
                }
                Step::Prev => {
                    let end = match place {
                        Place::Fresh => live.len(),
                        Place::Shown(at) => at,
                        Place::Sought(key) => live.partition_point(|(k, _)| k[0] <= key),
                    };
                    (end.checked_sub(1), mvcc_cursor.prev().unwrap())
                }
            };
            let expected = wanted.and_then(|at| live.get(at));
            let found = found.map(|(key, value)| (key.to_vec(), value.to_vec()));
            prop_assert_eq!(found.as_ref(), expected, "{:?} at {:?}", step, place);
            match wanted {
                Some(at) if at < live.len() => place = Place::Shown(at),
                _ => {
                    // Ended, until a seek.
                    prop_assert!(mvcc_cursor.next().unwrap().is_none() && mvcc_cursor.prev().unwrap().is_none());
                    break;
                }
            }
        }
    }
}

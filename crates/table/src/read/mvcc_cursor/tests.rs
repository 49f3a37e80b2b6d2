use super::*;
use crate::entry::{Kind, Seq, expiring};
use crate::memtable::Memtable;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The time of the reader.
const NOW: Millis = 50;

/// Versions of few keys: key, kind, time of expiry, and the memtable that has it.
fn versions() -> impl Strategy<Value = Vec<(u8, Kind, Millis, usize)>> {
    let kind = prop_oneof![
        4 => Just(Kind::Put),
        3 => Just(Kind::Delete),
        3 => Just(Kind::PutExpiring),
    ];
    prop::collection::vec((0u8..6, kind, NOW - 2..NOW + 3, 0usize..3), 0..30)
}

fn reader(at: Seq) -> Reader {
    Reader { at, now: NOW }
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
        let range = KeyRange { from, to };
        for (at, (key, kind, expires_at, table)) in (1u64..).zip(versions) {
            let value = if kind == Kind::Delete { Vec::new() } else { at.to_string().into_bytes() };
            let expires_at = Some(expires_at).filter(|_| kind == Kind::PutExpiring);
            let stored = expires_at.map_or_else(|| value.clone(), |at| expiring(at, &value));
            tables[table].insert(&[key], Tag::new(at, kind), &stored).unwrap();
            let put = kind != Kind::Delete && expires_at.is_none_or(|at| at > NOW);
            if at > seq || !range.above_start(&[key]) || !range.below_end(&[key]) {
                continue;
            }
            let row = (value, expires_at);
            if put { live.insert(vec![key], row) } else { live.remove(&vec![key]) };
        }
        let live: Vec<_> = live.into_iter().collect();
        let sources = tables.iter().map(|t| Source::Memtable(t.cursor(), ReadTracer::default()));
        let mut mvcc_cursor = MvccCursor::new(sources.collect(), range, reader(seq), ReadTracer::default());
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
            let found = found.map(|(key, value)| (key, (value, mvcc_cursor.expires_at())));
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

/// A cursor over `range` of keys 0 to 5, of which each memtable holds every other; all trace.
fn traced(range: KeyRange) -> MvccCursor {
    let tables = [0; 2].map(|_| Arc::new(Memtable::default()));
    for key in 0u8..6 {
        tables[usize::from(key % 2)].insert(&[key], Tag::new(1, Kind::Put), &[key; 3]).unwrap();
    }
    let source = |table: &Arc<Memtable>| Source::Memtable(table.cursor(), ReadTracer::tracing());
    MvccCursor::new(tables.iter().map(source).collect(), range, reader(9), ReadTracer::tracing())
}

#[test]
fn a_narrowed_scan_returns_what_it_has_not_returned() {
    let key = |found: Option<(&[u8], &[u8])>| found.map(|(key, _)| key[0]);
    let mut cursor = traced(KeyRange::from(..));
    cursor.narrow();
    assert_eq!(key(cursor.next().unwrap()), Some(0));
    assert_eq!(key(cursor.next().unwrap()), Some(1));
    cursor.narrow();
    assert_eq!(key(cursor.prev().unwrap()), Some(5));
    assert_eq!(key(cursor.prev().unwrap()), Some(4));
    cursor.narrow();
    cursor.narrow();
    assert_eq!([0; 3].map(|_| key(cursor.next().unwrap())), [Some(2), Some(3), None]);
    cursor.narrow();
    assert_eq!(key(cursor.prev().unwrap()), None, "a scan that has ended stays ended");
}

#[test]
fn a_scan_traces_seeks_and_rows_and_the_place_of_each_source() {
    use crate::trace::Step;
    let mut cursor = traced(KeyRange::from([2u8]..));
    cursor.next().unwrap();
    cursor.next().unwrap();
    cursor.seek(&[9]);
    assert!(cursor.next().unwrap().is_none());
    let mut tracers: Vec<_> = cursor.into_tracers().collect();
    let counts = tracers[0].counts();
    assert_eq!((counts.operations, counts.rows), (2, 2));
    let steps: Vec<_> = tracers.iter_mut().map(ReadTracer::take_steps).collect();
    let row = |key| Step::Row { key: vec![key], bytes: 3 };
    let stands = |key: Option<u8>| Step::Stands { key: key.map(|key| vec![key]) };
    assert_eq!(steps[0], [row(2), row(3)]);
    assert_eq!(
        steps[1..],
        [
            [2, 0].map(|key| stands((key > 0).then_some(key))).to_vec(),
            vec![stands(Some(3)), stands(None)]
        ]
    );
}

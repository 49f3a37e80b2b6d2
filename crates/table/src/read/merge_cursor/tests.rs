use super::*;
use crate::memtable::Memtable;
use crate::trace::ReadTracer;
use proptest::prelude::*;
use std::sync::Arc;

/// A memtable with these entries, as a source.
fn source(entries: &[(Vec<u8>, Tag)]) -> Source {
    let memtable = Arc::new(Memtable::default());
    entries.iter().for_each(|(key, tag)| memtable.insert(key, *tag, b"").unwrap());
    Source::Memtable(memtable.cursor(), ReadTracer::default())
}

fn here(cursor: &impl Cursor) -> Option<(Vec<u8>, Tag)> {
    cursor.valid().then(|| (cursor.key().to_vec(), cursor.tag()))
}

proptest! {
    #[test]
    fn a_merge_iterates_like_one_sorted_list(
        owners in prop::collection::vec((0u8..12, 0usize..12), 0..60),
        sources in 1usize..12,
        steps in prop::collection::vec((0u8..6, 0u8..13, 0u64..70), 1..60),
    ) {
        let mut lists = vec![Vec::new(); sources];
        let mut all = Vec::new();
        for (seq, (key, owner)) in owners.into_iter().enumerate() {
            let entry = (vec![key], Tag((seq as u64) << 8 | 1));
            lists[owner % sources].push(entry.clone());
            all.push(entry);
        }
        let mut merge = MergeCursor::new(lists.iter().map(|list| source(list)).collect());
        let mut one = source(&all);
        for (step, key, seq) in steps {
            let (key, tag) = (vec![key], Tag(seq << 8));
            for cursor in [&mut merge as &mut dyn Cursor, &mut one] {
                match step {
                    0 => cursor.seek_first().unwrap(),
                    1 => cursor.seek_last().unwrap(),
                    2 => cursor.seek(&key, tag).unwrap(),
                    3 => cursor.seek_before(&key, tag).unwrap(),
                    4 => if cursor.valid() { cursor.next().unwrap() },
                    _ => if cursor.valid() { cursor.prev().unwrap() },
                }
            }
            prop_assert_eq!(here(&merge), here(&one));
        }
    }
}

#[test]
fn all_versions_of_a_key_are_passed_however_many() {
    let put = |key: u8, seq: usize| (vec![key], Tag((seq as u64) << 8 | 1));
    for versions in (1..4).chain(STEPS_MAX - 1..STEPS_MAX + 3).chain([300]) {
        let hot: Vec<_> = (1..=versions).map(|seq| put(2, seq)).collect();
        let others = [put(1, 1000), put(2, 1001), put(3, 1002)];
        let sources = [source(&hot), source(&others), source(&[])];
        let mut merge = MergeCursor::new(sources.into());
        merge.seek(&[2], Tag(u64::MAX)).unwrap();
        assert!(merge.pass(&[2]).unwrap());
        assert_eq!(here(&merge), Some(put(3, 1002)), "{versions} versions");
        assert!(merge.pass(&[3]).unwrap() && !merge.valid());
    }
}

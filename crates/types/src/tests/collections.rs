//! Maps and sets in sorted vectors, sets of table ids, and when sequences differ.

use crate::*;
use std::collections::BTreeMap;

fn map(entries: &[(u8, u8)]) -> VecMap<u8, u8> {
    entries.iter().copied().collect()
}

#[test]
fn an_extension_in_any_order_keeps_the_last_value_of_each_key() {
    for entries in [
        &[(1, 1), (1, 2)][..],
        &[(1, 1), (1, 2), (1, 3)],
        &[(3, 1), (2, 2), (1, 3)],
        &[(1, 1), (3, 2), (2, 3)],
        &[(1, 1), (2, 2), (2, 3), (4, 4)],
    ] {
        for there in [&[][..], &[(0, 9)], &[(2, 9)], &[(0, 9), (5, 9)]] {
            let mut found = map(there);
            found.extend(entries.iter().copied());
            let expected: BTreeMap<_, _> = there.iter().chain(entries).copied().collect();
            assert!(found.iter().eq(&expected), "{there:?} and {entries:?}: {found:?}");
        }
    }
}

#[test]
fn a_map_counts_its_entries_and_lends_their_values() {
    let mut map = map(&[(1, 10), (2, 20), (3, 30)]);
    assert_eq!((map.len(), map.is_empty()), (3, false));
    assert!(map.contains_key(&2) && !map.contains_key(&4));
    *map.get_mut(&2).unwrap() += 1;
    assert_eq!(map.get_mut(&4), None);
    map.iter_mut().for_each(|(key, value)| *value += key);
    assert!(map.keys().eq(&[1, 2, 3]) && map.values().eq(&[11, 23, 33]));
    assert_eq!(map.into_iter().collect::<Vec<_>>(), [(1, 11), (2, 23), (3, 33)]);
    assert_eq!(
        (VecMap::<u8, u8>::default().len(), VecMap::<u8, u8>::default().is_empty()),
        (0, true)
    );
}

#[test]
fn a_set_says_whether_it_changed() {
    let mut set: VecSet<u8> = [3, 1].into_iter().collect();
    assert!(set.insert(2) && !set.insert(2));
    assert!(set.remove(&3) && !set.remove(&3));
    assert!(set.contains(&1) && !set.contains(&3) && !set.is_empty());
    set.extend([0, 2]);
    assert_eq!(set.first(), Some(&0));
    assert!(set.iter().eq(&[0, 1, 2]));
    set.clear();
    assert!(set.is_empty() && set.first().is_none());
}

#[test]
fn table_ids_are_distinct_however_large_they_are() {
    // The first four share their low bits.
    let ids = [1, 65, 129, u64::MAX - 62, 2, 5000].map(TableId);
    for n in 0..=ids.len() {
        let (there, absent) = ids.split_at(n);
        let set = TableIdSet::from(there.to_vec());
        assert!(there.iter().all(|id| set.contains(*id)), "of {there:?}");
        assert!(!absent.iter().any(|id| set.contains(*id)), "of {there:?}");
    }
}

#[test]
fn sequences_differ_in_an_item_or_in_length() {
    let of = |items: &[u8]| items.iter().copied().collect::<Sequence<_>>();
    assert_eq!(of(&[1, 2, 3]), of(&[1, 2, 3]));
    for other in [&[1, 2, 4][..], &[1, 2], &[1, 2, 3, 4], &[]] {
        assert_ne!(of(&[1, 2, 3]), of(other));
    }
}

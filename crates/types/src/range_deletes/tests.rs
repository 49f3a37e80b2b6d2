use super::*;
use proptest::prelude::*;

/// A deletion of some one-byte keys: from, length (none for an open end) and sequence number.
type Deletion = (u8, Option<u8>, Seq);

fn deletions() -> impl Strategy<Value = Vec<Deletion>> {
    prop::collection::vec((0u8..24, prop::option::weighted(0.9, 0u8..12), 1u64..20), 0..12)
}

fn end(from: u8, length: Option<u8>) -> End {
    End::before(length.map(|length| [from + length]).as_ref().map(<[u8; 1]>::as_slice))
}

fn list(deletions: &[Deletion]) -> RangeDeletes {
    let mut list = RangeDeletes::default();
    deletions.iter().for_each(|(from, length, seq)| list.add(&[*from], &end(*from, *length), *seq));
    list
}

/// The numbers over a key, newest first.
fn numbers(deletions: &[Deletion], key: u8) -> Vec<Seq> {
    let is_over =
        |(from, length, _): &&Deletion| *from <= key && length.is_none_or(|n| key < from + n);
    let mut numbers: Vec<Seq> = deletions.iter().filter(is_over).map(|(.., seq)| *seq).collect();
    numbers.sort_by(|a, b| b.cmp(a));
    numbers.dedup();
    numbers
}

fn found(list: &RangeDeletes, key: u8) -> Vec<Seq> {
    list.over(&[key]).map_or(Vec::new(), |fragment| fragment.seqs().collect())
}

/// Sorted, disjoint, neighbours that differ, and the sums that they have.
fn is_sound(list: &RangeDeletes) -> bool {
    let fragments = list.fragments();
    RangeDeletes::from_fragments(fragments.to_vec()).as_ref() == Some(list)
        && fragments.windows(2).all(|pair| !pair[0].continues_in(&pair[1]))
}

proptest! {
    #[test]
    fn every_key_has_the_numbers_of_the_deletions_over_it(given in deletions(), others in deletions()) {
        let mut both = list(&given);
        prop_assert!(is_sound(&both));
        both.merge(&list(&others));
        prop_assert!(is_sound(&both));
        let all = [given, others].concat();
        for key in 0..=40 {
            let expected = numbers(&all, key);
            prop_assert_eq!(found(&both, key), expected.clone());
            for at in 0..21 {
                let newest = expected.iter().copied().find(|seq| *seq <= at).unwrap_or(0);
                prop_assert_eq!(both.newest_at(&[key], at), newest);
                let first_after = expected.iter().copied().filter(|seq| *seq > at).min();
                prop_assert_eq!(both.over(&[key]).and_then(|f| f.first_after(at)), first_after);
            }
        }
    }

    #[test]
    fn a_part_replaces_what_is_there_and_no_other(
        given in deletions(), others in deletions(), from in 0u8..24, length in prop::option::weighted(0.8, 1u8..12),
    ) {
        let to = end(from, length);
        let (mut whole, part) = (list(&given), list(&others).slice(&[from], &to));
        prop_assert!(is_sound(&part));
        whole.replace(&[from], &to, &part);
        prop_assert!(is_sound(&whole));
        for key in 0..=40 {
            let is_within = from <= key && length.is_none_or(|n| key < from + n);
            let expected = numbers(if is_within { &others } else { &given }, key);
            prop_assert_eq!(found(&whole, key), expected);
        }
    }

    #[test]
    fn numbers_that_are_not_needed_leave(given in deletions(), below in 0u64..20) {
        let kept = list(&given).retain(|_, seq| seq >= below);
        prop_assert!(is_sound(&kept));
        for key in 0..=40 {
            let expected: Vec<Seq> = numbers(&given, key).into_iter().filter(|seq| *seq >= below).collect();
            prop_assert_eq!(found(&kept, key), expected);
        }
    }

    #[test]
    fn fragments_that_share_a_key_with_a_range_are_found(
        given in deletions(), from in 0u8..30, length in 0u8..12,
    ) {
        let list = list(&given);
        let has = |fragment: &&Fragment, key: u8| {
            *fragment.from <= [key][..] && !fragment.to.is_at_most(&[key])
        };
        let all = list.fragments().iter();
        let within: Vec<_> =
            all.clone().filter(|f| (from..from + length).any(|key| has(f, key))).cloned().collect();
        if length > 0 {
            prop_assert_eq!(list.overlapping(&[from], &end(from, Some(length))), within);
        }
        let between: Vec<_> =
            all.filter(|f| (from..=from + length).any(|key| has(f, key))).cloned().collect();
        prop_assert_eq!(list.between(&[from], &[from + length]), between);
    }
}

#[test]
fn fragments_of_a_file_are_sound_or_refused() {
    let fragment =
        |from: &[u8], to: Option<&[u8]>, seqs: &[Seq]| Fragment::of(from, End::before(to), seqs);
    assert!(fragment(b"a", Some(b"b"), &[]).is_none());
    assert!(fragment(b"a", Some(b"b"), &[0]).is_none());
    assert!(fragment(b"a", Some(b"b"), &[3, 3]).is_none());
    assert!(fragment(b"a", Some(b"b"), &[2, 3]).is_none());
    assert!(fragment(b"b", Some(b"b"), &[3]).is_none());
    let [a, b] =
        [fragment(b"a", Some(b"c"), &[3, 2]), fragment(b"c", None, &[4])].map(Option::unwrap);
    assert!(RangeDeletes::from_fragments(vec![a.clone(), b.clone()]).is_some());
    assert!(RangeDeletes::from_fragments(vec![b.clone(), a]).is_none());
    let overlapping = fragment(b"b", Some(b"d"), &[1]).unwrap();
    assert!(RangeDeletes::from_fragments(vec![overlapping, b]).is_none());
}

#[test]
fn a_change_leaves_other_copies_as_they_were() {
    let mut list = RangeDeletes::default();
    list.add(b"a", &End::before(Some(b"m")), 1);
    let before = list.clone();
    list.add(b"c", &End::Open, 2);
    assert_eq!((before.fragments().len(), list.fragments().len()), (1, 3));
    assert_eq!((before.newest(), list.newest()), (1, 2));
    assert_eq!(list.hull(), Some((&b"a"[..], &End::Open)));
}

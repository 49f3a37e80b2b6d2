use super::*;
use crate::batch::WriteBatch;
use proptest::prelude::*;

const KEYSPACE: KeyspaceId = KeyspaceId(3);

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    (0u8..20, 0..3).prop_map(|(key, kind)| match kind {
        0 => Bound::Included(vec![key]),
        1 => Bound::Excluded(vec![key]),
        _ => Bound::Unbounded,
    })
}

fn range() -> impl Strategy<Value = KeyRange> {
    (bound(), bound()).prop_map(|(from, to)| KeyRange { from, to })
}

fn checks(ranges: &[KeyRange]) -> Checks {
    let check = |(condition, range): (usize, &KeyRange)| RangeCheck {
        condition,
        keyspace: KEYSPACE,
        range: range.clone(),
        since: 0,
        stretches: 0..0,
    };
    let ranges = ranges.iter().enumerate().map(check).collect();
    let mut checks = Checks { ranges, ..Checks::default() };
    checks.divide();
    checks
}

proptest! {
    #[test]
    fn ranges_that_a_batch_wrote_into_have_changed(
        ranges in prop::collection::vec(range(), 1..12),
        puts in prop::collection::vec(0u8..20, 0..6),
        deletes in prop::collection::vec(range(), 0..3),
    ) {
        let mut batch = WriteBatch::new();
        puts.iter().for_each(|key| batch.put(KEYSPACE, [*key], "value").unwrap());
        deletes.iter().for_each(|range| batch.delete_range(KEYSPACE, range).unwrap());
        let refusals = checks(&ranges).after([(9, batch.bytes())].into_iter(), &[], 0).unwrap().unwrap();
        let refused: Vec<usize> = refusals.iter().map(|refusal| refusal.condition).collect();
        let has_changed = |(number, range): (usize, &KeyRange)| {
            let written = puts.iter().any(|key| range.contains([*key]));
            // Bounds are single bytes: a key and the least one above it stand for all that lie between.
            let keys = (0u8..21).flat_map(|key| [vec![key], vec![key, 0]]).chain([Vec::new()]);
            let deleted = keys.clone().any(|key| {
                range.contains(&key) && deletes.iter().any(|delete| delete.contains(&key))
            });
            (written || deleted).then_some(number)
        };
        let expected: Vec<usize> = ranges.iter().enumerate().filter_map(has_changed).collect();
        prop_assert_eq!(refused, expected);
        for refusal in &refusals {
            let key = &refusal.key;
            let is_put = puts.iter().any(|put| key[..] == [*put]);
            prop_assert!(is_put || deletes.iter().any(|range| range.contains(key)));
        }
    }
}

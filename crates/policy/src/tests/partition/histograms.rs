//! Cuts by histograms, against exact halvings of the key space.

use super::*;

/// The cells that an exact halving of keys of eight bytes makes, with integers of twice their width.
fn exact(keys: &[u64], (low, high): (u128, u128), most: usize, cells: &mut Vec<(u128, u128)>) {
    let inside: Vec<u64> =
        keys.iter().copied().filter(|key| (low..high).contains(&u128::from(*key))).collect();
    if inside.is_empty() {
        return;
    }
    if inside.len() <= most || high - low == 1 {
        cells.push((low, high));
        return;
    }
    let middle = (low + high) / 2;
    exact(&inside, (low, middle), most, cells);
    exact(&inside, (middle, high), most, cells);
}

const SPACE: (u128, u128) = (0, 1 << 64);

/// Keys that are near each other or far apart.
fn keys() -> impl Strategy<Value = BTreeSet<u64>> {
    let key = prop_oneof![
        any::<u64>(),
        0..1000u64,
        (0..64u32, 0..40u64).prop_map(|(s, k)| k.rotate_right(s))
    ];
    proptest::collection::btree_set(key, 1..120)
}

fn bytes_of(keys: &BTreeSet<u64>) -> Vec<[u8; 8]> {
    keys.iter().map(|key| key.to_be_bytes()).collect()
}

proptest! {
    #[test]
    fn exact_points_are_cut_as_an_exact_halving_cuts(keys in keys(), most in 1..20usize) {
        let bytes = bytes_of(&keys);
        let points = Points::new(bytes.iter().map(|key| (&key[..], 1)));
        let cuts = halve(&points, Cell::between(&[], &[]), most as u64, 1);
        let mut cells = Vec::new();
        exact(&keys.iter().copied().collect::<Vec<_>>(), SPACE, most, &mut cells);
        // A cut lies between the keys of one cell and those of the next.
        prop_assert_eq!(cuts.len() + 1, cells.len());
        for (cut, pair) in cuts.iter().zip(cells.windows(2)) {
            let at = |place: u128| bytes.partition_point(|key| {
                u128::from(u64::from_be_bytes(*key)) < place
            });
            prop_assert_eq!(bytes.partition_point(|key| key[..] < cut[..]), at(pair[1].0));
            prop_assert_eq!(at(pair[0].1), at(pair[1].0));
        }
    }

    #[test]
    fn cells_of_two_runs_are_equal_nested_or_disjoint(
        (a, b) in (keys(), keys()), most in 1..20usize,
    ) {
        let cells = |keys: &BTreeSet<u64>| {
            let mut cells = Vec::new();
            exact(&keys.iter().copied().collect::<Vec<_>>(), SPACE, most, &mut cells);
            cells
        };
        // Every part of one run, from its first to its last key, lies in one cell of the exact halving.
        for keys in [&a, &b] {
            let bytes = bytes_of(keys);
            let points = Points::new(bytes.iter().map(|key| (&key[..], 1)));
            let cuts = halve(&points, Cell::between(&[], &[]), most as u64, 1);
            let part = |key: &[u8; 8]| cuts.partition_point(|cut| cut[..] <= key[..]);
            for part in bytes.chunk_by(|a, b| part(a) == part(b)) {
                let number = |key: Option<&[u8; 8]>| u128::from(u64::from_be_bytes(*key.unwrap()));
                let (first, last) = (number(part.first()), number(part.last()));
                prop_assert!(cells(keys).iter().any(|(low, high)| *low <= first && last < *high));
            }
        }
        for (low, high) in cells(&a) {
            for (from, to) in cells(&b) {
                let nested = low <= from && to <= high || from <= low && high <= to;
                prop_assert!(nested || high <= from || to <= low);
            }
        }
    }

    #[test]
    fn coarse_histograms_are_wrong_by_a_point_of_each_table_at_most(
        tables in proptest::collection::vec(keys(), 1..5),
        (stride, most) in (1..12usize, 1..30u64),
    ) {
        let mut model = Model::default();
        let infos: Vec<_> = tables.iter().map(|keys| {
            let bytes = bytes_of(keys);
            let mut sum = 0;
            let points = bytes.chunks(stride).map(|chunk| {
                sum += chunk.len() as u64;
                HistogramPoint { key: chunk.last().unwrap().to_vec(), bytes: sum }
            });
            let table = model.table(BTreeMap::from([(1, BTreeSet::from([1]))]));
            let mut info = TableInfo::clone(&table);
            info.histogram = points.collect::<Vec<_>>().into();
            Arc::new(info)
        }).collect();
        let points = Points::of(&infos.iter().collect::<Vec<_>>());
        let largest = |keys: &BTreeSet<u64>| keys.len().min(stride) as u64;
        prop_assert_eq!(points.error, tables.iter().map(largest).sum::<u64>());
        let cuts = halve(&points, Cell::between(&[], &[]), most, 1);
        let mut bounds = vec![Vec::new()];
        bounds.extend(cuts.iter().cloned());
        bounds.push(vec![0xff; 9]);
        for pair in bounds.windows(2) {
            let inside = |key: &&[u8; 8]| pair[0][..] <= key[..] && key[..] < pair[1][..];
            let held: usize = tables.iter().map(|keys| bytes_of(keys).iter().filter(inside).count()).sum();
            // What is not halved are points of one key, at most one of each table.
            let limit = most.max(points.error) + points.error;
            prop_assert!(held as u64 <= limit, "{held} in {pair:?}");
        }
    }

    #[test]
    fn joining_respects_its_limit_and_leaves_no_two_parts_below_it(
        keys in keys(), most in 1..20u64, limit in 0..20u64,
    ) {
        let bytes = bytes_of(&keys);
        let points = Points::new(bytes.iter().map(|key| (&key[..], 1)));
        let apart = halve(&points, Cell::between(&[], &[]), most, 1);
        let mut cuts = apart.clone();
        join(&points, &mut cuts, limit.min(most));
        prop_assert!(cuts.iter().all(|cut| apart.contains(cut)));
        let part = |key: &[u8; 8]| cuts.partition_point(|cut| cut[..] <= key[..]);
        let parts: Vec<_> = bytes.chunk_by(|a, b| part(a) == part(b)).map(<[_]>::len).collect();
        prop_assert!(parts.iter().all(|part| *part as u64 <= most));
        if limit == 0 {
            prop_assert_eq!(&cuts, &apart);
        }
        for pair in parts.windows(2) {
            prop_assert!((pair[0] + pair[1]) as u64 > limit.min(most));
        }
    }

    #[test]
    fn no_part_of_a_flush_is_below_its_floor(keys in keys(), floor in 1..40u64) {
        let bytes = bytes_of(&keys);
        let points = Points::new(bytes.iter().map(|key| (&key[..], 1)));
        let cuts = halve(&points, Cell::between(&[], &[]), 2 * floor - 1, floor);
        let part = |key: &[u8; 8]| cuts.partition_point(|cut| cut[..] <= key[..]);
        let parts = bytes.chunk_by(|a, b| part(a) == part(b));
        prop_assert!(cuts.is_empty() || parts.into_iter().all(|part| part.len() as u64 >= floor));
    }
}

//! The rule by which tables merge, against a slow one, on any levels.

use super::*;

/// The rules word for word, over all tables and all prefixes.
fn naive(tables: &[(usize, Vec<u16>)]) -> Vec<Vec<usize>> {
    let n = tables.len();
    let prefixes: Vec<BTreeSet<u8>> = tables
        .iter()
        .map(|(_, keys)| keys.iter().map(|key| key.to_be_bytes()[0]).collect())
        .collect();
    let range = |set: &BTreeSet<usize>| {
        let keys = || set.iter().flat_map(|t| &tables[*t].1);
        (*keys().min().unwrap(), *keys().max().unwrap())
    };
    let overlap = |a: &BTreeSet<usize>, b: &BTreeSet<usize>| {
        let ((a, b), (c, d)) = (range(a), range(b));
        a <= d && c <= b
    };
    let one = |t: usize| BTreeSet::from([t]);
    // Tables that overlap, directly or not.
    let mut parts: Vec<BTreeSet<usize>> = (0..n).map(one).collect();
    unite(&mut parts, |a, b| a.iter().any(|x| b.iter().any(|y| overlap(&one(*x), &one(*y)))));
    let kind = |t: usize| prefixes[t].len() == 1;
    let mut joined = BTreeSet::new();
    for part in &parts {
        let all: BTreeSet<u8> = part.iter().flat_map(|t| &prefixes[*t]).copied().collect();
        match part.iter().copied().collect::<Vec<_>>().as_slice() {
            [_] => {}
            [a, b] => joined
                .extend((kind(*a) == kind(*b)).then(|| one(*a).union(&one(*b)).copied().collect())),
            _ => {
                for prefix in all {
                    let held: Vec<_> =
                        part.iter().copied().filter(|t| prefixes[*t].contains(&prefix)).collect();
                    if held.len() > 2 || held.len() == 2 && kind(held[0]) == kind(held[1]) {
                        joined.insert(held.into_iter().collect::<BTreeSet<_>>());
                    }
                }
            }
        }
    }
    let mut sets: Vec<_> = joined.into_iter().collect();
    loop {
        unite(&mut sets, |a, b| !a.is_disjoint(b));
        let before = sets.clone();
        for set in &mut sets {
            let place = set.iter().map(|t| tables[*t].0).max().unwrap();
            for (t, (age, _)) in tables.iter().enumerate() {
                let stands = *age < place
                    && set.iter().any(|a| tables[*a].0 < *age && overlap(&one(*a), &one(t)));
                if stands || *age == place && overlap(set, &one(t)) {
                    set.insert(t);
                }
            }
        }
        if sets == before {
            break;
        }
    }
    let mut sets: Vec<Vec<usize>> = sets.into_iter().map(|set| set.into_iter().collect()).collect();
    sets.sort();
    sets
}

/// Unites sets that meet, until none do.
fn unite(
    sets: &mut Vec<BTreeSet<usize>>,
    meet: impl Fn(&BTreeSet<usize>, &BTreeSet<usize>) -> bool,
) {
    let pair = |sets: &Vec<BTreeSet<usize>>| {
        (0..sets.len())
            .flat_map(|a| (0..a).map(move |b| (b, a)))
            .find(|(a, b)| meet(&sets[*a], &sets[*b]))
    };
    while let Some((a, b)) = pair(sets) {
        let taken = sets.swap_remove(b);
        sets[a].extend(taken);
    }
}

proptest! {
    #[test]
    fn merges_follow_the_rules_and_every_state_between_is_sound(
        runs in prop::collection::vec(
            prop::collection::btree_set((0u8..7, 0u8..3), 1..7), 1..6),
        parts in prop::collection::vec(any::<bool>(), 40),
        below in prop::collection::btree_set((0u8..7, 0u8..3), 0..4),
    ) {
        let mut model = Model::default();
        model.write(2, 1, below.iter().map(|(p, k)| key(*p, *k)).chain([u16::MAX]));
        let (mut tables, mut ids, mut part) = (Vec::new(), Vec::new(), parts.iter());
        for (age, keys) in runs.iter().enumerate() {
            let mut keys: Vec<_> = keys.iter().map(|(p, k)| key(*p, *k)).collect();
            while !keys.is_empty() {
                let length = keys.iter().take_while(|_| part.next() == Some(&true)).count();
                let rest = keys.split_off(length.clamp(1, keys.len()));
                ids.push(model.write_known(1, 10 + age as u64, &keys));
                tables.push((age, std::mem::replace(&mut keys, rest)));
            }
        }
        prop_assume!(model.shape.levels()[1].bytes() > 1);
        let plan = model.compaction_by(&PTIER, &Running::default()).unwrap();
        let expected: Vec<Vec<TableId>> =
            naive(&tables).iter().map(|set| set.iter().map(|t| ids[*t]).collect()).collect();
        prop_assert_eq!(merged(&plan), expected);
        prop_assert_eq!(plan.groups.iter().map(|g| g.inputs.len()).sum::<usize>(), ids.len());
        if plan.groups.len() < 9 {
            prop_assert!(model.all_sound(&plan.groups));
        }
    }
}

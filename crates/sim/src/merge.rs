//! Merging: which entries a flush or merge keeps, and where it cuts its outputs.
//!
//! 1. The inputs are concatenated and sorted. Each of them is sorted already, and the standard
//!    library's sort merges sorted stretches.
//! 2. Of each key the engine's rule keeps what the newest reader sees ([`DropRule`]): there are no snapshots.
//! 3. A tombstone is dropped if nothing older of its key lies below ([`TombstoneRule`]).
//! 4. A table is cut where the next key is at or above the next of the cuts, between two prefixes if the
//!    plan says so, and once the table has reached its size, as in the engine.

use crate::entry::{Entry, Sizes};
use std::sync::Arc;
use terrane_policy::{PrefixSplit, TombstoneRule};
use terrane_types::resolve::{DropRule, Fate, Reader};

/// Steps 1 to 3. Without a rule every tombstone stays.
pub(crate) fn merge<'a>(
    inputs: impl IntoIterator<Item = &'a [Entry]>,
    mut rule: Option<&mut TombstoneRule>,
) -> Vec<Entry> {
    let inputs: Vec<&[Entry]> = inputs.into_iter().collect();
    let mut merged = inputs.concat();
    merged.sort();
    let (mut versions, mut last) = (DropRule::new(vec![Reader::NEWEST]), None);
    merged.retain(|entry| {
        let key = entry.key();
        if last.replace(key) != Some(key) {
            versions.start_key();
        }
        let covered = || rule.as_mut().is_none_or(|rule| !rule.may_drop(&key.to_be_bytes()));
        versions.judge(entry.version(), None, covered) != Fate::Dropped
    });
    merged
}

/// A split between prefixes, and the bytes of a merge's inputs from a key on.
pub(crate) type Split<'s> = (PrefixSplit, &'s dyn Fn(u64) -> u64);

/// Step 4.
pub(crate) fn cut(
    entries: &[Entry],
    cuts: &[Vec<u8>],
    split: Option<Split>,
    target_file_bytes: u64,
    sizes: Sizes,
) -> Vec<Arc<[Entry]>> {
    let is_split = |last: Entry, next: Entry, bytes: u64| {
        let Some((split, left)) = split.filter(|(split, _)| bytes >= split.least_bytes) else {
            return false;
        };
        let (last, key) = (last.key().to_be_bytes(), next.key().to_be_bytes());
        split.rule.of(&last) != split.rule.of(&key)
            && split.is_between(&last, &key, bytes, left(next.key()))
    };
    let mut cuts = cuts.iter().map(|cut| at_or_above(cut)).peekable();
    let mut tables = Vec::new();
    let (mut begin, mut bytes) = (0, 0);
    for (at, entry) in entries.iter().enumerate() {
        let last = at.checked_sub(1).and_then(|last| entries.get(last));
        let mut is_cut =
            bytes >= target_file_bytes || last.is_some_and(|last| is_split(*last, *entry, bytes));
        while cuts.next_if(|cut| cut.is_some_and(|cut| cut <= entry.key())).is_some() {
            is_cut = true;
        }
        if is_cut && at > begin {
            tables.extend(entries.get(begin..at).map(Arc::from));
            (begin, bytes) = (at, 0);
        }
        bytes += sizes.of(*entry);
    }
    tables.extend(entries.get(begin..).filter(|rest| !rest.is_empty()).map(Arc::from));
    tables
}

/// The least key whose eight bytes are at or above `cut`; `None` if there is none.
pub(crate) fn at_or_above(cut: &[u8]) -> Option<u64> {
    let mut bytes = [0; 8];
    for (byte, given) in bytes.iter_mut().zip(cut) {
        *byte = *given;
    }
    let key = u64::from_be_bytes(bytes);
    if cut.len() > bytes.len() { key.checked_add(1) } else { Some(key) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use terrane_policy::PrefixRule;

    const SIZES: Sizes = Sizes { key: 1, value: 3 };

    fn entries(given: &BTreeMap<(u64, u64), bool>) -> Vec<Entry> {
        let mut entries: Vec<_> = given.iter().map(|((k, s), d)| Entry::new(*k, *s, *d)).collect();
        entries.sort();
        entries
    }

    proptest! {
        #[test]
        fn a_merge_keeps_the_newest_of_each_key(
            versions in prop::collection::btree_map((0u64..20, 1u64..1000), any::<bool>(), 0..60),
            at in 0u64..1000,
        ) {
            let [mut old, mut new] = [BTreeMap::new(), BTreeMap::new()];
            for (version, delete) in versions.clone() {
                if version.1 < at { &mut old } else { &mut new }.insert(version, delete);
            }
            let merged = merge([&entries(&new)[..], &entries(&old)[..]], None);
            let newest: BTreeMap<u64, (u64, bool)> =
                versions.iter().map(|((k, s), d)| (*k, (*s, *d))).collect();
            let found: BTreeMap<u64, (u64, bool)> =
                merged.iter().map(|e| (e.key(), (e.seq(), e.is_delete()))).collect();
            prop_assert_eq!(found, newest);
            prop_assert!(merged.is_sorted());
        }

        #[test]
        fn tables_are_cut_at_their_size_and_at_the_cuts(
            keys in prop::collection::btree_map(0u64..300, any::<bool>(), 1..60),
            cuts in prop::collection::btree_set(prop::collection::vec(0u8..4, 6..10), 0..5),
            target_file_bytes in 1u64..40,
        ) {
            let all: Vec<_> = keys.iter().map(|(k, d)| Entry::new(*k << 8, 1, *d)).collect();
            let cuts: Vec<_> = cuts.into_iter().collect();
            let tables = cut(&all, &cuts, None, target_file_bytes, SIZES);
            prop_assert!(tables.concat() == all);
            let bytes = |t: &[Entry]| t.iter().map(|e| SIZES.of(*e)).sum::<u64>();
            let between = |a: &Entry, b: &Entry| {
                let (a, b) = (a.key().to_be_bytes(), b.key().to_be_bytes());
                cuts.iter().any(|c| a[..] < c[..] && c[..] <= b[..])
            };
            for table in &tables {
                let (_, head) = table.split_last().unwrap();
                prop_assert!(bytes(head) < target_file_bytes);
                prop_assert!(!table.windows(2).any(|w| between(&w[0], &w[1])));
            }
            for pair in tables.windows(2) {
                let full = bytes(&pair[0]) >= target_file_bytes;
                prop_assert!(full || between(pair[0].last().unwrap(), &pair[1][0]));
            }
        }
    }

    proptest! {
        #[test]
        fn tables_end_between_prefixes_if_they_and_the_rest_are_large(
            keys in prop::collection::btree_set(0u64..300, 1..60),
            least_bytes in 1u64..40,
            target_file_bytes in 40u64..80,
        ) {
            let all: Vec<_> = keys.iter().map(|k| Entry::new(k << 53, 1, false)).collect();
            let rule = PrefixRule::Length(1);
            let split = PrefixSplit { rule, least_bytes };
            let left = |key| SIZES.put() * all.iter().filter(|e| e.key() >= key).count() as u64;
            let tables = cut(&all, &[], Some((split, &left)), target_file_bytes, SIZES);
            prop_assert!(tables.concat() == all);
            let mut parts = vec![Vec::new()];
            for (at, entry) in all.iter().enumerate() {
                let table: &Vec<Entry> = parts.last().unwrap();
                let bytes = SIZES.put() * table.len() as u64;
                let changes = table.last().is_some_and(|l| l.key() >> 56 != entry.key() >> 56);
                let rest = SIZES.put() * (all.len() - at) as u64;
                let ends = changes && bytes >= least_bytes && rest >= least_bytes;
                if ends || bytes >= target_file_bytes {
                    parts.push(Vec::new());
                }
                parts.last_mut().unwrap().push(*entry);
            }
            prop_assert!(tables.iter().map(|t| t.to_vec()).eq(parts));
        }
    }
}

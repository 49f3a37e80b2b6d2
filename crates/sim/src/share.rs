//! Shares of a merge among workers: the parts of its inputs.

use crate::entry::{Entry, Sizes};
use crate::tree::Table;
use std::sync::Arc;

/// The entries of each part.
pub(crate) fn part<'a>(entries: &'a [Entry], keys: &[u64]) -> Vec<&'a [Entry]> {
    let mut rest = entries;
    let mut parts = Vec::with_capacity(keys.len() + 1);
    for key in keys {
        let (part, after) = rest.split_at(rest.partition_point(|e| e.key() < *key));
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// The bytes that each part reads of the inputs.
pub(crate) fn part_bytes(inputs: &[&Table], keys: &[u64], sizes: Sizes) -> Vec<u64> {
    let mut bytes = vec![0; keys.len() + 1];
    for table in inputs {
        let parts = part(&table.entries, keys);
        for (sum, part) in bytes.iter_mut().zip(parts) {
            *sum += match table.info.tombstones {
                0 => part.len() as u64 * sizes.put(),
                _ => part.iter().map(|e| sizes.of(*e)).sum(),
            };
        }
    }
    bytes
}

/// Returns the keys that divide a merge into at most `count` parts where an input table starts or ends, as RocksDB did
/// before it sampled keys within tables. Each key starts a part. A part ends at the first such key at which it has an
/// equal share of the bytes.
pub(crate) fn table_boundaries(inputs: &[&Table], count: usize, sizes: Sizes) -> Vec<u64> {
    let ends = |table: &&Table| [table.entries.first()?.key(), table.entries.last()?.key()].into();
    let mut bounds: Vec<u64> =
        inputs.iter().filter_map(ends).flat_map(|ends: [u64; 2]| ends).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let bytes = part_bytes(inputs, &bounds, sizes);
    let share = bytes.iter().sum::<u64>().div_ceil(count.max(1) as u64);
    let (mut sum, mut keys) = (0, Vec::new());
    // Nothing lies before the first bound; beyond the last is its table's last entry.
    for (bound, bytes) in bounds.iter().skip(1).zip(bytes.iter().skip(1)) {
        sum += bytes;
        if sum >= share && keys.len() + 1 < count {
            keys.push(*bound);
            sum = 0;
        }
    }
    keys
}

/// The bytes of tables from one key on, and below another one if there is one.
pub(crate) fn bytes_between(
    tables: &[Arc<[Entry]>],
    from: u64,
    to: Option<u64>,
    sizes: Sizes,
) -> u64 {
    let mut bytes = 0;
    for entries in tables {
        let below = |key: u64| entries.partition_point(|e| e.key() < key);
        let entries = to.map_or(entries.len(), below).saturating_sub(below(from)) as u64;
        bytes += entries * sizes.put();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::at_or_above;
    use proptest::prelude::*;
    use terrane_policy::{FilterBits, TableId, parting_keys};

    const SIZES: Sizes = Sizes { key: 3, value: 7 };

    proptest! {
        #[test]
        fn parts_hold_all_entries_once_and_evenly_to_a_histogram_point(
            tables in prop::collection::vec(
                prop::collection::btree_map(0u64..100_000, any::<bool>(), 1..400), 1..5),
            count in 1u64..20,
        ) {
            let tables: Vec<Table> = (1..).zip(&tables).map(|(id, entries)| {
                let entries: Vec<_> = entries.iter().map(|(k, d)| Entry::new(*k, id, *d)).collect();
                Table::new(TableId(id), Arc::from(entries), SIZES, FilterBits::whole(10), None).unwrap()
            }).collect();
            let inputs: Vec<_> = tables.iter().collect();
            let infos: Vec<_> = inputs.iter().map(|table| &table.info).collect();
            let keys = parting_keys(&infos, count);
            let keys: Vec<_> = keys.iter().filter_map(|key| at_or_above(key)).collect();
            prop_assert!((keys.len() as u64) < count);
            prop_assert!(keys.is_sorted_by(|a, b| a < b));
            let bytes = part_bytes(&inputs, &keys, SIZES);
            let total: u64 = inputs.iter().map(|t| t.info.bytes).sum();
            prop_assert_eq!(bytes.iter().sum::<u64>(), total);
            // A part ends at the first point at or beyond its share; equal keys are points together.
            let point = |t: &Table| t.entries.len().div_ceil(64) as u64 * SIZES.put();
            let slack: u64 = tables.iter().map(point).sum();
            for part in &bytes {
                prop_assert!(*part <= total / count + slack + 1, "{part} of {total} / {count}");
            }
            for table in &tables {
                prop_assert_eq!(part(&table.entries, &keys).concat().len(), table.entries.len());
            }
        }
    }

    fn table(id: u64, keys: impl Iterator<Item = u64>) -> Table {
        let entries: Vec<_> = keys.map(|key| Entry::new(key, id, false)).collect();
        Table::new(TableId(id), Arc::from(entries), SIZES, FilterBits::whole(10), None).unwrap()
    }

    #[test]
    fn parts_at_tables_end_where_one_of_the_inputs_does() {
        let whole = table(1, 0..1000);
        assert_eq!(table_boundaries(&[&whole], 4, SIZES), [999], "nothing is known of its inside");
        // Of four tables below, the third has most entries: no part ends within it, and what follows has too few.
        let below = [(0..100), (100..110), (110..800), (800..1000)];
        let below: Vec<_> = (2..).zip(below).map(|(id, keys)| table(id, keys)).collect();
        let inputs: Vec<_> = [&whole].into_iter().chain(&below).collect();
        let keys = table_boundaries(&inputs, 4, SIZES);
        assert_eq!(keys, [799]);
        let even = table_boundaries(&inputs, 10, SIZES);
        assert_eq!(even, [100, 799, 999]);
        let entries: u64 = below.iter().map(|table| table.info.entries).sum::<u64>() + 1000;
        let bytes = part_bytes(&inputs, &even, SIZES);
        assert_eq!(bytes.iter().sum::<u64>(), entries * SIZES.put());
        assert_eq!(table_boundaries(&inputs, 1, SIZES), [0; 0]);
    }
}

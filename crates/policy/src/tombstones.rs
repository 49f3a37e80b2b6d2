//! The rule by which a merge may drop a tombstone.
//!
//! A tombstone hides older versions of its key. The validator allows no table that overlaps an input
//! between that input and the destination, so every older version outside the group is below its
//! destination. A tombstone at or below the oldest snapshot may therefore be dropped if no table below
//! the destination, other than the group's inputs, spans its key. Inputs of running groups are still
//! in the shape; the outputs that these will write count.
//!
//! The decision holds while the group runs: if the tombstone may be dropped, no other table holds an
//! older version of the key, and later plans only rearrange existing versions.

use crate::context::Running;
use crate::validate::output::outputs;
use std::sync::Arc;
use terrane_types::{
    Destination, Group, Place, Run, Shape, TableIdSet, TableInfo, key_range, sort_by,
};

/// Decides, key by key, whether one group's merge may drop a tombstone.
#[derive(Clone, Debug)]
pub struct TombstoneRule {
    /// The runs below, each with its first table that ends at or after the last key queried.
    below: Vec<(Run, Place)>,
    /// Key ranges that running groups will write below, inclusive; sorted and disjoint.
    promised: Vec<(Vec<u8>, Vec<u8>)>,
    /// The group's own inputs.
    own: TableIdSet,
    /// The last key queried.
    last: Vec<u8>,
}

impl TombstoneRule {
    /// The rule for `group`, which may be listed in `running` itself.
    #[must_use]
    pub fn new(shape: &Shape, running: &Running, group: &Group) -> Self {
        let own = TableIdSet::from(group.inputs.clone());
        let inputs = tables(shape, group);
        let (first, last) = key_range(&inputs);
        let below = |place: Destination| group.destination.is_above(place);
        let mut ranges: Vec<(&[u8], &[u8])> = Vec::new();
        for other in running.groups().filter(|other| below(other.destination)) {
            let is_self = other.inputs.iter().any(|id| own.contains(*id));
            if !is_self {
                for promised in outputs(&other.action, &tables(shape, other)) {
                    let (from, to) = (promised.smallest, promised.largest);
                    if from <= last && first <= to {
                        ranges.push((from, to));
                    }
                }
            }
        }
        let promised = union(ranges);
        let runs = shape.runs().into_iter().filter(|(place, _)| below(*place));
        let below = runs.map(|(_, run)| (run.clone(), run.first_from(first))).collect();
        TombstoneRule { below, promised, own, last: Vec::new() }
    }

    /// Whether a tombstone of `key`, at or below the oldest snapshot, may be dropped.
    ///
    /// Costs a comparison or two for each run below if keys ascend by less than a table, otherwise
    /// binary searches.
    pub fn may_drop(&mut self, key: &[u8]) -> bool {
        let ascends = self.last.as_slice() <= key;
        self.last.clear();
        self.last.extend_from_slice(key);
        let at = self.promised.partition_point(|(_, largest)| largest.as_slice() < key);
        let mut held = self.promised.get(at).is_some_and(|(from, _)| from.as_slice() <= key);
        // Every run is visited, so that each place is that of the last key.
        for (run, place) in &mut self.below {
            let ends_before = |place| {
                run.tables().get(place).is_some_and(|t: &Arc<TableInfo>| t.largest.as_slice() < key)
            };
            if ascends && ends_before(*place) {
                *place = run.tables().after(*place);
            }
            if !ascends || ends_before(*place) {
                *place = run.first_from(key);
            }
            let table = run.tables().get(*place);
            held |= table.is_some_and(|t| t.smallest.as_slice() <= key && !self.own.contains(t.id));
        }
        !held
    }
}

/// The inputs of a group.
fn tables<'a>(shape: &'a Shape, group: &Group) -> Vec<&'a Arc<TableInfo>> {
    shape.find(group.inputs.clone()).iter().map(|placed| placed.table).collect()
}

/// Joins overlapping ranges.
fn union(mut ranges: Vec<(&[u8], &[u8])>) -> Vec<(Vec<u8>, Vec<u8>)> {
    sort_by(&mut ranges, |(a, _), (b, _)| a.cmp(b));
    let mut joined: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (smallest, largest) in ranges {
        match joined.last_mut() {
            Some((_, end)) if smallest <= end.as_slice() => {
                if end.as_slice() < largest {
                    *end = largest.to_vec();
                }
            }
            _ => joined.push((smallest.to_vec(), largest.to_vec())),
        }
    }
    joined
}

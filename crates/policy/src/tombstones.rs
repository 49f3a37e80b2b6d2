//! When a merge may drop a tombstone.
//!
//! A tombstone hides older versions of its key. The validator lets no table that overlaps an input
//! stand between that input and the destination, so every older version that a group leaves out
//! stands below its destination. A tombstone at or below the oldest snapshot may therefore be
//! dropped when no table left out below the destination spans its key. What running groups read is
//! still in the shape; what they promised to write counts too.
//!
//! The answer stays true while the group runs: when it is yes, no table left out holds an older
//! version of the key, and later plans only rearrange the versions that there are.

use crate::context::Running;
use crate::validate::output::outputs;
use std::sync::Arc;
use terrane_types::{
    Destination, Group, Place, Run, Shape, TableIdSet, TableInfo, key_range, sort_by,
};

/// Answers, key by key, whether one group's merge may drop a tombstone.
#[derive(Clone, Debug)]
pub struct TombstoneRule {
    /// The runs below, each with the first of its tables that ends at or after the last key asked.
    below: Vec<(Run, Place)>,
    /// Key ranges that running groups promised below, both ends inclusive; sorted and disjoint.
    promised: Vec<(Vec<u8>, Vec<u8>)>,
    /// The group's own inputs.
    own: TableIdSet,
    /// The last key asked.
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
    /// Costs a comparison or two for each run below where keys ascend by less than a table, binary
    /// searches else.
    pub fn may_drop(&mut self, key: &[u8]) -> bool {
        let ascends = self.last.as_slice() <= key;
        self.last.clear();
        self.last.extend_from_slice(key);
        let at = self.promised.partition_point(|(_, largest)| largest.as_slice() < key);
        let mut held = self.promised.get(at).is_some_and(|(from, _)| from.as_slice() <= key);
        // Every run is looked at, so that each place is that of the last key.
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

/// What a group reads.
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

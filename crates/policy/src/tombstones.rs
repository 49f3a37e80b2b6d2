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

use crate::components::hull;
use crate::names::Names;
use crate::plan::{Destination, Group};
use crate::planning::Running;
use crate::shape::{Shape, TableInfo};
use crate::sort::sort_by;
use crate::validate::outputs;
use std::sync::Arc;

/// Answers, key by key, whether one group's merge may drop a tombstone.
#[derive(Clone, Debug)]
pub struct TombstoneRule {
    /// Key ranges that are held below, both ends inclusive; sorted and disjoint.
    ranges: Vec<(Vec<u8>, Vec<u8>)>,
    /// The first range that ends at or after the last key asked.
    next: usize,
}

impl TombstoneRule {
    /// The rule for `group`, which may be listed in `running` itself.
    #[must_use]
    pub fn new(shape: &Shape, running: &Running, group: &Group) -> Self {
        let own = Names::from(group.inputs.clone());
        let inputs = tables(shape, group);
        if inputs.is_empty() {
            return TombstoneRule { ranges: Vec::new(), next: 0 };
        }
        let (first, last) = hull(&inputs);

        let below = |place: Destination| group.destination.is_above(place);
        let mut ranges: Vec<(&[u8], &[u8])> = Vec::new();
        for (_, run) in shape.runs().iter().filter(|(place, _)| below(*place)) {
            for table in run.overlapping(first, last) {
                if !own.contains(table.id) {
                    ranges.push((&table.smallest, &table.largest));
                }
            }
        }
        for other in running.groups() {
            let is_self = other.inputs.iter().any(|id| own.contains(*id));
            if !is_self && below(other.destination) {
                for promised in outputs(&other.action, &tables(shape, other)) {
                    let (from, to) = (promised.smallest, promised.largest);
                    if from <= last && first <= to {
                        ranges.push((from, to));
                    }
                }
            }
        }
        TombstoneRule { ranges: union(ranges), next: 0 }
    }

    /// Whether a tombstone of `key`, at or below the oldest snapshot, may be dropped.
    ///
    /// Costs a comparison or two for keys that ascend, a binary search for one that does not.
    pub fn may_drop(&mut self, key: &[u8]) -> bool {
        let behind = self.next.checked_sub(1).and_then(|i| self.ranges.get(i));
        if behind.is_some_and(|(_, largest)| key <= largest.as_slice()) {
            self.next = self.ranges.partition_point(|(_, largest)| largest.as_slice() < key);
        }
        while let Some((smallest, largest)) = self.ranges.get(self.next) {
            if key <= largest.as_slice() {
                return key < smallest.as_slice();
            }
            self.next += 1;
        }
        true
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

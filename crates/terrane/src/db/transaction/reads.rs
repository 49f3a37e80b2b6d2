//! The reads of a transaction, as ranges that cover them.

use crate::keyspace::KeyspaceId;
use std::cmp::Ordering;
use std::ops::Bound;
use terrane_table::read::KeyRange;

/// The most ranges that are recorded, and the most bytes of their bounds.
pub(super) const READS_MAX: usize = 10_000;
pub(super) const READ_BYTES_MAX: usize = 1 << 20;

/// The reads of a transaction.
#[derive(Default)]
pub(super) struct Reads {
    pub ranges: Vec<(KeyspaceId, KeyRange)>,
    /// Bytes of the ranges' bounds.
    pub bytes: usize,
    /// The ranges of scans that have not been dropped: all of each counts, since a scan may be forgotten.
    scans: Vec<Option<(KeyspaceId, KeyRange)>>,
}

impl Reads {
    /// Records that a scan of a range starts; returns its number.
    pub fn start_scan(&mut self, keyspace: KeyspaceId, range: KeyRange) -> usize {
        let free = self.scans.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.scans.push(None);
            self.scans.len() - 1
        });
        if let Some(scan) = self.scans.get_mut(number) {
            *scan = Some((keyspace, range));
        }
        number
    }

    /// Records that a scan ends, whose reads are added.
    pub fn end_scan(&mut self, number: usize) {
        if let Some(scan) = self.scans.get_mut(number) {
            *scan = None;
        }
    }

    /// Returns all ranges.
    pub fn into_ranges(self) -> impl Iterator<Item = (KeyspaceId, KeyRange)> {
        self.ranges.into_iter().chain(self.scans.into_iter().flatten())
    }

    pub fn add(&mut self, keyspace: KeyspaceId, range: KeyRange) {
        self.bytes += bytes_of(&range);
        self.ranges.push((keyspace, range));
        while self.ranges.len() > READS_MAX || self.bytes > READ_BYTES_MAX {
            let before = self.ranges.len();
            self.widen();
            if self.ranges.len() == before {
                // A range a keyspace: nothing is left to join.
                return;
            }
        }
    }

    /// Joins neighbours, two by two, to the ranges that cover them.
    fn widen(&mut self) {
        self.ranges.sort_by(|(a, of_a), (b, of_b)| {
            a.cmp(b).then_with(|| compare_starts(&of_a.from, &of_b.from))
        });
        let mut joined: Vec<(KeyspaceId, KeyRange)> = Vec::new();
        let mut may_join = false;
        for (keyspace, range) in self.ranges.drain(..) {
            match joined.last_mut() {
                Some((last, before)) if may_join && *last == keyspace => {
                    if compare_ends(&before.to, &range.to) == Ordering::Less {
                        before.to = range.to;
                    }
                    may_join = false;
                }
                _ => {
                    joined.push((keyspace, range));
                    may_join = true;
                }
            }
        }
        self.bytes = joined.iter().map(|(_, range)| bytes_of(range)).sum();
        self.ranges = joined;
    }
}

pub(super) fn only(key: &[u8]) -> KeyRange {
    KeyRange { from: Bound::Included(key.to_vec()), to: Bound::Included(key.to_vec()) }
}

fn bytes_of(range: &KeyRange) -> usize {
    let bytes = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.len(),
        Bound::Unbounded => 0,
    };
    bytes(&range.from) + bytes(&range.to)
}

/// Compares lower bounds: unbounded first, and an inclusive one before an exclusive one.
fn compare_starts(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> Ordering {
    fn rank(bound: &Bound<Vec<u8>>) -> (bool, &[u8], bool) {
        match bound {
            Bound::Unbounded => (false, &[], false),
            Bound::Included(key) => (true, key, false),
            Bound::Excluded(key) => (true, key, true),
        }
    }
    rank(a).cmp(&rank(b))
}

/// Compares upper bounds: unbounded last, and an inclusive one after an exclusive one.
fn compare_ends(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> Ordering {
    fn rank(bound: &Bound<Vec<u8>>) -> (bool, &[u8], bool) {
        match bound {
            Bound::Unbounded => (true, &[], false),
            Bound::Included(key) => (false, key, true),
            Bound::Excluded(key) => (false, key, false),
        }
    }
    rank(a).cmp(&rank(b))
}

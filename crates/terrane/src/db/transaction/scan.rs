//! Scans of a transaction: what is stored, with its own writes.

use super::reads::Reads;
use super::written::{Place, Written};
use crate::entry::Millis;
use crate::error::Result;
use crate::keyspace::KeyspaceId;
use crate::operand::MergeOperator;
use crate::read::Scan;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::btree_map;
use std::ops::Bound;
use terrane_table::read::KeyRange;
use terrane_types::range_deletes::RangeDeletes;

/// A key and its value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// An iterator over the keys and values of a range, as a transaction sees them; see
/// [`Transaction::scan`](super::Transaction::scan).
pub struct TransactionScan<'t> {
    pub(super) keyspace: KeyspaceId,
    /// Number among the transaction's scans.
    pub(super) number: usize,
    pub(super) range: KeyRange,
    pub(super) stored: Ends<Scan>,
    pub(super) written: Ends<btree_map::Range<'t, Place, Written>>,
    /// The time up to which values have expired.
    pub(super) now: Millis,
    /// The transaction's range deletes.
    pub(super) removed: Option<RangeDeletes>,
    pub(super) operator: Option<&'t MergeOperator>,
    /// Whether all stored rows were looked at.
    pub(super) ended: bool,
    /// The last stored keys that were looked at from the start and from the end.
    pub(super) first: Option<Vec<u8>>,
    pub(super) last: Option<Vec<u8>>,
    pub(super) reads: &'t RefCell<Reads>,
}

impl TransactionScan<'_> {
    /// Returns the next row from an end; `before` says which of two keys comes first there.
    fn step(&mut self, end: Side, before: Ordering) -> Option<Result<Row>> {
        loop {
            let stored = match self.stored.peek(end) {
                None => {
                    self.ended = true;
                    None
                }
                Some(Err(_)) => {
                    self.ended = true;
                    return self.stored.take(end);
                }
                Some(Ok((key, _))) => {
                    let looked_at = match end {
                        Side::Front => &mut self.first,
                        Side::Back => &mut self.last,
                    };
                    *looked_at = Some(key.clone());
                    if self.removed.as_ref().is_some_and(|list| list.over(key).is_some()) {
                        self.stored.take(end);
                        continue;
                    }
                    Some(key)
                }
            };
            let written = self.written.peek(end).map(|((_, key), _)| key);
            let order = match (stored, written) {
                (None, None) => return None,
                (Some(_), None) => before,
                (None, Some(_)) => before.reverse(),
                (Some(stored), Some(written)) => stored.cmp(written),
            };
            if order == before {
                return self.stored.take(end);
            }
            let stored = if order == Ordering::Equal { self.stored.take(end) } else { None };
            let Some(((_, key), written)) = self.written.take(end) else { continue };
            let stored = stored.and_then(Result::ok).map(|(_, value)| value);
            if let Some(value) = written.seen(stored, self.now, self.operator).transpose() {
                return Some(value.map(|value| (key.clone(), value)));
            }
        }
    }
}

impl Iterator for TransactionScan<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(Side::Front, Ordering::Less)
    }
}

impl DoubleEndedIterator for TransactionScan<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(Side::Back, Ordering::Greater)
    }
}

impl Drop for TransactionScan<'_> {
    fn drop(&mut self) {
        let mut reads = self.reads.borrow_mut();
        reads.end_scan(self.number);
        let KeyRange { from, to } = std::mem::take(&mut self.range);
        if self.ended {
            return reads.add(self.keyspace, KeyRange { from, to });
        }
        if let Some(key) = self.first.take() {
            reads.add(self.keyspace, KeyRange { from, to: Bound::Included(key) });
        }
        if let Some(key) = self.last.take() {
            reads.add(self.keyspace, KeyRange { from: Bound::Included(key), to });
        }
    }
}

/// A side of an iterator.
#[derive(Clone, Copy)]
enum Side {
    Front,
    Back,
}

/// A double-ended iterator whose next items at both ends can be looked at.
pub(super) struct Ends<I: DoubleEndedIterator> {
    rest: I,
    front: Option<I::Item>,
    back: Option<I::Item>,
}

impl<I: DoubleEndedIterator> Ends<I> {
    pub fn new(rest: I) -> Self {
        Ends { rest, front: None, back: None }
    }

    fn fill(&mut self, end: Side) -> &mut Option<I::Item> {
        // Where nothing is left between them, an item belongs to both ends.
        match end {
            Side::Front => {
                if self.front.is_none() {
                    self.front = self.rest.next().or_else(|| self.back.take());
                }
                &mut self.front
            }
            Side::Back => {
                if self.back.is_none() {
                    self.back = self.rest.next_back().or_else(|| self.front.take());
                }
                &mut self.back
            }
        }
    }

    fn peek(&mut self, end: Side) -> Option<&I::Item> {
        self.fill(end).as_ref()
    }

    fn take(&mut self, end: Side) -> Option<I::Item> {
        self.fill(end).take()
    }
}

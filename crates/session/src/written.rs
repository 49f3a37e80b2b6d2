//! The watched keys and ranges that a batch changes. They are found before the commit, which consumes the batch, and
//! reported to the watches after it.

use crate::segments::Segments;
use std::sync::Arc;
use terrane::batch::Operation;
use terrane::{KeyspaceId, WriteBatch};

/// The keys of a batch that watches cover, and its ranges.
pub(crate) struct Written {
    segments: Arc<Segments>,
    /// The keyspace of the last key, its place among those that are watched, and the segment of the key.
    last: Option<(KeyspaceId, Option<usize>, usize)>,
    keys: Vec<u8>,
    covered: Vec<CoveredKey>,
    /// The deleted ranges, each without the key at its end.
    pub(crate) ranges: Vec<(KeyspaceId, Vec<u8>, Option<Vec<u8>>)>,
}

/// A key of a segment that has watches.
struct CoveredKey {
    /// The place of its keyspace among those that are watched.
    keyspace: usize,
    segment: usize,
    /// The end of the key among the bytes of all.
    end: usize,
}

impl Written {
    /// Starts with nothing written.
    pub(crate) fn new(segments: Arc<Segments>) -> Self {
        let (keys, covered, ranges) = (Vec::new(), Vec::new(), Vec::new());
        Written { segments, last: None, keys, covered, ranges }
    }

    /// Returns what a batch changes.
    pub(crate) fn by(batch: &WriteBatch, segments: Arc<Segments>) -> Self {
        let mut written = Written::new(segments);
        for (keyspace, operation) in batch.iter().map_while(Result::ok) {
            written.push(keyspace, operation);
        }
        written
    }

    /// Adds the key of an operation, if a watch covers it, or its range.
    pub(crate) fn push(&mut self, keyspace: KeyspaceId, operation: Operation<'_>) {
        match operation {
            Operation::Put(key, _)
            | Operation::PutExpiring(key, _)
            | Operation::Merge(key, _)
            | Operation::Delete(key) => self.push_key(keyspace, key),
            Operation::DeleteRange(from, to) => {
                self.ranges.push((keyspace, from.to_vec(), to.map(<[u8]>::to_vec)));
            }
            // No batch of a caller has it.
            Operation::DropKeyspace(_) => {}
        }
    }

    fn push_key(&mut self, id: KeyspaceId, key: &[u8]) {
        let (keyspace, before) = match self.last {
            Some((last, keyspace, segment)) if last == id => (keyspace, segment),
            _ => (self.segments.find(id), 0),
        };
        let mut segment = before;
        if let Some((keyspace, segments)) =
            keyspace.and_then(|at| Some((at, self.segments.at(at)?)))
        {
            segment = segments.place(before, key);
            if !segments.watches(segment).is_empty() {
                self.keys.extend_from_slice(key);
                self.covered.push(CoveredKey { keyspace, segment, end: self.keys.len() });
            }
        }
        self.last = Some((id, keyspace, segment));
    }

    /// Returns `true` if these segments are those by which the keys were found.
    pub(crate) fn is_by(&self, segments: &Arc<Segments>) -> bool {
        Arc::ptr_eq(&self.segments, segments)
    }

    /// Returns the memory of the covered keys in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() + size_of_val(&*self.covered)
    }

    /// Returns the covered keys, each after the places of the watches that cover it.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&[usize], &[u8])> {
        let mut start = 0;
        self.covered.iter().map_while(move |covered| {
            let key = self.keys.get(std::mem::replace(&mut start, covered.end)..covered.end)?;
            Some((self.segments.at(covered.keyspace)?.watches(covered.segment), key))
        })
    }
}

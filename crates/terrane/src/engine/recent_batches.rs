//! Recent batches: what a conditional batch is compared with under the writer's lock.
//!
//! A conditional batch is evaluated on what is visible, at R, before it queues. Under the lock it needs the batches
//! after R. They are kept only while a conditional batch is under way, and up to a bound; where one is missing, the
//! batch was outrun, and is evaluated again.

use crate::entry::Seq;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;

/// The most bytes of batches that are kept.
const BYTES_MAX: usize = 1 << 20;

/// Counts the conditional batches that are under way.
#[derive(Default)]
pub(crate) struct ConditionalWrites(AtomicUsize);

/// A conditional batch that is under way.
pub(crate) struct UnderWay<'a>(&'a ConditionalWrites);

impl ConditionalWrites {
    /// Counts a conditional batch until the guard is dropped.
    pub fn enter(&self) -> UnderWay<'_> {
        self.0.fetch_add(1, Ordering::AcqRel);
        UnderWay(self)
    }

    /// Whether one is under way.
    pub fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The newest batches without a gap, encoded, while conditional batches are under way.
#[derive(Default)]
pub(crate) struct RecentBatches {
    batches: VecDeque<(Seq, Vec<u8>)>,
    bytes: usize,
    /// Every batch with this sequence number or a greater one is here.
    from: Seq,
}

impl RecentBatches {
    /// Adds batches with consecutive numbers from `first` on, or forgets all if nobody needs them.
    pub fn add(&mut self, needed: bool, first: Seq, batches: &[&[u8]]) {
        if !needed {
            self.batches.clear();
            self.bytes = 0;
            self.from = first + batches.len() as u64;
            return;
        }
        for (seq, batch) in (first..).zip(batches) {
            if batch.len() > BYTES_MAX {
                // Rather than copy it for nothing.
                (self.from, self.bytes) = (seq + 1, 0);
                self.batches.clear();
                continue;
            }
            self.bytes += batch.len();
            self.batches.push_back((seq, batch.to_vec()));
        }
        while self.bytes > BYTES_MAX
            && let Some((seq, batch)) = self.batches.pop_front()
        {
            self.bytes -= batch.len();
            self.from = seq + 1;
        }
    }

    /// Returns the batches after `seq`, oldest first; `None` if not all of them are here.
    pub fn after(&self, seq: Seq) -> Option<impl Iterator<Item = (Seq, &[u8])>> {
        (self.from <= seq + 1).then(|| {
            let skipped = self.batches.partition_point(|(at, _)| *at <= seq);
            self.batches.iter().skip(skipped).map(|(seq, batch)| (*seq, batch.as_slice()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(recent: &RecentBatches, seq: Seq) -> Option<Vec<Seq>> {
        recent.after(seq).map(|batches| batches.map(|(seq, _)| seq).collect())
    }

    #[test]
    fn batches_are_kept_only_while_they_are_needed() {
        let mut recent = RecentBatches::default();
        recent.add(false, 1, &[b"a", b"b"]);
        assert_eq!((after(&recent, 1), after(&recent, 2)), (None, Some(vec![])));
        recent.add(true, 3, &[b"c", b"d"]);
        recent.add(true, 5, &[b"e"]);
        assert_eq!(after(&recent, 1), None);
        assert_eq!(after(&recent, 2), Some(vec![3, 4, 5]));
        assert_eq!(after(&recent, 4), Some(vec![5]));
        recent.add(false, 6, &[b"f"]);
        assert_eq!((after(&recent, 5), after(&recent, 6)), (None, Some(vec![])));
    }

    #[test]
    fn the_oldest_batches_make_room() {
        let mut recent = RecentBatches::default();
        let half = vec![0; BYTES_MAX / 2];
        recent.add(true, 1, &[&half, &half]);
        assert_eq!(after(&recent, 0), Some(vec![1, 2]));
        recent.add(true, 3, &[b"c"]);
        assert_eq!((after(&recent, 0), after(&recent, 1)), (None, Some(vec![2, 3])));
        recent.add(true, 4, &[&vec![0; BYTES_MAX + 1]]);
        assert_eq!((after(&recent, 3), after(&recent, 4)), (None, Some(vec![])));
        assert_eq!(recent.bytes, 0);
    }
}

//! State of the bucket policy: buckets, the volumes flushed into them, and medians to split at.
//!
//! Buckets tile the key space: each starts at a boundary, the first at the least key. The *window* is the
//! last W flushes. A bucket's volume is what they put into it, and its temperature is how many times its
//! fair share that is: `BT = N * F / sum of F`.
//!
//! Encoded as u32 N, u32 flushes in the window, u32 buckets, and for each bucket its boundary, u64 bytes of
//! each flush, the oldest first, and its medians, u32 of them; a key is its u16 length and its bytes. All
//! numbers are little-endian.

use terrane_types::{TableInfo, mul_div, sort_by};

/// Buckets, in key order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buckets {
    /// N, the number for which they were made.
    pub(crate) configured: u64,
    /// Flushes in the window.
    flushes: usize,
    /// None before the first flush that is large enough.
    pub(crate) all: Vec<Bucket>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Boundary at its start.
    pub(crate) boundary: Vec<u8>,
    /// Bytes that each flush of the window put into it, the oldest first.
    volumes: Vec<u64>,
    /// The medians of its level-0 tables that were merged last, the oldest first.
    medians: Vec<Vec<u8>>,
}

impl Bucket {
    /// F: its volume.
    pub(crate) fn volume(&self) -> u64 {
        self.volumes.iter().copied().fold(0, u64::saturating_add)
    }

    /// The median of the medians of its tables in the window.
    fn middle(&self) -> Option<&Vec<u8>> {
        let tables = self.volumes.iter().filter(|bytes| **bytes > 0).count();
        let skipped = self.medians.len().saturating_sub(tables);
        let mut medians: Vec<_> = self.medians.iter().skip(skipped).collect();
        sort_by(&mut medians, |a, b| a.cmp(b));
        medians.get(medians.len() / 2).copied()
    }
}

impl Buckets {
    /// Buckets that part at these keys, of which nothing is known yet.
    pub(crate) fn new(configured: u64, cuts: &[Vec<u8>]) -> Self {
        let first = std::iter::once(Vec::new());
        let bucket = |boundary| Bucket { boundary, ..Bucket::default() };
        let all = first.chain(cuts.iter().cloned()).map(bucket).collect();
        Buckets { configured, flushes: 0, all }
    }

    /// The keys at which they part.
    pub(crate) fn boundaries(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.all.iter().skip(1).map(|bucket| &bucket.boundary)
    }

    /// The index of the bucket that holds a key.
    pub(crate) fn of(&self, key: &[u8]) -> usize {
        let after = self.all.partition_point(|bucket| bucket.boundary.as_slice() <= key);
        after.saturating_sub(1)
    }

    /// Notes a flush: the least key and the bytes of each of its tables.
    pub(crate) fn flushed<'t>(
        &mut self,
        tables: impl Iterator<Item = (&'t [u8], u64)>,
        window: u64,
    ) {
        let window = usize::try_from(window).unwrap_or(usize::MAX).max(1);
        self.flushes = self.flushes.saturating_add(1).min(window);
        for bucket in &mut self.all {
            bucket.volumes.push(0);
            let old = bucket.volumes.len().saturating_sub(self.flushes);
            bucket.volumes.drain(..old);
        }
        for (smallest, bytes) in tables {
            let at = self.of(smallest);
            if let Some(volume) = self.all.get_mut(at).and_then(|bucket| bucket.volumes.last_mut())
            {
                *volume = volume.saturating_add(bytes);
            }
        }
    }

    /// Notes the median of a level-0 table that was merged.
    pub(crate) fn merged(&mut self, smallest: &[u8], median: &[u8], kept: usize) {
        let at = self.of(smallest);
        let flushes = self.flushes;
        if let Some(bucket) = self.all.get_mut(at) {
            bucket.medians.push(median.iter().take(kept).copied().collect());
            let old = bucket.medians.len().saturating_sub(flushes);
            bucket.medians.drain(..old);
        }
    }

    /// BT in thousandths: `shares` times the volume of a bucket, or of several together, over that of all.
    pub(crate) fn temperature(&self, volume: u64, shares: u64) -> u64 {
        let volumes = self.all.iter().map(Bucket::volume);
        match volumes.fold(0, u64::saturating_add) {
            0 => 0,
            all => mul_div(volume, shares.saturating_mul(1000), all),
        }
    }

    /// Splits a bucket at the middle of its tables, if there is a key to split at: each half gets half of
    /// the volume.
    pub(crate) fn split(&mut self, at: usize) -> bool {
        let Some(bucket) = self.all.get_mut(at) else { return false };
        let Some(boundary) = bucket.middle().filter(|key| **key > bucket.boundary).cloned() else {
            return false;
        };
        let upper = bucket.volumes.iter().map(|bytes| bytes / 2).collect();
        let (above, below) = bucket.medians.drain(..).partition(|median| *median >= boundary);
        bucket.medians = below;
        for bytes in &mut bucket.volumes {
            *bytes -= *bytes / 2;
        }
        self.all.insert(at + 1, Bucket { boundary, volumes: upper, medians: above });
        true
    }

    /// The colder neighbour of a bucket; of two alike the one before it.
    pub(crate) fn neighbour(&self, at: usize) -> Option<usize> {
        let volume = |at: usize| self.all.get(at).map(Bucket::volume);
        let before = at.checked_sub(1);
        let after = Some(at + 1).filter(|after| *after < self.all.len());
        match (before, after) {
            (Some(before), Some(after)) if volume(after) < volume(before) => Some(after),
            (before, after) => before.or(after),
        }
    }

    /// Joins a bucket and the next one: volumes add up.
    pub(crate) fn join(&mut self, at: usize) {
        if at + 1 >= self.all.len() {
            return;
        }
        let upper = self.all.remove(at + 1);
        let flushes = self.flushes;
        if let Some(lower) = self.all.get_mut(at) {
            for (bytes, more) in lower.volumes.iter_mut().zip(upper.volumes) {
                *bytes = bytes.saturating_add(more);
            }
            lower.medians.extend(upper.medians);
            let old = lower.medians.len().saturating_sub(flushes);
            lower.medians.drain(..old);
        }
    }

    /// The longest that boundaries and medians may be, so that `buckets` buckets fit into a state of `state_bytes`
    /// bytes.
    pub(crate) fn kept(buckets: u64, window: u64, state_bytes: u64) -> u64 {
        let bucket = state_bytes.saturating_sub(12) / buckets.max(1);
        let numbers = window.saturating_mul(8).saturating_add(4);
        let key = bucket.saturating_sub(numbers) / window.saturating_add(1);
        key.saturating_sub(2).min(MAX_KEPT)
    }

    /// Encodes them as a state.
    pub(crate) fn state(&self) -> Vec<u8> {
        let mut state = Vec::new();
        let mut number = |n: u64| state.extend(u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes());
        number(self.configured);
        number(self.flushes as u64);
        number(self.all.len() as u64);
        for bucket in &self.all {
            put_key(&mut state, &bucket.boundary);
            for bytes in &bucket.volumes {
                state.extend(bytes.to_le_bytes());
            }
            state.extend(u32::try_from(bucket.medians.len()).unwrap_or(0).to_le_bytes());
            bucket.medians.iter().for_each(|median| put_key(&mut state, median));
        }
        state
    }

    /// Decodes a state; none if it is not valid.
    pub(crate) fn read(state: &[u8]) -> Self {
        decode(&mut { state }).filter(Buckets::is_sound).unwrap_or_default()
    }

    fn is_sound(&self) -> bool {
        let first = self.all.first().is_none_or(|bucket| bucket.boundary.is_empty());
        first && self.all.is_sorted_by(|a, b| a.boundary < b.boundary)
    }
}

/// The longest boundaries and medians.
const MAX_KEPT: u64 = 256;

fn put_key(state: &mut Vec<u8>, key: &[u8]) {
    let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
    state.extend(length.to_le_bytes());
    state.extend(key.iter().take(usize::from(length)));
}

fn take<const N: usize>(state: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = state.split_first_chunk()?;
    *state = rest;
    Some(*taken)
}

fn take_number(state: &mut &[u8]) -> Option<u32> {
    take(state).map(u32::from_le_bytes)
}

fn take_key(state: &mut &[u8]) -> Option<Vec<u8>> {
    let length = u16::from_le_bytes(take(state)?);
    let (key, rest) = state.split_at_checked(length.into())?;
    *state = rest;
    Some(key.to_vec())
}

fn decode(state: &mut &[u8]) -> Option<Buckets> {
    let configured = take_number(state)?.into();
    let flushes = usize::try_from(take_number(state)?).ok()?;
    let count = take_number(state)?;
    let mut all = Vec::new();
    for _ in 0..count {
        let boundary = take_key(state)?;
        let mut volumes = Vec::new();
        for _ in 0..flushes {
            volumes.push(u64::from_le_bytes(take(state)?));
        }
        let mut medians = Vec::new();
        for _ in 0..take_number(state)? {
            medians.push(take_key(state)?);
        }
        all.push(Bucket { boundary, volumes, medians });
    }
    state.is_empty().then_some(Buckets { configured, flushes, all })
}

/// The key up to which a table has half of its bytes, as its histogram says.
pub(super) fn median(table: &TableInfo) -> Option<&[u8]> {
    let all = table.histogram.last()?.bytes;
    let half = table.histogram.iter().find(|point| point.bytes >= all / 2)?;
    Some(&half.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets of these volumes, which part at the keys 1, 2 and so on.
    fn of_volumes(volumes: &[u64]) -> Buckets {
        let cuts: Vec<_> = (1..volumes.len()).map(|key| vec![key as u8]).collect();
        let mut buckets = Buckets::new(4, &cuts);
        let keys: Vec<_> = (0..volumes.len()).map(|key| [key as u8]).collect();
        buckets.flushed(keys.iter().map(|key| &key[..]).zip(volumes.iter().copied()), 10);
        buckets
    }

    #[test]
    fn the_colder_neighbour_is_found_on_either_side() {
        for (volumes, at, found) in [
            (&[5, 9, 7][..], 1, Some(0)),
            (&[7, 9, 5], 1, Some(2)),
            (&[6, 9, 6], 1, Some(0)),
            (&[5, 9, 7], 0, Some(1)),
            (&[5, 9, 7], 2, Some(1)),
            (&[5], 0, None),
        ] {
            assert_eq!(of_volumes(volumes).neighbour(at), found, "{volumes:?} {at}");
        }
    }

    #[test]
    fn a_bucket_takes_over_the_next_one_and_the_last_has_none() {
        let mut buckets = of_volumes(&[5, 9, 7]);
        let whole = buckets.clone();
        buckets.join(2);
        assert_eq!(buckets, whole);
        buckets.join(1);
        let volumes: Vec<_> = buckets.all.iter().map(Bucket::volume).collect();
        assert_eq!(volumes, [5, 16]);
    }

    #[test]
    fn a_bucket_splits_at_the_middle_of_one_median_per_flush() {
        let mut buckets = Buckets::new(4, &[]);
        for bytes in [7, 0, 6, 0, 0] {
            buckets.flushed(std::iter::once((&[][..], bytes)), 5);
        }
        for median in [1, 2, 8, 9] {
            buckets.merged(&[], &[median], 1);
        }
        assert!(buckets.split(0));
        let half = |boundary: &[u8], volumes: [u64; 5], medians: &[u8]| Bucket {
            boundary: boundary.to_vec(),
            volumes: volumes.to_vec(),
            medians: medians.iter().map(|median| vec![*median]).collect(),
        };
        let halves = [half(&[], [4, 0, 3, 0, 0], &[1, 2, 8]), half(&[9], [3, 0, 3, 0, 0], &[9])];
        assert_eq!(buckets.all, halves);
    }

    #[test]
    fn a_bucket_whose_middle_is_its_start_is_not_split() {
        let mut buckets = of_volumes(&[5, 9]);
        buckets.merged(&[1], &[1], 1);
        let whole = buckets.clone();
        assert!(!buckets.split(1));
        assert_eq!(buckets, whole);
        buckets.merged(&[1], &[1, 0], 2);
        assert!(buckets.split(1));
        assert_eq!(buckets.all[2].boundary, [1, 0]);
    }

    #[test]
    fn the_longest_kept_keys_fit_into_a_state_and_longer_do_not() {
        // Boundary and medians with their lengths, the volumes and how many medians there are.
        let bytes = |buckets: u64, window: u64, key: u64| {
            12 + buckets * ((2 + key) * (1 + window) + 8 * window + 4)
        };
        for buckets in [1, 2, 7, 100, 256] {
            for window in [1, 2, 10, 13, 64] {
                for state in [1 << 10, 1 << 16] {
                    let kept = Buckets::kept(buckets, window, state);
                    assert!(kept <= MAX_KEPT);
                    assert!(kept == 0 || bytes(buckets, window, kept) <= state, "{kept}");
                    assert!(kept == MAX_KEPT || bytes(buckets, window, kept + 1) > state, "{kept}");
                }
            }
        }
    }

    #[test]
    fn buckets_that_do_not_ascend_are_no_state() {
        let sound = of_volumes(&[5, 9, 7]);
        assert_eq!(Buckets::read(&sound.state()), sound);
        for boundaries in [[&[][..], &[2], &[2]], [&[], &[2], &[1]], [&[0], &[1], &[2]]] {
            let mut wrong = sound.clone();
            for (bucket, boundary) in wrong.all.iter_mut().zip(boundaries) {
                bucket.boundary = boundary.to_vec();
            }
            assert_eq!(Buckets::read(&wrong.state()), Buckets::default(), "{boundaries:?}");
        }
    }
}

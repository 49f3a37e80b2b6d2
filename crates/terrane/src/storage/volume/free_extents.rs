//! The free space of one backing file: a map of extents, first fit, with neighbours coalesced.

use crate::storage::extent::{Extent, UNIT};
use crate::vec_map::VecMap;

/// The free extents of a backing file, up to its end.
#[derive(Debug, Default)]
pub(super) struct FreeExtents {
    /// Lengths by offset. No two are adjacent.
    extents: VecMap<u64, u64>,
    /// Free bytes in all.
    total: u64,
    end: u64,
}

impl FreeExtents {
    /// A file of `end` bytes, rounded down to a unit, all of it free.
    pub(super) fn new(end: u64) -> Self {
        let mut free = FreeExtents::default();
        free.extend(end - end % UNIT);
        free
    }

    /// Returns the end of the file.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Free bytes in all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Free bytes at the end of the file.
    pub(super) fn tail(&self) -> u64 {
        match self.extents.last() {
            Some((at, len)) if at + len == self.end => *len,
            _ => 0,
        }
    }

    /// Allocates exactly `extent`; returns false if any of it is in use.
    pub(super) fn reserve(&mut self, extent: Extent) -> bool {
        let Some(&(at, len)) = self.extents.below(&(extent.offset + 1)).last() else {
            return false;
        };
        let fits = at + len >= extent.end();
        if fits {
            self.carve(Extent { offset: at, len }, extent);
        }
        fits
    }

    /// Allocates up to `want` bytes of the first extent with at least `least` bytes; `least` is at
    /// most `want`, and both are multiples of the unit.
    pub(super) fn take(&mut self, want: u64, least: u64) -> Option<Extent> {
        let mut all = self.extents.iter().map(|(&offset, &len)| Extent { offset, len });
        let from = all.find(|e| e.len >= least)?;
        let taken = Extent { offset: from.offset, len: want.min(from.len) };
        self.carve(from, taken);
        Some(taken)
    }

    /// Allocates `want` bytes below `limit`, lowest extents first; all of it or nothing.
    pub(super) fn take_below(&mut self, want: u64, limit: u64) -> Option<Vec<Extent>> {
        let mut missing = want;
        let mut taken = Vec::new();
        for &(offset, len) in self.extents.below(&limit) {
            let len = len.min(limit - offset).min(missing);
            if len == 0 {
                break;
            }
            taken.push(Extent { offset, len });
            missing -= len;
        }
        if missing > 0 {
            return None;
        }
        for extent in &taken {
            self.reserve(*extent);
        }
        Some(taken)
    }

    /// Allocates the lowest extent of `len` bytes that starts at a multiple of `align` and ends at or
    /// before `limit`.
    pub(super) fn take_aligned(&mut self, len: u64, align: u64, limit: u64) -> Option<Extent> {
        let mut all = self.extents.iter().map(|(&offset, &len)| Extent { offset, len });
        let (from, taken) = all.find_map(|from| {
            let taken = Extent { offset: from.offset.next_multiple_of(align), len };
            (taken.end() <= from.end().min(limit)).then_some((from, taken))
        })?;
        self.carve(from, taken);
        Some(taken)
    }

    /// Frees `extent`.
    pub(super) fn free(&mut self, extent: Extent) {
        self.total += extent.len;
        let (mut offset, mut end) = (extent.offset, extent.end());
        if let Some(&(at, len)) = self.extents.below(&offset).last() {
            debug_assert!(at + len <= offset, "{extent:?} is free already");
            if at + len == offset {
                self.extents.remove(&at);
                offset = at;
            }
        }
        if let Some(len) = self.extents.remove(&end) {
            end += len;
        }
        let twice = self.extents.insert(offset, end - offset);
        debug_assert!(twice.is_none(), "{extent:?} is free already");
    }

    /// Grows the file to `end`; the new bytes are free.
    pub(super) fn extend(&mut self, end: u64) {
        if end > self.end {
            let more = Extent { offset: self.end, len: end - self.end };
            self.end = end;
            self.free(more);
        }
    }

    /// Truncates the file to `end`, which is before its end; returns false if bytes after it are in
    /// use.
    pub(super) fn truncate(&mut self, end: u64) -> bool {
        let fits = self.reserve(Extent { offset: end, len: self.end - end });
        if fits {
            self.end = end;
        }
        fits
    }

    /// Removes `taken` from the free extent `from`.
    fn carve(&mut self, from: Extent, taken: Extent) {
        self.total -= taken.len;
        self.extents.remove(&from.offset);
        if taken.offset > from.offset {
            self.extents.insert(from.offset, taken.offset - from.offset);
        }
        if taken.end() < from.end() {
            self.extents.insert(taken.end(), from.end() - taken.end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The units of an extent.
    fn units(e: Extent) -> std::ops::Range<usize> {
        (e.offset / UNIT) as usize..(e.end() / UNIT) as usize
    }

    proptest! {
        #[test]
        fn the_map_agrees_with_a_bitmap(
            steps in prop::collection::vec((0u8..7, 1u64..9, 0usize..64), 1..120)
        ) {
            let mut free = FreeExtents::new(40 * UNIT + 17);
            let mut bits = vec![true; 40];
            let mut held: Vec<Extent> = Vec::new();
            for (what, n, pick) in steps {
                let runs: Vec<usize> =
                    bits.split(|b| !b).map(<[bool]>::len).filter(|n| *n > 0).collect();
                let longest = runs.iter().copied().max().unwrap_or(0);
                match what {
                    0 | 1 => match free.take(n * UNIT, n.min(2) * UNIT) {
                        Some(e) => {
                            prop_assert!(bits[units(e)].iter().all(|b| *b));
                            prop_assert!(e.len >= n.min(2) * UNIT && e.len <= n * UNIT);
                            bits[units(e)].fill(false);
                            held.push(e);
                        }
                        None => prop_assert!(longest < (n as usize).min(2)),
                    },
                    2 => {
                        let limit = pick.min(bits.len());
                        let below = bits[..limit].iter().filter(|b| **b).count() as u64;
                        match free.take_below(n * UNIT, limit as u64 * UNIT) {
                            Some(extents) => {
                                prop_assert_eq!(extents.iter().map(|e| e.len).sum::<u64>(), n * UNIT);
                                for e in extents {
                                    prop_assert!(e.end() <= limit as u64 * UNIT);
                                    prop_assert!(bits[units(e)].iter().all(|b| *b));
                                    bits[units(e)].fill(false);
                                    held.push(e);
                                }
                            }
                            None => prop_assert!(below < n),
                        }
                    }
                    3 if !held.is_empty() => {
                        let e = held.swap_remove(pick % held.len());
                        bits[units(e)].fill(true);
                        free.free(e);
                    }
                    4 => {
                        free.extend((bits.len() as u64 + n) * UNIT);
                        bits.resize(bits.len() + n as usize, true);
                    }
                    5 => {
                        let limit = pick.min(bits.len());
                        let fits = |at: &usize| {
                            bits.get(*at..at + n as usize).is_some_and(|b| b.iter().all(|b| *b))
                        };
                        let expected = (0..limit).step_by(4)
                            .filter(|at| at + n as usize <= limit).find(fits);
                        let found = free.take_aligned(n * UNIT, 4 * UNIT, limit as u64 * UNIT);
                        prop_assert_eq!(found.map(|e| units(e).start), expected);
                        if let Some(e) = found {
                            bits[units(e)].fill(false);
                            held.push(e);
                        }
                    }
                    6 if bits.len() > n as usize => {
                        let end = bits.len() - n as usize;
                        let fits = bits[end..].iter().all(|b| *b);
                        prop_assert_eq!(free.truncate(end as u64 * UNIT), fits);
                        if fits {
                            bits.truncate(end);
                        }
                    }
                    _ => {}
                }
                let tail = bits.iter().rev().take_while(|b| **b).count() as u64;
                prop_assert_eq!(free.tail(), tail * UNIT);
                prop_assert_eq!(free.total(), bits.iter().filter(|b| **b).count() as u64 * UNIT);
                prop_assert_eq!(free.end(), bits.len() as u64 * UNIT);
                let count = bits.split(|b| !b).filter(|r| !r.is_empty()).count();
                prop_assert_eq!(free.extents.len(), count, "neighbours are joined");
            }
        }
    }
}

//! Cutting by range: a cell of the key space is halved until each part is small enough.
//!
//! 1. A key is a fraction, byte by byte. A **cell** is all keys with some prefix whose next eight bytes,
//!    as a number, are from `low` to `high`. Its middle is the mean of the two, rounded down: keys up to
//!    the middle go left, and the right half starts there. The cut is the key of the next number without
//!    its last zeros, the shortest for this place.
//! 2. A cell of one number is followed by the cell of the prefix that all its keys share. Of the key space
//!    these are halves: eight halvings pass over a byte. So cells of one root are nested or disjoint.
//! 3. What a half holds is counted from the points of histograms, each of which has its bytes at its key.
//!    A half without a point is no partition, and a cell whose points share a key is not halved.
//! 4. With a floor, a half with less stays with its neighbour.

use std::ops::Range;
use std::sync::Arc;
use terrane_types::{TableInfo, sort_by};

/// Keys with their bytes, in order.
pub(crate) struct Points<'a> {
    keys: Vec<&'a [u8]>,
    /// Bytes up to each key.
    through: Vec<u64>,
    /// The most by which the bytes of a range are wrong.
    pub(crate) error: u64,
}

impl<'a> Points<'a> {
    /// The points of the tables' histograms. At either end of a range, a point of each table may be on
    /// the wrong side.
    pub(crate) fn of(tables: &[&'a Arc<TableInfo>]) -> Self {
        let mut points = Vec::new();
        let mut error = 0u64;
        for table in tables {
            let (mut before, mut largest) = (0, 0);
            for point in table.histogram.iter() {
                let bytes = point.bytes.saturating_sub(before);
                points.push((point.key.as_slice(), bytes));
                (before, largest) = (point.bytes, bytes.max(largest));
            }
            error = error.saturating_add(largest);
        }
        sort_by(&mut points, Ord::cmp);
        Points { error, ..Points::new(points) }
    }

    /// Points in order.
    pub(crate) fn new(points: impl IntoIterator<Item = (&'a [u8], u64)>) -> Self {
        let mut sum = 0u64;
        let (mut keys, mut through) = (Vec::new(), Vec::new());
        for (key, bytes) in points {
            sum = sum.saturating_add(bytes);
            keys.push(key);
            through.push(sum);
        }
        Points { keys, through, error: 0 }
    }

    /// Returns the number of parts.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    fn bytes(&self, range: &Range<usize>) -> u64 {
        let below =
            |end: usize| end.checked_sub(1).and_then(|at| self.through.get(at)).map_or(0, |b| *b);
        below(range.end).saturating_sub(below(range.start))
    }

    /// The first and the last key.
    fn ends(&self, range: &Range<usize>) -> (&'a [u8], &'a [u8]) {
        let keys = self.keys.get(range.clone()).unwrap_or_default();
        (keys.first().copied().unwrap_or_default(), keys.last().copied().unwrap_or_default())
    }

    /// The first of the range at `key` or after it.
    fn split(&self, range: &Range<usize>, key: &[u8]) -> usize {
        let keys = self.keys.get(range.clone()).unwrap_or_default();
        range.start + keys.partition_point(|k| *k < key)
    }
}

/// A cell of the key space.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    prefix: Vec<u8>,
    low: u64,
    high: u64,
    /// Whether it is that of a prefix, or a part of one.
    whole: bool,
}

impl Cell {
    /// Every key with a prefix.
    fn whole(prefix: &[u8]) -> Self {
        Cell { prefix: prefix.to_vec(), low: 0, high: u64::MAX, whole: true }
    }

    /// From one key to another; with an empty one, to the end of the key space.
    pub(crate) fn between(least: &[u8], greatest: &[u8]) -> Self {
        if greatest.is_empty() {
            return Cell { low: number(least), whole: least.is_empty(), ..Cell::whole(&[]) };
        }
        let (prefix, low, high) = shared(least, greatest);
        Cell { prefix: prefix.to_vec(), low: number(low), high: number(high), whole: false }
    }

    /// The first key of the right half, and the halves; nothing for a cell of one number.
    fn halves(&self) -> Option<(Vec<u8>, Cell, Cell)> {
        let Cell { prefix, low, high, .. } = self;
        let middle = low + high.checked_sub(*low).filter(|span| *span > 0)? / 2;
        let next = middle.saturating_add(1).to_be_bytes();
        let used = next.len() - next.iter().rev().take_while(|byte| **byte == 0).count();
        let cut = [prefix.as_slice(), next.get(..used).unwrap_or_default()].concat();
        let right = if *high - middle == 1 { *high } else { middle };
        let half = |low, high| Cell { prefix: prefix.clone(), low, high, whole: self.whole };
        Some((cut, half(*low, middle), half(right, *high)))
    }
}

/// The first eight bytes as a number.
fn number(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(key).for_each(|(byte, given)| *byte = *given);
    u64::from_be_bytes(bytes)
}

/// The prefix that two keys share, and the rest of each.
fn shared<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8], &'a [u8]) {
    let length = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (prefix, a) = a.split_at_checked(length).unwrap_or_default();
    (prefix, a, b.get(length..).unwrap_or_default())
}

/// The keys at which the cell is cut so that each part has at most `most` bytes, as far as points tell
/// its keys apart, and at least `floor`.
pub(crate) fn halve(points: &Points, root: Cell, most: u64, floor: u64) -> Vec<Vec<u8>> {
    let mut cuts = Vec::new();
    let mut open = vec![(root, 0..points.len())];
    while let Some((cell, range)) = open.pop() {
        let (first, last) = points.ends(&range);
        if points.bytes(&range) <= most || first == last {
            continue;
        }
        let Some((cut, left, right)) = cell.halves() else {
            let (prefix, ..) = shared(first, last);
            // Keys that differ only in zeros at the end count as equal.
            if !cell.whole || prefix.len() > cell.prefix.len() {
                open.push((Cell::whole(prefix), range));
            }
            continue;
        };
        let at = points.split(&range, &cut);
        let (below, above) = (range.start..at, at..range.end);
        let has = |range: &Range<usize>| !range.is_empty() && points.bytes(range) >= floor;
        if has(&below) && has(&above) {
            cuts.push(cut);
        }
        open.extend([(right, above), (left, below)]);
    }
    sort_by(&mut cuts, Ord::cmp);
    cuts
}

/// Removes cuts between neighbouring parts that have at most `most` bytes together.
pub(crate) fn join(points: &Points, cuts: &mut Vec<Vec<u8>>, most: u64) {
    let all = 0..points.len();
    let mut next: Vec<_> = cuts.iter().map(|cut| points.split(&all, cut)).skip(1).collect();
    next.push(all.end);
    let mut start = 0;
    let mut next = next.into_iter();
    cuts.retain(|cut| {
        let end = next.next().unwrap_or(all.end);
        let keeps = points.bytes(&(start..end)) > most;
        if keeps {
            start = points.split(&all, cut);
        }
        keeps
    });
}

//! Doubtful rows: a newer version of them, or their delete, may have been in a lost part.
//!
//! 1. Each lost part has a key range and, as far as known, the greatest sequence number that it held:
//!    for a block, those of its neighbours in the index and of its table; for a table, those in the manifest;
//!    for a log, the sequence numbers that no record has. A manifest that is not whole may have named anything.
//! 2. Writes that the logs still hold are not lost. A part counts only up to the greatest of its sequence numbers that
//!    the logs lack ([`Covered`]).
//! 3. A row is doubtful if a part with its key may have held a greater sequence number than the row has.
//! 4. The report lists the parts of each file as ranges, and joins neighbours until there are at most
//!    [`FILE_RANGES_MAX`]. A row outside of all ranges is as it was after the last write that was
//!    found, and a key outside of them that has no row had none.

use crate::entry::Seq;
use std::collections::BTreeMap;

/// The most ranges of one file and keyspace in a report.
const FILE_RANGES_MAX: usize = 64;

/// A key range whose rows may be outdated, deleted or missing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DoubtfulRange {
    /// Name of the keyspace; `None` for every keyspace, including unknown ones.
    pub keyspace: Option<String>,
    /// Least key; `None` if nothing bounds the range.
    pub from: Option<Vec<u8>>,
    /// Greatest key; `None` if nothing bounds the range.
    pub through: Option<Vec<u8>>,
    /// Greatest sequence number of the lost writes; `None` if it is unknown.
    pub last: Option<u64>,
    /// Doubtful rows that were salvaged from the range.
    pub rows: u64,
    /// Name of the file with the lost part.
    pub file: String,
    /// Description of the loss, as a clause about the file.
    pub reason: String,
}

/// A lost part of a file.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The keyspace; `None` for all.
    pub keyspace: Option<u32>,
    pub from: Option<Vec<u8>>,
    pub through: Option<Vec<u8>>,
    /// The greatest sequence number that it may have held.
    pub last: Seq,
    pub file: String,
    pub reason: String,
    /// Doubtful rows.
    pub rows: u64,
}

impl Part {
    /// Returns a part that may have had every key of every keyspace.
    pub fn everything(file: &str, reason: String, last: Seq) -> Part {
        let (file, rows) = (file.to_owned(), 0);
        Part { keyspace: None, from: None, through: None, last, file, reason, rows }
    }

    fn ends_before(&self, key: &[u8]) -> bool {
        self.through.as_ref().is_some_and(|through| through.as_slice() < key)
    }

    /// Extends the part by `next`, which starts later.
    fn join(&mut self, next: Part) {
        let through = self.through.take().zip(next.through);
        self.through = through.map(|(a, b)| a.max(b));
        self.last = self.last.max(next.last);
        self.rows += next.rows;
    }
}

/// The sequence numbers whose writes the logs hold.
#[derive(Default)]
pub(super) struct Covered {
    /// First and last of each stretch, ascending, with gaps between them.
    stretches: Vec<(Seq, Seq)>,
}

impl Covered {
    pub fn new(mut stretches: Vec<(Seq, Seq)>) -> Covered {
        stretches.sort_unstable();
        let mut joined: Vec<(Seq, Seq)> = Vec::new();
        for (first, last) in stretches {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        Covered { stretches: joined }
    }

    /// Returns the greatest number that is covered.
    pub fn last(&self) -> Option<Seq> {
        self.stretches.last().map(|(_, last)| *last)
    }

    /// Returns the greatest number from `first` through `last` that is not covered.
    pub fn lacks(&self, first: Seq, last: Seq) -> Option<Seq> {
        let at = self.stretches.partition_point(|(first, _)| *first <= last);
        let stretch = at.checked_sub(1).and_then(|at| self.stretches.get(at));
        let lacked = match stretch {
            Some((begins, ends)) if *ends >= last => begins.checked_sub(1)?,
            _ => last,
        };
        (lacked >= first).then_some(lacked)
    }

    /// Returns the stretches from `first` through `last` that are not covered.
    pub fn gaps(&self, first: Seq, last: Seq) -> Vec<(Seq, Seq)> {
        let (mut gaps, mut next) = (Vec::new(), first);
        let end = (last.saturating_add(1), Seq::MAX);
        for (begins, ends) in self.stretches.iter().chain([&end]) {
            let before = begins.saturating_sub(1).min(last);
            if before >= next && *begins > next {
                gaps.push((next, before));
            }
            next = next.max(ends.saturating_add(1));
        }
        gaps
    }
}

/// The lost parts of one keyspace, while its keys are visited in order.
pub(super) struct Doubts {
    /// Parts that start later, the next one last.
    waiting: Vec<Part>,
    /// Parts that may have the current key.
    active: Vec<Part>,
    passed: Vec<Part>,
}

impl Doubts {
    /// Selects the parts that concern a keyspace.
    pub fn of(keyspace: u32, parts: &[Part]) -> Doubts {
        let concerns = |part: &&Part| part.keyspace.is_none_or(|id| id == keyspace);
        let mut waiting: Vec<_> = parts.iter().filter(concerns).cloned().collect();
        waiting.sort_by(|a, b| b.from.cmp(&a.from));
        Doubts { waiting, active: Vec::new(), passed: Vec::new() }
    }

    /// Adds a part that starts at or after the last key that was visited.
    pub fn add(&mut self, part: Part) {
        self.active.push(part);
    }

    /// Returns `true` if the version with this sequence number is doubtful. Counts it if it is a `row`.
    pub fn doubt(&mut self, key: &[u8], seq: Seq, row: bool) -> bool {
        while self.waiting.last().is_some_and(|part| part.from.as_deref() <= Some(key)) {
            self.active.extend(self.waiting.pop());
        }
        self.passed.extend(self.active.extract_if(.., |part| part.ends_before(key)));
        let mut doubtful = false;
        for part in &mut self.active {
            if part.last > seq && part.from.as_deref() <= Some(key) {
                doubtful = true;
                part.rows += u64::from(row);
            }
        }
        doubtful
    }

    /// Returns the parts of the keyspace, and the parts of all keyspaces.
    pub fn finish(mut self) -> (Vec<Part>, Vec<Part>) {
        self.passed.append(&mut self.active);
        self.passed.append(&mut self.waiting);
        self.passed.into_iter().partition(|part| part.keyspace.is_some())
    }
}

/// Returns the parts of one keyspace as ranges, file by file.
pub(super) fn ranges(parts: Vec<Part>, keyspace: Option<&str>) -> Vec<DoubtfulRange> {
    let mut files: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    for part in parts {
        files.entry(part.file.clone()).or_default().push(part);
    }
    let mut ranges = Vec::new();
    for mut parts in files.into_values() {
        parts.sort_by(|a, b| a.from.cmp(&b.from));
        let touch = |a: &Part, b: &Part| a.through.is_none() || b.from <= a.through;
        let mut joined = joined(parts, |_, a, b| touch(a, b));
        while joined.len() > FILE_RANGES_MAX {
            joined = self::joined(joined, |n, _, _| n % 2 == 1);
        }
        ranges.extend(joined.into_iter().map(|part| DoubtfulRange {
            keyspace: keyspace.map(str::to_owned),
            from: part.from,
            through: part.through,
            last: (part.last < Seq::MAX).then_some(part.last),
            rows: part.rows,
            file: part.file,
            reason: part.reason,
        }));
    }
    ranges
}

/// Joins each part with the one before it if `with` returns `true`; `with` receives the part's index.
fn joined(parts: Vec<Part>, with: impl Fn(usize, &Part, &Part) -> bool) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for (n, part) in parts.into_iter().enumerate() {
        match joined.last_mut() {
            Some(last) if with(n, last, &part) => last.join(part),
            _ => joined.push(part),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_agrees_with_a_set_of_numbers() {
        let sets: [&[(Seq, Seq)]; 5] = [
            &[],
            &[(1, 3)],
            &[(4, 6), (1, 2)],
            &[(1, 2), (3, 5), (9, 9)],
            &[(2, 8), (3, 4), (7, 9)],
        ];
        for stretches in sets {
            let covered = Covered::new(stretches.to_vec());
            let has = |n: Seq| stretches.iter().any(|(first, last)| (*first..=*last).contains(&n));
            for (first, last) in
                (0..12).flat_map(|first| (first..12).map(move |last| (first, last)))
            {
                let lacking: Vec<Seq> = (first..=last).filter(|n| !has(*n)).collect();
                assert_eq!(covered.lacks(first, last), lacking.last().copied(), "{stretches:?}");
                let gaps = covered.gaps(first, last);
                let found: Vec<Seq> = gaps.iter().flat_map(|(a, b)| *a..=*b).collect();
                assert_eq!(found, lacking, "{stretches:?} {first} {last}");
                assert!(gaps.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "{gaps:?}");
            }
        }
    }

    fn part(from: u32, through: u32) -> Part {
        let key = |n: u32| Some(n.to_be_bytes().to_vec());
        Part {
            keyspace: Some(1),
            from: key(from),
            through: key(through),
            ..Part::everything("file", "reason".to_owned(), 10)
        }
    }

    #[test]
    fn ranges_of_a_file_are_bounded_and_hold_all_parts() {
        let parts: Vec<_> =
            (0..1000).map(|n| Part { rows: 1, ..part(10 * n, 10 * n + 3) }).collect();
        let ranges = ranges(parts.clone(), Some("default"));
        assert!(ranges.len() <= FILE_RANGES_MAX && ranges.len() > FILE_RANGES_MAX / 3);
        assert_eq!(ranges.iter().map(|range| range.rows).sum::<u64>(), 1000);
        let has = |range: &DoubtfulRange, key: &Option<Vec<u8>>| {
            (&range.from..=&range.through).contains(&key)
        };
        for part in parts {
            assert!(ranges.iter().any(|r| has(r, &part.from) && has(r, &part.through)));
        }
    }

    #[test]
    fn a_version_is_doubtful_if_a_part_has_its_key_and_may_be_newer() {
        let mut doubts =
            Doubts::of(1, &[part(5, 7), part(20, 30), Part { keyspace: Some(2), ..part(0, 99) }]);
        let mut found = Vec::new();
        for n in 0..40_u32 {
            if n == 12 {
                doubts.add(part(13, 14));
            }
            if doubts.doubt(&n.to_be_bytes(), if n == 25 { 10 } else { 9 }, true) {
                found.push(n);
            }
        }
        let expected: Vec<u32> = (5..=7).chain(13..=14).chain(20..=24).chain(26..=30).collect();
        assert_eq!(found, expected);
        let (parts, shared) = doubts.finish();
        assert_eq!((parts.iter().map(|part| part.rows).sum::<u64>(), shared.len()), (15, 0));
    }
}

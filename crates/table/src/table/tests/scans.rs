//! Scans over runs of tables: their rows, and the tables and blocks that they touch.

use super::*;
use crate::read::{KeyRange, MvccCursor, Reader, Source};
use crate::trace::ReadTracer;
use std::ops::Bound;

/// A cursor that reads each entry that the one below promises.
pub(super) struct Redeemed(pub RunCursor);

impl Redeemed {
    fn redeem(&mut self, forward: bool) -> Result<()> {
        let tag = if forward { Tag::PROMISED } else { Tag::PROMISED_BACKWARD };
        match self.0.valid() && self.0.tag() == tag {
            true if forward => self.0.next(),
            true => self.0.prev(),
            false => Ok(()),
        }
    }
}

impl Cursor for Redeemed {
    fn seek_first(&mut self) -> Result<()> {
        self.0.seek_first()?;
        self.redeem(true)
    }
    fn seek_last(&mut self) -> Result<()> {
        self.0.seek_last()?;
        self.redeem(false)
    }
    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.0.seek(key, tag)?;
        self.redeem(true)
    }
    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.0.seek_before(key, tag)?;
        self.redeem(false)
    }
    fn next(&mut self) -> Result<()> {
        self.0.next()?;
        self.redeem(true)
    }
    fn prev(&mut self) -> Result<()> {
        self.0.prev()?;
        self.redeem(false)
    }
    fn valid(&self) -> bool {
        self.0.valid()
    }
    fn key(&self) -> &[u8] {
        self.0.key()
    }
    fn tag(&self) -> Tag {
        self.0.tag()
    }
    fn value(&self) -> &[u8] {
        self.0.value()
    }
}

/// Returns runs of these entries, each cut into tables of `keys` keys.
fn runs(entries: &[(Entry, usize)], keys: usize, options: &TableOptions) -> Vec<RunTables> {
    let mut id = 0;
    let of_run = |run| entries.iter().filter(move |(_, of)| *of == run).map(|(entry, _)| entry);
    let count = entries.iter().map(|(_, run)| run + 1).max().unwrap_or(0);
    let tables = (0..count).map(|run| {
        let all: Vec<_> = of_run(run).collect();
        let by_key: Vec<_> = all.chunk_by(|a, b| a.0 == b.0).collect();
        let parts = by_key.chunks(keys).map(|part| {
            id += 1;
            let part: Vec<_> = part.concat().into_iter().cloned().collect();
            table(&part, id, options)
        });
        RunTables::new(parts.collect(), None)
    });
    tables.collect()
}

fn scan(runs: &[RunTables], range: KeyRange, at: Seq) -> MvccCursor {
    let source = |run: &RunTables| {
        let tracer = ReadTracer::default().watching(true);
        Source::Run(RunCursor::with_tracer(run.clone(), ReadPattern::Scan, tracer))
    };
    let reader = Reader { at, now: 0 };
    MvccCursor::new(runs.iter().map(source).collect(), range, reader, ReadTracer::default())
}

fn any_bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        Just(Bound::Unbounded),
        any_key().prop_map(Bound::Included),
        any_key().prop_map(Bound::Excluded),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_scan_over_runs_shows_what_a_sorted_map_does(
        entries in any_entries(),
        owners in vec(0usize..6, 200),
        runs_max in prop_oneof![Just(1usize), Just(2), Just(3), Just(12)],
        keys in prop_oneof![Just(1usize), Just(3), Just(1000)],
        options in any_options(),
        seq in prop_oneof![0u64..2000, Just(MAX_SEQ - 1)],
        (from, to) in (any_bound(), any_bound()),
        steps in vec((0u8..8, any_key()), 1..60),
    ) {
        let owned: Vec<_> = entries.iter().cloned().zip(owners.iter().map(|run| run % runs_max)).collect();
        // More sources than pass a key at once, if there may be as many: the rest are empty.
        let mut runs = runs(&owned, keys, &options);
        runs.resize_with(runs.len().max(runs_max), RunTables::default);
        let range = KeyRange { from, to };
        let seen = |key: &[u8]| newest(&entries, key, seq).filter(|(tag, _)| tag.kind() == Some(Kind::Put));
        let all: BTreeSet<_> = entries.iter().map(|(key, ..)| key).filter(|key| range.contains(key)).collect();
        let live: Vec<_> = all.into_iter().filter_map(|key| Some((key.clone(), seen(key)?.1))).collect();

        let mut cursor = scan(&runs, range.clone(), seq);
        for row in &live {
            let found = cursor.next().unwrap().map(|(key, value)| (key.to_vec(), value.to_vec()));
            prop_assert_eq!(found.as_ref(), Some(row));
        }
        prop_assert!(cursor.next().unwrap().is_none());

        // The rows before and after the cursor.
        let mut cursor = scan(&runs, range, seq);
        let (mut below, mut above) = (live.len(), 0);
        for (step, key) in steps {
            let (found, wanted) = match step {
                0..4 => (cursor.next().unwrap(), Some(above)),
                4..7 => (cursor.prev().unwrap(), below.checked_sub(1)),
                _ => {
                    cursor.seek(&key);
                    below = live.partition_point(|(k, _)| *k <= key);
                    above = live.partition_point(|(k, _)| *k < key);
                    continue;
                }
            };
            let found = found.map(|(key, value)| (key.to_vec(), value.to_vec()));
            prop_assert_eq!(found.as_ref(), wanted.and_then(|at| live.get(at)));
            let Some(at) = wanted.filter(|at| *at < live.len()) else { break };
            (below, above) = (at, at + 1);
        }
    }
}

#[test]
fn a_scan_reads_no_table_whose_first_key_it_does_not_reach() {
    let entry = |key: u8, seq: Seq| (vec![key], Tag::new(seq, Kind::Put), vec![key; 9]);
    // Two runs of tables of three keys each: 10 to 12 and 20 to 22 below 15 to 17 and 25 to 27.
    let lower = [10, 11, 12, 20, 21, 22].map(|key| (entry(key, 1), 1));
    let upper = [15, 16, 17, 25, 26, 27].map(|key| (entry(key, 2), 0));
    let runs = runs(&[lower, upper].concat(), 3, &TableOptions::default());
    let mut before = vec![0; 4];
    let mut read = |cursor: MvccCursor| {
        let counts = cursor.into_tracers().map(|tracer| tracer.counts().blocks).sum::<u64>();
        let reads = runs.iter().flat_map(|run| run.iter().map(|table| table.reads()));
        let reads: Vec<_> = reads.collect();
        let of = |n: usize| reads[n] - before[n];
        // Tables of the upper run, then of the lower.
        let found = ([of(0), of(1)], [of(2), of(3)], counts);
        before = reads;
        found
    };
    let mut cursor = scan(&runs, KeyRange::from([10u8]..), 9);
    for key in [10u8, 11, 12] {
        assert_eq!(cursor.next().unwrap().map(|row| row.0.to_vec()), Some(vec![key]));
    }
    assert_eq!(read(cursor), ([0, 0], [1, 0], 1), "three rows of one table");

    let mut cursor = scan(&runs, KeyRange::from([10u8]..[15]), 9);
    while cursor.next().unwrap().is_some() {}
    assert_eq!(read(cursor), ([0, 0], [1, 0], 1), "the range ends between tables");

    let mut cursor = scan(&runs, KeyRange::from([13u8]..), 9);
    cursor.next().unwrap();
    assert_eq!(read(cursor), ([1, 0], [0, 0], 1), "it starts between tables");

    let mut cursor = scan(&runs, KeyRange::from(..=[27u8]), 9);
    for key in [27u8, 26, 25] {
        assert_eq!(cursor.prev().unwrap().map(|row| row.0.to_vec()), Some(vec![key]));
    }
    // A scan backward is a key ahead of its rows.
    assert_eq!(read(cursor), ([0, 1], [0, 0], 1), "backward");

    let mut cursor = scan(&runs, KeyRange::from(..), 9);
    let rows = std::iter::from_fn(|| cursor.next().unwrap().map(|_| ())).count();
    assert_eq!((rows, read(cursor)), (12, ([1, 1], [1, 1], 4)), "all");
}

#[test]
fn a_scan_turns_at_the_key_it_sought_after_a_step_was_refused() {
    let entry = |key: &[u8]| ((key.to_vec(), Tag::new(1, Kind::Put), vec![0; 9]), 0);
    let options = TableOptions { block_bytes: 1, ..TableOptions::default() };
    let runs = runs(&[entry(b"a"), entry(b"k")], 2, &options);
    let mut cursor = scan(&runs, KeyRange::from(..), 9);
    cursor.seek(b"k");
    assert_eq!(cursor.next().unwrap().map(|row| row.0), Some(&b"k"[..]));
    // To know whether all versions of "k" were passed, a step back needs the block of "a".
    cursor.set_only_cached(true);
    cursor.seek(b"z");
    assert!(matches!(cursor.prev().unwrap_err().kind(), ErrorKind::WouldRead));
    assert_eq!(cursor.next().unwrap(), None);
}

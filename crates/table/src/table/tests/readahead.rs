//! Reads of cursors from the file.

use super::*;
use crate::trace::{Origin, ReadTracer, Step};

/// The bytes that a cursor reads for each block of a whole table.
fn reads(table: &Arc<Table>, pattern: ReadPattern, backward: bool) -> Vec<u64> {
    let mut cursor = TableCursor::new(Arc::clone(table), pattern, ReadTracer::tracing());
    if backward { cursor.seek_last() } else { cursor.seek_first() }.unwrap();
    let mut entries = 0;
    while cursor.valid() {
        entries += 1;
        if backward { cursor.prev() } else { cursor.next() }.unwrap();
    }
    assert_eq!(entries, table.info().entries);
    let read = |step: Step| match step {
        Step::Block { origin, read, .. } => {
            assert_eq!(origin == Origin::Vfs, read > 0);
            Some(read)
        }
        _ => None,
    };
    cursor.into_tracer().take_steps().into_iter().filter_map(read).collect()
}

#[test]
fn a_long_scan_reads_ahead_and_little_twice() {
    let value = |n: u32| n.to_be_bytes().iter().cycle().take(1000).copied().collect();
    let entry = |n: u32| (n.to_be_bytes().to_vec(), Tag::new(n.into(), Kind::Put), value(n));
    let entries: Vec<_> = (1..2000).map(entry).collect();
    let options = TableOptions { compression: Compression::None, ..TableOptions::default() };
    for backward in [false, true] {
        let (file, info) = write(&entries, 7, &options);
        // A cache that could take the whole table.
        let table = unopened(&file, &info, 64 << 20);
        let blocks = reads(&table, ReadPattern::Scan, backward);
        let data = data_len(&table);
        assert!(blocks[..4].iter().all(|read| *read < 8192), "{blocks:?}");
        let ahead: Vec<_> = blocks[4..].iter().copied().filter(|read| *read > 0).collect();
        // A block that an earlier read took only in part is read again.
        let twice = blocks.iter().sum::<u64>() - data;
        assert!(twice < 8192 * ahead.len() as u64, "{twice} bytes twice");
        let (last, whole) = ahead.split_last().unwrap();
        let doubled = (14u32..).map(|n| (1u64 << n).min(256 << 10));
        assert!(whole.iter().copied().eq(doubled.take(whole.len())), "{ahead:?}");
        assert!(*last <= 256 << 10);
        // The start of the scan is cached; what was read with full readahead is not.
        let again = reads(&table, ReadPattern::Scan, backward);
        let cached = again.iter().take_while(|read| **read == 0).count();
        assert!((20..200).contains(&cached), "{cached} of {} blocks are cached", blocks.len());
    }
}

#[test]
fn a_compaction_reads_ahead_as_its_memory_allows() {
    let value = |n: u32| n.to_be_bytes().iter().cycle().take(1000).copied().collect();
    let entry = |n: u32| (n.to_be_bytes().to_vec(), Tag::new(n.into(), Kind::Put), value(n));
    let entries: Vec<_> = (1..500).map(entry).collect();
    let options = TableOptions { compression: Compression::None, ..TableOptions::default() };
    let (file, info) = write(&entries, 7, &options);
    let table = open(&file, &info).unwrap();
    let most = |memory| {
        reads(&table, ReadPattern::Compaction { readahead: memory }, false)
            .into_iter()
            .max()
            .unwrap()
    };
    assert_eq!((most(MAX_READAHEAD_BYTES), most(10_000)), (MAX_READAHEAD_BYTES, 10_000));
    assert!((4096..8192).contains(&most(0)), "a block");
}

#[test]
fn a_compaction_caches_nothing_however_far_it_reads_ahead() {
    let (file, info) = write(&many(2000), 7, &TableOptions::default());
    for readahead in [0, 10_000, MAX_READAHEAD_BYTES] {
        let table = unopened(&file, &info, 64 << 20);
        table.open().unwrap();
        let pattern = ReadPattern::Compaction { readahead };
        let first = reads(&table, pattern, false);
        assert_eq!(reads(&table, pattern, false), first);
        assert!(reads(&table, ReadPattern::Scan, false).iter().any(|read| *read > 0));
    }
}

#[test]
fn a_seek_in_a_run_traces_the_table_and_where_it_stands() {
    use crate::read::Source;
    let part = |first: u8| {
        let entries: Vec<Entry> =
            (first..first + 3).map(|key| (vec![key], Tag::new(1, Kind::Put), vec![key])).collect();
        table(&entries, first.into(), &TableOptions::default())
    };
    let run: terrane_types::Sequence<_> = [part(10), part(20)].into_iter().collect();
    let tracer = ReadTracer::tracing();
    let run = RunTables::new(run, None);
    let mut source = Source::Run(RunCursor::with_tracer(run, ReadPattern::Scan, tracer));
    source.seek(&[15], Tag(0)).unwrap();
    source.seek_before(&[10], Tag::at(9)).unwrap();
    let steps = source.into_tracer().unwrap().take_steps();
    let steps: Vec<_> =
        steps.into_iter().filter(|step| !matches!(step, Step::Block { .. })).collect();
    assert_eq!(
        steps,
        [
            Step::Table { table: TableId(20) },
            Step::Stands { key: Some(vec![20]) },
            Step::Table { table: TableId(10) },
            Step::Stands { key: None },
        ]
    );
}

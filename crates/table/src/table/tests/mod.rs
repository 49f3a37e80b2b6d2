//! Tables against a sorted list of entries.

mod blocks;
mod damage;
mod gets;
mod mapped;
mod opening;
mod readahead;
mod salvage;
mod scans;

use super::block::Block;
use super::*;
use crate::entry::{Kind, MAX_SEQ, Seq, Tag, head};
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::read::Cursor;
use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use terrane_types::{FilterBits, Kept, TableId, TableInfo};

/// A file in memory.
#[derive(Default)]
struct MemFile(Mutex<Vec<u8>>);

impl MemFile {
    fn holding(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(MemFile(Mutex::new(bytes)))
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    fn flip(&self, bit: usize) {
        self.0.lock().unwrap()[bit / 8] ^= 1 << (bit % 8);
    }
}

impl File for MemFile {
    fn name(&self) -> &str {
        "memory.sst"
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let bytes = self.0.lock().unwrap();
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let mut bytes = self.0.lock().unwrap();
        let end = offset as usize + buf.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset as usize..end].copy_from_slice(buf);
        Ok(buf.len())
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.0.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }
    fn len(&self) -> Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }
}

type Entry = (Vec<u8>, Tag, Vec<u8>);

const SALT: u64 = 0x5a17;

/// For a salvage that has the footer alone.
const NOTHING_KNOWN: KnownTable<'_> = KnownTable { number: 0, salts: &[], info: None };

fn write(entries: &[Entry], id: u64, options: &TableOptions) -> (Arc<MemFile>, Arc<TableInfo>) {
    // A file that was preallocated longer than the table becomes.
    let file = MemFile::holding(vec![0xaa; 50_000]);
    let mut writer = TableWriter::new(file.clone(), TableId(id), options).of_store(SALT, 3);
    for (key, tag, value) in entries {
        writer.add(key, *tag, value).unwrap();
    }
    assert_eq!(writer.entries(), entries.len() as u64);
    let info = writer.finish().unwrap();
    let seqs = || entries.iter().map(|(_, tag, _)| tag.seq());
    let expected = TableInfo {
        id: TableId(id),
        bytes: file.len().unwrap(),
        entries: entries.len() as u64,
        tombstones: entries.iter().filter(|e| e.1.kind() == Some(Kind::Delete)).count() as u64,
        smallest: entries[0].0.clone(),
        largest: entries[entries.len() - 1].0.clone(),
        first_seq: seqs().min().unwrap(),
        last_seq: seqs().max().unwrap(),
        filter_bits: options.filter_bits_per_key,
        filter_bytes: info.filter_bytes,
        kept: Some(Kept::default()),
        cleared: 0,
        expires_by: 0,
        salt: SALT,
        histogram: info.histogram.clone(),
        prefixes: info.prefixes.clone(),
    };
    assert_eq!(info, expected);
    assert_eq!(info.filter_bytes == 0, options.filter_bits_per_key.is_none());
    (file, Arc::new(info))
}

/// Files of which every table is the same one.
struct Files(Arc<MemFile>);

impl TableFiles for Files {
    fn open(&self, _: TableId) -> Result<Arc<dyn File>> {
        Ok(self.0.clone())
    }
}

fn unopened(file: &Arc<MemFile>, info: &Arc<TableInfo>, cache: u64) -> Arc<Table> {
    let cache = Arc::new(BlockCache::new(cache));
    Arc::new(Table::new(Arc::clone(info), Arc::new(Files(file.clone())), cache))
}

fn open(file: &Arc<MemFile>, info: &Arc<TableInfo>) -> Result<Arc<Table>> {
    let table = unopened(file, info, 1 << 20);
    table.open().map(|()| table)
}

fn data_len(table: &Table) -> u64 {
    table.opened().unwrap().data_len
}

fn table(entries: &[Entry], id: u64, options: &TableOptions) -> Arc<Table> {
    let (file, info) = write(entries, id, options);
    open(&file, &info).unwrap()
}

/// Keys that share prefixes, extend each other and have extreme bytes.
fn any_key() -> impl Strategy<Value = Vec<u8>> {
    let short = vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(0xff)], 0..5);
    (prop_oneof![3 => Just(0usize), 2 => Just(20), 1 => Just(300)], short).prop_map(|(n, end)| {
        let mut key = vec![b'k'; n];
        key.extend(end);
        key
    })
}

/// Entries in order, of few keys with many versions.
fn any_entries() -> impl Strategy<Value = Vec<Entry>> {
    let value = (0usize..40, any::<bool>(), any::<u8>()).prop_map(|(len, even, seed)| {
        (0..len).map(|i| if even { seed } else { seed.wrapping_mul(i as u8 ^ 0x5b) }).collect()
    });
    let entry = (any_key(), 0usize..6, proptest::option::weighted(0.8, value));
    vec((entry, 1u64..40), 1..200).prop_map(|rows| {
        let mut keys = Vec::new();
        let mut sorted = BTreeMap::<_, Vec<u8>>::new();
        let mut seq = 0;
        for ((key, reuse, value), step) in rows {
            // About half of the entries are versions of an earlier key.
            let key = if reuse < 3 && !keys.is_empty() {
                Vec::clone(&keys[reuse % keys.len()])
            } else {
                key
            };
            keys.push(key.clone());
            seq += step;
            let kind = if value.is_some() { Kind::Put } else { Kind::Delete };
            sorted.insert((key, Reverse(Tag::new(seq, kind))), value.unwrap_or_default());
        }
        sorted.into_iter().map(|((key, Reverse(tag)), value)| (key, tag, value)).collect()
    })
}

fn any_options() -> impl Strategy<Value = TableOptions> {
    let blocks = prop_oneof![Just(1usize), Just(60), Just(300), Just(4096)];
    let compression = prop_oneof![Just(Compression::None), Just(Compression::Lz4)];
    let bits =
        prop_oneof![Just(0), Just(3500), Just(10_000)].prop_map(FilterBits::from_thousandths);
    let partitions = prop_oneof![Just(1usize), Just(100), Just(600), Just(16384)];
    (blocks, compression, bits, partitions).prop_map(
        |(block_bytes, compression, filter_bits_per_key, partition_bytes)| TableOptions {
            block_bytes,
            compression,
            filter_bits_per_key,
            partition_bytes,
        },
    )
}

#[derive(Clone, Debug)]
enum Step {
    First,
    Last,
    /// Seeks to an existing or any other key, at a sequence number.
    Seek(Result<prop::sample::Index, Vec<u8>>, Seq),
    SeekBefore(Result<prop::sample::Index, Vec<u8>>, Seq),
    Next(usize),
    Prev(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let seq = prop_oneof![3 => 0u64..2000, 1 => Just(MAX_SEQ)];
    let key = prop_oneof![any::<prop::sample::Index>().prop_map(Ok), any_key().prop_map(Err)];
    prop_oneof![
        1 => Just(Step::First),
        1 => Just(Step::Last),
        3 => (key.clone(), seq.clone()).prop_map(|(key, seq)| Step::Seek(key, seq)),
        3 => (key, seq).prop_map(|(key, seq)| Step::SeekBefore(key, seq)),
        4 => (1usize..30).prop_map(Step::Next),
        4 => (1usize..30).prop_map(Step::Prev),
    ]
}

/// Moves `cursor` and a position in `entries` side by side.
fn compare_steps(cursor: &mut dyn Cursor, entries: &[Entry], steps: &[Step]) {
    let mut at: Option<usize> = None;
    let place = |key: &[u8], tag: Tag| {
        entries.partition_point(|(k, t, _)| (k.as_slice(), Reverse(*t)) < (key, Reverse(tag)))
    };
    let resolve = |key: &Result<prop::sample::Index, Vec<u8>>| match key {
        Ok(index) => index.get(entries).0.clone(),
        Err(key) => key.clone(),
    };
    let agree = |cursor: &dyn Cursor, at: Option<usize>, step: &Step| {
        let expected = at.map(|i| &entries[i]);
        assert_eq!(cursor.valid(), expected.is_some(), "after {step:?}");
        let (key, tag, value) = expected.map_or((&[][..], Tag(0), &[][..]), |(k, t, v)| (k, *t, v));
        assert_eq!(
            (cursor.key(), cursor.tag(), cursor.value()),
            (key, tag, value),
            "after {step:?}"
        );
    };
    for step in steps {
        match step {
            Step::First => {
                cursor.seek_first().unwrap();
                at = Some(0);
            }
            Step::Last => {
                cursor.seek_last().unwrap();
                at = Some(entries.len() - 1);
            }
            Step::Seek(key, seq) => {
                let (key, tag) = (resolve(key), Tag::at(*seq));
                cursor.seek(&key, tag).unwrap();
                at = Some(place(&key, tag)).filter(|&i| i < entries.len());
            }
            Step::SeekBefore(key, seq) => {
                let (key, tag) = (resolve(key), Tag::at(*seq));
                cursor.seek_before(&key, tag).unwrap();
                at = place(&key, tag).checked_sub(1);
            }
            Step::Next(n) => {
                for _ in 0..*n {
                    cursor.next().unwrap();
                    at = at.map(|i| i + 1).filter(|&i| i < entries.len());
                    agree(cursor, at, step);
                }
            }
            Step::Prev(n) => {
                for _ in 0..*n {
                    cursor.prev().unwrap();
                    at = at.and_then(|i| i.checked_sub(1));
                    agree(cursor, at, step);
                }
            }
        }
        agree(cursor, at, step);
    }
}

/// Returns the version of `key` that a reader at `seq` sees.
fn newest(entries: &[Entry], key: &[u8], seq: Seq) -> Option<(Tag, Vec<u8>)> {
    let found = entries.iter().find(|(k, tag, _)| k == key && tag.seq() <= seq);
    found.map(|(_, tag, value)| (*tag, value.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_table_reads_as_the_entries_written(
        entries in any_entries(),
        options in any_options(),
        steps in vec(any_step(), 1..40),
        absent in vec(any_key(), 10),
        cache in prop_oneof![Just(0u64), Just(3000), Just(1 << 20)],
    ) {
        let (file, info) = write(&entries, 7, &options);
        let table = unopened(&file, &info, cache);
        prop_assert_eq!(table.check().unwrap(), []);
        for pattern in [ReadPattern::Scan, ReadPattern::Compaction { readahead: MAX_READAHEAD_BYTES }] {
            compare_steps(&mut table.cursor(pattern), &entries, &steps);
        }
        for key in entries.iter().map(|(key, ..)| key).chain(&absent) {
            for seq in [0, 50, 200, 700, MAX_SEQ] {
                prop_assert_eq!(table.get(key, seq).unwrap(), newest(&entries, key, seq));
            }
        }
        for (key, tag, value) in &entries {
            prop_assert_eq!(table.get(key, tag.seq()).unwrap(), Some((*tag, value.clone())));
        }
    }

    #[test]
    fn a_run_of_tables_reads_as_one(
        entries in any_entries(),
        options in any_options(),
        steps in vec(any_step(), 1..40),
        tables in 1usize..6,
    ) {
        let keys: BTreeSet<_> = entries.iter().map(|(key, ..)| key).collect();
        let keys: Vec<_> = keys.into_iter().collect();
        let share = keys.len().div_ceil(tables);
        let parts = keys.chunks(share).enumerate().map(|(i, keys)| {
            let part: Vec<_> = entries.iter().filter(|(key, ..)| keys.contains(&key)).cloned().collect();
            table(&part, i as u64, &options)
        });
        let parts: terrane_types::Sequence<Arc<Table>> = parts.collect();
        let run = RunTables::new(parts.clone(), None);
        let others = (0..4u8).flat_map(|a| [vec![], vec![a], vec![a, 1], vec![a; 9]]);
        for key in others.chain(keys.iter().map(|key| key.to_vec())) {
            let covers = |table: &&Arc<Table>| table.info().spans(&key);
            let id = |table: &Arc<Table>| table.info().id;
            prop_assert_eq!(run.covering(&key, head(&key)).map(id), parts.iter().find(covers).map(id));
        }
        let whole = ReadPattern::Compaction { readahead: MAX_READAHEAD_BYTES };
        compare_steps(&mut RunCursor::new(parts.clone(), whole), &entries, &steps);
        let lazy = RunCursor::new(parts, ReadPattern::Scan);
        compare_steps(&mut scans::Redeemed(lazy), &entries, &steps);
    }

    #[test]
    fn a_block_of_any_bytes_ends_in_an_error_or_in_entries(
        mut bytes in vec(prop_oneof![0u8..6, any::<u8>()], 0..200),
        points in vec(0u32..64, 1..6),
        (key, seq) in (vec(0u8..6, 0..4), any::<u64>()),
        sorted in any::<bool>(),
        is_prepared in any::<bool>(),
    ) {
        if sorted {
            let points: BTreeSet<_> = std::iter::once(0).chain(points).collect();
            for point in &points {
                bytes.extend(point.to_le_bytes());
            }
            bytes.extend((points.len() as u32).to_le_bytes());
        }
        let len = bytes.len();
        if let Ok(block) = Block::decode(bytes) {
            let _ = is_prepared && block.prepare();
            let mut cursor = BlockCursor::new(Arc::new(block));
            let tag = Tag(seq);
            let _ = cursor.seek(&key, tag).and_then(|()| cursor.retreat());
            let _ = cursor.seek_before(&key, tag).and_then(|()| cursor.advance());
            let _ = cursor.seek_first();
            for _ in 0..len {
                prop_assert!(cursor.key().len() + cursor.value().len() <= len);
                let _ = cursor.advance();
            }
            prop_assert!(!cursor.valid());
            let _ = cursor.seek_last();
            for _ in 0..len {
                let _ = cursor.retreat();
            }
            prop_assert!(!cursor.valid());
        }
    }

    #[test]
    fn sections_of_any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        let _ = Properties::decode(&bytes);
        let _ = filter::Filter::decode(&bytes).map(|f| f.may_contain(1));
        let _ = block_codec::decode(bytes.clone(), 1, 2);
        let end = footer::Footer {
            table: 1,
            salt: 0,
            commits: 0,
            data_len: 9,
            directory_offset: 99,
            directory_len: 9,
        };
        let _ = footer::decode_directory(&bytes, &end);
        // The same bytes with a valid checksum, as LZ4 of any length.
        let mut lz4 = bytes;
        lz4.push(1);
        let sum = crate::coding::checksum(&lz4, 0);
        lz4.extend(sum.to_le_bytes());
        let _ = block_codec::decode(lz4, 0, 0);
    }
}

#[test]
fn entries_out_of_order_and_empty_tables_are_refused() {
    let put = |seq| Tag::new(seq, Kind::Put);
    for (key, tag) in [(&b"b"[..], put(5)), (b"b", put(6)), (b"a", put(1)), (b"", put(1))] {
        let mut writer =
            TableWriter::new(Arc::new(MemFile::default()), TableId(1), &TableOptions::default());
        writer.add(b"b", put(5), b"").unwrap();
        assert!(matches!(
            writer.add(key, tag, b"").map_err(Error::into_kind),
            Err(ErrorKind::InvalidArgument(_))
        ));
        writer.add(b"b", put(4), b"").unwrap();
        assert_eq!(writer.last_key(), b"b");
        assert_eq!(writer.finish().unwrap().entries, 2);
    }
    let empty =
        TableWriter::new(Arc::new(MemFile::default()), TableId(1), &TableOptions::default());
    assert!(matches!(empty.finish().map_err(Error::into_kind), Err(ErrorKind::InvalidArgument(_))));
}

/// `count` entries with 16-byte keys and values that compress by half.
fn many(count: u64) -> Vec<Entry> {
    let entry = |i: u64| {
        let mut value = vec![b'x'; 100];
        for (chunk, salt) in value[..48].chunks_mut(8).zip(0..) {
            chunk.copy_from_slice(&crate::coding::checksum(&i.to_le_bytes(), salt).to_le_bytes());
        }
        (format!("{i:016}").into_bytes(), Tag::new(i + 1, Kind::Put), value)
    };
    (0..count).map(entry).collect()
}

#[test]
fn the_histogram_sums_to_the_data_and_the_estimate_to_the_file() {
    let entries = many(20_000);
    let file = MemFile::holding(Vec::new());
    let mut writer = TableWriter::new(file.clone(), TableId(1), &TableOptions::default());
    for (key, tag, value) in &entries {
        writer.add(key, *tag, value).unwrap();
    }
    let estimate = writer.bytes_written();
    let info = Arc::new(writer.finish().unwrap());
    assert!(estimate.abs_diff(info.bytes) < 8192, "{estimate} {}", info.bytes);

    let table = open(&file, &info).unwrap();
    let histogram = table.properties().unwrap().histogram;
    assert!(histogram.len() > properties::MAX_HISTOGRAM_POINTS / 2);
    assert!(histogram.is_sorted_by(|a, b| a.key < b.key && a.bytes < b.bytes));
    let end = histogram.last().unwrap();
    assert_eq!((&end.key, end.bytes), (&info.largest, data_len(&table)));
    let half = &histogram[histogram.len() / 2];
    let below = entries.partition_point(|(key, ..)| *key <= half.key) as f64;
    let share = half.bytes as f64 / end.bytes as f64;
    let wanted = below / entries.len() as f64;
    assert!((wanted - share).abs() < 0.03, "{share} of the bytes, {wanted} of the entries");
}

#[test]
fn gets_fill_the_cache_to_its_bound_and_compactions_do_not() {
    let (file, info) = {
        let file = MemFile::holding(Vec::new());
        let mut writer = TableWriter::new(file.clone(), TableId(1), &TableOptions::default());
        for (key, tag, value) in many(20_000) {
            writer.add(&key, tag, &value).unwrap();
        }
        let info = writer.finish().unwrap();
        (file, Arc::new(info))
    };
    let bound = 1 << 20;
    for (capacity, fills) in [(bound, true), (0, false)] {
        let cache = Arc::new(BlockCache::new(capacity));
        let files = Arc::new(Files(file.clone()));
        let table = Arc::new(Table::new(Arc::clone(&info), files, Arc::clone(&cache)));
        table.open().unwrap();
        let opened = cache.bytes();
        let mut cursor = table.cursor(ReadPattern::Compaction { readahead: MAX_READAHEAD_BYTES });
        cursor.seek_first().unwrap();
        let mut entries = 0;
        while cursor.valid() {
            entries += 1;
            cursor.next().unwrap();
        }
        assert_eq!((entries, cache.bytes()), (info.entries, opened));
        for (key, ..) in many(20_000) {
            assert!(table.get(&key, MAX_SEQ).unwrap().is_some());
        }
        assert!(cache.bytes() <= bound);
        assert_eq!(cache.bytes() > bound / 2, fills);
    }
}

#[test]
fn a_value_far_longer_than_a_block_reads_back() {
    for compression in [Compression::None, Compression::Lz4] {
        let options = TableOptions { compression, ..Default::default() };
        let value: Vec<u8> = (0..3_000_000u32).map(|i| (i / 1000) as u8).collect();
        let entries: Vec<Entry> =
            [b"a", b"b"].map(|key| (key.to_vec(), Tag::new(1, Kind::Put), value.clone())).into();
        let table = table(&entries, 1, &options);
        assert_eq!(table.get(b"b", 1).unwrap().unwrap().1, value);
        assert_eq!(table.check().unwrap(), []);
        compare_steps(
            &mut table.cursor(ReadPattern::Compaction { readahead: MAX_READAHEAD_BYTES }),
            &entries,
            &[Step::Last, Step::Prev(1)],
        );
    }
}

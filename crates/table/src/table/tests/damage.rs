//! Damaged tables: flipped bits, wrong lengths, misplaced blocks, and parts that contradict each other.

use super::*;
use crate::coding::put_varint;
use crate::error::ErrorKind;
use crate::operand::{Merged, Operand};
use crate::read::{Reader, Sight, sight};
use crate::table::block_codec::PartEncoder;
use crate::table::block_codec::seed;
use crate::table::block_writer::BlockWriter;
use crate::table::filter::Filter;
use crate::table::footer::{Footer, Section, encode_directory, kind};
use crate::table::index::{BlockHandle, PartitionHandle};
use terrane_types::{FilterBits, Histogram, HistogramPoint, PrefixRule, PrefixSet, Prefixes};

/// A table of several blocks, some compressed, with versions of one key across blocks.
fn small_table() -> (Vec<Entry>, Arc<MemFile>, Arc<TableInfo>) {
    let mut entries = Vec::new();
    for i in 0..18u64 {
        let key = format!("user/{:02}", i / 3 * 3);
        let kind = if i % 7 == 3 { Kind::Delete } else { Kind::Put };
        let value = match kind {
            Kind::Put if i % 2 == 0 => b"the same words, the same words, the same words".to_vec(),
            Kind::Put => i.to_le_bytes().to_vec(),
            Kind::Delete | Kind::Merge | Kind::PutExpiring => Vec::new(),
        };
        entries.push((key.into_bytes(), Tag::new(1000 - i, kind), value));
    }
    let options = TableOptions { block_bytes: 100, partition_bytes: 40, ..Default::default() };
    let (file, info) = write(&entries, 3, &options);
    (entries, file, info)
}

/// Reads everything in every way: each read fails or returns what was written.
fn reads_the_truth_or_fails(table: &Arc<Table>, entries: &[Entry]) {
    for (key, tag, value) in entries {
        if let Ok(found) = table.get(key, tag.seq()) {
            assert_eq!(found, Some((*tag, value.clone())));
        }
    }
    for pattern in [ReadPattern::Scan, ReadPattern::Compaction { readahead: MAX_READAHEAD_BYTES }] {
        let mut cursor = table.cursor(pattern);
        let mut step = cursor.seek_first();
        for (key, tag, value) in entries {
            if step.is_err() {
                break;
            }
            assert_eq!((cursor.key(), cursor.tag(), cursor.value()), (&key[..], *tag, &value[..]));
            step = cursor.next();
        }
        assert!(!cursor.valid());
    }
}

#[test]
fn every_flipped_bit_is_found_and_never_believed() {
    let (entries, file, info) = small_table();
    let before = open(&file, &info).unwrap();
    assert!(before.properties().unwrap().blocks > 3);
    assert!(before.opened().unwrap().partitions.len() > 2);
    assert_eq!(before.check().unwrap(), []);
    for bit in 0..8 * file.bytes().len() {
        file.flip(bit);
        assert_ne!(before.check().unwrap(), [], "bit {bit} flipped while the table is open");
        match open(&file, &info) {
            Ok(after) => {
                reads_the_truth_or_fails(&after, &entries);
                assert_ne!(
                    after.check().unwrap(),
                    [],
                    "bit {bit} flipped before the table is opened"
                );
            }
            Err(e) => assert!(matches!(e.kind(), ErrorKind::Corrupt(_)), "{e}"),
        }
        file.flip(bit);
    }
    assert_eq!(before.check().unwrap(), []);
}

#[test]
fn a_truncated_table_is_refused_even_at_the_expected_length() {
    let (_, file, info) = small_table();
    let bytes = file.bytes();
    for len in 0..bytes.len() {
        let cut = MemFile::holding(bytes[..len].to_vec());
        assert!(matches!(open(&cut, &info).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
        let expected = TableInfo { bytes: len as u64, ..TableInfo::clone(&info) };
        assert!(matches!(
            open(&cut, &Arc::new(expected)).map_err(Error::into_kind),
            Err(ErrorKind::Corrupt(_))
        ));
    }
}

#[test]
fn a_valid_block_in_the_wrong_place_is_damage() {
    let value = |i: u8| vec![i; 50];
    let entries: Vec<Entry> = (0..4).map(|i| (vec![i], Tag::new(9, Kind::Put), value(i))).collect();
    let options =
        TableOptions { block_bytes: 1, compression: Compression::None, ..Default::default() };
    let (file, info) = write(&entries, 3, &options);
    let mut bytes = file.bytes();
    let block = data_len(&table(&entries[..1], 3, &options)) as usize;
    let (first, rest) = bytes.split_at_mut(block);
    first.swap_with_slice(&mut rest[..block]);
    let swapped = open(&MemFile::holding(bytes), &info).unwrap();
    assert!(
        matches!(swapped.get(&[0], MAX_SEQ).map_err(Error::into_kind), Err(ErrorKind::Corrupt(c)) if c.offset == 0)
    );
    assert_eq!(swapped.get(&[2], MAX_SEQ).unwrap().unwrap().1, value(2));
    assert_eq!(swapped.check().unwrap().len(), 2);

    let other = write(&entries, 4, &options).0;
    let Err(ErrorKind::Corrupt(damage)) = open(&other, &info).map_err(Error::into_kind) else {
        panic!("opened as another table")
    };
    assert!(damage.found.contains("table 4"), "{damage}");
    assert_eq!(damage.offset, info.bytes - footer::FOOTER_BYTES as u64);
}

/// The parts of a table, to be assembled with valid checksums whatever they contain.
struct Parts {
    blocks: Vec<Vec<Entry>>,
    separators: Vec<(Vec<u8>, Tag)>,
    counts: Vec<u64>,
    /// The `shared` length of the last entry of each block.
    shared: usize,
    /// The keys in the filter of each partition.
    hashes: [Vec<u64>; 2],
    /// Entries per restart point of an index.
    interval: u32,
    /// Errors in the last restart point of the first index, and of each block.
    restart: [u32; 2],
    /// Errors in the histogram's point of the second block: in its key and in its bytes.
    point: (u8, u64),
    /// The last separator of each partition, and an error in its offset.
    tops: [(Vec<u8>, Tag); 2],
    offset: u64,
    properties: Properties,
    info: TableInfo,
}

impl Parts {
    /// Three blocks of two entries each, the last in a partition of its own.
    fn sound() -> Self {
        let entry = |i: u8| (vec![i], Tag::new(i.into(), Kind::Put), vec![i; 3]);
        let entries: Vec<Entry> = (1..=6).map(entry).collect();
        let mut properties = Properties::default();
        for (key, tag, value) in &entries {
            properties.count(key, *tag, value);
        }
        (properties.smallest, properties.largest, properties.blocks) = (vec![1], vec![6], 3);
        // A line for each of the two partitions.
        let (filter_bits, filter_bytes) = (FilterBits::whole(10), 2 * 64);
        (properties.filter_bits, properties.filter_bytes) = (filter_bits, filter_bytes);
        let (id, bytes) = (TableId(5), 0);
        let (smallest, largest) = (vec![1], vec![6]);
        let (first_seq, last_seq) = (1, 6);
        Parts {
            blocks: entries.chunks(2).map(<[_]>::to_vec).collect(),
            separators: [2, 4, 6].map(|key| (vec![key], Tag(0))).into(),
            counts: vec![2; 3],
            shared: 0,
            hashes: [&entries[..4], &entries[4..]]
                .map(|entries| entries.iter().map(|(key, ..)| key_hash(key)).collect()),
            interval: 1,
            restart: [0; 2],
            point: (0, 0),
            tops: [4, 6].map(|key| (vec![key], Tag(0))),
            offset: 0,
            properties,
            info: TableInfo {
                id,
                bytes,
                entries: 6,
                tombstones: 0,
                smallest,
                largest,
                first_seq,
                last_seq,
                filter_bits,
                filter_bytes,
                kept: Some(Kept::default()),
                cleared: 0,
                expires_by: 0,
                salt: 11,
                histogram: Histogram::default(),
                prefixes: Prefixes::default(),
            },
        }
    }

    /// Writes the parts as a table and checks it.
    fn check(self) -> Result<Vec<crate::error::Corruption>> {
        let (file, info) = self.write();
        open(&file, &info).and_then(|table| table.check())
    }

    fn write(mut self) -> (Arc<MemFile>, Arc<TableInfo>) {
        let encoder = PartEncoder::new(seed(self.info.salt, self.info.id.0), Compression::None);
        let mut file = Vec::new();
        let mut indexes = [0, 1].map(|_| BlockWriter::new(self.interval));
        let blocks = self.blocks.iter().zip(&self.separators).zip(&self.counts);
        for (n, ((block, (key, tag)), &entries)) in blocks.enumerate() {
            let interval = if self.restart[1] > 0 { 1 } else { 16 };
            let mut writer = BlockWriter::new(interval);
            for (left, (key, tag, value)) in (0..block.len()).rev().zip(block) {
                writer.add(if left == 0 { self.shared } else { 0 }, key, *tag, value);
            }
            let offset = file.len() as u64;
            encoder.encode(&restarting(writer.finish(), self.restart[1]), offset, &mut file);
            let mut handle = Vec::new();
            BlockHandle { offset, len: file.len() as u64 - offset, entries }.encode(&mut handle);
            indexes[n / 2].add(0, key, *tag, &handle);
            if self.properties.histogram.len() < 3 {
                let last = block[block.len() - 1].0.clone();
                let mut point = HistogramPoint { key: last, bytes: file.len() as u64 };
                if n == 1 {
                    point.key[0] += self.point.0;
                    point.bytes += self.point.1;
                }
                let points = self.properties.histogram.iter().cloned().chain([point]);
                self.properties.histogram = points.collect::<Vec<_>>().into();
            }
        }
        let data_len = file.len() as u64;
        let mut top = BlockWriter::new(1);
        for ((index, hashes), (key, tag)) in indexes.iter_mut().zip(&self.hashes).zip(&self.tops) {
            let offset = file.len() as u64;
            let mut filter = Vec::new();
            Filter::build(hashes, FilterBits::whole(10)).encode(&mut filter);
            encoder.encode(&filter, offset, &mut file);
            let filter_len = file.len() as u64 - offset;
            let index = restarting(index.finish(), self.restart[0]);
            self.restart[0] = 0;
            encoder.encode(&index, offset + filter_len, &mut file);
            let index_len = file.len() as u64 - offset - filter_len;
            let mut handle = Vec::new();
            let offset = offset.wrapping_add(self.offset);
            PartitionHandle { offset, filter_len, index_len }.encode(&mut handle);
            top.add(0, key, *tag, &handle);
        }
        let len = file.len() as u64 - data_len;
        let mut sections = vec![Section { kind: kind::PARTITIONS, offset: data_len, len }];
        let mut properties = Vec::new();
        self.properties.encode(&mut properties);
        let parts = [
            (kind::INDEX, top.finish()),
            (kind::PROPERTIES, &properties),
            (1000, b"of a later release"),
        ];
        for (kind, bytes) in parts {
            let offset = file.len() as u64;
            encoder.encode(bytes, offset, &mut file);
            sections.push(Section { kind, offset, len: file.len() as u64 - offset });
        }
        let mut directory = Vec::new();
        encode_directory(&sections, &mut directory);
        let directory_offset = file.len() as u64;
        encoder.encode(&directory, directory_offset, &mut file);
        let directory_len = (file.len() as u64 - directory_offset) as u32;
        let (table, salt, commits) = (self.info.id.0, self.info.salt, 0);
        Footer { table, salt, commits, data_len, directory_offset, directory_len }
            .encode(&mut file);
        self.info.bytes = file.len() as u64;
        (MemFile::holding(file), Arc::new(self.info))
    }
}

/// A block whose last restart point is moved by some bytes.
fn restarting(block: &[u8], by: u32) -> Vec<u8> {
    let mut bytes = block.to_vec();
    let at = bytes.len() - 8;
    let point: &mut [u8; 4] = bytes[at..].first_chunk_mut().unwrap();
    *point = (u32::from_le_bytes(*point) + by).to_le_bytes();
    bytes
}

#[test]
fn check_names_the_entry_that_is_out_of_order() {
    let mut parts = Parts::sound();
    parts.blocks[1].swap(0, 1);
    let found = parts.check().unwrap();
    assert!(
        found.iter().any(|damage| damage.found.starts_with("\\x03 at sequence 3")),
        "{found:?}"
    );
}

#[test]
fn check_finds_parts_that_contradict_each_other() {
    assert_eq!(Parts::sound().check().unwrap(), []);
    type Edit = fn(&mut Parts);
    let edits: [(&str, Edit); 24] = [
        ("entries of a block swapped", |p| p.blocks[1].swap(0, 1)),
        ("an entry of the block before", |p| p.blocks[1][0].0 = vec![2]),
        ("an entry above its separator", |p| p.blocks[1][1].0 = vec![4, 0]),
        ("a version above its separator", |p| p.separators[1].1 = Tag::new(5, Kind::Put)),
        ("an entry at the separator before", |p| p.separators[0] = (vec![3], Tag(0))),
        ("separators that descend", |p| p.separators[2] = (vec![4], Tag::new(9, Kind::Put))),
        ("a count in the index", |p| p.counts[2] = 3),
        ("a key the filter denies", |p| p.hashes[0].truncate(1)),
        ("a key in the filter of another partition", |p| p.hashes.swap(0, 1)),
        ("a separator of the top level", |p| p.tops[0] = (vec![3], Tag(0))),
        ("an index without restart points", |p| p.interval = 2),
        ("a restart point of an index", |p| p.restart[0] = 1),
        ("a restart point of a block", |p| p.restart[1] = 1),
        ("a key of the histogram", |p| p.point.0 = 1),
        ("bytes of the histogram", |p| p.point.1 = 1),
        ("bytes of keys", |p| p.properties.key_bytes += 1),
        ("bytes of values", |p| p.properties.value_bytes += 1),
        ("blocks", |p| p.properties.blocks += 1),
        ("entries, as the tree says too", |p| {
            (p.properties.entries, p.info.entries) = (7, 7);
        }),
        ("the largest key, as the tree says too", |p| {
            (p.properties.largest, p.info.largest) = (vec![7], vec![7]);
        }),
        ("bytes of filters, as the tree says too", |p| {
            (p.properties.filter_bytes, p.info.filter_bytes) = (64, 64);
        }),
        ("more entries that only snapshots kept than there are", |p| {
            let kept = Some(Kept { entries: 7, bytes: 1, until: 6 });
            (p.properties.kept, p.info.kept) = (kept, kept);
        }),
        ("the histogram", |p| {
            p.properties.histogram = vec![HistogramPoint { key: vec![4], bytes: 10 }; 3].into();
        }),
        ("a prefix that no key has", |p| {
            p.properties.prefixes = PrefixSet::new(PrefixRule::Length(1), vec![vec![200]]).into();
        }),
    ];
    for (what, edit) in edits {
        let mut parts = Parts::sound();
        edit(&mut parts);
        assert_ne!(parts.check().unwrap(), [], "{what}");
    }
    for offset in [1, u64::MAX - 1] {
        let parts = Parts { offset, ..Parts::sound() };
        assert!(
            matches!(parts.check().map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))),
            "a partition elsewhere"
        );
    }
    let told: [fn(&mut TableInfo); 7] = [
        |info| info.entries += 1,
        |info| info.tombstones += 1,
        |info| info.first_seq += 1,
        |info| info.last_seq += 1,
        |info| info.smallest = vec![0],
        |info| info.largest = vec![7],
        |info| info.kept = Some(Kept { entries: 1, bytes: 0, until: 6 }),
    ];
    for edit in told {
        let mut parts = Parts::sound();
        parts.properties.kept = Some(Kept::default());
        edit(&mut parts.info);
        assert!(matches!(parts.check().map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
    }
    // An earlier release may have written the manifest again, without what it does not know.
    let mut parts = Parts::sound();
    parts.properties.kept = Some(Kept { entries: 1, bytes: 0, until: 6 });
    parts.info.kept = None;
    assert_eq!(parts.check().unwrap(), []);
}

#[test]
fn a_salvage_reports_malformed_entries_under_a_sound_checksum() {
    let read = |shared| {
        let (file, _) = Parts { shared, ..Parts::sound() }.write();
        let mut salvage = Salvage::open(file, &NOTHING_KNOWN).unwrap();
        let mut keys = Vec::new();
        while let Some((key, ..)) = salvage.entry() {
            keys.extend_from_slice(key);
            salvage.next();
        }
        let lost = salvage.lost().iter().map(|l| (l.from.clone(), l.through.clone(), l.entries));
        (keys, lost.collect::<Vec<_>>())
    };
    assert_eq!(read(0), (vec![1, 2, 3, 4, 5, 6], vec![]));
    let mut three = Parts { shared: 9, ..Parts::sound() };
    three.blocks[0].insert(1, (vec![1, 5], Tag::new(1, Kind::Put), vec![]));
    three.counts[0] = 3;
    let mut salvage = Salvage::open(three.write().0, &NOTHING_KNOWN).unwrap();
    assert_eq!(salvage.entry().unwrap().0, [1]);
    salvage.next();
    assert_eq!(salvage.entry().unwrap().0, [1, 5]);
    salvage.next();
    assert_eq!((salvage.entry().unwrap().0, salvage.lost()[0].entries), (&[3][..], Some(1)));
    let after = |key: u8| (Some(vec![key]), Some(vec![key + 2]), Some(1));
    assert_eq!(read(9), (vec![1, 3, 5], vec![(None, Some(vec![2]), Some(1)), after(2), after(4)]));
}

#[test]
fn reads_and_check_refuse_a_later_kind_of_entry_by_name() {
    let kinds = [(2, "a range delete"), (5, "a separated value"), (255, "an entry of kind 255")];
    for (kind, name) in kinds {
        let entries = [1, kind].map(|kind: u8| (vec![kind], Tag(7 << 8 | u64::from(kind)), vec![]));
        let table = table(&entries, 1, &TableOptions::default());
        let found = table.get(&[kind], MAX_SEQ).unwrap().unwrap();
        for refused in [sight(found.0, &found.1, Reader::NEWEST).err(), table.check().err()] {
            let refused = refused.map(Error::into_kind);
            let Some(ErrorKind::NewerFormat(newer)) = refused else { panic!("{refused:?}") };
            assert_eq!(newer.found, name);
        }
        let (tag, stored) = table.get(&[1], MAX_SEQ).unwrap().unwrap();
        assert!(sight(tag, &stored, Reader::NEWEST).is_ok());
    }
}

#[test]
fn an_operand_of_another_form_is_damage() {
    let merged = Merged { function: Operand::Add(1).into(), since: 5 };
    let tag = Tag::new(7, Kind::Merge);
    for stored in [&[][..], &[2], &[2, 0, 1], &[8, 0, 1, 0, 0, 0, 0, 0, 0, 0], &[2, 9], &[2, 3, 0]]
    {
        let entries =
            [(b"bad".to_vec(), tag, stored.to_vec()), (b"good".to_vec(), tag, merged.encode(7))];
        let table = table(&entries, 1, &TableOptions::default());
        let (tag, stored) = table.get(b"bad", MAX_SEQ).unwrap().unwrap();
        let refused = Merged::decode(tag, &stored).map_err(Error::into_kind);
        assert!(matches!(refused, Err(ErrorKind::Corrupt(_))));
        let found = table.check().unwrap();
        assert!(found.iter().any(|damage| damage.expected.contains("an operand")), "{found:?}");
        let (tag, stored) = table.get(b"good", MAX_SEQ).unwrap().unwrap();
        assert_eq!(Merged::decode(tag, &stored).unwrap(), merged);
    }
}

#[test]
fn a_value_that_expires_without_its_time_is_damage() {
    let tag = Tag::new(7, Kind::PutExpiring);
    let entries = [(b"cut".to_vec(), tag, vec![1; 7]), (b"whole".to_vec(), tag, vec![1; 8])];
    let table = table(&entries, 1, &TableOptions::default());
    let (tag, stored) = table.get(b"cut", MAX_SEQ).unwrap().unwrap();
    let refused = sight(tag, &stored, Reader::NEWEST).map_err(Error::into_kind);
    assert!(matches!(refused, Err(ErrorKind::Corrupt(_))));
    let found = table.check().unwrap();
    assert!(found.iter().any(|damage| damage.expected.contains("the time")), "{found:?}");
    let (tag, stored) = table.get(b"whole", MAX_SEQ).unwrap().unwrap();
    assert_eq!(sight(tag, &stored, Reader::NEWEST).unwrap(), Some(Sight::Value));
}

#[test]
fn invalid_restart_points_are_refused() {
    let block = |points: &[u32]| {
        let mut bytes = vec![0; 20];
        for word in points.iter().chain(&[points.len() as u32]) {
            bytes.extend(word.to_le_bytes());
        }
        Block::decode(bytes)
    };
    assert!(block(&[0, 5, 19]).is_ok());
    for points in [&[][..], &[1], &[0, 5, 5], &[0, 5, 4], &[0, 20], &[0, u32::MAX]] {
        assert!(block(points).is_err(), "{points:?}");
    }
    let at = |points: &[u32]| block(points).unwrap_err().0.at;
    assert_eq!((at(&[1]), at(&[0, 5, 4])), (20, 20 + 4 * 2));
    assert!(Block::decode(vec![0xff; 4]).is_err());
    assert!(Block::decode(Vec::new()).is_err());
}

#[test]
fn entries_that_contradict_restart_points_are_refused() {
    // One entry, and a second restart point inside it.
    let mut bytes = Vec::new();
    for length in [0, 1, 9] {
        put_varint(&mut bytes, length);
    }
    put_varint(&mut bytes, Tag::new(1, Kind::Put).0);
    bytes.extend(b"k123456789");
    for word in [0u32, 8, 2] {
        bytes.extend(word.to_le_bytes());
    }
    let mut cursor = BlockCursor::new(Arc::new(Block::decode(bytes).unwrap()));
    assert!(cursor.seek_last().is_err());
    assert!(!cursor.valid());
}

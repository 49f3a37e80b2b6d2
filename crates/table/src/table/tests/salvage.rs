//! Salvage of tables whose footer, directory, index, properties or partitions are damaged.

use super::*;
use crate::coding::checksum;
use crate::table::block_codec::{Compression, PartEncoder, seed};
use crate::table::block_walk::{BlockWalk, Walked};
use crate::table::block_writer::BlockWriter;
use crate::table::footer::{FOOTER_BYTES, FORMAT_VERSION, MAGIC_BYTES};
use crate::table::index::BlockHandle;

/// Knowledge of a table of which only the name and the store are known.
const NAME: KnownTable<'_> = KnownTable { number: 9, salts: &[1, SALT], info: None };

struct Sound {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    info: Arc<TableInfo>,
    /// End of its data.
    data: usize,
}

impl Sound {
    fn new(versions: u64, count: u64, block_bytes: usize, bits: FilterBits) -> Sound {
        let entry = |n: u64| {
            let key = format!("key {:04}", n / versions).into_bytes();
            let tag = Tag::new(1 + count - n, Kind::Put);
            // Which LZ4 shortens.
            (key, tag, [&n.to_le_bytes()[..], &[7; 30]].concat())
        };
        let entries: Vec<Entry> = (0..count).map(entry).collect();
        let options = TableOptions {
            block_bytes,
            partition_bytes: 90,
            filter_bits_per_key: bits,
            ..TableOptions::default()
        };
        let (file, info) = write(&entries, 9, &options);
        let data = data_len(&open(&file, &info).unwrap()) as usize;
        Sound { entries, bytes: file.bytes(), info, data }
    }

    /// Returns the manifest's knowledge of it.
    fn named(&self) -> KnownTable<'_> {
        KnownTable { info: Some(&self.info), ..NAME }
    }

    /// Returns the end of each data block, and the number of entries up to it. The keys must
    /// differ, and the histogram have every block.
    fn block_ends(&self) -> Vec<(usize, usize)> {
        let end = |point: &terrane_types::HistogramPoint| {
            let through = self.entries.partition_point(|(key, ..)| *key <= point.key);
            (point.bytes as usize, through)
        };
        [(0, 0)].into_iter().chain(self.info.histogram.iter().map(end)).collect()
    }
}

/// Tables of one and of many blocks and partitions, with filters and without.
fn tables(versions: u64) -> Vec<Sound> {
    let mut tables = Vec::new();
    for (count, block_bytes) in [(1, 1), (7, 1), (120, 200), (120, 1 << 20)] {
        for bits in [FilterBits::NONE, FilterBits::whole(10)] {
            tables.push(Sound::new(versions, count, block_bytes, bits));
        }
    }
    tables
}

/// Salvages these bytes. Returns the entries, and the losses; nothing if it cannot start.
fn salvage(bytes: &[u8], known: &KnownTable<'_>) -> Option<(Vec<Entry>, Vec<LostBlock>)> {
    let mut salvage = Salvage::open(MemFile::holding(bytes.to_vec()), known).ok()?;
    assert_eq!((salvage.number(), salvage.salt()), (9, SALT));
    let mut read = Vec::new();
    while let Some((key, tag, value)) = salvage.entry() {
        read.push((key.to_vec(), tag, value.to_vec()));
        salvage.next();
    }
    Some((read, salvage.lost().to_vec()))
}

#[test]
fn no_entry_is_lost_where_only_what_follows_the_data_is_damaged() {
    for sound in tables(1).into_iter().chain(tables(3)).chain(tables(1000)) {
        for at in sound.data..sound.bytes.len() {
            let mut bytes = sound.bytes.clone();
            bytes[at] ^= 4;
            for known in [NAME, sound.named()] {
                // The filter is not read.
                let (read, lost) = salvage(&bytes, &known).unwrap();
                assert!(read == sound.entries, "{at}: {} entries", read.len());
                assert!(lost.is_empty(), "{at}: {lost:?}");
            }
        }
    }
}

#[test]
fn a_table_that_is_cut_or_extended_keeps_its_content() {
    for sound in tables(1) {
        let ends = sound.block_ends();
        assert_eq!(ends.last(), Some(&(sound.data, sound.entries.len())));
        for len in 0..sound.bytes.len() {
            let found = salvage(&sound.bytes[..len], &sound.named());
            let (_, kept) = *ends.iter().rfind(|(end, _)| *end <= len).unwrap();
            let Some((read, lost)) = found else {
                assert_eq!(kept, 0, "{len}");
                continue;
            };
            assert!(read == sound.entries[..kept], "{len}: {} entries", read.len());
            let left = (sound.entries.len() - kept) as u64;
            let told = lost.iter().map(|lost| (lost.entries, lost.through.clone()));
            let through = sound.info.largest.clone();
            let expected = (left > 0).then_some((Some(left), Some(through)));
            assert_eq!(told.collect::<Vec<_>>(), Vec::from_iter(expected), "{len}");
        }
        let mut longer = [&sound.bytes[..], b"x"].concat();
        for known in [NAME, sound.named()] {
            assert_eq!(salvage(&longer, &known), Some((sound.entries.clone(), vec![])));
        }
        // The footer and the index are where the manifest says: no more is lost than is damaged.
        longer[0] ^= 1;
        let (read, lost) = salvage(&longer, &sound.named()).unwrap();
        assert_eq!((read, lost.len()), (sound.entries[ends[1].1..].to_vec(), 1));
    }
}

#[test]
fn the_count_of_lost_entries_is_unknown_at_a_cut_end() {
    let sound = Sound::new(1, 120, 200, FilterBits::NONE);
    let (end, kept) = sound.block_ends()[5];
    // It might also have ended there.
    for len in [end, end + 50] {
        let (read, lost) = salvage(&sound.bytes[..len], &NAME).unwrap();
        assert_eq!((read.len(), lost.len()), (kept, 1));
        let last = Some(sound.entries[kept - 1].0.clone());
        assert_eq!((&lost[0].from, &lost[0].through, lost[0].entries), (&last, &None, None));
        assert_eq!(lost[0].damage.offset, end as u64);
    }
}

#[test]
fn a_damaged_block_without_an_index_costs_its_partitions_rest() {
    let sound = Sound::new(1, 120, 200, FilterBits::NONE);
    let table = open(&MemFile::holding(sound.bytes.clone()), &sound.info).unwrap();
    let opened = table.opened().unwrap();
    let indexes: Vec<_> = opened.partitions.iter().map(|p| p.handle.offset as usize).collect();
    assert!(indexes.len() > 3);
    let ends = sound.block_ends();
    let mut lost_partition = sound.bytes.clone();
    lost_partition[indexes[1]] ^= 1;
    let (read, lost) = salvage(&lost_partition, &NAME).unwrap();
    assert!(read == sound.entries && lost.is_empty());
    let mut costs = Vec::new();
    for blocks in ends.windows(2) {
        let mut bytes = lost_partition.clone();
        bytes[blocks[0].0 + 3] ^= 1;
        for known in [NAME, sound.named()] {
            let (read, lost) = salvage(&bytes, &known).unwrap();
            let gone = sound.entries.len() - read.len();
            let from = sound.entries.iter().position(|entry| !read.contains(entry)).unwrap();
            assert_eq!(from, blocks[0].1);
            let rest = &sound.entries[from + gone..];
            assert!(read[from..] == *rest, "one gap");
            assert_eq!((lost.len(), lost[0].entries), (1, Some(gone as u64)));
            costs.push(gone as i64 - (blocks[1].1 - blocks[0].1) as i64);
        }
    }
    // More than the block itself only in the one partition, and less towards its end.
    let more: Vec<_> = costs.iter().filter(|cost| **cost > 0).collect();
    assert!(!more.is_empty() && more.len() < costs.len() / 2, "{costs:?}");
    assert!(costs.iter().all(|cost| *cost >= 0) && more.is_sorted_by(|a, b| a >= b), "{costs:?}");
}

#[test]
fn each_of_two_losses_is_counted_where_one_has_no_index() {
    let sound = Sound::new(1, 120, 200, FilterBits::NONE);
    let table = open(&MemFile::holding(sound.bytes.clone()), &sound.info).unwrap();
    let ends = sound.block_ends();
    let mut bytes = sound.bytes.clone();
    bytes[table.opened().unwrap().partitions[1].handle.offset as usize] ^= 1;
    bytes[0] ^= 1;
    for blocks in ends[1..].windows(2) {
        let mut bytes = bytes.clone();
        bytes[blocks[0].0] ^= 1;
        let (read, lost) = salvage(&bytes, &NAME).unwrap();
        let counts: Vec<_> = lost.iter().filter_map(|lost| lost.entries).collect();
        assert_eq!((counts.len(), counts[0]), (2, ends[1].1 as u64));
        assert_eq!(counts[0] + counts[1], (sound.entries.len() - read.len()) as u64);
    }
}

#[test]
fn a_table_of_a_newer_format_is_refused_rather_than_salvaged() {
    let mut bytes = Sound::new(1, 120, 200, FilterBits::NONE).bytes;
    let at = bytes.len() - FOOTER_BYTES;
    let footer = &mut bytes[at..];
    footer[52] = FORMAT_VERSION as u8 + 1;
    let sum = checksum(&footer[..64], u64::from_le_bytes(MAGIC_BYTES));
    footer[64..72].copy_from_slice(&sum.to_le_bytes());
    let refused = Salvage::open(MemFile::holding(bytes), &NAME).err().map(Error::into_kind);
    assert!(matches!(refused, Some(ErrorKind::NewerFormat(_))));
}

#[test]
fn a_salvage_of_a_foreign_table_reads_nothing_without_a_footer() {
    let sound = Sound::new(1, 120, 200, FilterBits::NONE);
    let cut = &sound.bytes[..sound.bytes.len() - 1];
    assert!(salvage(cut, &NAME).is_some());
    for known in [KnownTable { number: 8, ..NAME }, KnownTable { salts: &[1], ..NAME }] {
        assert!(salvage(cut, &known).is_none());
    }
}

#[test]
fn a_walk_finds_every_block_and_calls_other_bytes_damage() {
    let sound = Sound::new(1, 120, 200, FilterBits::NONE);
    let ends = sound.block_ends();
    let (data, all) = (sound.data as u64, sound.bytes.len() as u64);
    for (end, is_damage) in [(None, false), (Some(data), false), (Some(all), true)] {
        let file = MemFile::holding(sound.bytes.clone());
        let mut walk = BlockWalk::new(file, seed(SALT, 9), 0, end);
        for (&(from, before), &(to, through)) in ends.iter().zip(&ends[1..]) {
            let Walked::Block(key, handle) = walk.next() else { panic!("a block at {from}") };
            assert_eq!(key, sound.entries[through - 1].0);
            let (offset, len, entries) = (from as u64, (to - from) as u64, through - before);
            assert_eq!(handle, BlockHandle { offset, len, entries: entries as u64 });
        }
        assert_eq!(matches!(walk.next(), Walked::Damage), is_damage, "{end:?}");
    }
}

#[test]
fn a_part_that_repeats_the_last_entry_is_no_data_block() {
    let encoder = PartEncoder::new(seed(SALT, 9), Compression::None);
    for (tag, follows) in [(Tag::at(7), true), (Tag::at(8), false), (Tag::at(9), false)] {
        let mut bytes = Vec::new();
        for tag in [Tag::at(8), tag] {
            let mut block = BlockWriter::new(16);
            block.add(0, b"key", tag, b"value");
            encoder.encode(block.finish(), bytes.len() as u64, &mut bytes);
        }
        let mut walk = BlockWalk::new(MemFile::holding(bytes), seed(SALT, 9), 0, None);
        assert!(matches!(walk.next(), Walked::Block(..)));
        assert_eq!(matches!(walk.next(), Walked::Block(..)), follows, "{tag:?}");
    }
}

//! Every decoder of stored bytes, as a fuzz target that takes arbitrary bytes.
//!
//! 1. [`TARGETS`] lists them. None panics, runs forever, or allocates more memory than the bytes
//!    justify; whatever decodes is the same after encoding and decoding it again.
//! 2. Where a checksum guards a decoder, the target first corrects it ([`crate::checksum_fix`]).
//! 3. [`crate::seeds`] gives each target inputs that decode, and [`mutate`] damages them.
//! 4. The targets of [`crate::engines`] open an engine on what decodes.
//!
//! `tests/fuzz` runs the same targets under libFuzzer.

use crate::checksum_fix;
use crate::engines::ENGINES;
use std::sync::Arc;
use terrane::entry::{MAX_SEQ, Tag};
use terrane::storage::fuzz::{Slot, decode_current, decode_record, decode_superblock, scan};
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::{File, write_all_at};
use terrane::table::block::Block;
use terrane::table::block_codec::{decode, fix_checksum as seal};
use terrane::table::filter::Filter;
use terrane::table::footer::{FOOTER_BYTES, Footer, decode_directory, encode_directory};
use terrane::table::{
    BlockCache, BlockCursor, MAX_READAHEAD_BYTES, Properties, ReadPattern, Table, TableFiles,
    key_hash,
};
use terrane::version::{Edit, VersionSet};
use terrane::{WriteBatch, batch, wal};
use terrane_policy::{TableId, TableInfo};
use terrane_workload::Random;

/// The name of a decoder, and the function that feeds it.
pub type Target = (&'static str, fn(&[u8]));

/// All decoders.
pub const TARGETS: [Target; 13] = [
    ("log", log),
    ("batch", batch),
    ("manifest", manifest),
    ("record", record),
    ("edit", edit),
    ("current", current),
    ("superblock", superblock),
    ("table", table),
    ("footer", footer),
    ("properties", properties),
    ("filter", filter),
    ("block", block),
    ("stored", stored),
];

/// Runs the target with this name.
///
/// # Panics
/// If there is no target with this name, or it finds a bug.
pub fn run(name: &str, data: &[u8]) {
    let mut targets = TARGETS.iter().chain(&ENGINES);
    let target = targets.find(|(n, _)| *n == name).expect("the name of a target");
    (target.1)(data);
}

/// A log as recovery reads it.
pub fn log(data: &[u8]) {
    let mut bytes = data.to_vec();
    checksum_fix::log(&mut bytes, checksum_fix::LOG);
    let found = wal::scan(&bytes, checksum_fix::LOG).expect("bytes in memory");
    let start = found.first().map_or(1, |f| f.header.first);
    let vfs = MemoryVfs::new();
    let file = vfs.create("log").expect("a file system in memory");
    write_all_at(&*file, &bytes, 0).expect("a file system in memory");
    let mut payloads = 0;
    let mut replay = wal::Replay::new(start, 0);
    let read = replay.log(checksum_fix::LOG, &file, None, &mut |_, bytes| {
        payloads += bytes.len();
        batch(bytes);
        Ok(())
    });
    let replayed = read.and_then(|_| replay.end());
    assert!(payloads <= data.len());
    if let Ok(replayed) = replayed {
        assert!(
            replayed.next <= MAX_SEQ.max(start) && replayed.discarded_bytes <= data.len() as u64
        );
    }
}

/// The entries of a batch.
pub fn batch(data: &[u8]) {
    let decoded = batch::decode(data).all(|entry| entry.is_ok());
    if let Ok(batch) = WriteBatch::from_encoded(data.to_vec()) {
        assert!(decoded && batch.bytes() == data);
    }
}

/// A manifest, its records, and their edits one after another.
pub fn manifest(data: &[u8]) {
    let mut bytes = data.to_vec();
    let mirror = bytes.len() / checksum_fix::MANIFEST_SLOT * checksum_fix::MANIFEST_SLOT;
    checksum_fix::manifest(&mut bytes, checksum_fix::MANIFEST, 2 * mirror as u64);
    let Ok(scan) = scan(&bytes, checksum_fix::MANIFEST, "manifest", 0) else { return };
    let mut version_set = VersionSet::default();
    for (number, (_, payload)) in scan.records.iter().enumerate() {
        let Some(edit) = decode_record(payload).ok().and_then(|record| record.edit) else {
            continue;
        };
        let _ = Edit::decode(edit, number as u64).and_then(|edit| version_set.apply(&edit));
    }
    again(&version_set);
}

/// One record of a manifest.
pub fn record(data: &[u8]) {
    if let Ok(record) = decode_record(data) {
        // Each takes at least two bytes.
        let extents: usize = record.placed.iter().map(|(_, place)| place.extents.len()).sum();
        assert!(2 * (record.placed.len() + record.dropped.len() + extents) <= data.len());
    }
}

/// One edit, and what it makes of an empty version set.
pub fn edit(data: &[u8]) {
    let Ok(edit) = Edit::decode(data, 0) else { return };
    assert_eq!(Edit::decode(&edit.encode(), 0).expect("an edit that was read"), edit);
    let mut version_set = VersionSet::default();
    if version_set.apply(&edit).is_ok() {
        again(&version_set);
    }
}

/// A version set is the same after a snapshot.
fn again(version_set: &VersionSet) {
    let snapshot = version_set.snapshot().encode();
    let edit = Edit::decode(&snapshot, 0).expect("a snapshot");
    let mut other = VersionSet::default();
    other.apply(&edit).expect("a snapshot");
    assert_eq!(&other, version_set);
}

/// A directory's `CURRENT`.
pub fn current(data: &[u8]) {
    let _ = decode_current(data);
    let mut bytes = data.to_vec();
    checksum_fix::head(&mut bytes, b"TRNCUR\r\n", 32);
    assert_eq!(decode_current(&bytes).is_some(), bytes.len() >= 40);
}

/// A slot of a volume's superblock.
pub fn superblock(data: &[u8]) {
    let _ = decode_superblock(data);
    let mut bytes = data.to_vec();
    checksum_fix::head(&mut bytes, b"TRNVOL\r\n", 64);
    assert_eq!(matches!(decode_superblock(&bytes), Slot::Valid(_)), bytes.len() >= 72);
}

/// A whole table: opened, read in every way, checked.
pub fn table(data: &[u8]) {
    let mut bytes = data.to_vec();
    checksum_fix::table(&mut bytes);
    let Some(info) = info(&bytes) else { return };
    let vfs = MemoryVfs::new();
    let file = vfs.create("table").expect("a file system in memory");
    write_all_at(&*file, &bytes, 0).expect("a file system in memory");
    let cache = Arc::new(BlockCache::new(1 << 20));
    let table = Table::new(Arc::new(info), Arc::new(OneFile(file)), cache);
    if table.open().is_err() {
        return;
    }
    let table = Arc::new(table);
    for key in [b"".as_slice(), b"counter", b"key050", b"zzz"] {
        let _ = table.get(key, MAX_SEQ);
    }
    for pattern in [ReadPattern::Scan, ReadPattern::Compaction { readahead: MAX_READAHEAD_BYTES }] {
        use terrane_table::read::Cursor;
        let mut cursor = table.cursor(pattern);
        let mut entries = 0;
        let mut step = cursor.seek_first();
        while step.is_ok() && cursor.valid() && entries < data.len() {
            (entries, step) = (entries + 1, cursor.next());
        }
        let mut step = cursor.seek_last();
        while step.is_ok() && cursor.valid() && entries < 2 * data.len() {
            (entries, step) = (entries + 1, cursor.prev());
        }
        let _ = cursor.seek(b"key050", Tag::at(MAX_SEQ));
    }
    let _ = table.check();
}

/// A place where every table is the same file.
struct OneFile(Arc<dyn File>);

impl TableFiles for OneFile {
    fn open(&self, _: TableId) -> terrane::Result<Arc<dyn File>> {
        Ok(self.0.clone())
    }
}

/// Returns the version set's record of this table, derived from the table itself.
fn info(bytes: &[u8]) -> Option<TableInfo> {
    let end = bytes.len().checked_sub(FOOTER_BYTES)?;
    let footer = Footer::decode(bytes[end..].try_into().ok()?, "table", bytes.len() as u64).ok()?;
    let from = footer.directory_offset;
    let part = |at: u64, len: u64| {
        decode(bytes[at as usize..][..len as usize].to_vec(), footer.seed(), at)
    };
    let directory = part(from, footer.directory_len.into()).ok()?;
    let sections = decode_directory(&directory, &footer).ok()?;
    let found = sections.iter().find(|section| section.kind == 3)?;
    let properties = Properties::decode(&part(found.offset, found.len).ok()?).ok()?;
    Some(TableInfo {
        id: TableId(footer.table),
        bytes: bytes.len() as u64,
        entries: properties.entries,
        tombstones: properties.tombstones,
        smallest: properties.smallest,
        largest: properties.largest,
        first_seq: properties.first_seq,
        last_seq: properties.last_seq,
        filter_bits: properties.filter_bits,
        filter_bytes: properties.filter_bytes,
        kept: properties.kept,
        cleared: 0,
        expires_by: 0,
        salt: footer.salt,
        histogram: properties.histogram,
        prefixes: properties.prefixes,
    })
}

/// A footer and the directory before it.
pub fn footer(data: &[u8]) {
    let Some((directory, last)) = data.split_last_chunk::<FOOTER_BYTES>() else { return };
    let mut last = *last;
    checksum_fix::footer(&mut last);
    let len = u64::from_le_bytes(last[56..64].try_into().expect("8 bytes"));
    let Ok(footer) = Footer::decode(&last, "table", len) else { return };
    if let Ok(sections) = decode_directory(directory, &footer) {
        let mut out = Vec::new();
        encode_directory(&sections, &mut out);
        assert_eq!(decode_directory(&out, &footer).expect("a directory that was read"), sections);
    }
}

/// The properties of a table.
pub fn properties(data: &[u8]) {
    if let Ok(properties) = Properties::decode(data) {
        let mut out = Vec::new();
        properties.encode(&mut out);
        assert_eq!(Properties::decode(&out).expect("properties that were read"), properties);
    }
}

/// A filter.
pub fn filter(data: &[u8]) {
    if let Ok(filter) = Filter::decode(data) {
        let mut out = Vec::new();
        filter.encode(&mut out);
        assert_eq!(out, data);
        let _ = filter.may_contain(key_hash(data));
    }
}

/// A block, scanned and searched in both directions.
pub fn block(data: &[u8]) {
    let Ok(block) = Block::decode(data.to_vec()) else { return };
    let block = Arc::new(block);
    let mut cursor = BlockCursor::new(Arc::clone(&block));
    let (mut forward, mut backward) = (0, 0);
    let mut step = cursor.seek_first();
    while step.is_ok() && cursor.valid() {
        (forward, step) = (forward + 1, cursor.advance());
    }
    let sound = step.is_ok();
    let mut step = cursor.seek_last();
    while step.is_ok() && cursor.valid() {
        (backward, step) = (backward + 1, cursor.retreat());
    }
    assert!(!sound || step.is_err() || forward == backward, "{forward} on, {backward} back");
    for at in [0, data.len() / 2, 0, data.len() / 2] {
        let key = &data[at..data.len().min(at + 9)];
        let _ = cursor.seek(key, Tag::at(MAX_SEQ));
        let _ = cursor.seek_before(key, Tag(0));
        if at > 0 {
            block.prepare();
        }
    }
}

/// A part of a table as it is stored, compressed or not.
pub fn stored(data: &[u8]) {
    let mut bytes = data.to_vec();
    seal(&mut bytes, 1, 0);
    if let Ok(out) = decode(bytes, 1, 0) {
        assert!(out.len() <= data.len() * 255, "{} bytes from {}", out.len(), data.len());
    }
}

/// Damages bytes: flips, lengths, cuts, splices from themselves and from `other`, noise.
#[must_use]
pub fn mutate(random: &mut Random, sound: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len() as u64) as usize;
        let len = random.below(64) as usize;
        match random.below(9) {
            0 | 1 => bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << random.below(8)),
            // What looks like a length that is far too large, or off by one.
            2 => edge(random, &mut bytes, at),
            3 => bytes.iter_mut().skip(at).take(1).for_each(|b| *b = b.wrapping_add(1)),
            4 => bytes.truncate(at),
            5 => {
                let from = random.below(other.len() as u64) as usize;
                let piece = other.iter().skip(from).take(len).copied();
                bytes.splice(at..at, piece.collect::<Vec<_>>());
            }
            6 => drop(bytes.drain(at..bytes.len().min(at + len))),
            7 => bytes.iter_mut().skip(at).take(len).for_each(|b| *b = random.word() as u8),
            _ => {
                let piece: Vec<u8> = bytes.iter().skip(at).take(len).copied().collect();
                let to = random.below(bytes.len() as u64) as usize;
                bytes.iter_mut().skip(to).zip(piece).for_each(|(b, p)| *b = p);
            }
        }
    }
    bytes
}

/// Writes a number at an extreme, as a varint or a word.
fn edge(random: &mut Random, bytes: &mut [u8], at: usize) {
    let value = match random.below(4) {
        0 => u64::MAX,
        1 => 1 << random.below(64),
        2 => (1 << random.below(63)) - 1,
        _ => u64::MAX - random.below(64),
    };
    let mut varint = Vec::new();
    terrane::coding::put_varint(&mut varint, value);
    let word = value.to_le_bytes();
    let new = match random.below(3) {
        0 => &varint[..],
        1 => &word[..],
        _ => &word[..4],
    };
    bytes.iter_mut().skip(at).zip(new).for_each(|(to, from)| *to = *from);
}

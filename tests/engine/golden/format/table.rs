//! Tables ("Tables" of FORMAT.md).

use super::bytes::{Reader, checksum, lz4, u32_at, u64_at};
use super::manifest::Info;
use super::{Change, Entry, Operand, Store, expiring};
use std::collections::BTreeMap;

/// The kind of a table's file in the manifest.
pub const KIND: u8 = 1;

const FOOTER: usize = 80;
const TRAILER: usize = 9;

/// A key with its tag, and a value.
type Item = (Vec<u8>, u64, Vec<u8>);

/// The entries of a table.
pub fn read(
    store: &mut Store,
    bytes: &[u8],
    keyspace: (u64, &str),
    number: u64,
    info: &Info,
) -> Vec<Entry> {
    let footer = &bytes[bytes.len() - FOOTER..];
    let magic = u64::from_le_bytes(*b"TERRANE\x02");
    assert_eq!(u64_at(footer, 72), magic);
    assert_eq!(u64_at(footer, 64), checksum(&footer[..64], magic));
    let [table, salt, data, directory, length] = [0, 8, 24, 32, 56].map(|at| u64_at(footer, at));
    assert_eq!([table, length, info.length], [number, bytes.len() as u64, bytes.len() as u64]);
    assert_eq!(salt, info.salt);
    assert_eq!([44, 48].map(|at| u32_at(footer, at)), [0, 0], "features");
    assert_eq!(u32_at(footer, 52), 2, "version, and two bytes of zeros");

    let mut part = |offset: u64, length: u64| {
        let (payload, compression) = part(bytes, [salt, number], offset, length);
        if offset < data {
            store.blocks[usize::from(compression)] += 1;
        }
        payload
    };
    let directory_length = u32_at(footer, 40).into();
    assert_eq!(directory + directory_length + FOOTER as u64, length, "parts leave no gap");
    let mut sections = BTreeMap::new();
    let listed = part(directory, directory_length);
    let (mut from, mut end) = (Reader(&listed), data);
    while !from.is_empty() {
        let [kind, offset, length] = from.varints();
        assert_eq!(offset, end, "sections leave no gap");
        end += length;
        sections.insert(kind, (offset, length));
    }
    assert_eq!(end, directory);
    let mut section = |kind| {
        let (offset, length) = sections[&kind];
        part(offset, length)
    };
    let (index, said) = (section(2), section(3));

    let mut items = Vec::new();
    let (mut end, mut blocks, mut partitions, mut lines) = (0, 0, 0, 0);
    let (mut partitions_end, partitions_length) = sections[&1];
    let behind = partitions_end + partitions_length;
    for (last_separator, last_tag, handle) in block(&index) {
        let mut handle = Reader(&handle);
        let [offset, filter, length] = handle.varints();
        assert!(handle.is_empty());
        assert_eq!(offset, partitions_end, "partitions leave no gap");
        partitions_end += filter + length;
        partitions += 1;
        let entries = block(&part(offset + filter, length));
        let (separator, tag, _) = entries.last().expect("a partition has a block");
        assert_eq!((separator, *tag), (&last_separator, last_tag));
        let before = items.len();
        for (separator, tag, handle) in entries {
            let mut handle = Reader(&handle);
            let [offset, length, count] = handle.varints();
            assert!(handle.is_empty());
            assert_eq!(offset, end, "data blocks leave no gap");
            end += length;
            blocks += 1;
            let found = block(&part(offset, length));
            assert_eq!(found.len() as u64, count);
            let (key, last, _) = found.last().expect("a block has an entry");
            assert!((key, !last) <= (&separator, !tag), "a separator is at or after the last");
            items.extend(found);
        }
        if filter > 0 {
            let filter = part(offset, filter);
            lines += filter.len() as u64 - 1;
            let known = items[before..].iter().all(|(key, ..)| passes(&filter, key));
            assert!(known, "the filter knows every key of its partition");
        }
    }
    assert_eq!((end, partitions_end), (data, behind));
    store.partitioned += usize::from(partitions > 1);
    let sorted = |a: &Item, b: &Item| (&a.0, !a.1) < (&b.0, !b.1);
    assert!(items.is_sorted_by(sorted), "keys ascend, and tags of a key descend");
    let named = properties(&said, &items, info, [blocks, lines]);
    if let Some((id, name)) = named {
        assert_eq!((id, name), (keyspace.0, keyspace.1.as_bytes()), "whose the table is");
        store.named += 1;
    }

    store.old_versions += items.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
    let entry = |(key, tag, value): Item| {
        let change = match tag & 0xff {
            0 => Change::Delete,
            1 => Change::Put(value),
            3 => {
                let mut from = Reader(&value);
                let since = (tag >> 8) - from.varint();
                store.operands += 1;
                store.bounded += usize::from(from.0[0] == 3);
                let operand = Operand::read(&mut from);
                assert!(from.is_empty());
                Change::Merge(since, operand)
            }
            4 => expiring(&value),
            other => panic!("{other} is no kind of entry"),
        };
        Entry { keyspace: keyspace.0, key, sequence: tag >> 8, change }
    };
    let entries: Vec<_> = items.into_iter().map(entry).collect();
    store.tombstones +=
        entries.iter().filter(|entry| matches!(entry.change, Change::Delete)).count();
    store.expiring +=
        entries.iter().filter(|entry| matches!(entry.change, Change::PutExpiring(..))).count();
    entries
}

/// The payload of a stored part, and how it was compressed.
fn part(bytes: &[u8], [salt, table]: [u64; 2], offset: u64, length: u64) -> (Vec<u8>, u8) {
    let stored = &bytes[offset as usize..][..length as usize];
    let (covered, sum) = stored.split_at(stored.len() - 8);
    let seed = salt
        ^ table.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ offset.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    assert_eq!(u64_at(sum, 0), checksum(covered, seed), "the part at {offset}");
    let (payload, compression) = (&stored[..stored.len() - TRAILER], covered[covered.len() - 1]);
    match compression {
        0 => (payload.to_vec(), 0),
        1 => (lz4(&payload[4..], u32_at(payload, 0) as usize), 1),
        other => panic!("compression {other}"),
    }
}

/// The entries of a block.
fn block(bytes: &[u8]) -> Vec<Item> {
    let count = u32_at(bytes, bytes.len() - 4) as usize;
    let end = bytes.len() - 4 - 4 * count;
    let restarts: Vec<_> = (0..count).map(|n| u32_at(bytes, end + 4 * n) as usize).collect();
    assert!(restarts[0] == 0 && restarts.is_sorted_by(|a, b| a < b));
    let mut from = Reader(&bytes[..end]);
    let mut items: Vec<Item> = Vec::new();
    let mut met = 0;
    while !from.is_empty() {
        let at = end - from.0.len();
        let [shared, unshared, length, tag] = from.varints();
        if restarts.get(met) == Some(&at) {
            assert_eq!(shared, 0, "nothing is shared at a restart point");
            met += 1;
        }
        let mut key = items.last().map_or(Vec::new(), |(key, ..)| key[..shared as usize].to_vec());
        key.extend(from.take(unshared as usize));
        items.push((key, tag, from.take(length as usize).to_vec()));
    }
    assert_eq!(met, count, "a restart point is where an entry begins");
    items
}

/// Whether a filter may contain a key.
fn passes(filter: &[u8], key: &[u8]) -> bool {
    let (lines, probes) = filter.split_at(filter.len() - 1);
    let hash = checksum(key, 0);
    let line = (((hash >> 32) * (lines.len() as u64 / 64)) >> 32) as usize;
    let mut state = hash as u32;
    (0..probes[0]).all(|_| {
        let bit = (state >> 23) as usize;
        state = state.wrapping_mul(0x9e37_79b9);
        u64_at(lines, 64 * line + 8 * (bit / 64)) >> (bit % 64) & 1 == 1
    })
}

/// Checks the properties against the entries, and both against the manifest. Returns the id and name
/// of the keyspace, if they are there.
fn properties<'a>(
    section: &'a [u8],
    items: &[Item],
    info: &Info,
    [blocks, lines]: [u64; 2],
) -> Option<(u64, &'a [u8])> {
    let mut fields = BTreeMap::new();
    let mut from = Reader(section);
    while !from.is_empty() {
        fields.insert(from.varint(), from.bytes());
    }
    let number = |field: u64| {
        let mut from = Reader(fields[&field]);
        let number = from.varint();
        assert!(from.is_empty());
        number
    };
    let sequences = || items.iter().map(|(_, tag, _)| tag >> 8);
    let tombstones = items.iter().filter(|(_, tag, _)| tag & 0xff == 0).count();
    let (first, last) = (sequences().min().expect("entries"), sequences().max().expect("entries"));
    let keys = items.iter().map(|(key, ..)| key.len() as u64).sum();
    let values = items.iter().map(|(.., value)| value.len() as u64).sum();
    let counted = [items.len() as u64, tombstones as u64, first, last, keys, values, blocks];
    assert_eq!([1, 2, 3, 4, 7, 8, 9].map(number), counted);
    let named = [info.entries, info.tombstones, info.first_sequence, info.last_sequence];
    assert_eq!(named, counted[..4]);
    let filter = if lines > 0 { [14, 15].map(number) } else { [0, 0] };
    assert_eq!((filter, filter[1]), (info.filter, lines));
    assert_eq!(lines > 0, fields.contains_key(&14));
    let (smallest, largest) = (&items[0].0[..], &items[items.len() - 1].0[..]);
    assert_eq!([fields[&5], fields[&6]], [smallest, largest]);
    assert_eq!([&info.smallest[..], &info.largest[..]], [smallest, largest]);
    let mut histogram = Reader(fields[&10]);
    let mut points = Vec::new();
    while !histogram.is_empty() {
        points.push((histogram.bytes(), histogram.varint()));
    }
    assert!((1..=64).contains(&points.len()));
    assert!(points.is_sorted_by(|(a, m), (b, n)| a <= b && m <= n));
    if let Some(field) = fields.get(&16) {
        let mut from = Reader(field);
        let kept: [u64; 3] = from.varints();
        assert!(from.is_empty() && info.kept.is_none_or(|named| named == kept));
        let superseded = items.windows(2).filter(|two| two[0].0 == two[1].0).count() as u64;
        // The others are tombstones, or hidden by range deletes.
        assert!((superseded..=items.len() as u64).contains(&kept[0]));
        assert!(kept[1] <= info.length);
    }
    // Recorded if there are values, and all of them expire.
    let times = items
        .iter()
        .filter(|(_, tag, _)| tag & 0xff != 0)
        .map(|(_, tag, value)| if tag & 0xff == 4 { u64_at(value, 0) } else { u64::MAX });
    let expires_by = times.max().filter(|latest| *latest < u64::MAX);
    assert_eq!(fields.contains_key(&17).then(|| number(17)), expires_by);
    assert_eq!(info.expires_by, expires_by.unwrap_or(0));
    fields.get(&12).map(|name| (number(11), *name))
}

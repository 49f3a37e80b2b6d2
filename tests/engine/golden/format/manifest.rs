//! The manifest, and the state that its edits produce ("The manifest" to "Edits" of FORMAT.md).

use super::bytes::{Reader, checksum, u32_at, u64_at};
use super::{Files, Place};
use crate::golden::VOLUME;
use std::collections::BTreeMap;

const SLOT: usize = 16 << 10;
const UNIT: u64 = 4096;

/// A table as described by an edit.
#[derive(Clone)]
pub struct Info {
    level: u64,
    pub length: u64,
    pub entries: u64,
    pub tombstones: u64,
    pub first_sequence: u64,
    pub last_sequence: u64,
    pub salt: u64,
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    /// Thousandths of a filter bit of each key, and the memory of all filters.
    pub filter: [u64; 2],
    /// Entries that only snapshots kept: how many, their bytes, and until which sequence.
    pub kept: Option<[u64; 3]>,
    /// The number through which range deletes are applied to it.
    pub cleared: u64,
    pub expires_by: u64,
}

/// A range of keys, open at its end without one, and the sequences of the range deletes over it.
type Fragment = (Vec<u8>, Option<Vec<u8>>, Vec<u64>);

#[derive(Default)]
pub struct Keyspace {
    pub name: String,
    pub flushed: u64,
    pub policy_state: Vec<u8>,
    pub tables: BTreeMap<u64, Info>,
    pub range_deletes: Vec<Fragment>,
    /// The sort of its values, as a bit of the store's features.
    pub features: u64,
}

/// The location of a file.
struct Placed {
    length: u64,
    backing: u8,
    /// Offsets and lengths, in bytes.
    extents: Vec<(u64, u64)>,
}

/// Reads a plan; returns how many groups it has.
fn plan(body: &mut Reader) -> u64 {
    assert!(!body.text().is_empty(), "a plan has a reason");
    let _at_most_at_once = body.u8();
    let groups = body.varint();
    for _ in 0..groups {
        let tables = body.varint();
        assert!(tables > 0, "a group reads tables");
        for _ in 0..tables {
            body.varint();
        }
        let [_level, _run] = body.varints();
        if body.u8() == 1 {
            let [_table_bytes, _filter_bits, cuts] = body.varints();
            for _ in 0..cuts {
                body.bytes();
            }
        }
        if body.u8() == 1 {
            let [_table_of_the_group_before] = body.varints();
        }
    }
    groups
}

/// All records of a manifest, applied.
#[derive(Default)]
pub struct Manifest {
    files: BTreeMap<(u8, u64), Placed>,
    pub keyspaces: BTreeMap<u64, Keyspace>,
    /// The file of each log, and the salt of its checksums.
    pub logs: BTreeMap<u64, (u64, u64)>,
    /// Retained logs: the file of each, its first and last sequence, the length of its records, and the salt.
    pub retained: BTreeMap<u64, ([u64; 4], u64)>,
    /// Dropped keyspaces that batches of the logs name: the sequence of the drop, and the name.
    pub dropped: BTreeMap<u64, (u64, String)>,
    /// The last sequence that counts in a log that was ended.
    pub ends: BTreeMap<u64, u64>,
    /// Bytes of discarded records, by the number of their log file.
    pub quarantined: BTreeMap<u64, u64>,
    /// The first sequence in the logs.
    pub log_start: u64,
    /// The remaining groups of a plan, by keyspace and compaction.
    remaining: BTreeMap<(u64, u64), u64>,
    next_number: u64,
    /// The sequence number of the closing claim; 0 without one.
    pub closed: u64,
}

impl Manifest {
    pub fn read(files: &Files, place: Place) -> Manifest {
        let (salt, generation, region) = match place {
            Place::Directory => {
                let (salt, generation) = current(&files["CURRENT"]);
                (salt, generation, &files[&format!("MANIFEST-{generation:06}")][..])
            }
            Place::Volume => superblock(&files[VOLUME]),
        };
        let mut manifest = Manifest::default();
        let (mut at, mut records) = (0, 0);
        for index in 0.. {
            let Some(payload) = frame(&region[at..], [salt, generation], index) else { break };
            let length = (32 + payload.len()).next_multiple_of(SLOT);
            at += length;
            records = index + 1;
            let record = if index == 0 { region_header(payload, region, length) } else { payload };
            manifest.record(record);
        }
        assert!(at > 0, "a manifest has a snapshot");
        let (first, second) = region.split_at(region.len() / 2);
        let (second, witness) = second.split_at(second.len() - SLOT);
        assert_eq!(first[..second.len()], *second, "the mirrors");
        assert!(first[at..].iter().all(|byte| *byte == 0), "zeros follow the last record");
        let seed = salt ^ generation.rotate_left(32) ^ u64::MAX;
        assert_eq!(u64_at(witness, 0), checksum(&witness[8..16], seed));
        assert_eq!(u64_at(witness, 8), records, "the witness counts the records");
        // Stores that earlier releases closed have zeros there.
        let (claim, rest) = witness[16..].split_at(16);
        let sum = checksum(&claim[8..], salt ^ generation.rotate_left(32) ^ (u64::MAX - 1));
        assert!(
            claim.iter().all(|byte| *byte == 0) || u64_at(claim, 0) == sum,
            "the closing claim"
        );
        assert!(rest.iter().all(|byte| *byte == 0), "nothing follows the closing claim");
        manifest.closed = u64_at(claim, 8);
        manifest
    }

    /// The bytes of a file.
    pub fn file(&self, files: &Files, kind: u8, number: u64) -> Vec<u8> {
        let placed = &self.files[&(kind, number)];
        if placed.extents.is_empty() {
            let ending = ["log", "sst"][usize::from(kind)];
            let bytes = files[&format!("{number:08}.{ending}")].clone();
            assert_eq!(bytes.len() as u64, placed.length);
            return bytes;
        }
        assert_eq!(placed.backing, 0, "there is one backing");
        let extent = |(offset, length): &(u64, u64)| {
            assert!(*offset >= 32 << 10, "an extent in the superblocks");
            files[VOLUME][*offset as usize..][..*length as usize].to_vec()
        };
        let mut bytes = placed.extents.iter().flat_map(extent).collect::<Vec<_>>();
        bytes.truncate(placed.length as usize);
        bytes
    }

    /// The number of remaining groups of all compactions.
    pub fn remaining(&self) -> u64 {
        self.remaining.values().sum()
    }

    fn record(&mut self, record: &[u8]) {
        let mut from = Reader(record);
        for _ in 0..from.varint() {
            let (kind, number) = (from.u8(), from.varint());
            let (length, backing) = (from.varint(), from.u8());
            let extents = (0..from.varint()).map(|_| (from.varint() * UNIT, from.varint() * UNIT));
            let extents = extents.collect();
            self.files.insert((kind, number), Placed { length, backing, extents });
        }
        for _ in 0..from.varint() {
            let file = (from.u8(), from.varint());
            assert!(self.files.remove(&file).is_some(), "a dropped file lives");
        }
        match from.u8() {
            0 => assert!(from.is_empty()),
            1 => self.edit(from),
            other => panic!("{other} in the place of an edit"),
        }
    }

    fn edit(&mut self, mut from: Reader) {
        let (mut added, mut dropped) = (Vec::new(), Vec::new());
        while !from.is_empty() {
            let tag = from.u8();
            let mut body = Reader(from.bytes());
            match tag {
                1 => self.next_number = body.varint(),
                2 => {
                    let (id, name) = (body.varint(), body.text());
                    assert!(body.text().starts_with('{'), "a policy is JSON");
                    self.keyspaces.insert(id, Keyspace { name, ..Keyspace::default() });
                }
                3 => {
                    let [id, sequence] = body.varints();
                    let dropped = self.keyspaces.remove(&id).expect("a keyspace");
                    self.dropped.insert(id, (sequence, dropped.name));
                }
                4 => {
                    let [keyspace, level, _run, number] = body.varints();
                    let [length, entries, tombstones, first_sequence, last_sequence] =
                        body.varints();
                    let salt = u64_at(body.take(8), 0);
                    let [smallest, largest] = [body.bytes().to_vec(), body.bytes().to_vec()];
                    let filter = body.varints();
                    assert!(level < 64 && smallest <= largest);
                    let mut ahead = Reader(body.0);
                    let (mut kept, mut cleared, mut expires_by) = (None, 0, 0);
                    while !ahead.is_empty() {
                        let (number, mut field) = (ahead.varint(), Reader(ahead.bytes()));
                        match number {
                            2 => kept = Some(field.varints()),
                            4 => cleared = field.varint(),
                            6 => expires_by = field.varint(),
                            _ => continue,
                        }
                        assert!(field.is_empty());
                    }
                    added.push((
                        keyspace,
                        number,
                        Info {
                            level,
                            length,
                            entries,
                            tombstones,
                            first_sequence,
                            last_sequence,
                            salt,
                            smallest,
                            largest,
                            filter,
                            kept,
                            cleared,
                            expires_by,
                        },
                    ));
                }
                5 => dropped.push(body.varints()),
                6 => {
                    let [keyspace, sequence] = body.varints();
                    self.keyspace(keyspace).flushed = sequence;
                }
                7 => {
                    let ([log, file], salt) = (body.varints(), u64_at(body.take(8), 0));
                    self.logs.retain(|_, (served, _)| *served != file);
                    self.retained.retain(|_, ([served, ..], _)| *served != file);
                    self.logs.insert(log, (file, salt));
                }
                8 => {
                    let [log, sequence] = body.varints();
                    self.logs.retain(|number, _| *number >= log);
                    self.log_start = sequence;
                }
                9 => {
                    let _ = (body.varint(), body.text());
                }
                10 => {
                    let id = (body.varint(), body.varint());
                    self.remaining.insert(id, plan(&mut body));
                }
                11 => {
                    let id = body.varint();
                    self.keyspace(id).policy_state = body.bytes().to_vec();
                }
                12 => {
                    let (id, dropped, at) = (body.varint(), body.u8(), body.varint());
                    self.move_levels(id, dropped == 1, at);
                }
                13 => {
                    let [log, sequence] = body.varints();
                    self.ends.insert(log, sequence);
                }
                14 => {
                    let [required, _optional] = body.varints();
                    let known = "range deletes, expiry, merges and drops are the required features";
                    assert_eq!(required & !0x17, 0, "{known}");
                }
                15 => {
                    let ([file, _log, _offset, length], _salt) = (body.varints(), body.take(8));
                    self.quarantined.insert(file, length);
                }
                16 => drop(self.quarantined.remove(&body.varint())),
                17 => {
                    let keyspace = body.varint();
                    self.range_deletes(keyspace, &mut body);
                }
                18 => {
                    let [keyspace, features] = body.varints();
                    self.keyspace(keyspace).features |= features;
                    assert!(matches!(self.keyspace(keyspace).features, 0 | 2 | 4), "one kind");
                }
                19 => {
                    let (lineage, _start) = (u64_at(body.take(8), 0), body.varint());
                    assert!(lineage > 0, "a lineage is not 0");
                }
                20 => {
                    let log = body.varint();
                    let (of, salt) = (body.varints(), u64_at(body.take(8), 0));
                    self.retained.insert(log, (of, salt));
                }
                21 => {
                    let log = body.varint();
                    self.retained.retain(|number, _| *number >= log);
                }
                other => panic!("edit {other} is not in FORMAT.md"),
            }
            // Fields added later: even ones may be skipped.
            let mut last = 0;
            while !body.is_empty() {
                let (number, _) = (body.varint(), body.bytes());
                assert!(number > last && number % 2 == 0, "field {number} of edit {tag}");
                last = number;
            }
        }
        let first = self.retained.values().next().map(|([_, first, ..], _)| *first);
        let oldest = first.unwrap_or(self.log_start);
        self.dropped.retain(|_, (sequence, _)| *sequence >= oldest);
        for [keyspace, table] in dropped {
            self.keyspace(keyspace).tables.remove(&table).expect("a dropped table is there");
        }
        for (keyspace, table, info) in added {
            assert!(table < self.next_number);
            self.keyspace(keyspace).tables.insert(table, info);
        }
    }

    /// Replaces the range deletes within a range.
    fn range_deletes(&mut self, id: u64, body: &mut Reader) {
        let (from, to) = (body.bytes().to_vec(), body.end());
        let ends_by = |end: &Option<Vec<u8>>, key: &Vec<u8>| end.as_ref().is_some_and(|e| e <= key);
        let mut parts: Vec<Fragment> = Vec::new();
        for (start, end, sequences) in std::mem::take(&mut self.keyspace(id).range_deletes) {
            if start < from {
                let end = if ends_by(&end, &from) { end.clone() } else { Some(from.clone()) };
                parts.push((start.clone(), end, sequences.clone()));
            }
            if let Some(to) = &to
                && !ends_by(&end, to)
            {
                parts.push((start.max(to.clone()), end, sequences));
            }
        }
        for _ in 0..body.varint() {
            let (start, end) = (body.bytes().to_vec(), body.end());
            assert!(from <= start && end.as_ref().is_none_or(|end| start < *end));
            assert!(to.as_ref().is_none_or(|to| end.as_ref().is_some_and(|end| end <= to)));
            let sequences: Vec<u64> = (0..body.varint()).map(|_| body.varint()).collect();
            assert!(!sequences.is_empty() && sequences.is_sorted_by(|a, b| a > b));
            parts.push((start, end, sequences));
        }
        parts.sort();
        assert!(parts.windows(2).all(|pair| ends_by(&pair[0].1, &pair[1].0)), "disjoint");
        self.keyspace(id).range_deletes = parts;
    }

    /// Adds or removes the empty level `at`.
    fn move_levels(&mut self, id: u64, dropped: bool, at: u64) {
        for info in self.keyspace(id).tables.values_mut().filter(|info| info.level >= at) {
            assert!(!dropped || info.level > at, "a level that goes is empty");
            info.level = if dropped { info.level - 1 } else { info.level + 1 };
        }
    }

    fn keyspace(&mut self, id: u64) -> &mut Keyspace {
        self.keyspaces.get_mut(&id).expect("a keyspace that was created")
    }
}

/// The payload of a record's first copy; none where the manifest ends.
fn frame(bytes: &[u8], [salt, generation]: [u64; 2], index: u64) -> Option<&[u8]> {
    if bytes.len() < SLOT {
        return None;
    }
    let length = u32_at(bytes, 8) as usize;
    let covered = bytes.get(8..32 + length)?;
    if checksum(covered, salt ^ generation.rotate_left(32) ^ index) != u64_at(bytes, 0) {
        return None;
    }
    let head = [u32_at(bytes, 12).into(), u64_at(bytes, 16), u64_at(bytes, 24)];
    assert_eq!(head, [0, generation, index]);
    let end = (32 + length).next_multiple_of(SLOT);
    assert!(bytes[32 + length..end].iter().all(|byte| *byte == 0), "a frame ends in zeros");
    Some(&bytes[32..32 + length])
}

/// Returns the rest of a region's header.
fn region_header<'a>(payload: &'a [u8], region: &[u8], frame: usize) -> &'a [u8] {
    let [version, required, optional] = [0, 4, 8].map(|at| u32_at(payload, at));
    assert_eq!([version, required, optional], [2, 0, 0]);
    let capacity = u64_at(payload, 36);
    assert_eq!(capacity, (8 * frame as u64).max(1 << 20));
    assert_eq!(capacity, region.len() as u64);
    &payload[44..]
}

/// The store's salt, and the generation that `CURRENT` names.
fn current(bytes: &[u8]) -> (u64, u64) {
    assert_eq!(bytes.len(), 2 * SLOT);
    assert_eq!(bytes[..SLOT], bytes[SLOT..], "the copies of CURRENT");
    assert_eq!(&bytes[..8], b"TRNCUR\r\n");
    assert_eq!(u64_at(bytes, 32), checksum(&bytes[..32], 0));
    assert!(bytes[40..SLOT].iter().all(|byte| *byte == 0));
    (checksum(&bytes[8..24], 0), u64_at(bytes, 24))
}

/// The store's salt, the manifest's generation and region.
fn superblock(backing: &[u8]) -> (u64, u64, &[u8]) {
    let slot = |at: usize| {
        let slot = &backing[at..at + 512];
        assert_eq!(&slot[..8], b"TRNVOL\r\n");
        let [version, required, optional, backings] = [8, 12, 16, 20].map(|at| u32_at(slot, at));
        assert_eq!([version, required, optional, backings], [2, 0, 0, 1]);
        assert_eq!(u64_at(slot, 64), checksum(&slot[..64], 0));
        assert_eq!(slot[72..], [0; 440]);
        let [generation, offset, length] = [40, 48, 56].map(|at| u64_at(slot, at));
        assert_eq!(offset % SLOT as u64, 0);
        let salt = checksum(&slot[24..40], 0);
        (salt, generation, &backing[offset as usize..][..length as usize])
    };
    std::cmp::max(slot(0), slot(SLOT))
}

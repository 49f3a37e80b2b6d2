//! Corrects the checksums of damaged bytes, so that the code they guard is reached.
//!
//! Each function follows the lengths in the bytes as far as they lead, and leaves the rest unchanged.

use terrane::coding::{Decoder, checksum};
use terrane::storage::StoreId;
use terrane::storage::fuzz::ManifestId;
use terrane::table::BlockCursor;
use terrane::table::block::Block;
use terrane::table::block_codec;
use terrane::table::footer::FOOTER_BYTES;
use terrane::wal::record::HEADER_BYTES;
use terrane::wal::{LogId, record_bytes};

/// The manifest whose checksums are corrected.
pub const MANIFEST: ManifestId =
    ManifestId { store: StoreId::new([3; StoreId::BYTES]), generation: 1 };
/// Manifest frames start at multiples of this, in bytes.
pub const MANIFEST_SLOT: usize = 16 << 10;
/// The log whose checksums are corrected.
pub const LOG: LogId = LogId { number: 1, salt: 2 };

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Decoder::new(bytes.get(at..)?).u64()
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    if let Some(to) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..new.len())) {
        to.copy_from_slice(new);
    }
}

/// The records and claims of a log, from the start.
pub fn log(bytes: &mut [u8], id: LogId) {
    let (seed, mut at) = (id.seed(), 0);
    while let Some(record) = bytes.get_mut(at..).filter(|rest| rest.len() >= HEADER_BYTES) {
        let len = Decoder::new(&record[4..]).u32().unwrap_or(0) as usize;
        // Eight zeros are the end, not a claim.
        let Some(payload) = record[HEADER_BYTES..].get(..len).filter(|_| record[..8] != [0; 8])
        else {
            return;
        };
        let sum = checksum(payload, seed).to_le_bytes();
        put(record, 24, &sum);
        let sum = checksum(&record[4..HEADER_BYTES], seed) as u32;
        put(record, 0, &sum.to_le_bytes());
        at += record_bytes(len) as usize;
    }
}

/// The frames of the first mirror of a manifest whose region has this capacity. Each gets the index of
/// its position.
pub fn manifest(bytes: &mut [u8], id: ManifestId, capacity: u64) {
    let mut at = 0;
    for index in 0u64.. {
        let Some(frame) = bytes.get_mut(at..).filter(|rest| rest.len() >= 32) else { return };
        let len = Decoder::new(&frame[8..]).u32().unwrap_or(0) as usize;
        let Some(end) = len.checked_add(32).filter(|end| *end <= frame.len()) else { return };
        let frame = &mut frame[..end];
        put(frame, 12, &[0; 4]);
        put(frame, 16, &id.generation.to_le_bytes());
        put(frame, 24, &index.to_le_bytes());
        if index == 0 {
            put(frame, 68, &capacity.to_le_bytes());
        }
        let sum = checksum(&frame[8..], id.seed(index));
        put(frame, 0, &sum.to_le_bytes());
        at += end.next_multiple_of(MANIFEST_SLOT);
    }
}

/// A head of any kind: a magic, other fields, and a checksum over both.
pub fn head(bytes: &mut [u8], magic: &[u8], body: usize) {
    put(bytes, 0, magic);
    if let Some(sum) = bytes.get(..body).map(|body| checksum(body, 0)) {
        put(bytes, body, &sum.to_le_bytes());
    }
}

/// The footer of a table.
pub fn footer(bytes: &mut [u8]) {
    const MAGIC: &[u8; 8] = b"TERRANE\x02";
    if let Some(sum) = bytes.get(..64).map(|b| checksum(b, u64::from_le_bytes(*MAGIC))) {
        put(bytes, 64, &sum.to_le_bytes());
        put(bytes, 72, MAGIC);
    }
}

/// A whole table: footer, directory, sections, partitions, and the blocks that their indexes name.
pub fn table(bytes: &mut [u8]) {
    let Some(end) = bytes.len().checked_sub(FOOTER_BYTES) else { return };
    footer(&mut bytes[end..]);
    let [number, salt, directory] = [0, 8, 32].map(|at| word(bytes, end + at));
    let Some((seed, directory)) =
        number.zip(salt).map(|(number, salt)| block_codec::seed(salt, number)).zip(directory)
    else {
        return;
    };
    let Some(directory) = usize::try_from(directory).ok().filter(|at| *at < end) else { return };
    block_codec::fix_checksum(&mut bytes[directory..end], seed, directory as u64);
    let mut sections = Vec::new();
    let mut d = Decoder::new(&bytes[directory..end]);
    while let (Some(kind), Some(at), Some(len)) = (d.varint(), d.varint(), d.varint()) {
        sections.push((kind, at, len));
    }
    for (kind, at, len) in sections {
        // A partition has no checksum of its own, only its parts do.
        let Some(index) = (kind != 1).then(|| fix_part(bytes, seed, at, len)).flatten() else {
            continue;
        };
        if kind == 2 {
            handles(index).into_iter().for_each(|partition| fix_partition(bytes, seed, partition));
        }
    }
}

/// A partition, and the blocks that its index names.
fn fix_partition(bytes: &mut [u8], seed: u64, [at, filter, index]: [u64; 3]) {
    fix_part(bytes, seed, at, filter);
    let index = at.checked_add(filter).and_then(|at| fix_part(bytes, seed, at, index));
    for [at, len, _] in index.map(handles).unwrap_or_default() {
        fix_part(bytes, seed, at, len);
    }
}

/// The part at this offset, if there is one. Returns its decoded content.
fn fix_part(bytes: &mut [u8], seed: u64, at: u64, len: u64) -> Option<Vec<u8>> {
    let end = at.checked_add(len).filter(|end| *end <= bytes.len() as u64)?;
    let part = &mut bytes[at as usize..end as usize];
    block_codec::fix_checksum(part, seed, at);
    block_codec::decode(part.to_vec(), seed, at).ok()
}

/// The block handles in an index: three numbers each.
fn handles(index: Vec<u8>) -> Vec<[u64; 3]> {
    let Ok(block) = Block::decode(index) else { return Vec::new() };
    let mut cursor = BlockCursor::new(block.into());
    let mut handles = Vec::new();
    let mut step = cursor.seek_first();
    while step.is_ok() && cursor.valid() {
        let mut d = Decoder::new(cursor.value());
        let mut word = || d.varint();
        handles.extend(word().zip(word()).zip(word()).map(|((a, b), c)| [a, b, c]));
        step = cursor.advance();
    }
    handles
}

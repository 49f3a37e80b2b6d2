//! Makes checksums right over damaged bytes, so that what they guard is reached.
//!
//! Each follows the lengths in the bytes as far as these go, and leaves the rest as it is.

use terrane::codec::{Decoder, checksum};
use terrane::table::BlockCursor;
use terrane::table::block::Block;
use terrane::table::footer::FOOTER_BYTES;
use terrane::table::stored;
use terrane::wal::record::HEADER_BYTES;
use terrane::wal::record_bytes;

/// The number in a mended log, and the generation of a mended journal.
pub const NUMBER: u64 = 1;

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Decoder::new(bytes.get(at..)?).u64()
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    if let Some(to) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..new.len())) {
        to.copy_from_slice(new);
    }
}

/// The records of a log, from its front.
pub fn log(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(record) = bytes.get_mut(at..).filter(|rest| rest.len() > HEADER_BYTES) {
        let len = Decoder::new(&record[4..]).u32().unwrap_or(0) as usize;
        let Some(payload) = record[HEADER_BYTES..].get(..len).filter(|p| !p.is_empty()) else {
            return;
        };
        let sum = checksum(payload, NUMBER).to_le_bytes();
        put(record, 24, &sum);
        let sum = checksum(&record[4..HEADER_BYTES], NUMBER) as u32;
        put(record, 0, &sum.to_le_bytes());
        at += record_bytes(len) as usize;
    }
}

/// Both frames of each record of a journal, from its front; each gets the index of its place.
pub fn journal(bytes: &mut [u8]) {
    let (mut at, capacity) = (0, bytes.len() as u64);
    for index in 0u64.. {
        for _ in 0..2 {
            let Some(frame) = bytes.get_mut(at..).filter(|rest| rest.len() >= 32) else { return };
            let len = Decoder::new(&frame[8..]).u32().unwrap_or(0) as usize;
            let Some(end) = len.checked_add(32).filter(|end| *end <= frame.len()) else { return };
            let frame = &mut frame[..end];
            put(frame, 12, &[0; 4]);
            put(frame, 16, &NUMBER.to_le_bytes());
            put(frame, 24, &index.to_le_bytes());
            if index == 0 {
                put(frame, 44, &capacity.to_le_bytes());
            }
            let sum = checksum(&frame[8..], NUMBER.rotate_left(32) ^ index);
            put(frame, 0, &sum.to_le_bytes());
            at += end.next_multiple_of(512);
        }
    }
}

/// A head of any kind: a magic, other fields, and the checksum of what precedes it.
pub fn head(bytes: &mut [u8], magic: &[u8], body: usize) {
    put(bytes, 0, magic);
    if let Some(sum) = bytes.get(..body).map(|body| checksum(body, 0)) {
        put(bytes, body, &sum.to_le_bytes());
    }
}

/// The footer of a table.
pub fn footer(bytes: &mut [u8]) {
    const MAGIC: &[u8; 8] = b"TERRANE\x01";
    if let Some(sum) = bytes.get(..48).map(|b| checksum(b, u64::from_le_bytes(*MAGIC))) {
        put(bytes, 48, &sum.to_le_bytes());
        put(bytes, 56, MAGIC);
    }
}

/// A whole table: footer, directory, sections, and the blocks that the index names.
pub fn table(bytes: &mut [u8]) {
    let Some(end) = bytes.len().checked_sub(FOOTER_BYTES) else { return };
    footer(&mut bytes[end..]);
    let Some((number, directory)) = word(bytes, end).zip(word(bytes, end + 16)) else { return };
    let Some(directory) = usize::try_from(directory).ok().filter(|at| *at < end) else { return };
    stored::mend(&mut bytes[directory..end], number, directory as u64);
    let mut sections = Vec::new();
    let mut d = Decoder::new(&bytes[directory..end]);
    while let (Some(kind), Some(at), Some(len)) = (d.varint(), d.varint(), d.varint()) {
        sections.push((kind, at, len));
    }
    for (kind, at, len) in sections {
        let Some(index) = mend_part(bytes, number, at, len) else { continue };
        if kind == 2 {
            handles(index).into_iter().for_each(|(at, len)| {
                mend_part(bytes, number, at, len);
            });
        }
    }
}

/// Mends the part at a place, if there is one, and answers what is stored in it.
fn mend_part(bytes: &mut [u8], table: u64, at: u64, len: u64) -> Option<Vec<u8>> {
    let end = at.checked_add(len).filter(|end| *end <= bytes.len() as u64)?;
    let part = &mut bytes[at as usize..end as usize];
    stored::mend(part, table, at);
    stored::unseal(part.to_vec(), table, at).ok()
}

/// Where the blocks lie that an index names.
fn handles(index: Vec<u8>) -> Vec<(u64, u64)> {
    let Ok(block) = Block::decode(index) else { return Vec::new() };
    let mut cursor = BlockCursor::new(block.into());
    let mut handles = Vec::new();
    let mut step = cursor.seek_first();
    while step.is_ok() && cursor.valid() {
        let mut d = Decoder::new(cursor.value());
        handles.extend(d.varint().zip(d.varint()));
        step = cursor.advance();
    }
    handles
}

//! The record stream shared by [`Directory`](super::Directory) and [`Volume`](super::Volume).
//!
//! A journal is one *region* of a raw file: a directory's manifest from its start, or an extent of a
//! volume's first backing. It is written once, front to back, and never reused: when a record does
//! not fit, or recovery met anything irregular, the storage begins a new *generation* elsewhere,
//! with a snapshot as its first record.
//!
//! 1. [`Journal::begin`] writes the first record and zeros to the region's end, and syncs.
//! 2. [`Journal::append`] writes a record as two copies, each from a sector boundary and filled up
//!    with zeros to one, in one write; then it syncs.
//! 3. [`scan`] takes for each index in order the first valid copy. It ends where neither copy is
//!    valid. A later record that is valid makes that damage; otherwise what lies there is a commit
//!    that never ended.
//!
//! ```text
//! frame:  checksum u64 | payload length u32 | 0 u32 | generation u64 | index u64 | payload | zeros
//! record: frame, the same frame
//! first record's payload:  version, required, optional features u32 | capacity u64 | snapshot
//! ```
//!
//! **No single flipped bit and no single lost sector takes a record that was committed.** No sector
//! is shared by two frames, so it takes at most one copy of one record, and the other stands at its
//! own sector. A record is synced before the next one is written and before its commit returns, so
//! only the last can be torn, and the last is taken if either copy is whole. No sector of a
//! committed record is ever written again but with the same bytes ([`Journal::open`]), so a torn
//! write cannot harm one.
//!
//! **Nothing stale parses.** A frame's checksum is seeded with its generation and index, and the
//! region was all zeros (synced) before its generation was named, so what lies in it was written by
//! this generation. What a torn commit left could meet only a commit at the same place; an
//! irregular end begins a new generation instead of writing there.

use crate::codec::{Decoder, checksum};
use crate::error::{Corruption, Error, Result};
use crate::storage::format::Format;
use crate::storage::record::{Record, Replayed, replay};
use crate::storage::volume::extents::UNIT;
use crate::storage::{File, read_exact_at, write_all_at};
use std::sync::Arc;

/// What the medium writes whole or not at all, in bytes.
const SECTOR: usize = 512;
const FRAME_HEADER: usize = 32;
/// What precedes the snapshot in the first record.
const REGION_HEADER: usize = 20;
/// The least capacity of a region, in bytes.
pub(crate) const LEAST_CAPACITY: u64 = 64 << 10;
/// A region holds this many times its first frame: two are the snapshot, the rest are records.
const CAPACITY_FACTOR: u64 = 8;

/// An open journal, positioned after its last record.
pub(crate) struct Journal {
    file: Arc<dyn File>,
    base: u64,
    capacity: u64,
    generation: u64,
    /// The index of the next record, and where it goes in the region.
    index: u64,
    end: u64,
    /// An append failed: nobody knows what lies from `end` on.
    in_doubt: bool,
}

/// A journal as it was found.
pub(crate) struct Opened {
    pub(crate) journal: Journal,
    pub(crate) replayed: Replayed,
    pub(crate) repaired: Vec<Corruption>,
    pub(crate) discarded_bytes: u64,
}

impl Journal {
    /// How large a region to give to a journal whose first record is `snapshot`, in bytes.
    pub(crate) fn capacity_for(snapshot: &Record<'_>) -> u64 {
        let frame = frame_size(snapshot.encode().len() + REGION_HEADER) as u64;
        (frame * CAPACITY_FACTOR).max(LEAST_CAPACITY).next_multiple_of(UNIT)
    }

    /// Begins a generation in a region of `capacity` bytes from `base`, whatever lies there.
    pub(crate) fn begin(
        file: Arc<dyn File>,
        base: u64,
        capacity: u64,
        generation: u64,
        snapshot: &Record<'_>,
    ) -> Result<Self> {
        let mut payload = Vec::new();
        Format::CURRENT.encode(&mut payload);
        payload.extend_from_slice(&capacity.to_le_bytes());
        payload.extend_from_slice(&snapshot.encode());
        let mut bytes = encode(&payload, generation, 0)?;
        let end = bytes.len() as u64;
        fill(&mut bytes, capacity.max(end), file.name())?;
        write_all_at(&*file, &bytes, base)?;
        file.sync()?;
        Ok(Journal { file, base, capacity, generation, index: 1, end, in_doubt: false })
    }

    /// Reads the journal of `generation` in a region, and puts it on the medium: a record that was
    /// read but is not there yet must not be acted on. If an earlier sync of the last record failed,
    /// another one would not save it, so it is written again, as it is. (The first was synced before
    /// its generation was named, and those between before the next was written.)
    pub(crate) fn open(
        file: Arc<dyn File>,
        base: u64,
        capacity: u64,
        generation: u64,
    ) -> Result<Opened> {
        let bytes = read_region(&*file, base, capacity)?;
        let scan = scan(&bytes, generation, file.name(), base)?;
        let replayed = replay(file.name(), &scan.records)?;
        let Scan { records, repaired, end, discarded_bytes } = scan;
        let index = records.len() as u64;
        if let Some((at, payload)) = records.last().filter(|_| index > 1) {
            write_all_at(&*file, &encode(payload, generation, index - 1)?, *at)?;
        }
        file.sync()?;
        let journal = Journal { file, base, capacity, generation, index, end, in_doubt: false };
        Ok(Opened { journal, replayed, repaired, discarded_bytes })
    }

    /// The generation.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// The region: where it begins, and its bytes.
    pub(crate) fn region(&self) -> (u64, u64) {
        (self.base, self.capacity)
    }

    /// Appends a record and syncs; false, and nothing is written, where the region is too full.
    /// After an error what was written is unknown: only a new generation settles it.
    pub(crate) fn append(&mut self, record: &Record<'_>) -> Result<bool> {
        let bytes = encode(&record.encode(), self.generation, self.index)?;
        let end = self.end + bytes.len() as u64;
        if end > self.capacity {
            return Ok(false);
        }
        self.in_doubt = true;
        write_all_at(&*self.file, &bytes, self.base + self.end)?;
        self.file.sync()?;
        self.in_doubt = false;
        self.index += 1;
        self.end = end;
        Ok(true)
    }

    /// Reads the region again and answers every damage in it.
    pub(crate) fn check(&self) -> Result<Vec<Corruption>> {
        let name = self.file.name();
        let bytes = read_region(&*self.file, self.base, self.capacity)?;
        let scan = match scan(&bytes, self.generation, name, self.base) {
            Ok(scan) => scan,
            Err(Error::Corrupt(damage)) => return Ok(vec![*damage]),
            Err(e) => return Err(e),
        };
        let mut damage = scan.repaired;
        let mut found = scan.records.len() as u64;
        if self.in_doubt {
            damage.retain(|d| d.offset < self.base + self.end);
            found = found.min(self.index);
        }
        if found != self.index {
            let at = self.base + scan.end;
            damage.push(Corruption::new(
                name,
                at,
                format_args!("{} records", self.index),
                format_args!("{found} that are whole"),
            ));
        }
        Ok(damage)
    }
}

/// Grows `bytes` with zeros to `len`, if memory can be had.
fn fill(bytes: &mut Vec<u8>, len: u64, file: &str) -> Result<()> {
    let full = || Error::no_space(file, len);
    let len = usize::try_from(len).map_err(|_| full())?;
    bytes.try_reserve_exact(len.saturating_sub(bytes.len())).map_err(|_| full())?;
    bytes.resize(len, 0);
    Ok(())
}

/// The generation after `last`.
pub(crate) fn next_generation(last: u64) -> Result<u64> {
    last.checked_add(1).ok_or_else(|| {
        Error::invalid("journal generation", format_args!("less than {}", u64::MAX), last)
    })
}

/// The region's bytes, as far as the file goes.
fn read_region(file: &dyn File, base: u64, capacity: u64) -> Result<Vec<u8>> {
    let len = file.len()?.saturating_sub(base).min(capacity);
    let mut bytes = Vec::new();
    fill(&mut bytes, len, file.name())?;
    read_exact_at(file, &mut bytes, base)?;
    Ok(bytes)
}

fn frame_size(payload: usize) -> usize {
    (FRAME_HEADER + payload).next_multiple_of(SECTOR)
}

fn seed(generation: u64, index: u64) -> u64 {
    generation.rotate_left(32) ^ index
}

/// A record: two frames.
fn encode(payload: &[u8], generation: u64, index: u64) -> Result<Vec<u8>> {
    let len = u32::try_from(payload.len()).map_err(|_| {
        Error::invalid(
            "journal record",
            format_args!("at most {} bytes", u32::MAX),
            format_args!("{} bytes", payload.len()),
        )
    })?;
    let size = frame_size(payload.len());
    let mut body = Vec::with_capacity(size);
    body.extend_from_slice(&len.to_le_bytes());
    body.extend_from_slice(&0u32.to_le_bytes());
    body.extend_from_slice(&generation.to_le_bytes());
    body.extend_from_slice(&index.to_le_bytes());
    body.extend_from_slice(payload);
    let sum = checksum(&body, seed(generation, index));
    let mut out = Vec::with_capacity(2 * size);
    for end in [size, 2 * size] {
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(&body);
        out.resize(end, 0);
    }
    Ok(out)
}

/// A valid frame.
struct Frame<'a> {
    index: u64,
    payload: &'a [u8],
    size: usize,
}

/// The frame of `generation` at `at`, if there is a valid one.
fn frame(bytes: &[u8], at: usize, generation: u64) -> Option<Frame<'_>> {
    let mut d = Decoder::new(bytes.get(at..)?);
    let sum = d.u64()?;
    let body = d.rest();
    let (len, zero) = (usize::try_from(d.u32()?).ok()?, d.u32()?);
    let (found, index) = (d.u64()?, d.u64()?);
    if zero != 0 || found != generation {
        return None;
    }
    let payload = d.take(len)?;
    let body = body.get(..FRAME_HEADER - 8 + len)?;
    (checksum(body, seed(generation, index)) == sum).then(|| Frame {
        index,
        payload,
        size: frame_size(len),
    })
}

/// What a region's bytes hold.
#[derive(Debug)]
pub struct Scan<'a> {
    /// The records, each with its offset in the file; the first without its region header.
    pub records: Vec<(u64, &'a [u8])>,
    /// Copies that are not valid, where the other one is.
    pub repaired: Vec<Corruption>,
    /// Where the next record would go in the region, in bytes.
    pub end: u64,
    /// Bytes from there that are not zeros: a commit that never ended.
    pub discarded_bytes: u64,
}

/// Reads the records of `generation` in the region `bytes`, which lies at `base` of `file`.
///
/// # Errors
/// [`Error::Corrupt`] where a committed record is lost, [`Error::NewerFormat`] where a later release
/// wrote the region.
pub fn scan<'a>(bytes: &'a [u8], generation: u64, file: &str, base: u64) -> Result<Scan<'a>> {
    let mut out = Scan { records: Vec::new(), repaired: Vec::new(), end: 0, discarded_bytes: 0 };
    let mut at = 0;
    loop {
        let index = out.records.len() as u64;
        let place = base + at as u64;
        let copy = |n, at: usize| {
            let expected = format!("copy {n} of record {index}, generation {generation}");
            Corruption::new(file, base + at as u64, expected, "bytes that fail their checksum")
        };
        let found = frame(bytes, at, generation).filter(|f| f.index == index);
        let (payload, next) = if let Some(first) = found {
            let second = at + first.size;
            if frame(bytes, second, generation).is_none_or(|f| f.index != index) {
                out.repaired.push(copy(2, second));
            }
            (first.payload, second + first.size)
        } else {
            match later(bytes, at, index, generation) {
                None => break,
                Some((second, f)) if f.index == index => {
                    out.repaired.push(copy(1, at));
                    (f.payload, second + f.size)
                }
                Some((other, f)) => {
                    let expected = format!("record {index} of generation {generation}");
                    let found = format!(
                        "no valid copy of it, but record {} at byte {}",
                        f.index,
                        base + other as u64
                    );
                    return Err(Corruption::new(file, place, expected, found).into());
                }
            }
        };
        let payload =
            if index == 0 { region_payload(payload, bytes.len(), file, base)? } else { payload };
        out.records.push((place, payload));
        at = next;
    }
    if out.records.is_empty() {
        let expected = format!("the first record of generation {generation}");
        return Err(Corruption::new(file, base, expected, "no valid copy of it").into());
    }
    out.end = at as u64;
    let tail = bytes.get(at..).unwrap_or_default();
    out.discarded_bytes = tail.iter().rposition(|b| *b != 0).map_or(0, |last| last as u64 + 1);
    Ok(out)
}

/// The second copy of record `index`, which begins at `at`; or else any valid later record.
fn later(bytes: &[u8], at: usize, index: u64, generation: u64) -> Option<(usize, Frame<'_>)> {
    (at..bytes.len()).step_by(SECTOR).skip(1).find_map(|q| {
        let f = frame(bytes, q, generation)?;
        (f.index > index || (f.index == index && q - at == f.size)).then_some((q, f))
    })
}

/// Checks what the first record says of the region, and answers the rest of it.
fn region_payload<'a>(payload: &'a [u8], len: usize, file: &str, base: u64) -> Result<&'a [u8]> {
    let mut d = Decoder::new(payload);
    let malformed = || Corruption::new(file, base, "a region header", "fewer bytes");
    Format::decode(&mut d).ok_or_else(malformed)?.check(file)?;
    let capacity = d.u64().ok_or_else(malformed)?;
    if capacity > len as u64 {
        let expected = format!("a journal of {capacity} bytes");
        return Err(Corruption::new(file, base, expected, format_args!("{len} bytes")).into());
    }
    Ok(d.rest())
}

#[cfg(test)]
mod tests;

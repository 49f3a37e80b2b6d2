//! The bytes of a manifest's region: frames, the witness, and what can be read of them.

use super::generation::{FRAME_ALIGN, Inherited, ManifestId};
use crate::coding::{Decoder, checksum};
use crate::entry::Seq;
use crate::error::{Corruption, Error, Result};
use crate::storage::format::Format;
use crate::storage::{File, StoreId, read_exact_at};

/// Frames are padded to multiples of this, in bytes, so that most file systems write whole sectors.
const WRITE_ALIGN: usize = 4096;
pub(super) const FRAME_HEADER_BYTES: usize = 32;
/// Bytes before the snapshot in the first record.
pub(super) const REGION_HEADER_BYTES: usize = 44;

/// Extends `bytes` with zeros to `len`, if there is enough memory.
fn zero_extend(bytes: &mut Vec<u8>, len: u64, file: &str) -> Result<()> {
    let full = || Error::no_space(file, len);
    let len = usize::try_from(len).map_err(|_| full())?;
    bytes.try_reserve_exact(len.saturating_sub(bytes.len())).map_err(|_| full())?;
    bytes.resize(len, 0);
    Ok(())
}

/// A region as it was read.
pub(super) struct Region {
    /// Its bytes, as far as the file goes; zeros where they cannot be read.
    pub bytes: Vec<u8>,
    /// Parts that are readable in one mirror only.
    pub unreadable: Vec<Corruption>,
}

/// Reads the region, as far as the file goes.
///
/// # Errors
/// The file cannot be read, or neither of two mirrors at the same place.
pub(super) fn read_region(file: &dyn File, base: u64, capacity: u64) -> Result<Region> {
    let len = file.len()?.saturating_sub(base).min(capacity);
    let mut bytes = Vec::new();
    zero_extend(&mut bytes, len, file.name())?;
    let mut unreadable: Vec<Corruption> = Vec::new();
    if read_exact_at(file, &mut bytes, base).is_err() {
        let places = (base..).step_by(FRAME_ALIGN as usize);
        for (at, sector) in places.zip(bytes.chunks_mut(FRAME_ALIGN as usize)) {
            let Err(error) = read_exact_at(file, sector, at) else { continue };
            if unreadable.iter().any(|other| other.offset + capacity / 2 == at) {
                return Err(error);
            }
            sector.fill(0);
            unreadable.push(Corruption::new(file.name(), at, "bytes that can be read", error));
        }
    }
    Ok(Region { bytes, unreadable })
}

/// The bytes written for a frame.
pub(super) fn frame_size(payload: usize) -> usize {
    (FRAME_HEADER_BYTES + payload).next_multiple_of(WRITE_ALIGN)
}

/// The bytes of a mirror that a frame of `size` bytes occupies.
pub(super) fn frame_span(size: usize) -> u64 {
    (size as u64).next_multiple_of(FRAME_ALIGN)
}

/// Indices that no record has, for the seeds of a witness and of a closing claim.
const WITNESS_INDICES: [u64; 2] = [u64::MAX, u64::MAX - 1];

/// Encodes the witness of `records` records, and the closing claim after it.
pub(super) fn encode_witness(id: ManifestId, records: u64, synced: Seq) -> Vec<u8> {
    let numbers = [records, synced].map(u64::to_le_bytes).into_iter().zip(WITNESS_INDICES);
    let sealed =
        |(number, index): ([u8; 8], u64)| [checksum(&number, id.seed(index)).to_le_bytes(), number];
    numbers.flat_map(sealed).flatten().collect()
}

/// Returns the number of records that the witness in a region of `capacity` bytes counts, and the sequence
/// number of the closing claim; 0 for each that is not valid.
fn decode_witness(bytes: &[u8], capacity: usize, id: ManifestId) -> [u64; 2] {
    let at = capacity.saturating_sub(FRAME_ALIGN as usize);
    let mut stored = Decoder::new(bytes.get(at..).unwrap_or_default());
    WITNESS_INDICES.map(|index| {
        let (sum, number) = (stored.u64(), stored.u64());
        let is_sound = |n: &u64| sum == Some(checksum(&n.to_le_bytes(), id.seed(index)));
        number.filter(is_sound).unwrap_or(0)
    })
}

/// Encodes a frame, padding included.
pub(super) fn encode_frame(payload: &[u8], id: ManifestId, index: u64) -> Result<Vec<u8>> {
    let len = u32::try_from(payload.len()).map_err(|_| {
        Error::invalid(
            "manifest record",
            format_args!("at most {} bytes", u32::MAX),
            format_args!("{} bytes", payload.len()),
        )
    })?;
    let size = frame_size(payload.len());
    let mut out = Vec::with_capacity(size);
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    out.extend_from_slice(&id.generation.to_le_bytes());
    out.extend_from_slice(&index.to_le_bytes());
    out.extend_from_slice(payload);
    if let Some((sum, body)) = out.split_first_chunk_mut() {
        *sum = checksum(body, id.seed(index)).to_le_bytes();
    }
    out.resize(size, 0);
    Ok(out)
}

/// Encodes a region of `capacity` bytes with these records, a snapshot first; also returns where in
/// each mirror the next record goes.
pub(super) fn encode_region<'a>(
    records: impl IntoIterator<Item = &'a [u8]>,
    capacity: u64,
    id: ManifestId,
    inherited: Inherited,
    file: &str,
) -> Result<(Vec<u8>, u64)> {
    let mut bytes = Vec::new();
    zero_extend(&mut bytes, capacity, file)?;
    let half = bytes.len() / 2;
    let (first, second) = bytes.split_at_mut(half);
    let mut at = 0;
    for (index, record) in (0..).zip(records) {
        let mut payload = Vec::new();
        if index == 0 {
            inherited.format.encode(&mut payload);
            payload.extend_from_slice(&id.store.bytes());
            payload.extend_from_slice(&inherited.commits.to_le_bytes());
            payload.extend_from_slice(&capacity.to_le_bytes());
        }
        payload.extend_from_slice(record);
        let frame = encode_frame(&payload, id, index)?;
        for mirror in [&mut *first, &mut *second] {
            let place = mirror.get_mut(at..).and_then(|rest| rest.get_mut(..frame.len()));
            let full = || Error::no_space(file, frame.len() as u64);
            place.ok_or_else(full)?.copy_from_slice(&frame);
        }
        at += frame.len().next_multiple_of(FRAME_ALIGN as usize);
    }
    Ok((bytes, at as u64))
}

/// A decoded frame.
struct Frame<'a> {
    index: u64,
    payload: &'a [u8],
}

/// The frame of manifest `id` at `at`, if it is valid.
fn decode_frame(bytes: &[u8], at: usize, id: ManifestId) -> Option<Frame<'_>> {
    let mut d = Decoder::new(bytes.get(at..)?);
    let sum = d.u64()?;
    let body = d.rest();
    let (len, zero) = (usize::try_from(d.u32()?).ok()?, d.u32()?);
    let (found, index) = (d.u64()?, d.u64()?);
    if zero != 0 || found != id.generation {
        return None;
    }
    let payload = d.take(len)?;
    let body = body.get(..FRAME_HEADER_BYTES - 8 + len)?;
    (checksum(body, id.seed(index)) == sum).then_some(Frame { index, payload })
}

/// The contents of a region.
#[derive(Debug)]
pub struct Scan<'a> {
    /// The records, each with the offset of its first copy in the file; the first record without its
    /// region header.
    pub records: Vec<(u64, &'a [u8])>,
    /// Invalid copies whose other copy is valid, and stray bytes in unused space.
    pub repaired: Vec<Corruption>,
    /// Offset of the next record in each mirror, in bytes.
    pub end: u64,
    /// Bytes of a torn commit from there on, in the mirror with more of them.
    pub discarded_bytes: u64,
    /// The region's length, in bytes; the second mirror starts at half of it.
    pub capacity: u64,
    /// The loss of a record that was committed.
    lost: Option<Corruption>,
    /// State inherited by the generation.
    pub inherited: Inherited,
    /// Number of records counted by the witness.
    pub witness: u64,
}

/// Decodes the records of manifest `id` in the region `bytes`, which is at `base` of `file`.
///
/// # Errors
/// [`crate::ErrorKind::Corrupt`] if a committed record is lost, [`crate::ErrorKind::NewerFormat`] if a
/// later release wrote the region.
pub fn scan<'a>(bytes: &'a [u8], id: ManifestId, file: &str, base: u64) -> Result<Scan<'a>> {
    let found = scan_prefix(bytes, id, file, base)?;
    found.lost.clone().map_or(Ok(found), |lost| Err(lost.into()))
}

/// Like [`scan`], but only up to a lost record.
fn scan_prefix<'a>(bytes: &'a [u8], id: ManifestId, file: &str, base: u64) -> Result<Scan<'a>> {
    let generation = id.generation;
    let (capacity, inherited) = region_header(bytes, id, file, base)?;
    let [witness, synced] = decode_witness(bytes, capacity, id);
    let inherited = Inherited { synced, ..inherited };
    let half = capacity / 2;
    let end = bytes.len().min(2 * half);
    let mirrors = [bytes.get(..half), bytes.get(half..end)].map(Option::unwrap_or_default);
    let capacity = capacity as u64;
    let mut out = Scan {
        records: Vec::new(),
        repaired: Vec::new(),
        end: 0,
        discarded_bytes: 0,
        capacity,
        inherited,
        witness,
        lost: None,
    };
    let found = bytes.len() as u64;
    if found < capacity {
        let expected = format!("a manifest of {capacity} bytes");
        out.repaired.push(Corruption::new(file, base + found, expected, format!("{found} bytes")));
    }
    let mut at = 0;
    loop {
        let index = out.records.len() as u64;
        let place = base + at as u64;
        let copies = mirrors.map(|m| decode_frame(m, at, id).filter(|f| f.index == index));
        let Some(record) = copies.iter().flatten().next() else {
            if let Some((other, found)) = find_later(mirrors, at, index, id) {
                let expected = format!("record {index} of generation {generation}");
                let other = base + other as u64;
                let found = format!("no valid copy of it, but record {found} at byte {other}");
                out.lost = Some(Corruption::new(file, place, expected, found));
            }
            break;
        };
        for (n, _) in copies.iter().enumerate().filter(|(_, copy)| copy.is_none()) {
            let expected = format!("copy {} of record {index}, generation {generation}", n + 1);
            let offset = place + (n * half) as u64;
            let found = "bytes that fail their checksum";
            out.repaired.push(Corruption::new(file, offset, expected, found));
        }
        let header = if index == 0 { REGION_HEADER_BYTES } else { 0 };
        out.records.push((place, record.payload.get(header..).unwrap_or_default()));
        at += frame_size(record.payload.len()).next_multiple_of(FRAME_ALIGN as usize);
    }
    let (place, found) = (base + at as u64, out.records.len() as u64);
    if witness > found && out.lost.is_none() {
        let expected = format!("{witness} records of generation {generation} that were committed");
        let found = format!("only {found}, and what was committed after them is lost");
        out.lost = Some(Corruption::new(file, place, expected, found));
    }
    out.end = at as u64;
    let records = half.saturating_sub(FRAME_ALIGN as usize);
    let tails = mirrors.map(|m| m.get(at..m.len().min(records)).unwrap_or_default());
    let torn = torn_bytes(tails, found, id);
    let taken = |tail: &[u8]| tail.iter().take(torn).rposition(|b| *b != 0);
    out.discarded_bytes =
        tails.into_iter().filter_map(taken).max().map_or(0, |last| last as u64 + 1);
    for (n, tail) in tails.into_iter().enumerate() {
        if let Some(behind) = tail.get(torn..).and_then(first_nonzero) {
            let offset = place + (n * half + torn + behind) as u64;
            let expected = "zeros where nothing was written";
            out.repaired.push(Corruption::new(file, offset, expected, "other bytes"));
        }
    }
    Ok(out)
}

/// The offset of the first byte that is not zero. In blocks, since a region is mostly zeros and every
/// open reads it: byte by byte this would take longer than the rest of a small store's recovery.
fn first_nonzero(bytes: &[u8]) -> Option<usize> {
    const ZEROS: [u8; 256] = [0; 256];
    let is_zero = |block: &[u8]| ZEROS.get(..block.len()) == Some(block);
    let start = ZEROS.len() * bytes.chunks(ZEROS.len()).position(|block| !is_zero(block))?;
    bytes.get(start..)?.iter().position(|b| *b != 0).map(|at| start + at)
}

/// Returns the number of bytes after the records that a torn commit may have written: the larger length in
/// the copies of its header or, if both are lost, the bytes up to the first 16 KiB that are zeros in both
/// mirrors.
fn torn_bytes(tails: [&[u8]; 2], index: u64, id: ManifestId) -> usize {
    let declared = |tail: &[u8]| {
        let mut d = Decoder::new(tail);
        let (_sum, len, zero) = (d.u64()?, d.u32()?, d.u32()?);
        let is_header = zero == 0 && d.u64()? == id.generation && d.u64()? == index;
        is_header.then(|| frame_size(len as usize))
    };
    tails.into_iter().filter_map(declared).max().unwrap_or_else(|| {
        let slots = tails.map(|tail| tail.chunks(FRAME_ALIGN as usize));
        let zeros = |slot: Option<&[u8]>| slot.is_none_or(|slot| slot.iter().all(|b| *b == 0));
        let [first, mut second] = slots;
        first.take_while(|slot| !zeros(Some(slot)) | !zeros(second.next())).map(<[u8]>::len).sum()
    })
}

/// The first valid record with an index after `index`, searched for after `at`: its offset and its
/// index.
fn find_later(mirrors: [&[u8]; 2], at: usize, index: u64, id: ManifestId) -> Option<(usize, u64)> {
    let [first, second] = mirrors;
    [(0, first), (first.len(), second)].into_iter().find_map(|(start, mirror)| {
        (at..mirror.len()).step_by(FRAME_ALIGN as usize).skip(1).find_map(|at| {
            let found = decode_frame(mirror, at, id).filter(|f| f.index > index)?;
            Some((start + at, found.index))
        })
    })
}

/// Whether the witness is as recent as a crash may leave it: the one of the last record may not be
/// durable, another record may be there though it was never synced, and a witness may have failed to
/// be written.
pub(super) fn is_witnessed(scan: &Scan<'_>) -> bool {
    scan.witness.saturating_add(3) >= scan.records.len() as u64
}

/// Readable records of a damaged manifest.
pub(in crate::storage) struct SalvagedRecords {
    /// The records up to the first one that cannot be read, without the region header.
    pub payloads: Vec<Vec<u8>>,
    /// Whether these are all records, as far as the manifest can tell.
    pub whole: bool,
    /// The salt of the store.
    pub salt: u64,
    /// Number of commits of the store, through the last of these records.
    pub commits: u64,
    /// Bytes of a torn commit after them.
    pub discarded_bytes: u64,
    /// Number of records counted by the witness.
    pub witness: u64,
    /// The sequence number of the closing claim; 0 without one.
    pub synced: Seq,
}

/// Reads what is left of a damaged region.
pub(in crate::storage) fn salvage(
    file: &dyn File,
    base: u64,
    capacity: u64,
    generation: u64,
) -> Result<SalvagedRecords> {
    let Region { bytes, .. } = read_region(file, base, capacity)?;
    let copies = [0, bytes.len() / 2].into_iter().find_map(|at| decode_first(&bytes, at));
    let (id, capacity) = copies.filter(|(id, _)| id.generation == generation).ok_or_else(|| {
        let expected = format!("the first record of generation {generation}");
        Corruption::new(file.name(), base, expected, "no valid copy of it")
    })?;
    // All or part of the second mirror may be missing; a shorter region is refused.
    let found = scan_prefix(&bytes, id, file.name(), base)?;
    let records = found.records.len() as u64;
    let whole = found.lost.is_none() && bytes.len() as u64 == capacity && is_witnessed(&found);
    let payloads = found.records.iter().map(|(_, payload)| payload.to_vec()).collect();
    Ok(SalvagedRecords {
        payloads,
        whole,
        salt: id.store.salt(),
        commits: found.inherited.commits.saturating_add(records),
        discarded_bytes: found.discarded_bytes,
        witness: found.witness,
        synced: found.inherited.synced,
    })
}

/// The generation and the length of the region whose first record is at `base`, if there is one.
pub(in crate::storage) fn region_at(file: &dyn File, base: u64) -> Result<Option<(u64, u64)>> {
    let mut header = [0; FRAME_HEADER_BYTES];
    file.read_at(&mut header, base)?;
    let mut d = Decoder::new(&header);
    let fields = (d.u64(), d.u32(), d.u32(), d.u64(), d.u64());
    let (Some(_), Some(len), Some(0), Some(_), Some(0)) = fields else { return Ok(None) };
    let Region { bytes, .. } = read_region(file, base, FRAME_HEADER_BYTES as u64 + u64::from(len))?;
    Ok(decode_first(&bytes, 0).map(|(id, capacity)| (id.generation, capacity)))
}

/// The manifest whose first record is at `at`, and the region's length, as that record has them.
fn decode_first(bytes: &[u8], at: usize) -> Option<(ManifestId, u64)> {
    let mut header = Decoder::new(bytes.get(at..)?);
    header.take(16)?;
    let generation = header.u64()?;
    header.take(8)?;
    Format::decode(&mut header)?;
    let id = ManifestId { store: StoreId::decode(&mut header)?, generation };
    let _before = header.u64()?;
    let capacity = header.u64()?;
    decode_frame(bytes, at, id).filter(|first| first.index == 0).map(|_| (id, capacity))
}

/// The region's length and what the generation inherited, from its first record. If the first copy is
/// lost, the second is in the middle of the region, if that is complete. The first mirror must be.
fn region_header(
    bytes: &[u8],
    id: ManifestId,
    file: &str,
    base: u64,
) -> Result<(usize, Inherited)> {
    let copy = |at| decode_frame(bytes, at, id).filter(|f| f.index == 0);
    let first = copy(0).or_else(|| copy(bytes.len() / 2)).ok_or_else(|| {
        let expected = format!("the first record of generation {}", id.generation);
        Corruption::new(file, base, expected, "no valid copy of it")
    })?;
    let mut d = Decoder::new(first.payload);
    let malformed = || Corruption::new(file, base, "a region header", "fewer bytes");
    let format = Format::decode(&mut d).ok_or_else(malformed)?;
    format.check(file)?;
    let _store = StoreId::decode(&mut d).ok_or_else(malformed)?;
    let commits = d.u64().ok_or_else(malformed)?;
    let capacity = d.u64().ok_or_else(malformed)?;
    let sound =
        |c: &usize| *c > 0 && (*c as u64).is_multiple_of(2 * FRAME_ALIGN) && *c / 2 <= bytes.len();
    let sound = usize::try_from(capacity).ok().filter(sound);
    sound.map(|capacity| (capacity, Inherited { format, commits, synced: 0 })).ok_or_else(|| {
        let expected = format!("a manifest of {capacity} bytes, in two halves");
        let found = format!("{} bytes", bytes.len());
        Corruption::new(file, base, expected, found).into()
    })
}

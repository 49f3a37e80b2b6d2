//! Log records.
//!
//! A record starts at a multiple of 8 bytes. All words are little-endian:
//!
//! ```text
//! bytes  0..4   header checksum: the low half of the checksum of bytes 4..32, under the log's seed
//!        4..8   payload bytes; 0 in a claim
//!        8..16  first sequence: the n batches of the payload have first, first + 1, ... first + n - 1
//!       16..24  synced sequence: batches through it were known to be durable, in this log or
//!               an earlier one, when this record was written
//!       24..32  payload checksum, under the log's seed
//!       32..    payload: one or more batches, each with its length before it as a varint; then zeros
//!               to a multiple of 8
//! ```
//!
//! # Claims
//!
//! A *claim* is a header without a payload: its payload length is 0, and its first sequence is that
//! of the next batch. It is where the next record would be, and the next record follows it. It says,
//! before there is a next record, which batches were synced.
//!
//! # The end
//!
//! Eight zero bytes follow the last record, or start a log without records, to tell the end from a
//! record with a damaged header. The next record overwrites them.
//!
//! # Searching beyond a lost record
//!
//! A payload may contain what looks like a record, such as a copy of this log, or of another store's
//! log with the same number and salt. That must not count.
//!
//! 1. The search starts at a *boundary*: the start of the log, or the end of a record.
//! 2. A valid header at a boundary was written there by the log, even if its payload is torn. Records
//!    do not overlap, so there is none within it: the search continues at its end, which is a boundary
//!    again.
//! 3. Without a valid header, the next boundary is unknown. From there on every aligned offset is
//!    tried, and only valid records are skipped: a torn one may be part of a payload, and seem to
//!    extend over real records.
//!
//! So no record of the log is missed. A false record can be found only after step 3, inside a record
//! whose header is lost and whose payload is not.

use super::LogId;
use super::chunks::{Chunks, Source};
use crate::batch::{BatchDamage, MAX_BATCH_BYTES};
use crate::coding::{Decoder, checksum, put_varint};
use crate::entry::Seq;
use crate::error::Result;
use crate::storage::File;

/// The length of a record's header.
pub const HEADER_BYTES: usize = 32;
/// The alignment of records.
pub const ALIGNMENT: u64 = 8;

/// The longest payload, in bytes: the longest batch with its length.
pub const MAX_PAYLOAD_BYTES: usize = MAX_BATCH_BYTES + 5;

/// The end marker, which follows the last record if there is room for it.
pub(super) const END: [u8; 8] = [0; 8];

/// The length of a record with this much payload, header and padding included.
#[must_use]
pub fn record_bytes(payload: usize) -> u64 {
    (HEADER_BYTES as u64).saturating_add(payload as u64).next_multiple_of(ALIGNMENT)
}

/// The length of a payload with batches of these lengths.
pub fn payload_bytes(lengths: impl Iterator<Item = usize>) -> usize {
    let prefix = |length: usize| (length.max(1).ilog2() / 7 + 1) as usize;
    lengths.map(|length| length + prefix(length)).sum()
}

/// Appends a batch to a payload.
pub(super) fn push_batch(payload: &mut Vec<u8>, batch: &[u8]) {
    put_varint(payload, batch.len() as u64);
    payload.extend_from_slice(batch);
}

/// The batches of a payload, each with its offset in it. Any bytes are safe to pass; iteration ends
/// after the first malformed batch.
pub fn batches(payload: &[u8]) -> Batches<'_> {
    Batches { rest: Decoder::new(payload), total: payload.len() }
}

/// Iterates over the batches of a payload; see [`batches`].
pub struct Batches<'a> {
    rest: Decoder<'a>,
    total: usize,
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<(usize, &'a [u8]), BatchDamage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let left = self.rest.rest().len();
        if let Some(batch) = self.rest.bytes().filter(|batch| !batch.is_empty()) {
            return Some(Ok((self.total - self.rest.rest().len() - batch.len(), batch)));
        }
        self.rest = Decoder::new(&[]);
        let (offset, expected) = (self.total - left, "the length of a batch, and the batch");
        let found = format!("{left} bytes that do not hold them");
        Some(Err(BatchDamage { offset, expected, found, newer: None }))
    }
}

/// The file length that a log needs for a record with this much payload and a claim after it.
#[must_use]
pub fn log_file_bytes(payload: usize) -> u64 {
    record_bytes(payload).saturating_add(HEADER_BYTES as u64)
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The length of the payload, without padding.
    pub payload_bytes: usize,
    /// The sequence of the payload's first batch.
    pub first: Seq,
    /// The greatest sequence known to be durable when the record was written.
    pub synced: Seq,
    checksum: u64,
}

impl Header {
    /// The header of a record with this payload, in the log with this seed.
    pub(super) fn new(seed: u64, first: Seq, synced: Seq, payload: &[u8]) -> Self {
        let checksum = checksum(payload, seed);
        Header { payload_bytes: payload.len(), first, synced, checksum }
    }

    /// Encodes the header for the log with this seed. The payload is at most [`MAX_PAYLOAD_BYTES`]
    /// long.
    pub(super) fn encode(&self, seed: u64) -> [u8; HEADER_BYTES] {
        let length = (self.payload_bytes as u64) << 32;
        let mut words = [length, self.first, self.synced, self.checksum].map(u64::to_le_bytes);
        let (_, body) = words.as_flattened().split_at(4);
        words[0] = (length | u64::from(checksum(body, seed) as u32)).to_le_bytes();
        let mut out = [0; HEADER_BYTES];
        out.copy_from_slice(words.as_flattened());
        out
    }

    /// Decodes a header of the log with this seed. The cheapest checks come first.
    pub(super) fn decode(bytes: &[u8], seed: u64) -> Result<Self, Invalid> {
        let mut fields = Decoder::new(bytes);
        let sum = fields.u32().ok_or(Invalid::End)?;
        let body = fields.rest();
        let payload_bytes = fields.u32().ok_or(Invalid::End)? as usize;
        if payload_bytes == 0 && sum == 0 {
            return Err(Invalid::Nothing);
        }
        if payload_bytes > MAX_PAYLOAD_BYTES {
            return Err(Invalid::Header);
        }
        let first = fields.u64().ok_or(Invalid::End)?;
        let synced = fields.u64().ok_or(Invalid::End)?;
        let payload = fields.u64().ok_or(Invalid::End)?;
        if checksum(body, seed) as u32 != sum {
            return Err(Invalid::Header);
        }
        Ok(Header { payload_bytes, first, synced, checksum: payload })
    }
}

/// Reason why there is no record at an offset, as the text after "found".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Invalid {
    #[error("the end of the file")]
    End,
    #[error("no record")]
    Nothing,
    #[error("no sound record header")]
    Header,
    #[error("a record with {0} bytes of payload, cut short by the end of the file")]
    Cut(usize),
    #[error("a record with {0} bytes of payload and a wrong checksum")]
    Payload(usize),
}

/// Reads the record at `offset` of the log with this seed: its header and payload.
pub(super) fn read<S: Source>(
    log: &mut Chunks<S>,
    offset: u64,
    seed: u64,
) -> Result<Result<(Header, &[u8]), Invalid>> {
    let Some(bytes) = log.bytes(offset, HEADER_BYTES)? else {
        return Ok(Err(Invalid::End));
    };
    let header = match Header::decode(bytes, seed) {
        Ok(header) => header,
        Err(invalid) => return Ok(Err(invalid)),
    };
    let n = header.payload_bytes;
    let Some(payload) = log.bytes(offset + HEADER_BYTES as u64, n)? else {
        return Ok(Err(Invalid::Cut(n)));
    };
    if checksum(payload, seed) != header.checksum {
        return Ok(Err(Invalid::Payload(n)));
    }
    Ok(Ok((header, payload)))
}

/// A search for valid records of the log with this seed.
pub(super) struct Search {
    seed: u64,
    offset: u64,
    /// Whether `offset` is a boundary between records.
    at_boundary: bool,
}

impl Search {
    /// A search from `boundary`: the start of the log or the end of a record.
    pub(super) fn from(boundary: u64, seed: u64) -> Self {
        Search { seed, offset: boundary, at_boundary: true }
    }

    /// The next valid record.
    pub(super) fn next<S: Source>(&mut self, log: &mut Chunks<S>) -> Result<Option<Found>> {
        loop {
            let offset = self.offset;
            match read(log, offset, self.seed)? {
                Ok((header, _)) => {
                    let found = Found { offset, header };
                    self.offset = found.end();
                    return Ok(Some(found));
                }
                Err(Invalid::End) => return Ok(None),
                // No record starts with zeros, of which there may be many.
                Err(Invalid::Nothing) => {
                    self.at_boundary = false;
                    let next = log.skip_zeros(offset + ALIGNMENT)?;
                    self.offset = next - next % ALIGNMENT;
                }
                Err(Invalid::Payload(n) | Invalid::Cut(n)) if self.at_boundary => {
                    self.offset += record_bytes(n);
                }
                Err(_) => {
                    self.at_boundary = false;
                    self.offset += ALIGNMENT;
                }
            }
        }
    }
}

/// A valid record that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Offset of the record, in bytes.
    pub offset: u64,
    /// Its header.
    pub header: Header,
}

impl Found {
    /// Returns the end of the record, padding included.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + record_bytes(self.header.payload_bytes)
    }

    /// Its batches, each with its sequence number. `bytes` are those it was found in.
    pub fn batches<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (Seq, &'a [u8])> + use<'a> {
        let at = usize::try_from(self.offset).unwrap_or(usize::MAX).saturating_add(HEADER_BYTES);
        let payload = bytes.get(at..).and_then(|b| b.get(..self.header.payload_bytes));
        let batches = batches(payload.unwrap_or_default()).map_while(Result::ok);
        (self.header.first..).zip(batches.map(|(_, batch)| batch))
    }
}

/// The log whose record is at the start of `bytes`, if its number is in `numbers` and its store has
/// this salt.
pub fn log_of(bytes: &[u8], salt: u64, numbers: std::ops::RangeInclusive<u64>) -> Option<LogId> {
    let header = bytes.get(..HEADER_BYTES)?;
    let mut logs = numbers.map(|number| LogId { number, salt });
    logs.find(|log| Header::decode(header, log.seed()).is_ok())
}

/// Like [`log_of`], for a file, whose first record must be whole.
pub fn log_in(
    file: &dyn File,
    salt: u64,
    numbers: std::ops::RangeInclusive<u64>,
) -> Result<Option<LogId>> {
    let mut log = Chunks::over(file)?;
    let Some(front) = log.bytes(0, HEADER_BYTES)? else { return Ok(None) };
    if front.starts_with(&END) {
        return Ok(None);
    }
    let front = front.to_vec();
    let Some(id) = log_of(&front, salt, numbers) else { return Ok(None) };
    Ok(read(&mut log, 0, id.seed())?.is_ok().then_some(id))
}

/// All valid records of the log `id` in `bytes`. Any bytes are safe to pass.
pub fn scan(bytes: &[u8], id: LogId) -> Result<Vec<Found>> {
    let mut log = Chunks::over(bytes)?;
    let mut all = Vec::new();
    let mut search = Search::from(0, id.seed());
    while let Some(found) = search.next(&mut log)? {
        all.push(found);
    }
    Ok(all)
}

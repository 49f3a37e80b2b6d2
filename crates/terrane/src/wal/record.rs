//! Records of the log.
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
//!       32..    payload: one or more batches, each after its length as a varint; then zeros to a
//!               multiple of 8
//! ```
//!
//! # Claims
//!
//! A *claim* is a header without a payload: its payload length is 0, and its first sequence is that
//! of the next batch. It stands where the next record would, which then follows it. It says what the
//! next record would say, that batches were synced, before there is one.
//!
//! # The end
//!
//! Eight zero bytes follow the last record, and stand at the front of a log that has none, so that
//! an end is told from a record whose header is damaged. The next record is written over them.
//!
//! # Searching beyond a record that is lost
//!
//! A payload may hold what looks like a record, such as a copy of this log, or of another store's log
//! of the same number and salt. What it says must not count.
//!
//! 1. The search begins at a *boundary*: the front of the log, or the end of a record.
//! 2. A header that is sound at a boundary was written there by the log, even if its payload is torn.
//!    Records do not overlap, so none lies in its extent: the search goes on where it ends, which is
//!    a boundary again.
//! 3. Where there is no sound header, the next boundary is not known. From there on every place is
//!    tried, and only valid records are skipped: a torn one may be part of a payload, and seem to
//!    reach over records that do count.
//!
//! So no record of the log is missed. One that is none can be found only after step 3, inside a
//! record whose header is lost and whose payload is not.

use super::LogId;
use super::window::{Source, Window};
use crate::batch::{BatchDamage, MAX_BATCH_BYTES};
use crate::codec::{Decoder, checksum, put_varint};
use crate::entry::Seq;
use crate::error::Result;
use crate::storage::File;

/// Bytes of a record's header.
pub const HEADER_BYTES: usize = 32;
/// Records start at multiples of this.
pub const ALIGNMENT: u64 = 8;

/// The longest payload, in bytes: the longest batch with its length.
pub const MAX_PAYLOAD_BYTES: usize = MAX_BATCH_BYTES + 5;

/// What follows the last record, if there is room for it.
pub(super) const END: [u8; 8] = [0; 8];

/// Bytes that a record with this much payload takes, with its header and padding.
#[must_use]
pub fn record_bytes(payload: usize) -> u64 {
    (HEADER_BYTES as u64).saturating_add(payload as u64).next_multiple_of(ALIGNMENT)
}

/// Bytes that batches of these lengths take as a payload.
pub fn payload_bytes(lengths: impl Iterator<Item = usize>) -> usize {
    let prefix = |length: usize| (length.max(1).ilog2() / 7 + 1) as usize;
    lengths.map(|length| length + prefix(length)).sum()
}

/// Adds a batch to a payload.
pub(super) fn push_batch(payload: &mut Vec<u8>, batch: &[u8]) {
    put_varint(payload, batch.len() as u64);
    payload.extend_from_slice(batch);
}

/// The batches of a payload, each with its place, in bytes. Any bytes are safe; the first that hold
/// no batch end the iteration.
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

/// Bytes that a log needs for a record with this much payload, and a claim behind it.
#[must_use]
pub fn log_file_bytes(payload: usize) -> u64 {
    record_bytes(payload).saturating_add(HEADER_BYTES as u64)
}

/// What a record's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of payload, without padding.
    pub payload_bytes: usize,
    /// The sequence of the payload's first batch.
    pub first: Seq,
    /// The greatest sequence known to be durable when the record was written.
    pub synced: Seq,
    checksum: u64,
}

impl Header {
    /// The header of a record of the log with this seed.
    pub(super) fn new(seed: u64, first: Seq, synced: Seq, payload: &[u8]) -> Self {
        let checksum = checksum(payload, seed);
        Header { payload_bytes: payload.len(), first, synced, checksum }
    }

    /// The header as it lies in the log with this seed. The payload is at most
    /// [`MAX_PAYLOAD_BYTES`].
    pub(super) fn encode(&self, seed: u64) -> [u8; HEADER_BYTES] {
        let fields = [self.first, self.synced, self.checksum];
        let mut body = [0; HEADER_BYTES - 4];
        let words = (self.payload_bytes as u32).to_le_bytes().into_iter();
        let bytes = words.chain(fields.into_iter().flat_map(u64::to_le_bytes));
        body.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        let mut out = [0; HEADER_BYTES];
        let sum = checksum(&body, seed) as u32;
        let bytes = sum.to_le_bytes().into_iter().chain(body);
        out.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        out
    }

    /// Reads a header of the log with this seed; the cheapest test comes first.
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

/// Why there is no record of the log at a place, as words for "found ...".
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

/// Reads the record at `offset` of the log with this seed: header and payload.
pub(super) fn read<S: Source>(
    log: &mut Window<S>,
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

/// A search for the valid records of the log with a seed, from one place on.
pub(super) struct Search {
    seed: u64,
    offset: u64,
    /// Whether a record of the log, if there is one at `offset`, can only begin there.
    at_boundary: bool,
}

impl Search {
    /// A search from `boundary`, the front of the log or the end of one of its records.
    pub(super) fn from(boundary: u64, seed: u64) -> Self {
        Search { seed, offset: boundary, at_boundary: true }
    }

    /// The next valid record.
    pub(super) fn next<S: Source>(&mut self, log: &mut Window<S>) -> Result<Option<Found>> {
        loop {
            let offset = self.offset;
            match read(log, offset, self.seed)? {
                Ok((header, _)) => {
                    let found = Found { offset, header };
                    self.offset = found.end();
                    return Ok(Some(found));
                }
                Err(Invalid::End) => return Ok(None),
                // No record begins with these zeros, and there may be a lot of them.
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

/// A valid record and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where the record starts, in bytes.
    pub offset: u64,
    /// Its header.
    pub header: Header,
}

impl Found {
    /// Where the record ends, padding included.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + record_bytes(self.header.payload_bytes)
    }

    /// Its batches, each with its sequence. `bytes` are those that it was found in.
    pub fn batches<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (Seq, &'a [u8])> + use<'a> {
        let at = usize::try_from(self.offset).unwrap_or(usize::MAX).saturating_add(HEADER_BYTES);
        let payload = bytes.get(at..).and_then(|b| b.get(..self.header.payload_bytes));
        let batches = batches(payload.unwrap_or_default()).map_while(Result::ok);
        (self.header.first..).zip(batches.map(|(_, batch)| batch))
    }
}

/// The log of the store with this salt whose record lies at the front of `bytes`, if its number is
/// among `numbers`.
pub fn log_of(bytes: &[u8], salt: u64, numbers: std::ops::RangeInclusive<u64>) -> Option<LogId> {
    let header = bytes.get(..HEADER_BYTES)?;
    let mut logs = numbers.map(|number| LogId { number, salt });
    logs.find(|log| Header::decode(header, log.seed()).is_ok())
}

/// As [`log_of`] for a file, of which the first record must be whole.
pub fn log_in(
    file: &dyn File,
    salt: u64,
    numbers: std::ops::RangeInclusive<u64>,
) -> Result<Option<LogId>> {
    let mut log = Window::over(file)?;
    let Some(front) = log.bytes(0, HEADER_BYTES)? else { return Ok(None) };
    if front.starts_with(&END) {
        return Ok(None);
    }
    let front = front.to_vec();
    let Some(id) = log_of(&front, salt, numbers) else { return Ok(None) };
    Ok(read(&mut log, 0, id.seed())?.is_ok().then_some(id))
}

/// Every valid record of `log` in `bytes`, wherever it lies. Any bytes are safe.
pub fn scan(bytes: &[u8], id: LogId) -> Result<Vec<Found>> {
    let mut log = Window::over(bytes)?;
    let mut all = Vec::new();
    let mut search = Search::from(0, id.seed());
    while let Some(found) = search.next(&mut log)? {
        all.push(found);
    }
    Ok(all)
}

//! The records of a MANIFEST, which is a log as LevelDB writes it.
//!
//! 1. A file consists of blocks of 32 KiB, and a block of chunks: a masked CRC32C, a length, a type, and the payload. A
//!    record is one chunk, or a first one, some in the middle and a last one.
//! 2. A chunk of a recycled file also has the number of its log, which is not known here: a chunk with another number
//!    than the first ends the log.
//! 3. Less than a header of a block is padding, and so are zeros up to the end of a block.
//! 4. A record that the file ends in was being written when the engine stopped, or when the file was copied.
//!
//! ```text
//! | CRC 4 | length 2 | type 1 | log number 4, if recycled | payload |
//! ```

use crate::Error;
use crate::checksum;
use std::borrow::Cow;

const BLOCK: usize = 32 * 1024;
const HEADER: usize = 7;
/// Bytes of the number of a log.
const NUMBER: usize = 4;
/// Offset of the type in a header: the checksum is over the bytes from there on.
const TYPE: usize = 6;

/// Part of a record that a chunk is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Full,
    First,
    Middle,
    Last,
}

/// A chunk: its part, its payload and the offset after it.
struct Chunk<'a> {
    part: Part,
    payload: &'a [u8],
    end: usize,
}

/// The records of a log, in order.
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number of the log, by its first recycled chunk.
    number: Option<&'a [u8]>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Records { bytes, at: 0, number: None }
    }

    /// Returns the next record, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Cow<'a, [u8]>>, Error> {
        let Some(first) = self.chunk()? else { return Ok(None) };
        match first.part {
            Part::Full => return Ok(Some(Cow::Borrowed(first.payload))),
            Part::First => {}
            Part::Middle | Part::Last => {
                return Err(self.unexpected("the first part of a record", "a later part"));
            }
        }
        let mut record = first.payload.to_vec();
        // The file may end within a record.
        while let Some(Chunk { part, payload, .. }) = self.chunk()? {
            if part == Part::Full || part == Part::First {
                return Err(self.unexpected("a later part of a record", "the first of another"));
            }
            record.extend_from_slice(payload);
            if part == Part::Last {
                return Ok(Some(Cow::Owned(record)));
            }
        }
        Ok(None)
    }

    fn unexpected(&self, expected: &'static str, found: &'static str) -> Error {
        Error::Chunk { at: self.at, expected, found }
    }

    /// Returns the next chunk and moves past it, or `None` at the end of the log.
    fn chunk(&mut self) -> Result<Option<Chunk<'a>>, Error> {
        loop {
            let left = BLOCK - self.at % BLOCK;
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let block = rest.get(..left.min(rest.len())).unwrap_or_default();
            if block.is_empty() {
                return Ok(None);
            }
            // Padding, and room that was allocated in advance.
            if block.len() < HEADER || block.iter().all(|byte| *byte == 0) {
                self.at += block.len();
                continue;
            }
            let is_last = block.len() == rest.len();
            let Some(chunk) = self.parse(block, is_last)? else {
                self.at = self.bytes.len();
                return Ok(None);
            };
            self.at = chunk.end;
            return Ok(Some(chunk));
        }
    }

    /// Parses the chunk that a block starts with. Returns `None` where the log ends.
    fn parse(&mut self, block: &'a [u8], is_last: bool) -> Result<Option<Chunk<'a>>, Error> {
        let (header, payload) = block.split_at_checked(HEADER).unwrap_or_default();
        let [c0, c1, c2, c3, l0, l1, kind] = *header else { return Ok(None) };
        let (part, is_recycled) = match kind {
            1 | 5 => (Part::Full, kind == 5),
            2 | 6 => (Part::First, kind == 6),
            3 | 7 => (Part::Middle, kind == 7),
            4 | 8 => (Part::Last, kind == 8),
            _ => return Err(self.unexpected("a chunk of a type from 1 to 8", "another type")),
        };
        let length = usize::from(u16::from_le_bytes([l0, l1]));
        let before = if is_recycled { NUMBER } else { 0 };
        let Some(payload) = payload.get(..before + length) else {
            return match is_last {
                true => Ok(None),
                false => Err(self.unexpected("a chunk within its block", "a longer one")),
            };
        };
        let end = HEADER + payload.len();
        let summed = block.get(TYPE..end).unwrap_or_default();
        if checksum::masked(summed) != u32::from_le_bytes([c0, c1, c2, c3]) {
            // Of the last chunk, a part may have been written.
            return match self.at + end == self.bytes.len() {
                true => Ok(None),
                false => Err(self.unexpected("a chunk with its checksum", "another checksum")),
            };
        }
        let (number, payload) = payload.split_at_checked(before).unwrap_or_default();
        if is_recycled && *self.number.get_or_insert(number) != number {
            return Ok(None);
        }
        Ok(Some(Chunk { part, payload, end: self.at + end }))
    }
}

/// Returns a log with these records; the inverse of [`Records`].
pub(crate) fn frame<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut log = Vec::new();
    for record in records {
        let mut rest = record;
        let mut is_first = true;
        loop {
            let left = BLOCK - log.len() % BLOCK;
            if left < HEADER {
                log.resize(log.len() + left, 0);
                continue;
            }
            let (payload, after) = rest.split_at(rest.len().min(left - HEADER));
            let kind = match (is_first, after.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            let typed = [&[kind], payload].concat();
            log.extend_from_slice(&checksum::masked(&typed).to_le_bytes());
            log.extend_from_slice(&(payload.len() as u16).to_le_bytes());
            log.extend_from_slice(&typed);
            (rest, is_first) = (after, false);
            if rest.is_empty() {
                break;
            }
        }
    }
    log
}

//! How a part of a table (a block or a section) lies in the file.
//!
//! ```text
//! payload   compression: u8   checksum: u64
//! payload = the bytes themselves (0), or: length before compression: u32, LZ4 block (1)
//! ```
//!
//! The checksum covers payload and compression and is seeded with the table's number and the
//! offset.

use super::Malformed;
use crate::codec::checksum;
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

/// How data blocks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4, where it saves an eighth or more.
    Lz4,
}

/// Bytes that follow every payload.
pub const TRAILER_BYTES: usize = 1 + 8;

const RAW: u8 = 0;
const LZ4: u8 = 1;
/// LZ4 expands a byte to at most this many.
const LZ4_MAX_RATIO: usize = 255;

/// The seed of the checksum of the part at `offset` of table `table`.
#[inline]
fn place(table: u64, offset: u64) -> u64 {
    table.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset.wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
}

/// Stores parts; keeps its tables and buffer from one to the next.
pub(super) struct Sealer {
    table: u64,
    compression: Compression,
    dictionary: CompressTable,
    compressed: Vec<u8>,
}

impl Sealer {
    /// For the parts of table `table`.
    pub fn new(table: u64, compression: Compression) -> Self {
        let dictionary = CompressTable::default();
        Sealer { table, compression, dictionary, compressed: Vec::new() }
    }

    /// Appends `bytes` to `out`, to lie at `offset` of the file, compressed where that pays.
    pub fn seal_compressed(&mut self, bytes: &[u8], offset: u64, out: &mut Vec<u8>) {
        if let Some(compressed) = self.compress(bytes) {
            let start = out.len();
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(compressed);
            out.push(LZ4);
            finish(self.table, offset, start, out);
        } else {
            self.seal(bytes, offset, out);
        }
    }

    /// Appends `bytes` to `out`, to lie at `offset` of the file, as they are.
    pub fn seal(&self, bytes: &[u8], offset: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(bytes);
        out.push(RAW);
        finish(self.table, offset, start, out);
    }

    fn compress(&mut self, bytes: &[u8]) -> Option<&[u8]> {
        if self.compression == Compression::None {
            return None;
        }
        let room = get_maximum_output_size(bytes.len());
        if self.compressed.len() < room {
            self.compressed.resize(room, 0);
        }
        let len =
            compress_into_with_table(bytes, &mut self.compressed, &mut self.dictionary).ok()?;
        let pays = len + 4 <= bytes.len() - bytes.len() / 8;
        self.compressed.get(..len).filter(|_| pays)
    }
}

/// Appends the checksum of what lies in `out` from `start`.
fn finish(table: u64, offset: u64, start: usize, out: &mut Vec<u8>) {
    let sum = checksum(out.get(start..).unwrap_or_default(), place(table, offset));
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Makes the checksum of a part right, whatever else it holds.
#[cfg(feature = "testing")]
pub fn mend(part: &mut [u8], table: u64, offset: u64) {
    if let Some((covered, sum)) = part.split_last_chunk_mut::<8>() {
        *sum = checksum(covered, place(table, offset)).to_le_bytes();
    }
}

/// Verifies the checksum of the part at `offset` of table `table`; answers the payload and its
/// compression byte.
#[inline]
fn verify(stored: &[u8], table: u64, offset: u64) -> Result<(&[u8], u8), Malformed> {
    let parts = stored.split_last_chunk::<8>();
    let Some((covered, sum, (&compression, payload))) =
        parts.and_then(|(covered, sum)| Some((covered, sum, covered.split_last()?)))
    else {
        return Err(Malformed::new(
            0,
            format_args!("{TRAILER_BYTES} bytes or more"),
            format_args!("{}", stored.len()),
        ));
    };
    let (expected, found) = (u64::from_le_bytes(*sum), checksum(covered, place(table, offset)));
    if expected != found {
        return Err(Malformed::new(
            0,
            format_args!("checksum {expected:016x}"),
            format_args!("{found:016x}"),
        ));
    }
    Ok((payload, compression))
}

/// The contents of the part stored at `offset` of table `table`, in the memory of `stored` where
/// they are not compressed.
pub fn unseal(mut stored: Vec<u8>, table: u64, offset: u64) -> Result<Vec<u8>, Malformed> {
    let (payload, compression) = verify(&stored, table, offset)?;
    if compression == RAW {
        stored.truncate(payload.len());
        return Ok(stored);
    }
    let mut out = Vec::new();
    decompress(payload, compression, &mut out)?;
    Ok(out)
}

/// As [`unseal`], into `out`, whose memory is used again.
pub fn unseal_into(
    stored: &[u8],
    table: u64,
    offset: u64,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let (payload, compression) = verify(stored, table, offset)?;
    if compression == RAW {
        out.clear();
        out.extend_from_slice(payload);
        return Ok(());
    }
    decompress(payload, compression, out)
}

fn decompress(payload: &[u8], compression: u8, out: &mut Vec<u8>) -> Result<(), Malformed> {
    if compression != LZ4 {
        return Err(Malformed::new(
            payload.len(),
            format_args!("compression {RAW} or {LZ4}"),
            compression,
        ));
    }
    let Some((len, packed)) = payload.split_first_chunk::<4>() else {
        return Err(Malformed::new(0, "a length before compression", "too few bytes"));
    };
    let len = u32::from_le_bytes(*len) as usize;
    let most = packed.len().saturating_mul(LZ4_MAX_RATIO);
    if len > most {
        return Err(Malformed::new(0, format_args!("at most {most} bytes"), len));
    }
    out.resize(len, 0);
    match lz4_flex::block::decompress_into(packed, out) {
        Ok(found) if found == len => Ok(()),
        Ok(found) => Err(Malformed::new(4, format_args!("{len} bytes in LZ4"), found)),
        Err(e) => Err(Malformed::new(4, format_args!("{len} bytes in LZ4"), e)),
    }
}

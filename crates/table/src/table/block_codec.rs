//! Storage of a part of a table (a block or a section): compression and checksum.
//!
//! ```text
//! payload   compression: u8   checksum: u64
//! payload = the bytes themselves (0), or: length before compression: u32, LZ4 block (1)
//! ```
//!
//! The checksum covers the payload and the compression byte. It is seeded with the salt of the store
//! that wrote the table, the table's number and the offset.

use super::Malformed;
#[cfg(target_arch = "wasm32")]
use super::lz4::decompress as unpack;
use super::spare;
use crate::coding::checksum;
use crate::entry::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

/// The compression of data blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// LZ4 for blocks where it saves at least an eighth.
    Lz4,
}

/// Bytes that follow every payload.
pub const TRAILER_BYTES: usize = 1 + 8;

/// The greatest size at which a data block or a partition is closed, in bytes.
pub(super) const MAX_PART_TARGET_BYTES: usize = 16 << 20;
/// No data block is stored in more bytes: one entry may make it longer than the target.
pub(super) const MAX_PART_BYTES: usize =
    MAX_PART_TARGET_BYTES + MAX_KEY_BYTES + MAX_VALUE_BYTES + 1024;

/// Codec of a stored part, by the byte between its payload and its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Codec {
    Raw = 0,
    Lz4 = 1,
}

impl Codec {
    /// Returns the codec with this number, if this release knows it.
    #[inline]
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Codec::Raw),
            1 => Some(Codec::Lz4),
            _ => None,
        }
    }
}

/// The largest expansion of LZ4.
const LZ4_MAX_RATIO: usize = 255;

/// The seed of the checksums of table `table`, written by the store with this salt.
#[inline]
#[must_use]
pub fn seed(salt: u64, table: u64) -> u64 {
    salt ^ table.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The seed of the checksum of the part at `offset` of the table with this seed.
#[inline]
pub(super) fn place(seed: u64, offset: u64) -> u64 {
    seed ^ offset.wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
}

/// Encodes parts. Reuses its hash table and buffer.
pub struct PartEncoder {
    seed: u64,
    compression: Compression,
    dictionary: CompressTable,
    compressed: Vec<u8>,
}

impl PartEncoder {
    /// An encoder for the table with this [`seed`].
    pub fn new(seed: u64, compression: Compression) -> Self {
        let dictionary = CompressTable::default();
        PartEncoder { seed, compression, dictionary, compressed: Vec::new() }
    }

    /// Sets the [`seed`] of the table.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Appends the part with these contents, to be written at `offset`, compressed if that pays.
    pub fn encode_compressed(&mut self, bytes: &[u8], offset: u64, out: &mut Vec<u8>) {
        if let Some(compressed) = self.compress(bytes) {
            let start = out.len();
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(compressed);
            out.push(Codec::Lz4 as u8);
            finish(self.seed, offset, start, out);
        } else {
            self.encode(bytes, offset, out);
        }
    }

    /// Appends the part with these contents, to be written at `offset`, uncompressed.
    pub fn encode(&self, bytes: &[u8], offset: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(bytes);
        out.push(Codec::Raw as u8);
        finish(self.seed, offset, start, out);
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

/// Appends the checksum of `out` from `start`.
fn finish(seed: u64, offset: u64, start: usize, out: &mut Vec<u8>) {
    let sum = checksum(out.get(start..).unwrap_or_default(), place(seed, offset));
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Corrects the checksum of a part whose contents were changed.
#[cfg(feature = "testing")]
pub fn fix_checksum(part: &mut [u8], seed: u64, offset: u64) {
    if let Some((covered, sum)) = part.split_last_chunk_mut::<8>() {
        *sum = checksum(covered, place(seed, offset)).to_le_bytes();
    }
}

/// Verifies the checksum of the part at `offset` of the table with this seed; returns the payload and
/// its codec.
#[inline]
fn verify(stored: &[u8], seed: u64, offset: u64) -> Result<(&[u8], Codec), Malformed> {
    let parts = stored.split_last_chunk::<8>();
    let Some((covered, sum, (&byte, payload))) =
        parts.and_then(|(covered, sum)| Some((covered, sum, covered.split_last()?)))
    else {
        return Err(Malformed::new(
            0,
            format_args!("{TRAILER_BYTES} bytes or more"),
            format_args!("{}", stored.len()),
        ));
    };
    let (expected, found) = (u64::from_le_bytes(*sum), checksum(covered, place(seed, offset)));
    if expected != found {
        return Err(Malformed::new(
            0,
            format_args!("checksum {expected:016x}"),
            format_args!("{found:016x}"),
        ));
    }
    let Some(codec) = Codec::from_byte(byte) else {
        return Err(Malformed::new(payload.len(), "compression 0 or 1", byte));
    };
    Ok((payload, codec))
}

/// The contents of the part stored at `offset` of the table with this seed. Uncompressed contents
/// reuse the memory of `stored`.
pub fn decode(mut stored: Vec<u8>, seed: u64, offset: u64) -> Result<Vec<u8>, Malformed> {
    let (payload, codec) = verify(&stored, seed, offset)?;
    match codec {
        Codec::Raw => {
            stored.truncate(payload.len());
            Ok(stored)
        }
        Codec::Lz4 => {
            let mut out = Vec::new();
            decompress(payload, &mut out)?;
            Ok(out)
        }
    }
}

/// Like [`decode`], into `out`, whose memory is reused.
pub fn decode_into(
    stored: &[u8],
    seed: u64,
    offset: u64,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let (payload, codec) = verify(stored, seed, offset)?;
    match codec {
        Codec::Raw => {
            out.clear();
            out.extend_from_slice(payload);
            Ok(())
        }
        Codec::Lz4 => decompress(payload, out),
    }
}

fn decompress(payload: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let Some((len, packed)) = payload.split_first_chunk::<4>() else {
        return Err(Malformed::new(0, "a length before compression", "too few bytes"));
    };
    let len = u32::from_le_bytes(*len) as usize;
    let most = packed.len().saturating_mul(LZ4_MAX_RATIO);
    if len > most {
        return Err(Malformed::new(0, format_args!("at most {most} bytes"), len));
    }
    if out.capacity() < len {
        *out = spare::take(len);
    }
    out.resize(len, 0);
    match unpack(packed, out) {
        Some(found) if found == len => Ok(()),
        Some(found) => Err(Malformed::new(4, format_args!("{len} bytes in LZ4"), found)),
        None => Err(Malformed::new(4, format_args!("{len} bytes in LZ4"), "other bytes")),
    }
}

/// Decompresses a block of LZ4. Returns the number of its bytes, or `None` where it is none that fits.
#[cfg(not(target_arch = "wasm32"))]
fn unpack(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    lz4_flex::block::decompress_into(packed, out).ok()
}

#[cfg(test)]
mod tests {
    use super::super::block::Block;
    use super::super::block_writer::BlockWriter;
    use super::super::spare;
    use super::*;
    use crate::entry::Tag;
    use std::sync::Arc;

    /// 1024 bytes, of which the first `noise` do not compress.
    fn part(noise: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..1024).map(|at| if at < noise { draw() } else { 0 }).collect()
    }

    #[test]
    fn a_part_is_compressed_if_that_saves_an_eighth() {
        let mut encoder = PartEncoder::new(7, Compression::Lz4);
        let (mut largest_packed, mut least_raw) = (0, usize::MAX);
        for noise in 0..=1024 {
            let bytes = part(noise);
            let packed = 4 + lz4_flex::block::compress(&bytes).len();
            let mut stored = Vec::new();
            encoder.encode_compressed(&bytes, 0, &mut stored);
            let payload = stored.len() - TRAILER_BYTES;
            let codec = Codec::from_byte(stored[payload]).unwrap();
            if packed <= 896 {
                assert_eq!((payload, codec), (packed, Codec::Lz4), "{noise} bytes of noise");
                largest_packed = largest_packed.max(packed);
            } else {
                assert_eq!((payload, codec), (1024, Codec::Raw), "{noise} bytes of noise");
                least_raw = least_raw.min(packed);
            }
            let mut found = Vec::new();
            decode_into(&stored, 7, 0, &mut found).unwrap();
            assert_eq!(found, bytes);
        }
        // The test met both sides of the bound.
        assert_eq!((largest_packed, least_raw), (896, 897));
    }

    #[test]
    fn no_two_places_share_a_seed() {
        let places = [0, 1, 2, 3, 0x5a17, 1 << 40];
        let mut seeds = std::collections::BTreeSet::new();
        for a in [&places[..], &[u64::MAX]].concat() {
            for b in places {
                assert!(seeds.insert(("table", seed(a, b))), "salt {a:x}, table {b:x}");
                assert!(seeds.insert(("part", place(a, b))), "seed {a:x}, offset {b:x}");
            }
        }
    }

    #[test]
    fn a_part_that_does_not_expand_to_its_length_is_refused() {
        let bytes = part(100);
        let packed = lz4_flex::block::compress(&bytes);
        let refused = |len: usize, packed: &[u8]| {
            let payload = [&(len as u32).to_le_bytes()[..], packed].concat();
            decompress(&payload, &mut Vec::new()).err().map(|e| (e.0.at, e.0.expected))
        };
        assert_eq!(refused(bytes.len(), &packed), None);
        let expected = |len| Some((4, format!("{len} bytes in LZ4")));
        assert_eq!(refused(bytes.len() + 1, &packed), expected(1025));
        assert_eq!(refused(bytes.len() - 1, &packed), expected(1023));
        // More than LZ4 can expand to is refused before memory is taken for it.
        assert_eq!(refused(2 * 255, &[0; 2]), expected(510));
        assert_eq!(refused(2 * 255 + 1, &[0; 2]), Some((0, "at most 510 bytes".into())));
    }

    #[test]
    fn a_part_is_decompressed_where_it_fits_or_into_spare_memory() {
        let bytes = part(100);
        let payload = [&1024u32.to_le_bytes()[..], &lz4_flex::block::compress(&bytes)].concat();
        for (capacity, is_kept) in [(1023, false), (1024, true), (1025, true)] {
            let mut writer = BlockWriter::new(16);
            writer.add(0, b"key", Tag::at(1), &[7; 1200]);
            let block = writer.finish().to_vec();
            let mut out = Vec::with_capacity(capacity);
            assert_eq!(out.capacity(), capacity);
            let (own, kept) = (out.as_ptr(), block.as_ptr());
            spare::keep(Arc::new(Block::decode(block).unwrap()));
            decompress(&payload, &mut out).unwrap();
            assert_eq!(out, bytes);
            assert_eq!(out.as_ptr(), if is_kept { own } else { kept }, "{capacity} bytes");
        }
    }

    #[cfg(feature = "testing")]
    #[test]
    fn a_fixed_checksum_is_that_of_the_changed_part() {
        let mut stored = Vec::new();
        PartEncoder::new(7, Compression::None).encode(b"abc", 9, &mut stored);
        stored[1] = b'x';
        assert!(decode(stored.clone(), 7, 9).is_err());
        fix_checksum(&mut stored, 7, 9);
        assert_eq!(decode(stored, 7, 9).unwrap(), b"axc");
    }

    #[test]
    fn nothing_is_compressed_if_the_options_say_so() {
        let mut stored = Vec::new();
        PartEncoder::new(7, Compression::None).encode_compressed(&part(0), 0, &mut stored);
        assert_eq!((stored.len() - TRAILER_BYTES, stored[1024]), (1024, Codec::Raw as u8));
    }

    #[test]
    fn the_longest_part_is_a_block_below_its_target_plus_an_entry() {
        let mut block = BlockWriter::new(16);
        block.add(0, b"", Tag::at(1), &vec![0; MAX_PART_TARGET_BYTES - 32]);
        assert!(block.len() < MAX_PART_TARGET_BYTES);
        block.add(0, &vec![1; MAX_KEY_BYTES], Tag::at(1), &vec![0; MAX_VALUE_BYTES]);
        let len = block.finish().len() + TRAILER_BYTES;
        assert!((MAX_PART_BYTES - 1024..=MAX_PART_BYTES).contains(&len), "{len} bytes");
    }
}

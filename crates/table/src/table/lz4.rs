//! Decompression of LZ4 in a browser's module. The library's goes byte by byte where a match repeats what it copies, as
//! zeros do, and compiled for size elsewhere as well.
//!
//! A block is a list of sequences: a token with two lengths of four bits, literals, and a match, which is a copy of
//! earlier output from an offset back. A length of 15 is followed by bytes that are added, through the first below 255.
//! The last sequence has no match.
//!
//! 1. Up to 16 literals are copied as one chunk where both sides have room for it.
//! 2. A match from 16 bytes back or more is copied in chunks, which are loaded after those before are stored.
//! 3. A match from nearer back repeats: each copy of it doubles what the next one can take.

/// Bytes that are copied at once.
const CHUNK: usize = 16;
/// The shortest match.
const MATCH_MIN: usize = 4;
/// A length that is followed by more of it.
const CONTINUED: usize = 15;

/// Decompresses a block into `out`. Returns the number of its bytes, or `None` for bytes that are no block, or one of
/// more bytes than `out` has.
pub(super) fn decompress(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    let (mut rest, mut at) = (packed, 0usize);
    loop {
        let (&token, literals) = rest.split_first()?;
        rest = literals;
        let count = length(usize::from(token >> 4), &mut rest)?;
        let end = at.checked_add(count)?;
        let place = out.get_mut(at..)?;
        if let (Some(from), Some(to)) = (rest.first_chunk::<CHUNK>(), place.first_chunk_mut())
            && count <= CHUNK
        {
            *to = *from;
        } else {
            place.get_mut(..count)?.copy_from_slice(rest.get(..count)?);
        }
        rest = rest.get(count..)?;
        at = end;
        if rest.is_empty() {
            return Some(at);
        }
        let (offset, behind) = rest.split_first_chunk()?;
        rest = behind;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let count = length(usize::from(token) & CONTINUED, &mut rest)?.checked_add(MATCH_MIN)?;
        let start = at.checked_sub(offset).filter(|_| offset > 0)?;
        let end = at.checked_add(count).filter(|end| *end <= out.len())?;
        copy(out, start, at, end);
        at = end;
    }
}

/// Returns a length that starts with four bits, and takes the bytes that are added.
fn length(bits: usize, rest: &mut &[u8]) -> Option<usize> {
    let mut length = bits;
    if bits == CONTINUED {
        loop {
            let (&more, behind) = rest.split_first()?;
            *rest = behind;
            length = length.checked_add(usize::from(more))?;
            if more != u8::MAX {
                break;
            }
        }
    }
    Some(length)
}

/// Copies a match from `start` to the bytes from `at` to `end`.
#[inline]
fn copy(out: &mut [u8], start: usize, mut at: usize, end: usize) {
    let offset = at - start;
    if offset >= CHUNK && out.len() - end >= CHUNK {
        while at < end {
            let Some(chunk) = out.get(at - offset..).and_then(<[u8]>::first_chunk::<CHUNK>) else {
                return;
            };
            let chunk = *chunk;
            if let Some(to) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *to = chunk;
            }
            at += CHUNK;
        }
        return;
    }
    while at < end {
        let count = (at - start).min(end - at);
        out.copy_within(start..start + count, at);
        at += count;
    }
}

#[cfg(test)]
mod tests {
    use super::decompress;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_of_the_library_are_decompressed(
            parts in prop::collection::vec((0usize..40, any::<u8>(), 1usize..400), 0..40),
        ) {
            let mut bytes: Vec<u8> = Vec::new();
            for (back, byte, count) in parts {
                for n in 0..count {
                    // A repetition from some bytes back, or other bytes.
                    let at = bytes.len().checked_sub(back).filter(|_| back > 0);
                    bytes.push(at.map_or(byte.wrapping_add((n * n) as u8), |at| bytes[at]));
                }
            }
            let packed = lz4_flex::block::compress(&bytes);
            for room in [0, 1, 100] {
                let mut out = vec![0xee; bytes.len() + room];
                prop_assert_eq!(decompress(&packed, &mut out), Some(bytes.len()));
                prop_assert_eq!(&out[..bytes.len()], &bytes);
            }
            if let Some(short) = bytes.len().checked_sub(1) {
                prop_assert_eq!(decompress(&packed, &mut vec![0; short]), None);
            }
        }

        #[test]
        fn any_bytes_are_decompressed_as_the_library_does_or_refused(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0u8..4, Just(255)], 0..200),
            room in 0usize..2000,
        ) {
            let (mut out, mut expected) = (vec![0; room], vec![0; room]);
            let found = decompress(&bytes, &mut out);
            let library = lz4_flex::block::decompress_into(&bytes, &mut expected).ok();
            prop_assert_eq!(found, library);
            if let Some(len) = found {
                prop_assert_eq!(&out[..len], &expected[..len]);
            }
        }
    }
}

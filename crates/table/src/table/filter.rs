//! A blocked Bloom filter of user keys.
//!
//! 1. A key is hashed once, to 64 bits ([`key_hash`](crate::codec::key_hash)).
//! 2. The upper half selects one line of 64 bytes: a lookup costs one cache miss.
//! 3. The lower half, multiplied repeatedly, selects `k` of the line's 512 bits.
//!
//! Stored as its lines, little-endian, then `k` in one byte.

use super::Malformed;

const LINE_BYTES: usize = 64;
const MAX_PROBES: u8 = 24;
/// Probes per bit of a key: less than ln 2, the optimum of a plain Bloom filter, since lines fill
/// unevenly.
const PROBES_PER_BIT: f32 = 0.6;

/// A filter in memory.
#[derive(Debug)]
pub struct Filter {
    lines: Vec<Line>,
    probes: u8,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; 8]);

/// The stored length of a filter of `keys` keys, in bytes.
pub(super) fn encoded_len(keys: usize, bits_per_key: f32) -> usize {
    lines_for(keys, bits_per_key) * LINE_BYTES + 1
}

fn lines_for(keys: usize, bits_per_key: f32) -> usize {
    let bits = keys as f64 * f64::from(bits_per_key);
    ((bits / (8 * LINE_BYTES) as f64).ceil() as usize).clamp(1, u32::MAX as usize)
}

impl Filter {
    /// The filter of the keys with these hashes.
    #[must_use]
    pub fn build(hashes: &[u64], bits_per_key: f32) -> Self {
        let probes =
            (bits_per_key * PROBES_PER_BIT).round().clamp(1.0, f32::from(MAX_PROBES)) as u8;
        let mut lines = vec![Line([0; 8]); lines_for(hashes.len(), bits_per_key)];
        for &hash in hashes {
            if let Some(line) = line_of(hash, lines.len()).and_then(|i| lines.get_mut(i)) {
                for (word, bit) in bits(hash, probes) {
                    if let Some(word) = line.0.get_mut(word) {
                        *word |= bit;
                    }
                }
            }
        }
        Filter { lines, probes }
    }

    /// Decodes a stored filter.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let Some((&probes, body)) = bytes.split_last() else {
            return Err(Malformed::new(0, "a filter", "no byte"));
        };
        let (chunks, rest) = body.as_chunks::<LINE_BYTES>();
        let count_fits = !chunks.is_empty() && u32::try_from(chunks.len()).is_ok();
        if !rest.is_empty() || !count_fits {
            return Err(Malformed::new(
                0,
                format_args!("1 to {} lines of {LINE_BYTES} bytes", u32::MAX),
                format_args!("{} bytes", body.len()),
            ));
        }
        if probes == 0 || probes > MAX_PROBES {
            let expected = format_args!("1 to {MAX_PROBES} probes");
            return Err(Malformed::new(body.len(), expected, probes));
        }
        let line = |chunk: &[u8; LINE_BYTES]| {
            let mut words = [0; 8];
            for (word, bytes) in words.iter_mut().zip(chunk.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            Line(words)
        };
        Ok(Filter { lines: chunks.iter().map(line).collect(), probes })
    }

    /// Appends the encoded filter.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for word in self.lines.iter().flat_map(|line| line.0) {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.push(self.probes);
    }

    /// Whether a key with this hash may be in the filter; if `false`, it is not.
    #[inline]
    #[must_use]
    pub fn may_contain(&self, hash: u64) -> bool {
        let line = line_of(hash, self.lines.len()).and_then(|i| self.lines.get(i));
        line.is_none_or(|line| {
            bits(hash, self.probes)
                .all(|(word, bit)| line.0.get(word).is_some_and(|w| w & bit != 0))
        })
    }

    /// Bytes held in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.lines.capacity() * LINE_BYTES
    }
}

/// The line of a hash, of `lines` lines.
#[inline]
fn line_of(hash: u64, lines: usize) -> Option<usize> {
    let lines = u64::from(u32::try_from(lines).ok()?);
    usize::try_from(((hash >> 32) * lines) >> 32).ok()
}

/// The bits of a hash within its line: word and mask.
#[inline]
fn bits(hash: u64, probes: u8) -> impl Iterator<Item = (usize, u64)> {
    let mut state = hash as u32;
    (0..probes).map(move |_| {
        let bit = state >> 23;
        state = state.wrapping_mul(0x9e37_79b9);
        ((bit >> 6) as usize, 1 << (bit & 63))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::key_hash;

    fn hashes(range: std::ops::Range<u32>) -> Vec<u64> {
        range.map(|i| key_hash(format!("user{i:08}").as_bytes())).collect()
    }

    #[test]
    fn every_key_passes_and_few_absent_ones_do() {
        for (bits_per_key, bound) in [(5.0, 0.15), (10.0, 0.02), (16.0, 0.003)] {
            let present = hashes(0..20_000);
            let mut stored = Vec::new();
            Filter::build(&present, bits_per_key).encode(&mut stored);
            assert_eq!(stored.len(), encoded_len(present.len(), bits_per_key));
            let filter = Filter::decode(&stored).unwrap();
            assert!(present.iter().all(|&hash| filter.may_contain(hash)));
            let absent = hashes(1_000_000..1_100_000);
            let passed = absent.iter().filter(|&&hash| filter.may_contain(hash)).count();
            let rate = passed as f64 / absent.len() as f64;
            assert!(rate < bound, "{rate} of absent keys pass at {bits_per_key} bits a key");
        }
    }

    #[test]
    fn a_filter_has_as_many_lines_as_its_bits_fill() {
        let lines = |keys, bits| (encoded_len(keys, bits) - 1) / LINE_BYTES;
        assert_eq!((lines(0, 10.0), lines(1, 0.0)), (1, 1));
        assert_eq!((lines(64, 8.0), lines(65, 8.0)), (1, 2));
        assert_eq!((lines(640, 8.0), lines(641, 8.0)), (10, 11));
        assert_eq!(Filter::build(&hashes(0..640), 8.0).memory(), 10 * LINE_BYTES);
    }

    #[test]
    fn probes_stay_within_their_limits() {
        let probes = |bits| Filter::build(&hashes(0..10), bits).probes;
        assert_eq!((probes(0.0), probes(1.0), probes(10.0)), (1, 1, 6));
        assert_eq!((probes(39.0), probes(40.0), probes(41.0), probes(64.0)), (23, 24, 24, 24));
        let stored = |probes| [&[0; LINE_BYTES][..], &[probes]].concat();
        assert!(Filter::decode(&stored(1)).is_ok() && Filter::decode(&stored(24)).is_ok());
        assert!(Filter::decode(&stored(0)).is_err() && Filter::decode(&stored(25)).is_err());
    }

    #[test]
    fn bytes_of_a_wrong_length_or_number_of_probes_are_refused() {
        let mut stored = Vec::new();
        Filter::build(&hashes(0..10), 10.0).encode(&mut stored);
        assert!(Filter::decode(&stored).is_ok());
        assert!(Filter::decode(&stored[1..]).is_err());
        assert!(Filter::decode(&[7]).is_err());
        assert!(Filter::decode(&[]).is_err());
        *stored.last_mut().unwrap() = 0;
        assert!(Filter::decode(&stored).is_err());
    }
}

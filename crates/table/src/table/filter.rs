//! A blocked Bloom filter of user keys.
//!
//! 1. A key is hashed once, to 64 bits ([`key_hash`](crate::coding::key_hash)).
//! 2. The upper half selects one line of 64 bytes: a lookup costs one cache miss.
//! 3. The lower half, multiplied repeatedly, selects `k` of the line's 512 bits.
//! 4. Of all `k` that one is chosen with which, for the bits of a key that the filter has, the fewest
//!    absent keys pass. So fewer pass with each thousandth of a bit more.
//!
//! Stored as its lines, little-endian, then `k` in one byte.

use super::Malformed;
use terrane_types::FilterBits;

const LINE_BYTES: usize = 64;
const MAX_PROBES: u8 = 24;
/// The probes of most filters: those of the default of 10 bits a key.
const USUAL_PROBES: u8 = 6;
/// The thousandths of a bit per key from which on 2, 3, 4, ... probes let fewer absent keys pass than
/// one less. Lines fill unevenly, so these are more bits than in a plain Bloom filter. With 10 bits, the
/// default, the seventh would gain next to nothing, and cost time.
const MORE_PROBES: [u32; 19] = [
    2080, 3577, 5087, 6644, 8270, 10_001, 11822, 13796, 15940, 18286, 20869, 23731, 26920, 30491,
    34509, 39049, 44197, 50060, 56758,
];

/// A filter in memory.
#[derive(Debug)]
pub struct Filter {
    lines: Vec<Line>,
    probes: u8,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; 8]);

impl Line {
    #[inline(always)]
    fn has_all(&self, hash: u64, probes: u8) -> bool {
        // A fold of booleans would be compiled to a branch for each.
        let unset = |word: usize, bit| self.0.get(word).map_or(bit, |w| !w & bit);
        bits(hash, probes).fold(0, |all, (word, bit)| all | unset(word, bit)) == 0
    }
}

/// The stored length of a filter of `keys` keys, in bytes.
pub(super) fn encoded_len(keys: usize, bits_per_key: FilterBits) -> usize {
    lines_for(keys, bits_per_key) * LINE_BYTES + 1
}

fn lines_for(keys: usize, bits_per_key: FilterBits) -> usize {
    let thousandths = keys as u64 * u64::from(bits_per_key.thousandths());
    let lines = thousandths.div_ceil(1000 * 8 * LINE_BYTES as u64);
    lines.clamp(1, u32::MAX.into()) as usize
}

fn probes_for(bits_per_key: FilterBits) -> u8 {
    let bits = bits_per_key.thousandths();
    1 + MORE_PROBES.iter().take_while(|from| bits >= **from).count() as u8
}

impl Filter {
    /// The filter of the keys with these hashes.
    #[must_use]
    pub fn build(hashes: &[u64], bits_per_key: FilterBits) -> Self {
        let probes = probes_for(bits_per_key);
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
        // All bits are tested: to stop at the first that is not set would be a branch that cannot be predicted, and
        // what follows would wait for the line.
        line.is_none_or(|line| match self.probes {
            // With a constant number the compiler makes no loop.
            USUAL_PROBES if cfg!(not(target_arch = "wasm32")) => line.has_all(hash, USUAL_PROBES),
            probes => line.has_all(hash, probes),
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
    use crate::coding::key_hash;

    fn hashes(range: std::ops::Range<u32>) -> Vec<u64> {
        range.map(|i| key_hash(format!("user{i:08}").as_bytes())).collect()
    }

    fn bits(thousandths: u32) -> FilterBits {
        FilterBits::from_thousandths(thousandths)
    }

    /// Returns the share of absent keys that pass a filter of these bits a key and probes, by the model:
    /// the keys of a line are Poisson distributed, and each sets and asks for bits at random.
    fn model(bits_per_key: f64, probes: i32) -> f64 {
        let line = (8 * LINE_BYTES) as f64;
        let load = line / bits_per_key;
        let (mut sum, mut log_share) = (0.0, -load);
        for keys in 0..(load + 15.0 * load.sqrt() + 30.0) as i32 {
            if keys > 0 {
                log_share += (load / f64::from(keys)).ln();
            }
            let set = 1.0 - (1.0 - 1.0 / line).powi(probes * keys);
            sum += log_share.exp() * set.powi(probes);
        }
        sum
    }

    #[test]
    fn every_key_passes_and_more_bits_let_fewer_absent_ones_pass() {
        let (present, absent) = (hashes(0..40_000), hashes(1_000_000..1_400_000));
        let mut last = 1.0;
        for thousandths in (500..=14_000).step_by(500) {
            let mut stored = Vec::new();
            Filter::build(&present, bits(thousandths)).encode(&mut stored);
            assert_eq!(stored.len(), encoded_len(present.len(), bits(thousandths)));
            let filter = Filter::decode(&stored).unwrap();
            assert!(present.iter().all(|&hash| filter.may_contain(hash)));
            let passed = absent.iter().filter(|&&hash| filter.may_contain(hash)).count();
            let rate = passed as f64 / absent.len() as f64;
            let expected = model(f64::from(thousandths) / 1000.0, filter.probes.into());
            let off = (rate - expected).abs();
            // Five standard deviations, and a tenth for probes that are not quite random.
            let bound = 5.0 * (expected / absent.len() as f64).sqrt() + 0.1 * expected;
            assert!(off < bound, "{rate} of {expected} at {thousandths} thousandths");
            assert!(rate < last, "{rate} after {last} at {thousandths} thousandths");
            last = rate;
        }
    }

    #[test]
    fn a_filter_has_as_many_lines_as_its_bits_fill() {
        let lines = |keys, thousandths| (encoded_len(keys, bits(thousandths)) - 1) / LINE_BYTES;
        assert_eq!((lines(0, 10_000), lines(1, 0)), (1, 1));
        assert_eq!((lines(64, 8000), lines(65, 8000)), (1, 2));
        assert_eq!((lines(640, 8000), lines(641, 8000)), (10, 11));
        assert_eq!((lines(640, 8001), lines(512_000, 9_501)), (11, 9501));
        assert_eq!(Filter::build(&hashes(0..640), bits(8000)).memory(), 10 * LINE_BYTES);
    }

    #[test]
    fn there_are_as_many_probes_as_let_the_fewest_absent_keys_pass() {
        for thousandths in (500..=64_000).step_by(100) {
            let rate = |probes: u8| model(f64::from(thousandths) / 1000.0, probes.into());
            let best = (1..=MAX_PROBES).map(rate).fold(1.0, f64::min);
            let chosen = rate(probes_for(bits(thousandths)));
            assert!(chosen <= 1.001 * best, "{chosen} of {best} at {thousandths} thousandths");
        }
        let stored = |probes| [&[0; LINE_BYTES][..], &[probes]].concat();
        assert!(Filter::decode(&stored(1)).is_ok() && Filter::decode(&stored(24)).is_ok());
        assert!(Filter::decode(&stored(0)).is_err() && Filter::decode(&stored(25)).is_err());
    }

    #[test]
    fn bytes_of_a_wrong_length_or_number_of_probes_are_refused() {
        let mut stored = Vec::new();
        Filter::build(&hashes(0..10), bits(10_000)).encode(&mut stored);
        assert!(Filter::decode(&stored).is_ok());
        assert!(Filter::decode(&stored[1..]).is_err());
        assert!(Filter::decode(&[7]).is_err());
        assert!(Filter::decode(&[]).is_err());
        *stored.last_mut().unwrap() = 0;
        assert!(Filter::decode(&stored).is_err());
    }
}

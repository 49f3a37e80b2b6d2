//! Encoding of integers and byte strings, checksums and hashes. Words are little-endian, varints
//! LEB128.

/// Appends `value` as a varint: seven bits per byte, least significant first.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a byte string: its length as a varint, then its bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Returns the varint at the front of these bytes and its length; `None` if it is longer than eight bytes.
#[inline(always)]
pub(crate) fn short_varint(bytes: &[u8; 8]) -> Option<(u64, usize)> {
    const CONTINUES: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_le_bytes(*bytes);
    let last = !word & CONTINUES;
    if last == 0 {
        return None;
    }
    // Bytes up to the last one, then their groups of seven bits side by side: pairs, fours, all.
    let groups = word & (last ^ (last - 1)) & !CONTINUES;
    let pairs = groups & 0x007f_007f_007f_007f | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    let value = fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
    Some((value, last.trailing_zeros() as usize / 8 + 1))
}

/// Decodes values from the front of a slice. Each call returns `None` if the bytes end early or are
/// malformed; the caller makes that an error.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// Starts at the front of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { rest: bytes }
    }

    /// The bytes not decoded yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all bytes were decoded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(head)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// A little-endian 32-bit word.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*head))
    }

    /// A little-endian 64-bit word.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*head))
    }

    /// A varint of at most 64 bits.
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A varint that is likely of several bytes. Eight of them are decoded at once.
    #[inline]
    pub fn long_varint(&mut self) -> Option<u64> {
        if let Some((value, len)) = self.rest.first_chunk().and_then(short_varint) {
            self.rest = self.rest.get(len..)?;
            return Some(value);
        }
        self.varint()
    }

    /// A varint that fits `usize`.
    #[inline]
    pub fn length(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok()
    }

    /// A byte string: varint length, then bytes.
    #[inline]
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.length()?;
        self.take(n)
    }
}

/// XXH3-64 of `bytes` under `seed`: the one checksum of the store. The seed encodes where the bytes
/// belong (log number; table number and offset; manifest generation), so that valid bytes in the
/// wrong place fail.
#[cfg_attr(not(target_arch = "wasm32"), inline)]
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[must_use]
pub fn checksum(bytes: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed)
}

/// Bytes as messages show them: as ASCII, with escapes.
#[cold]
#[inline(never)]
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        for escape in std::ascii::escape_default(byte) {
            text.push(escape.into());
        }
    }
    text
}

/// The hash of a user key, which all filters share.
#[inline]
#[must_use]
pub fn key_hash(key: &[u8]) -> u64 {
    checksum(key, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_every_length_come_back() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(&mut out, value);
                let mut d = Decoder::new(&out);
                assert_eq!(d.varint(), Some(value));
                assert!(d.is_empty());
                for behind in [0, 1, 20] {
                    let bytes = [&out[..], &vec![0xff; behind]].concat();
                    let mut d = Decoder::new(&bytes);
                    assert_eq!((d.long_varint(), d.rest().len()), (Some(value), behind));
                }
            }
        }
    }

    #[test]
    fn a_varint_that_overflows_or_ends_early_is_refused() {
        assert_eq!(Decoder::new(&[0xff; 10]).varint(), None);
        assert_eq!(Decoder::new(&[0x80]).varint(), None);
        assert_eq!(Decoder::new(&[0xff; 10]).long_varint(), None);
        assert_eq!(Decoder::new(&[0x80; 3]).long_varint(), None);
        let tenth = |byte| [&[0xff; 9][..], &[byte]].concat();
        assert_eq!(Decoder::new(&tenth(1)).varint(), Some(u64::MAX));
        assert_eq!(Decoder::new(&tenth(2)).varint(), None);
        assert_eq!(Decoder::new(&[5, 1, 2]).bytes(), None);
    }
}

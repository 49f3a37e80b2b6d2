//! Numbers, checksums and LZ4 ("Conventions" and "Stored parts" of FORMAT.md).

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes that are read from the front.
#[derive(Clone)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(count);
        self.0 = rest;
        front
    }

    pub fn u8(&mut self) -> u8 {
        self.take(1)[0]
    }

    pub fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.take(8).try_into().expect("8 bytes"))
    }

    pub fn i128(&mut self) -> i128 {
        i128::from_le_bytes(self.take(16).try_into().expect("16 bytes"))
    }

    pub fn varint(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = self.u8();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    pub fn bytes(&mut self) -> &'a [u8] {
        let count = self.varint() as usize;
        self.take(count)
    }

    /// The end of a range: a key after its length plus one, or 0 for none.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        let length = self.varint().checked_sub(1)?;
        Some(self.take(length as usize).to_vec())
    }

    pub fn text(&mut self) -> String {
        String::from_utf8(self.bytes().to_vec()).expect("UTF-8")
    }

    /// `N` numbers in a row.
    pub fn varints<const N: usize>(&mut self) -> [u64; N] {
        std::array::from_fn(|_| self.varint())
    }
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

pub fn checksum(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// An LZ4 block (github.com/lz4/lz4, doc/lz4_Block_format.md).
pub fn lz4(block: &[u8], length: usize) -> Vec<u8> {
    let mut from = Reader(block);
    let mut out = Vec::new();
    let more = |from: &mut Reader, nibble: u8| {
        let mut length = usize::from(nibble);
        let mut last = if nibble == 15 { 255 } else { 0 };
        while last == 255 {
            last = from.u8();
            length += usize::from(last);
        }
        length
    };
    while !from.is_empty() {
        let token = from.u8();
        let literals = more(&mut from, token >> 4);
        out.extend(from.take(literals));
        // The last sequence has no match.
        if !from.is_empty() {
            let distance = from.take(2);
            let distance = usize::from(u16::from_le_bytes([distance[0], distance[1]]));
            for _ in 0..more(&mut from, token & 15) + 4 {
                out.push(out[out.len() - distance]);
            }
        }
    }
    assert_eq!(out.len(), length, "the length before compression");
    out
}

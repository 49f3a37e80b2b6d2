//! Rows for the benchmarks.

/// A stream of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// The key of a number below `bound`.
    pub fn key(&mut self, bound: u64) -> [u8; 16] {
        key(self.below(bound))
    }

    /// Half random, half zeros.
    pub fn value(&mut self) -> [u8; 100] {
        let mut value = [0; 100];
        let random = value.chunks_exact_mut(8).take(6);
        random.for_each(|word| word.copy_from_slice(&self.next().to_le_bytes()));
        value
    }
}

/// The key of a number, in the order of numbers.
pub fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key-....--------";
    key.iter_mut().skip(8).zip(number.to_be_bytes()).for_each(|(k, n)| *k = n);
    key
}

//! Random numbers and orders, the same in every run.

/// Distance between two states of [`Random`].
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scatters the bits of a number: the finaliser of SplitMix64, a bijection.
#[must_use]
pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(STEP);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Stream of random numbers (SplitMix64), which the seed determines.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Returns the next word.
    pub fn word(&mut self) -> u64 {
        let word = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        word
    }

    /// Returns a number below `bound`. The bias of the remainder is below `bound` / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound.max(1)
    }

    /// Returns `true` once in `n` calls on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// The numbers below a bound in a random order: a Feistel network over the next power of four, in which a number at
/// or above the bound is replaced by the one at its place, until one is below.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    bound: u64,
    half: u32,
    seed: u64,
}

impl Permutation {
    /// Orders the numbers below `bound`; the seed determines the order.
    #[must_use]
    pub fn new(bound: u64, seed: u64) -> Self {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        Permutation { bound, half: bits.div_ceil(2).max(1), seed }
    }

    /// Returns the number at a place below the bound.
    #[must_use]
    pub fn at(&self, place: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        let mut at = place;
        loop {
            let (mut left, mut right) = (at >> self.half, at & mask);
            for round in 0..4 {
                let mixed = mix(right ^ self.seed ^ (round << 56));
                (left, right) = (right, left ^ (mixed & mask));
            }
            at = left << self.half | right;
            if at < self.bound {
                return at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Permutation;

    #[test]
    fn a_permutation_has_every_number_once_in_another_order() {
        for bound in [1, 2, 3, 1000, 4096, 4097] {
            let order = Permutation::new(bound, 7);
            let numbers: Vec<u64> = (0..bound).map(|place| order.at(place)).collect();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..bound).collect::<Vec<_>>());
            assert!(bound < 1000 || numbers != sorted);
        }
    }
}

//! Random numbers, orders and popularity, the same in every run.

/// Mixes the bits of a number (splitmix64).
pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(mix(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The numbers below a bound in a random order: a Feistel network over the next power of four, from
/// which numbers at and above the bound walk on.
#[derive(Clone, Copy)]
pub struct Permutation {
    bound: u64,
    half: u32,
    seed: u64,
}

impl Permutation {
    pub fn new(bound: u64, seed: u64) -> Self {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        Permutation { bound, half: bits.div_ceil(2).max(1), seed }
    }

    /// The number at a place in this order.
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

/// Ranks below a bound, rank 0 the most popular: the k-th with a probability in proportion to
/// 1 / k^0.99, by rejection-inversion (Hörmann and Derflinger, 1996).
#[derive(Clone, Copy)]
pub struct Zipf {
    bound: f64,
    integral_at_first: f64,
    integral_at_last: f64,
}

const SKEW: f64 = 0.99;

impl Zipf {
    pub fn new(bound: u64) -> Self {
        let bound = bound as f64;
        Zipf {
            bound,
            integral_at_first: integral(1.5) - 1.0,
            integral_at_last: integral(bound + 0.5),
        }
    }

    pub fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let span = self.integral_at_first - self.integral_at_last;
            let height = self.integral_at_last + random.unit() * span;
            let at = inverse(height);
            let rank = at.round().clamp(1.0, self.bound);
            if height >= integral(rank + 0.5) - rank.powf(-SKEW) {
                return rank as u64 - 1;
            }
        }
    }
}

/// The integral of x^-0.99, and the inverse of that.
fn integral(x: f64) -> f64 {
    x.powf(1.0 - SKEW) / (1.0 - SKEW)
}

fn inverse(y: f64) -> f64 {
    (y * (1.0 - SKEW)).powf(1.0 / (1.0 - SKEW))
}

#[cfg(test)]
mod tests {
    use super::{Permutation, Random, SKEW, Zipf};

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

    #[test]
    fn ranks_are_as_frequent_as_zipf_has_it() {
        let (bound, draws) = (1000, 200_000);
        let (zipf, mut random) = (Zipf::new(bound), Random::new(1));
        let mut counts = vec![0u64; bound as usize];
        for _ in 0..draws {
            counts[zipf.rank(&mut random) as usize] += 1;
        }
        let sum: f64 = (1..=bound).map(|k| (k as f64).powf(-SKEW)).sum();
        for (rank, count) in counts.iter().enumerate().take(10) {
            let expected = draws as f64 * ((rank + 1) as f64).powf(-SKEW) / sum;
            let deviation = (*count as f64 - expected).abs() / expected.sqrt();
            assert!(deviation < 5.0, "rank {rank}: {count}, expected {expected:.0}");
        }
    }
}

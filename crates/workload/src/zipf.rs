//! Zipf's law: of `n` ranks the k-th is drawn in proportion to `k^-s`.
//!
//! Rejection sampling:
//! 1. A point is drawn under an envelope that is 1 up to 1 and `x^-s` from there to `n`, by the inverse
//!    of its integral.
//! 2. Its unit interval is that of one rank; it is accepted with the ratio of the law to the envelope
//!    there, or another point is drawn.
//!
//! Powers and logarithms are those of `libm`: a platform's own may differ in the last bit, and a seed
//! must give the same bytes everywhere.

/// The distribution of `n` ranks with exponent `s`.
pub(crate) struct Zipf {
    n: f64,
    s: f64,
    /// The area under the envelope.
    area: f64,
}

impl Zipf {
    pub(crate) fn new(ranks: u64, s: f64) -> Self {
        let n = ranks.max(1) as f64;
        // Powers of so small a difference lose all their digits.
        let s = if (s - 1.0).abs() < 1e-6 { 1.0 } else { s };
        let beyond =
            if s == 1.0 { libm::log(n) } else { (libm::pow(n, 1.0 - s) - 1.0) / (1.0 - s) };
        Zipf { n, s, area: 1.0 + beyond }
    }

    /// The number of ranks.
    pub(crate) fn ranks(&self) -> u64 {
        self.n as u64
    }

    /// Draws a rank, from 0; `unit` draws numbers from 0 to 1.
    pub(crate) fn draw(&self, mut unit: impl FnMut() -> f64) -> u64 {
        let Zipf { n, s, area } = *self;
        loop {
            let at = unit() * area;
            let x = if at <= 1.0 {
                at
            } else if s == 1.0 {
                libm::exp(at - 1.0)
            } else {
                libm::pow(at * (1.0 - s) + s, 1.0 / (1.0 - s))
            };
            let below = libm::floor(x).clamp(0.0, n - 1.0);
            let taken = if below < 1.0 { 1.0 } else { libm::pow(x / (below + 1.0), s) };
            if unit() < taken {
                return below as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Zipf;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        const DRAWS: u64 = 200_000;
        for (n, s) in [(1, 1.0), (20, 0.0), (20, 0.99), (20, 1.0), (20, 2.5)] {
            let mut random = ChaCha8Rng::seed_from_u64(1);
            let mut unit = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let zipf = Zipf::new(n, s);
            let mut counts = vec![0u64; n as usize];
            for _ in 0..DRAWS {
                counts[zipf.draw(&mut unit) as usize] += 1;
            }
            let total: f64 = (1..=n).map(|k| (k as f64).powf(-s)).sum();
            for (k, count) in (1..).zip(counts) {
                let expected = DRAWS as f64 * f64::from(k).powf(-s) / total;
                // Five standard deviations.
                let off = (count as f64 - expected).abs();
                assert!(off <= 5.0 * expected.sqrt() + 1.0, "{n}, {s}: {k} came {count} times");
            }
        }
    }

    #[test]
    fn an_exponent_next_to_1_draws_as_1_does() {
        let ranks = |s: f64| {
            let (zipf, mut random) = (Zipf::new(100_000, s), ChaCha8Rng::seed_from_u64(7));
            let mut unit = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            (0..2000).map(|_| zipf.draw(&mut unit)).collect::<std::collections::BTreeSet<_>>().len()
        };
        let at_one = ranks(1.0) as f64;
        for s in [1.0 - 1e-12, 1.0 + f64::EPSILON, 1.0 + 1e-14, 1.0 - 2e-6, 1.0 + 2e-6] {
            assert!((ranks(s) as f64 / at_one - 1.0).abs() < 0.05, "{s}: {}", ranks(s));
        }
    }
}

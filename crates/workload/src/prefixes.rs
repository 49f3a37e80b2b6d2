//! Keys with prefixes: the key space is divided among the prefixes by their shares, and each part is mapped
//! onto the keys of its prefix, in order.

use crate::workload::KeyPrefixes;

/// Bits of a key below its prefix of two bytes.
const REST: u32 = 48;

/// Start of each prefix's part of the key space, ascending.
pub(crate) struct Prefixes {
    begins: Vec<u64>,
}

impl Prefixes {
    pub(crate) fn new(options: &KeyPrefixes) -> Self {
        let share = |k: u64| libm::pow(k as f64, -options.exponent);
        let total: f64 = (1..=options.count).map(share).sum();
        let mut sum = 0.0;
        let begins = (1..=options.count).map(|k| {
            let begin = (sum / total * u64::MAX as f64) as u64;
            sum += share(k);
            begin
        });
        Prefixes { begins: begins.collect() }
    }

    /// The key with a prefix that this one becomes.
    pub(crate) fn key(&self, key: u64) -> u64 {
        let number = self.begins.partition_point(|begin| *begin <= key).saturating_sub(1);
        let begin = self.begins.get(number).copied().unwrap_or(0);
        let width = self.begins.get(number + 1).copied().unwrap_or(u64::MAX) - begin;
        let rest = (u128::from(key - begin) << REST) / (u128::from(width) + 1);
        (number as u64) << REST | rest as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_of_prefixes_follow_their_exponent() {
        let counts = |exponent: f64| {
            let prefixes = Prefixes::new(&KeyPrefixes { count: 4, exponent });
            let mut counts = [0u32; 4];
            let step = u64::MAX / 1200;
            // In the middle of each step, where no rounding of a bound matters.
            for n in 0..1200u64 {
                counts[(prefixes.key(n * step + step / 2) >> REST) as usize] += 1;
            }
            counts
        };
        assert_eq!(counts(0.0), [300; 4]);
        // 1 to 1/2 to 1/3 to 1/4 are 12 to 6 to 4 to 3 of 25.
        assert_eq!(counts(1.0), [576, 288, 192, 144]);
    }

    proptest! {
        #[test]
        fn keys_keep_their_order(
            a: u64, b: u64, count in 1u64..65_536, exponent in 0.0f64..2.0,
        ) {
            let prefixes = Prefixes::new(&KeyPrefixes { count, exponent });
            let (a, b) = (a.min(b), a.max(b));
            prop_assert!(prefixes.key(a) <= prefixes.key(b));
            prop_assert!(prefixes.key(b) >> REST < count);
        }
    }
}

//! Counters: functions of a value that is a decimal integer, closed under one after another.
//!
//! Adding, a least and a greatest value, and any of these after another are all `clamp(x + add, low, high)`, so
//! that any number of operands of a key takes the room of one. Sums saturate.

use super::{Function, Operand};
use crate::coding::Decoder;

const MIN: i128 = i64::MIN as i128;
const MAX: i128 = i64::MAX as i128;

/// A function of an integer, which may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Added first: less than 2^64 either way.
    add: i128,
    /// The bounds of the result.
    low: i64,
    high: i64,
    /// The result where there is no integer.
    absent: i64,
}

impl Counter {
    /// Adds a number to the value; without a value, to 0.
    #[must_use]
    pub fn add(n: i64) -> Self {
        Counter { add: n.into(), low: i64::MIN, high: i64::MAX, absent: n }
    }

    /// Keeps the lesser of the value and a number; without a value, the number.
    #[must_use]
    pub fn min(n: i64) -> Self {
        Counter { add: 0, low: i64::MIN, high: n, absent: n }
    }

    /// Keeps the greater of the value and a number; without a value, the number.
    #[must_use]
    pub fn max(n: i64) -> Self {
        Counter { add: 0, low: n, high: i64::MAX, absent: n }
    }

    /// Returns the function that applies this one, then `next`.
    #[must_use]
    pub fn then(self, next: Counter) -> Self {
        let bound = |n: i64| clamp(i128::from(n) + next.add, next.low, next.high);
        let (mut add, mut low, mut high) = (self.add + next.add, bound(self.low), bound(self.high));
        let (least, greatest) = (MIN + add, MAX + add);
        if least >= high.into() {
            (add, low) = (0, high);
        } else if greatest <= low.into() {
            (add, high) = (0, low);
        } else {
            // A bound that no value reaches is none.
            low = if least >= low.into() { i64::MIN } else { low };
            high = if greatest <= high.into() { i64::MAX } else { high };
        }
        Counter { add, low, high, absent: bound(self.absent) }
    }

    /// Returns the result for `value`; a value that is not a decimal integer counts as absent.
    #[must_use]
    pub fn apply(self, value: Option<&[u8]>) -> Vec<u8> {
        let result = match value.and_then(integer) {
            Some(n) => clamp(i128::from(n) + self.add, self.low, self.high),
            None => self.absent,
        };
        result.to_string().into_bytes()
    }

    /// Returns the single operand that equals this function, if any.
    pub(super) fn operand(self) -> Option<Operand<'static>> {
        let n = self.absent;
        [Operand::Add(n), Operand::Min(n), Operand::Max(n)]
            .into_iter()
            .find(|operand| Function::from(*operand) == Function::Counter(self))
    }

    /// Appends the numbers of the function.
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.add.to_le_bytes());
        for n in [self.low, self.high, self.absent] {
            out.extend_from_slice(&n.to_le_bytes());
        }
    }

    /// Takes what [`Counter::encode`] appends.
    pub(super) fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let add = i128::from_le_bytes(*from.take(16)?.first_chunk()?);
        let mut number = || from.u64().map(u64::cast_signed);
        let (low, high, absent) = (number()?, number()?, number()?);
        let is_sound = low <= high && add.unsigned_abs() < 1 << 64;
        is_sound.then_some(Counter { add, low, high, absent })
    }
}

fn clamp(n: i128, low: i64, high: i64) -> i64 {
    if n < low.into() {
        low
    } else if n > high.into() {
        high
    } else {
        n as i64
    }
}

/// Returns the integer that these bytes are in decimal, as JSON writes it.
fn integer(bytes: &[u8]) -> Option<i64> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let is_canonical = match digits {
        [] => false,
        [b'0'] => digits.len() == bytes.len(),
        [first, ..] => *first != b'0' && digits.iter().all(u8::is_ascii_digit),
    };
    std::str::from_utf8(bytes).ok().filter(|_| is_canonical)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An operand as a function of its own: saturating, in 64 bits.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add(i64),
        Min(i64),
        Max(i64),
    }

    impl Step {
        fn counter(self) -> Counter {
            match self {
                Step::Add(n) => Counter::add(n),
                Step::Min(n) => Counter::min(n),
                Step::Max(n) => Counter::max(n),
            }
        }

        fn apply(self, value: Option<i64>) -> i64 {
            match self {
                Step::Add(n) => value.unwrap_or(0).saturating_add(n),
                Step::Min(n) => value.map_or(n, |value| value.min(n)),
                Step::Max(n) => value.map_or(n, |value| value.max(n)),
            }
        }
    }

    /// Numbers near the ends, near zero and anywhere.
    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![
            -3i64..=3,
            (0i64..=3).prop_map(|n| i64::MIN + n),
            (0i64..=3).prop_map(|n| i64::MAX - n),
            any::<i64>(),
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            number().prop_map(Step::Add),
            number().prop_map(Step::Min),
            number().prop_map(Step::Max),
        ]
    }

    proptest! {
        #[test]
        fn composed_counters_equal_one_counter(
            steps in prop::collection::vec(step(), 1..12),
            cut in any::<prop::sample::Index>(),
            value in prop::option::of(number()),
        ) {
            let all = |steps: &[Step]| {
                steps.iter().map(|step| step.counter()).reduce(Counter::then)
            };
            let one = all(&steps).unwrap();
            // However they are grouped.
            let (first, rest) = steps.split_at(cut.index(steps.len()));
            let grouped = [all(first), all(rest)].into_iter().flatten().reduce(Counter::then);
            let expected = steps.iter().fold(value, |value, step| Some(step.apply(value))).unwrap();
            let stored = value.map(|n| n.to_string().into_bytes());
            for counter in [one, grouped.unwrap()] {
                prop_assert_eq!(counter.apply(stored.as_deref()), expected.to_string().into_bytes());
                let mut bytes = Vec::new();
                counter.encode(&mut bytes);
                prop_assert_eq!(Counter::decode(&mut Decoder::new(&bytes)), Some(counter));
            }
        }

        #[test]
        fn integers_are_read_as_they_are_written(n in number(), bytes in "[-+0-9 ]{0,20}") {
            prop_assert_eq!(integer(n.to_string().as_bytes()), Some(n));
            let read = integer(bytes.as_bytes());
            prop_assert!(read.is_none_or(|n| n.to_string() == bytes), "{bytes}: {read:?}");
        }
    }

    #[test]
    fn sums_in_one_direction_stay_a_sum() {
        assert_eq!(Counter::add(3).then(Counter::add(4)), Counter::add(7));
        assert_eq!(Counter::add(-3).then(Counter::add(-4)), Counter::add(-7));
        assert_eq!(Counter::min(3).then(Counter::min(4)), Counter::min(3));
        assert_eq!(Counter::max(3).then(Counter::max(4)), Counter::max(4));
    }

    #[test]
    fn a_value_of_another_form_counts_as_absent() {
        for value in ["", "-", "-0", "+5", "007", "1.0", " 1", "9223372036854775808", "text"] {
            assert_eq!(Counter::add(2).apply(Some(value.as_bytes())), b"2", "{value:?}");
        }
        assert_eq!(Counter::add(2).apply(Some(b"-9223372036854775808")), b"-9223372036854775806");
    }
}

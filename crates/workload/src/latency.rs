//! Latencies: their distribution, counted in buckets of less than 2 % width.
//!
//! A time below 64 ns has a bucket of its own; each power of two from there on is cut into 64 buckets.

use serde::Serialize;

/// Bits of a time that its bucket keeps, the first one included.
const BITS: u32 = 7;

/// A time in nanoseconds.
type Time = u64;

/// Distribution over compactions or tables. Quantiles are at most 2 % too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The least.
    pub min: u64,
    /// One of ten has at most this.
    pub p10: u64,
    /// 25 of 100 have at most this.
    pub p25: u64,
    /// The median.
    pub p50: u64,
    /// 75 of 100 have at most this.
    pub p75: u64,
    /// 90 of 100 have at most this.
    pub p90: u64,
    /// 99 of 100 have at most this.
    pub p99: u64,
    /// The greatest.
    pub max: u64,
}

/// Latencies of the operations of one kind, or durations, in seconds. Quantiles are at most 2 % too large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Number of operations.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// 99 of 100 take at most this.
    pub p99: f64,
    /// 999 of 1000 take at most this.
    pub p999: f64,
    /// The greatest.
    pub max: f64,
}

/// A distribution of times in nanoseconds, or of plain numbers.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    /// The least and the greatest.
    ends: Option<(Time, Time)>,
    /// The sum of the squares.
    squares: f64,
}

/// The bucket of a time.
fn bucket(time: Time) -> usize {
    let dropped = (Time::BITS - time.leading_zeros()).saturating_sub(BITS);
    (u64::from(dropped) << (BITS - 1)) as usize + (time >> dropped) as usize
}

/// The greatest time of a bucket.
fn greatest(bucket: usize) -> Time {
    let half = 1usize << (BITS - 1);
    if bucket < 2 * half {
        return bucket as Time;
    }
    let dropped = bucket / half - 1;
    let kept = bucket - dropped * half;
    (((kept as u128 + 1) << dropped) - 1) as Time
}

fn seconds(time: Time) -> f64 {
    time as f64 / 1e9
}

impl Latencies {
    /// Counts a time.
    pub fn add(&mut self, time: Time) {
        let bucket = bucket(time);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.sum += u128::from(time);
        self.squares += time as f64 * time as f64;
        self.reach((time, time));
    }

    /// Adds all that the other one counted.
    pub fn join(&mut self, other: &Latencies) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        other.ends.into_iter().for_each(|ends| self.reach(ends));
    }

    fn reach(&mut self, (least, greatest): (Time, Time)) {
        let (min, max) = self.ends.unwrap_or((least, greatest));
        self.ends = Some((min.min(least), max.max(greatest)));
    }

    /// The distribution of plain numbers.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let Some((min, max)) = self.ends else { return Distribution::default() };
        let mean = self.sum as f64 / self.count as f64;
        let variance = (self.squares / self.count as f64 - mean * mean).max(0.0);
        let shares = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99];
        let [p10, p25, p50, p75, p90, p99] = shares.map(|share| self.quantile(share));
        let deviation = variance.sqrt();
        Distribution { mean, deviation, min, p10, p25, p50, p75, p90, p99, max }
    }

    /// Returns the least time that this share of all does not exceed, up to the width of its bucket.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Time {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let max = self.ends.map_or(0, |(_, max)| max);
        found.map_or(max, |bucket| greatest(bucket).min(max))
    }

    /// The figures; `None` if nothing was counted.
    #[must_use]
    pub fn figures(&self) -> Option<Latency> {
        self.ends.map(|(_, max)| Latency {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 / 1e9,
            p50: seconds(self.quantile(0.5)),
            p99: seconds(self.quantile(0.99)),
            p999: seconds(self.quantile(0.999)),
            max: seconds(max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_times_within_two_percent(
            times in prop::collection::vec(prop_oneof![0u64..200, 0u64..10_000_000_000], 1..300),
            at in 0..300usize,
        ) {
            let (mut one, mut other) = (Latencies::default(), Latencies::default());
            for (number, time) in times.iter().enumerate() {
                if number < at { &mut one } else { &mut other }.add(*time);
            }
            one.join(&other);
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let figures = one.figures().unwrap();
            prop_assert_eq!(figures.count, times.len() as u64);
            prop_assert_eq!(figures.max, seconds(*sorted.last().unwrap()));
            let distribution = one.distribution();
            let square = |time: &u64| (*time as f64 - distribution.mean).powi(2);
            let variance = sorted.iter().map(square).sum::<f64>() / times.len() as f64;
            let rounding = 1e-6 * distribution.mean + 1e-6;
            prop_assert!((distribution.deviation - variance.sqrt()).abs() <= rounding);
            let mean = sorted.iter().sum::<u64>() as f64 / times.len() as f64 / 1e9;
            prop_assert!((figures.mean - mean).abs() <= 1e-9 * mean.max(1e-9));
            for (share, found) in [(500, figures.p50), (990, figures.p99), (999, figures.p999)] {
                let rank = (times.len() * share).div_ceil(1000);
                let exact = seconds(sorted[rank - 1]);
                prop_assert!(exact <= found && found <= exact * 1.02, "{share}: {found}, {exact}");
            }
        }
    }

    #[test]
    fn every_time_is_in_a_bucket_that_reaches_it() {
        for time in (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1]).chain([u64::MAX]) {
            let end = greatest(bucket(time));
            assert!(time <= end && bucket(end) == bucket(time), "{time}: {end}");
        }
    }
}

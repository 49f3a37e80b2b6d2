//! Waits of writes, in words.

use terrane::stats::{WaitStats, WriteWaits};

/// The waits by their reasons, the longest in all first; none if nothing waited.
pub fn summary(waits: &WriteWaits) -> Option<String> {
    let mut waits: Vec<_> =
        waits.by_reason().into_iter().filter(|(_, wait)| wait.count > 0).collect();
    waits.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.micros));
    let words = waits.into_iter().map(|(reason, wait)| {
        let WaitStats { count, micros, micros_max } = wait;
        format!("{reason} {count} ({}, longest {})", millis(micros), millis(micros_max))
    });
    Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

fn millis(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_listed_by_reason_longest_first() {
        let wait = |count, micros, micros_max| WaitStats { count, micros, micros_max };
        let mut waits = WriteWaits::default();
        waits.group = wait(2, 1_500, 1_000);
        waits.sync = wait(1, 20_000, 20_000);
        let words = "sync 1 (20.0 ms, longest 20.0 ms), group 2 (1.5 ms, longest 1.0 ms)";
        assert_eq!(summary(&waits).unwrap(), words);
        assert_eq!(summary(&WriteWaits::default()), None);
    }
}

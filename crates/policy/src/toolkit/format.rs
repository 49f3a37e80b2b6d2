//! Human-readable numbers, for the reasons of plans.

use std::fmt::{self, Display};

/// A size: "512 B", "3.2 MiB". With integer arithmetic: code that formats floats is large.
pub(crate) fn size(bytes: u64) -> impl Display {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    fmt::from_fn(move |f| {
        let step = bytes.checked_ilog2().unwrap_or(0) / 10;
        let name = UNITS.into_iter().nth(step as usize).unwrap_or_default();
        if step == 0 {
            return write!(f, "{bytes} {name}");
        }
        let unit = 1 << (10 * step);
        let tenths = bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit;
        write!(f, "{}.{} {name}", tenths / 10, tenths % 10)
    })
}

/// A count with its noun: "1 table", "3 tables".
pub(crate) fn count(n: usize, noun: &str) -> impl Display {
    fmt::from_fn(move |f| write!(f, "{n} {noun}{}", if n == 1 { "" } else { "s" }))
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn a_size_has_the_unit_that_keeps_it_short() {
        let sizes = [0, 1023, 1024, 3_355_443, (1 << 30) - 1, u64::MAX];
        assert_eq!(
            sizes.map(|bytes| size(bytes).to_string()),
            ["0 B", "1023 B", "1.0 KiB", "3.2 MiB", "1024.0 MiB", "16.0 EiB"]
        );
    }
}

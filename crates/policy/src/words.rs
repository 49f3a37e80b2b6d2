//! Numbers as a person reads them, for the reasons of plans.

/// A size: "512 B", "3.2 MiB".
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut name = "B";
    for unit in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        name = unit;
    }
    if name == "B" { format!("{bytes} B") } else { format!("{value:.1} {name}") }
}

/// A count with its noun: "1 table", "3 tables".
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

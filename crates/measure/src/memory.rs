//! Memory of this process, as Linux reports it. Other systems report none.

use std::fs;

/// Resets the peak that [`bytes`] returns as `VmHWM`.
pub fn reset_peak() {
    // Where this is refused, the peak is that of the whole run.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Returns a figure of `/proc/self/status` in bytes: `VmHWM` is the peak of resident memory, `VmRSS` what is resident
/// now, `RssAnon` the part of it that belongs to no file.
#[must_use]
pub fn bytes(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

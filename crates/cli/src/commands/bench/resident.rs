//! Memory of the process, as Linux reports it; other systems are not asked.

use std::fs;

/// Resets the peak.
pub fn reset() {
    // Where this is refused, the peak is that of the whole run.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most bytes that were resident since then.
pub fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

//! Counts of the operating system for this process. On systems without `/proc` it is 0.

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;

/// Counts since the process started.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub processor_seconds: f64,
    /// Bytes that went to the device, or will: pages are counted when they are first written to.
    pub written_bytes: u64,
    /// Bytes that came from the device.
    pub read_bytes: u64,
}

impl Counts {
    pub fn now() -> Self {
        let processor = clock_gettime(ClockId::ProcessCPUTime);
        let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
        Counts {
            processor_seconds: processor.tv_sec as f64 + processor.tv_nsec as f64 / 1e9,
            written_bytes: field(&io, "write_bytes:"),
            read_bytes: field(&io, "read_bytes:"),
        }
    }

    /// Returns the counts since `before`.
    pub fn since(self, before: Self) -> Self {
        Counts {
            processor_seconds: self.processor_seconds - before.processor_seconds,
            written_bytes: self.written_bytes - before.written_bytes,
            read_bytes: self.read_bytes - before.read_bytes,
        }
    }
}

/// Bytes that the files of a directory take.
pub fn disk_bytes(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

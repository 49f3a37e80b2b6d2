//! Resources of this process, as Linux counts them: leaks show as growth.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Counts at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Threads.
    pub threads: usize,
    /// Open files.
    pub files: usize,
    /// Files, below a directory, whose bytes are mapped.
    pub mapped: usize,
    /// Memory that belongs to the process alone, in KiB.
    pub memory_kib: u64,
}

/// Stopped threads end within this time.
const PATIENCE: Duration = Duration::from_secs(600);

fn entries(dir: &str) -> usize {
    fs::read_dir(dir).map_or(0, Iterator::count)
}

impl Resources {
    /// The counts now; stores are below `dir`.
    ///
    /// # Panics
    /// Where the system does not tell.
    #[must_use]
    pub fn now(dir: &Path) -> Self {
        let read = |path| fs::read_to_string(path).expect("a system that tells");
        let (status, maps) = (read("/proc/self/status"), read("/proc/self/maps"));
        let memory = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let memory = memory.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        let dir = dir.to_str().expect("a path in UTF-8");
        Resources {
            threads: entries("/proc/self/task"),
            // The directory that is read is open.
            files: entries("/proc/self/fd") - 1,
            mapped: maps.lines().filter(|line| line.contains(dir)).count(),
            memory_kib: memory.expect("memory in KiB"),
        }
    }

    /// The counts once there are no more threads, files and mappings than there were, or after a while.
    #[must_use]
    pub fn settled(dir: &Path, before: &Resources) -> Self {
        let began = Instant::now();
        loop {
            let now = Resources::now(dir);
            let settled = now.threads <= before.threads
                && now.files <= before.files
                && now.mapped <= before.mapped;
            if settled || began.elapsed() > PATIENCE {
                return now;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

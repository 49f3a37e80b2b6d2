//! The room that a store takes at most, seen by a thread that looks at its files all the time: what
//! a compaction takes until it has removed its inputs is there for a moment.

use crate::exit::Failure;
use crate::interrupt;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// A thread that looks; dropped, it ends.
pub struct Watch {
    dir: PathBuf,
    counts: fn(&str) -> bool,
    peak: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to look at the files of a directory with such names.
    pub fn over_files(dir: PathBuf, counts: fn(&str) -> bool) -> Watch {
        let (peak, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, end, looked_at) = (peak.clone(), ended.clone(), dir.clone());
        let look = move || {
            while !end.load(Ordering::Relaxed) {
                seen.fetch_max(taken(&looked_at, counts), Ordering::Relaxed);
                thread::park_timeout(PAUSE);
            }
        };
        // Where there is no thread to be had, the peak is what is there when it is asked for.
        let thread = thread::Builder::new().name("space".into()).spawn(look).ok();
        Watch { dir, counts, peak, ended, thread }
    }

    /// The most bytes that were seen, now included: on a busy machine the thread may not have run yet.
    ///
    /// # Errors
    /// A panic of the thread, after which it saw nothing.
    pub fn peak(&mut self) -> Result<u64, Failure> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            self.thread.take().map_or(Ok(()), interrupt::join)?;
        }
        Ok(self.peak.load(Ordering::Relaxed).max(taken(&self.dir, self.counts)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic was printed, and no peak is asked for after it.
            let _ = thread.join();
        }
    }
}

/// Returns the space of a directory's files; one that vanishes meanwhile counts nothing.
fn taken(dir: &Path, counts: fn(&str) -> bool) -> u64 {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let files = files.filter(|file| file.file_name().to_str().is_some_and(counts));
    files.filter_map(|file| file.metadata().ok()).map(|found| allocated(&found)).sum()
}

#[cfg(unix)]
fn allocated(found: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    found.blocks() * 512
}

#[cfg(not(unix))]
fn allocated(found: &Metadata) -> u64 {
    found.len()
}

//! The progress of a backup, for waiters and metrics.

use crate::error::{Error, Result};
use crate::place::Counts;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use terrane::entry::Seq;
use tokio::sync::{Notify, watch};

/// State of a backup, for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Uploads follow the writes.
    Uploading,
    /// Uploads fail, first by this failure, and are tried again.
    Failing(String),
    /// Another writer continues the backup.
    Fenced(String),
}

/// Progress of a backup.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Sequence number of the last batch that is uploaded, and that a manifest names.
    pub sequence: Seq,
    /// Batches of the store that are not uploaded.
    pub lag_batches: u64,
    /// Time since everything was uploaded.
    pub lag: Duration,
    /// Uploads since the start.
    pub uploads: u64,
    /// Bytes of these uploads.
    pub bytes: u64,
    /// Requests that failed since the start.
    pub failures: u64,
    /// Bases that were completed since the start.
    pub bases: u64,
    /// Bytes of the next base's tables that are uploaded, and of all its tables; `None` while no base is made.
    pub base: Option<(u64, u64)>,
    /// The latest failure, until an upload succeeds.
    pub failure: Option<String>,
    /// The reason for the end of the backup, if another writer continues it.
    pub fenced: Option<String>,
}

/// State that the writer shares with waiters.
pub(crate) struct Progress {
    /// The last batch that a manifest names, or the failure that ends the backup.
    uploaded: watch::Sender<Result<Seq>>,
    pub state: watch::Sender<State>,
    /// Signal for an upload before the interval is over.
    pub wanted: Notify,
    failures: AtomicU64,
    pub bases: AtomicU64,
    pub base_done: AtomicU64,
    pub base_total: AtomicU64,
    now: Mutex<Now>,
}

struct Now {
    /// The last sequence number known to be uploaded.
    sequence: Seq,
    /// A time at which everything was uploaded.
    current: Instant,
    failure: Option<String>,
}

impl Progress {
    pub fn new() -> Self {
        Progress {
            uploaded: watch::Sender::new(Ok(0)),
            state: watch::Sender::new(State::Uploading),
            wanted: Notify::new(),
            failures: AtomicU64::new(0),
            bases: AtomicU64::new(0),
            base_done: AtomicU64::new(0),
            base_total: AtomicU64::new(0),
            now: Mutex::new(Now { sequence: 0, current: Instant::now(), failure: None }),
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that batches through `sequence` are uploaded, and a time `current` at which the store had no others, if
    /// one is known.
    pub fn uploaded(&self, sequence: Seq, current: Option<Instant>) {
        let mut now = self.now();
        // A lineage that has no base yet names no batch.
        let sequence = sequence.max(now.sequence);
        now.sequence = sequence;
        now.failure = None;
        if let Some(current) = current {
            now.current = current;
        }
        drop(now);
        drop(self.uploaded.send_replace(Ok(sequence)));
        self.become_if(State::Uploading, |state| matches!(state, State::Failing(_)));
    }

    /// Notes the latest failure.
    pub fn failed(&self, error: &Error) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.now().failure = Some(error.to_string());
        self.become_if(State::Failing(error.to_string()), |state| *state == State::Uploading);
    }

    fn become_if(&self, next: State, condition: impl FnOnce(&State) -> bool) {
        self.state.send_if_modified(|state| {
            let changes = condition(state);
            if changes {
                *state = next;
            }
            changes
        });
    }

    /// Notes the failure that ends the backup.
    pub fn ended(&self, error: Error) {
        if matches!(error, Error::Fenced { .. }) {
            self.become_if(State::Fenced(error.to_string()), |_| true);
        }
        drop(self.uploaded.send_replace(Err(error)));
    }

    /// Returns the failure that ended the backup, if it has ended.
    pub fn end(&self) -> Option<Error> {
        self.uploaded.borrow().as_ref().err().cloned()
    }

    /// Whether another writer continues the backup.
    pub fn is_fenced(&self) -> bool {
        matches!(&*self.uploaded.borrow(), Err(Error::Fenced { .. }))
    }

    /// Waits until the backup has ended.
    pub async fn wait_for_end(&self) {
        let mut uploaded = self.uploaded.subscribe();
        // The sender lives as long as this.
        let _ = uploaded.wait_for(Result::is_err).await;
    }

    /// Waits until batches through `sequence` are uploaded.
    pub async fn wait(&self, sequence: Seq) -> Result<()> {
        let mut uploaded = self.uploaded.subscribe();
        self.wanted.notify_one();
        let reached = |state: &Result<Seq>| state.as_ref().map_or(true, |last| *last >= sequence);
        let state = uploaded.wait_for(reached).await.map_err(|_| Error::Stopped)?;
        state.as_ref().map(|_| ()).map_err(Error::clone)
    }

    pub fn status(&self, latest: Seq, counts: &Counts) -> Status {
        let now = self.now();
        let lag_batches = latest.saturating_sub(now.sequence);
        let total = self.base_total.load(Ordering::Relaxed);
        let fenced = self.end().filter(|end| matches!(end, Error::Fenced { .. }));
        Status {
            sequence: now.sequence,
            lag_batches,
            lag: if lag_batches == 0 { Duration::ZERO } else { now.current.elapsed() },
            uploads: counts.uploads.load(Ordering::Relaxed),
            bytes: counts.bytes.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            bases: self.bases.load(Ordering::Relaxed),
            base: (total > 0).then(|| (self.base_done.load(Ordering::Relaxed), total)),
            failure: now.failure.clone(),
            fenced: fenced.map(|end| end.to_string()),
        }
    }
}

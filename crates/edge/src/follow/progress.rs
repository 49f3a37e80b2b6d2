//! The progress of a replica.
//!
//! 1. A line of progress names the end of the source's feed. Once the replica has applied everything before that end,
//!    it was current at the time when the line arrived. Its lag is the time since then.
//! 2. While a snapshot is loaded, the rows have no cursor: the replica has no lag and is not ready.

use super::Ended;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use terrane::{FeedCursor, Seq};
use tokio::sync::watch;

/// The state of a replica.
pub struct Replica {
    /// Lag beyond which the replica is not ready.
    max_lag: Duration,
    /// The last sequence number of the source that is applied; `None` while the rows have no cursor.
    applied: watch::Sender<Option<Seq>>,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    /// An end of the feed, and when it was named.
    awaited: Option<(Seq, Instant)>,
    /// The last time at which the replica was known to be current.
    current: Option<Instant>,
    /// The reason why the last connection ended, and whether lines arrived over it.
    ended: Option<String>,
    has_lines: bool,
}

impl Replica {
    /// Returns the state of a replica without rows, which is ready up to a lag of `max_lag`.
    #[must_use]
    pub fn new(max_lag: Duration) -> Self {
        Replica { max_lag, applied: watch::Sender::new(None), now: Mutex::default() }
    }

    /// Returns the last sequence number of the source that is applied.
    #[must_use]
    pub fn sequence(&self) -> Option<Seq> {
        *self.applied.borrow()
    }

    /// Waits until a sequence number of the source is applied.
    pub(crate) async fn wait(&self, sequence: Seq) {
        let mut applied = self.applied.subscribe();
        // The sender lives as long as this.
        let _ = applied.wait_for(|applied| applied.is_some_and(|seq| seq >= sequence)).await;
    }

    /// Returns the time since the replica was current; `None` if it was not current yet with the present rows.
    #[must_use]
    pub fn lag(&self) -> Option<Duration> {
        self.sequence()?;
        self.now().current.map(|current| current.elapsed())
    }

    /// Returns the reason why the replica is not ready, if there is one.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let lag = self.lag();
        let now = self.now();
        let ended = now.ended.as_ref().map_or(String::new(), |why| format!("; last: {why}"));
        match lag {
            None => Some(format!("the replica has not caught up with its source{ended}")),
            Some(lag) if lag > self.max_lag => {
                let lag = lag.as_secs();
                Some(format!("the replica is {lag} s behind its source{ended}"))
            }
            Some(_) => None,
        }
    }

    /// Notes that everything through a cursor is applied.
    pub(super) fn applied(&self, FeedCursor { sequence, .. }: FeedCursor) {
        self.applied.send_replace(Some(sequence));
        let mut now = self.now();
        if let Some((_, named)) = now.awaited.filter(|(end, _)| *end <= sequence) {
            now.current = Some(named);
            now.awaited = None;
        }
    }

    /// Notes that a line was applied, and the end of the feed if the line names it.
    pub(super) fn progressed(&self, cursor: FeedCursor, newest: Option<FeedCursor>) {
        let mut now = self.now();
        now.has_lines = true;
        if let Some(FeedCursor { sequence, .. }) = newest {
            now.awaited.get_or_insert((sequence, Instant::now()));
        }
        drop(now);
        self.applied(cursor);
    }

    /// Notes that the rows have no cursor.
    pub(super) fn cursor_lost(&self) {
        self.applied.send_replace(None);
        let mut now = self.now();
        (now.awaited, now.current) = (None, None);
    }

    /// Notes why the connection ended. Returns whether lines had arrived over it.
    pub(super) fn ended(&self, why: &Ended) -> bool {
        let mut now = self.now();
        now.ended = Some(why.to_string());
        now.awaited = None;
        std::mem::take(&mut now.has_lines)
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(sequence: Seq) -> FeedCursor {
        format!("0123456789abcdef-{sequence}").parse().unwrap()
    }

    #[test]
    fn a_replica_is_current_once_the_named_end_is_applied() {
        let replica = Replica::new(Duration::MAX);
        replica.applied(cursor(3));
        assert_eq!((replica.sequence(), replica.lag()), (Some(3), None));
        replica.progressed(cursor(3), Some(cursor(5)));
        // A later end does not move the one that is awaited.
        replica.progressed(cursor(4), Some(cursor(9)));
        assert!(replica.problem().unwrap().contains("not caught up"));
        replica.progressed(cursor(5), None);
        assert!(replica.lag().is_some() && replica.problem().is_none());
        replica.cursor_lost();
        assert_eq!((replica.sequence(), replica.lag()), (None, None));
    }

    #[test]
    fn a_lag_over_the_bound_is_a_problem_that_names_the_cause() {
        let replica = Replica::new(Duration::ZERO);
        replica.progressed(cursor(5), Some(cursor(5)));
        assert!(replica.ended(&Ended::Source("no route".to_owned())));
        while replica.lag().is_some_and(|lag| lag.is_zero()) {}
        assert!(replica.problem().unwrap().ends_with("last: no route"));
    }
}

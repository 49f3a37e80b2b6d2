//! Health: whether writes can be expected to succeed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use terrane::{Error, ErrorKind};

/// Time for which a server is not ready after a write that found no space or background work that failed. After it,
/// clients should try again.
const DOUBT: Duration = Duration::from_secs(10);

/// Latest failure of a write, as long as it matters.
#[derive(Default)]
pub struct Health(Mutex<Option<Failure>>);

struct Failure {
    sentence: String,
    /// End of the doubt; `None` if only a restart helps.
    until: Option<Instant>,
}

impl Health {
    /// Notes a failure of the store, if others would fail in the same way.
    pub fn note(&self, error: &Error) {
        let until = match error.kind() {
            ErrorKind::NoSpace(_) => Instant::now().checked_add(DOUBT),
            ErrorKind::Poisoned(_) | ErrorKind::JobPanicked(_) => None,
            _ => return,
        };
        let mut failure = self.failure();
        // A later failure that passes does not hide one that needs a restart.
        if failure.as_ref().is_none_or(|failure| failure.until.is_some()) {
            *failure = Some(Failure { sentence: error.to_string(), until });
        }
    }

    /// Returns the reason why writes are expected to fail, if they are.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let mut failure = self.failure();
        if failure.as_ref()?.until.is_some_and(|until| until <= Instant::now()) {
            *failure = None;
        }
        failure.as_ref().map(|failure| failure.sentence.clone())
    }

    fn failure(&self) -> MutexGuard<'_, Option<Failure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poisoned_log_outlasts_a_full_disk() {
        let health = Health::default();
        assert_eq!(health.problem(), None);
        let full = Error::no_space("000001.log", 512);
        health.note(&Error::poisoned(&full));
        health.note(&full);
        assert!(health.problem().unwrap().contains("log"));
        assert!(health.failure().as_ref().unwrap().until.is_none());
    }

    #[test]
    fn a_refused_argument_is_no_failure_of_the_store() {
        let health = Health::default();
        health.note(&Error::invalid("key", "at most 1 byte", "2 bytes"));
        assert_eq!(health.problem(), None);
    }
}

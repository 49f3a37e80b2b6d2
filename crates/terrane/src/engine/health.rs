//! Health of a store: reasons why background work rests, or why no write is taken; its end.

use crate::error::{Closed, Error, Result};

/// Failures of a store, and its end.
#[derive(Default)]
pub(crate) struct Health {
    /// Reason why background work stopped; cleared by the next attempt.
    failed: Option<Error>,
    /// Failures after which work was tried again.
    retries: u64,
    /// A commit to the manifest failed, so it is unknown whether it is durable; or a job panicked, so that
    /// what it left in the state is.
    in_doubt: Option<Error>,
    closed: bool,
}

impl Health {
    /// Whether jobs may start.
    pub fn jobs_may_begin(&self) -> bool {
        !self.closed && self.failed.is_none() && self.in_doubt.is_none()
    }

    /// Stops background work until it is asked for again.
    pub fn fail(&mut self, cause: Error) {
        self.failed = Some(cause);
    }

    /// Lets background work that failed be tried again.
    pub fn retry(&mut self) {
        drop(self.take_failure());
    }

    /// Lets background work that failed be tried again. Returns why it failed.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.retries += u64::from(self.failed.is_some());
        self.failed.take()
    }

    /// Returns the number of failures after which work was tried again.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Returns the reason why background work rests, if it failed.
    pub fn failure(&self) -> Option<Error> {
        self.certain().err().or_else(|| self.failed.clone())
    }

    /// Notes that it is unknown what the manifest or the state holds.
    pub fn doubt(&mut self, cause: &Error) {
        self.in_doubt.get_or_insert_with(|| cause.clone());
    }

    /// Whether it is unknown what the manifest or the state holds.
    pub fn is_in_doubt(&self) -> bool {
        self.in_doubt.is_some()
    }

    /// Refuses a store of which it is unknown what it holds.
    pub fn certain(&self) -> Result<()> {
        self.in_doubt.as_ref().map_or(Ok(()), |cause| Err(Error::poisoned(cause)))
    }

    /// Closes the store.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Refuses a closed store.
    pub fn open(&self) -> Result<()> {
        if self.closed { Err(Closed::Store.into()) } else { Ok(()) }
    }
}

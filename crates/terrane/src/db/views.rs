//! Views of a store for this repository's tests.

use crate::db::Db;
use crate::entry::Seq;
use crate::error::Error;
use crate::executor::{Job, JobFilter};
use crate::options::Options;
use crate::schedule;

impl Db {
    /// Returns the next job.
    #[doc(hidden)]
    #[must_use]
    pub fn next_job(&self, filter: JobFilter) -> Option<Job> {
        schedule::next_job(self.engine(), filter)
    }

    /// Returns the reason why background work rests.
    #[doc(hidden)]
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.engine().state.failure()
    }

    /// Whether every memtable that was sealed is in tables.
    #[doc(hidden)]
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.engine().state.lock().flushes.are_done(Seq::MAX)
    }

    /// Returns the options that the store was opened with.
    #[doc(hidden)]
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.engine().options
    }
}

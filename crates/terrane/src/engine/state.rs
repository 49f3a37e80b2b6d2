//! State that changes under one lock: the version set, and the owners of what goes with it.
//!
//! They share one lock, since an edit takes effect in all of them in one moment.

use crate::engine::{Flushes, Logs, Planner};
use crate::error::{Corruption, Error};
use crate::version::VersionSet;

/// Everything under the state lock.
#[derive(Default)]
pub(crate) struct State {
    pub version_set: VersionSet,
    pub flushes: Flushes,
    pub logs: Logs,
    pub planner: Planner,
    /// Damage that opening found and left as it is, for lack of space or permission to write.
    pub repairable: Vec<Corruption>,
    /// Whether a file was removed since the storage was last vacuumed.
    pub vacuum_due: bool,
    /// Reason why background work stopped; cleared by the next attempt.
    pub failed: Option<Error>,
    /// A commit to the manifest failed, so it is unknown whether it is durable; or a job panicked, so that
    /// what it left here is.
    pub in_doubt: Option<Error>,
    pub closed: bool,
}

impl State {
    /// Whether jobs may start.
    pub fn jobs_may_begin(&self) -> bool {
        !self.closed && self.failed.is_none() && self.in_doubt.is_none()
    }
}

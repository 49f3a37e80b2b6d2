//! State that changes under one lock: the version set, and the owners of what goes with it.
//!
//! They share one lock, since an edit takes effect in all of them in one moment.

use crate::engine::{Flushes, Health, LogFiles, Planner};
use crate::error::Corruption;
use crate::version::VersionSet;

/// Everything under the state lock.
#[derive(Default)]
pub(crate) struct State {
    pub version_set: VersionSet,
    pub flushes: Flushes,
    pub logs: LogFiles,
    pub planner: Planner,
    /// Damage that opening found and left as it is, for lack of space or permission to write.
    pub repairable: Vec<Corruption>,
    /// Whether a file was removed since the storage was last vacuumed.
    pub vacuum_due: bool,
    pub health: Health,
}

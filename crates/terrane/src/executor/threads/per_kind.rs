//! One value for each kind of job that threads run.

use crate::schedule::JobFilter;

/// Values for flushes, for removals, and for merges and whatever else is none of the others.
#[derive(Default)]
pub(super) struct PerKind<T> {
    pub flushes: T,
    pub removals: T,
    pub merges: T,
}

impl<T> PerKind<T> {
    /// That of a kind.
    pub fn of(&self, kind: JobFilter) -> &T {
        match kind {
            JobFilter::Flush => &self.flushes,
            JobFilter::Removal => &self.removals,
            JobFilter::Other | JobFilter::Any => &self.merges,
        }
    }

    /// That of a kind.
    pub fn of_mut(&mut self, kind: JobFilter) -> &mut T {
        match kind {
            JobFilter::Flush => &mut self.flushes,
            JobFilter::Removal => &mut self.removals,
            JobFilter::Other | JobFilter::Any => &mut self.merges,
        }
    }

    /// All.
    pub fn all_mut(&mut self) -> [&mut T; 3] {
        [&mut self.flushes, &mut self.removals, &mut self.merges]
    }
}

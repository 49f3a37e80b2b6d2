//! Numbers for files, runs, logs and keyspaces: each is given once in the life of a store.

use crate::sync::atomic::{AtomicU64, Ordering};

/// The numbers that nothing has yet. Every edit carries the next one ([`Change::NextId`]).
///
/// [`Change::NextId`]: super::Change::NextId
#[derive(Default)]
pub struct Ids(AtomicU64);

impl Ids {
    /// Numbers from `next` on.
    #[must_use]
    pub fn from(next: u64) -> Self {
        Ids(AtomicU64::new(next))
    }

    /// A number that nothing has yet.
    pub fn fresh(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel)
    }

    /// The next number.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Gives no number below `next`.
    pub fn skip_to(&self, next: u64) {
        self.0.fetch_max(next, Ordering::AcqRel);
    }
}

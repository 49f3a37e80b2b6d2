//! Scans: the live keys of a range, in either direction.

use crate::db::View;
use crate::error::Result;
use crate::read::Walk;
use std::sync::Arc;

/// A walk over the live keys of a range, as they were when it began.
///
/// A scan pins what it reads: drop it when done. What it cost is in the store's figures then.
pub struct Scan {
    walk: Walk,
    /// Keeps the tables' files alive; after `walk`, so that it drops last.
    _view: Arc<View>,
}

impl Scan {
    pub(crate) fn new(walk: Walk, view: Arc<View>) -> Self {
        Scan { walk, _view: view }
    }

    /// Goes to a key, which need not be there: [`Scan::next`] shows the first pair at or above it
    /// then, [`Scan::prev`] the last at or below it, both in the range. A scan that was at its end
    /// goes on.
    pub fn seek(&mut self, key: &[u8]) {
        self.walk.seek(key);
    }

    /// The next pair in key order; `None` at the end, and from then on. The first call starts at
    /// the range's beginning.
    ///
    /// # Errors
    /// Damage or a failing medium; the scan is over then.
    #[allow(clippy::should_implement_trait)] // lends from itself, which Iterator cannot
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.walk.next()
    }

    /// The pair before in key order; the first call starts at the range's end.
    ///
    /// # Errors
    /// Damage or a failing medium; the scan is over then.
    #[inline]
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.walk.prev()
    }
}

//! How a table's bytes spread over its keys: a few points, from which sizes of ranges are estimated.
//!
//! A table's own properties hold them. They are kept in memory for the planners that read them
//! alone, and become known when such a planner is about to be asked.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// So many stored bytes of data lie at or below this key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramPoint {
    /// The last user key of a data block.
    pub key: Vec<u8>,
    /// Bytes of data blocks up to it, as stored.
    pub bytes: u64,
}

/// Points in ascending order, of which the last is the table's end; without points where nothing is
/// known.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram(OnceLock<Arc<[HistogramPoint]>>);

impl Histogram {
    /// Whether its points are known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    /// Makes the points of `other` known here, if none are.
    pub fn learn(&self, other: Histogram) {
        let _ = self.0.set(other.0.into_inner().unwrap_or_default());
    }

    /// About how many stored bytes of data lie at or below `key`.
    #[must_use]
    pub fn bytes_through(&self, key: &[u8]) -> u64 {
        let below = self.partition_point(|point| point.key.as_slice() <= key);
        below.checked_sub(1).and_then(|at| self.get(at)).map_or(0, |point| point.bytes)
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} points", self.len())
    }
}

impl Deref for Histogram {
    type Target = [HistogramPoint];

    fn deref(&self) -> &[HistogramPoint] {
        self.0.get().map_or(&[], |points| points)
    }
}

impl From<Vec<HistogramPoint>> for Histogram {
    fn from(points: Vec<HistogramPoint>) -> Self {
        Histogram(OnceLock::from(Arc::from(points)))
    }
}

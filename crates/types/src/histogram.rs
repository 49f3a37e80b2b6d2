//! The distribution of a table's bytes over its keys: a few points, to estimate the sizes of ranges.
//!
//! A table's properties store them. They are loaded only for planners that need them, just before such
//! a planner is called.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// The stored bytes of data up to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramPoint {
    /// The last user key of a data block.
    pub key: Vec<u8>,
    /// Bytes of data blocks up to it, as stored.
    pub bytes: u64,
}

/// Points in ascending order, of which the last is the table's end; empty until they are known.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram(OnceLock<Arc<[HistogramPoint]>>);

impl Histogram {
    /// Whether its points are known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    /// Takes the points of `other`, unless it has some.
    pub fn learn(&self, other: Histogram) {
        let _ = self.0.set(other.0.into_inner().unwrap_or_default());
    }

    /// An estimate of the stored bytes of data up to `key`.
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

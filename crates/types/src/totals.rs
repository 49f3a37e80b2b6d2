//! Sums over tables.

use crate::table_info::TableInfo;
use std::ops::AddAssign;

/// Sums over some tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of tables.
    pub tables: usize,
    bytes: u128,
    entries: u128,
    tombstones: u128,
    filter_bytes: u128,
    kept: u128,
}

impl Totals {
    /// Bytes of their files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        clamp(self.bytes)
    }

    /// Entries of every kind, all versions counted.
    #[must_use]
    pub fn entries(&self) -> u64 {
        clamp(self.entries)
    }

    /// Those of them that are deletes.
    #[must_use]
    pub fn tombstones(&self) -> u64 {
        clamp(self.tombstones)
    }

    /// Memory that all their filters take, in bytes.
    #[must_use]
    pub fn filter_bytes(&self) -> u64 {
        clamp(self.filter_bytes)
    }

    /// Entries that only snapshots kept when their table was written.
    #[must_use]
    pub fn kept(&self) -> u64 {
        clamp(self.kept)
    }

    /// Those of one table.
    pub(crate) fn of(table: &TableInfo) -> Self {
        let TableInfo { bytes, entries, tombstones, filter_bytes, kept, .. } = table;
        let wide = |n: &u64| u128::from(*n);
        Totals {
            tables: 1,
            bytes: wide(bytes),
            entries: wide(entries),
            tombstones: wide(tombstones),
            filter_bytes: wide(filter_bytes),
            kept: kept.map_or(0, |kept| kept.entries.into()),
        }
    }

    /// Takes the sums of tables that leave away again.
    pub(crate) fn subtract(&mut self, other: &Totals) {
        self.tables -= other.tables;
        self.bytes -= other.bytes;
        self.entries -= other.entries;
        self.tombstones -= other.tombstones;
        self.filter_bytes -= other.filter_bytes;
        self.kept -= other.kept;
    }
}

/// Sizes are not trusted: sums of them may be greater than any size.
fn clamp(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.tables += other.tables;
        self.bytes += other.bytes;
        self.entries += other.entries;
        self.tombstones += other.tombstones;
        self.filter_bytes += other.filter_bytes;
        self.kept += other.kept;
    }
}

//! The same policy at another scale: presets are made for a browser tab.

use crate::policies::PolicyOptions;
use crate::toolkit::parameter::{ParameterRef, ValueRef};

/// B in a native program: two memtables of 16 MiB, so that the four flushes that level 0 gathers hold
/// as much also where they compress to half.
const NATIVE_BASE_BYTES: u64 = 32 << 20;
/// Size of tables in a native program: few files to open, and short merges of a table with the ten or
/// so that it overlaps.
const NATIVE_TABLE_BYTES: u64 = 16 << 20;

impl PolicyOptions {
    /// The policy with this base and this table size, as far as it has such parameters.
    #[must_use]
    pub fn sized(mut self, level_base_bytes: u64, target_file_bytes: u64) -> Self {
        self.scale(|_| level_base_bytes, |_| target_file_bytes);
        self
    }

    /// The policy for a native program. A base or table size that is greater already, such as
    /// Spooky's, stays.
    #[must_use]
    pub fn native(mut self) -> Self {
        self.scale(|base| base.max(NATIVE_BASE_BYTES), |table| table.max(NATIVE_TABLE_BYTES));
        self
    }

    fn scale(&mut self, base: impl Fn(u64) -> u64, table: impl Fn(u64) -> u64) {
        let mut tables = (1, 1);
        for ParameterRef { name, slot, .. } in self.tuning() {
            if let ValueRef::Number { value, .. } = slot {
                match name {
                    ParameterRef::LEVEL_BASE_BYTES => *value = base(*value),
                    ParameterRef::TARGET_FILE_BYTES => {
                        tables = (*value, table(*value));
                        *value = tables.1;
                    }
                    // It comes after the size of tables, and shrinks with it.
                    ParameterRef::SPLIT_BYTES if tables.1 < tables.0 => {
                        let share = tables.1 as f64 / tables.0 as f64;
                        *value = ((*value as f64 * share) as u64).clamp(1, tables.1.max(1));
                    }
                    _ => {}
                }
            }
        }
    }
}

//! Extents: where the bytes of a file are in a backing file.

/// The allocation unit, in bytes: extents start and end at multiples of it.
pub const UNIT: u64 = 4096;

/// A contiguous range of a backing file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes; not 0.
    pub len: u64,
}

impl Extent {
    /// The extent with this offset and length in units; `None` if it is empty or beyond the largest
    /// file.
    #[must_use]
    pub fn of_units(offset: u64, len: u64) -> Option<Self> {
        let extent = Extent { offset: offset.checked_mul(UNIT)?, len: len.checked_mul(UNIT)? };
        extent.offset.checked_add(extent.len).filter(|end| len > 0 && *end <= i64::MAX as u64)?;
        Some(extent)
    }

    /// Returns the offset after the last byte.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset + self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_has_bytes_and_ends_within_the_largest_file() {
        let units = 1 << (63 - 12);
        for (offset, len, valid) in [
            (0, 1, true),
            (7, 3, true),
            (0, 0, false),
            (7, 0, false),
            (units - 2, 1, true),
            (units - 2, 2, false),
            (units - 1, 1, false),
            (0, units, false),
            (u64::MAX, 1, false),
            (1, u64::MAX, false),
            (1 << 52, 1 << 52, false),
        ] {
            let extent = || Extent { offset: offset * UNIT, len: len * UNIT };
            assert_eq!(Extent::of_units(offset, len), valid.then(extent), "{offset} {len}");
        }
        assert_eq!(Extent { offset: 8192, len: 4096 }.end(), 12288);
    }
}

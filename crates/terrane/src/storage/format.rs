//! The format of a store: its version and feature bits, and which of them this release supports.

use crate::entry::left_out;
use crate::error::{Corruption, Error, Result};
use crate::features::{COUNTERS, DROPS, EXPIRY, MERGE_OPERATOR, RANGE_DELETES};

/// The version that this release reads and writes.
pub(crate) const VERSION: u32 = 2;
/// The required features that this release knows.
pub(crate) const KNOWN_REQUIRED: u32 =
    RANGE_DELETES | EXPIRY | DROPS | if cfg!(feature = "all") { MERGES } else { 0 };
/// Those of operands.
const MERGES: u32 = COUNTERS | MERGE_OPERATOR;

/// Whether one of these required features is in other builds of this release.
pub(crate) fn is_left_out(required: u32) -> bool {
    required & MERGES & !KNOWN_REQUIRED != 0
}

/// The format of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The version.
    pub version: u32,
    /// Features that a reader must know.
    pub required: u32,
    /// Features that a reader may ignore. A writer keeps them.
    pub optional: u32,
}

impl Format {
    /// The format that this release writes.
    pub(crate) const CURRENT: Format = Format { version: VERSION, required: 0, optional: 0 };

    /// Refuses an unsupported format: of a later release, or of one before the first.
    pub(crate) fn check(self, file: &str) -> Result<()> {
        if self.version < VERSION {
            let expected = format_args!("format version {VERSION}");
            return Err(Corruption::new(file, 0, expected, self.version).into());
        }
        if self.version > VERSION {
            let found = format_args!("format version {}", self.version);
            return Err(Error::newer_format(file, found, format_args!("version {VERSION}")));
        }
        if is_left_out(self.required) {
            return Err(left_out());
        }
        if self.required & !KNOWN_REQUIRED != 0 {
            return Err(Error::newer_feature(file, self.required, KNOWN_REQUIRED));
        }
        Ok(())
    }

    /// Adds the features of `other`, which has the same version.
    pub(crate) fn add(&mut self, other: Format) {
        self.required |= other.required;
        self.optional |= other.optional;
    }

    /// Encodes the format as three words.
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        for word in [self.version, self.required, self.optional] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Decodes a format.
    pub(crate) fn decode(d: &mut crate::coding::Decoder<'_>) -> Option<Self> {
        Some(Format { version: d.u32()?, required: d.u32()?, optional: d.u32()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_are_added_join_those_that_were_there() {
        let mut format = Format { version: VERSION, required: 0b0011, optional: 0b0110 };
        format.add(Format { version: VERSION, required: 0b0101, optional: 0b1100 });
        assert_eq!(format, Format { version: VERSION, required: 0b0111, optional: 0b1110 });
    }
}

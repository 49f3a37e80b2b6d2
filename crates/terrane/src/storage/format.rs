//! The format of a store: a version and feature bits, and which of them this release reads.

use crate::error::{Corruption, Error, Result};

/// The version this release reads and writes.
pub(crate) const VERSION: u32 = 2;
/// Features without which a store cannot be read, as far as this release knows them.
pub(crate) const KNOWN_REQUIRED: u32 = 0;

/// What a store says of its own format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The version.
    pub version: u32,
    /// A reader must know each of these features.
    pub required: u32,
    /// A reader may ignore these; whoever writes the store keeps them.
    pub optional: u32,
}

impl Format {
    /// What this release writes.
    pub(crate) const CURRENT: Format = Format { version: VERSION, required: 0, optional: 0 };

    /// Refuses a store of a later release, or one from before the format of the first.
    pub(crate) fn check(self, file: &str) -> Result<()> {
        if self.version < VERSION {
            let expected = format_args!("format version {VERSION}");
            return Err(Corruption::new(file, 0, expected, self.version).into());
        }
        if self.version > VERSION {
            let found = format_args!("format version {}", self.version);
            return Err(Error::newer_format(file, found, format_args!("version {VERSION}")));
        }
        if self.required & !KNOWN_REQUIRED != 0 {
            return Err(Error::newer_feature(file, self.required, KNOWN_REQUIRED));
        }
        Ok(())
    }

    /// Takes over the features of `other`, which is of the same version.
    pub(crate) fn add(&mut self, other: Format) {
        self.required |= other.required;
        self.optional |= other.optional;
    }

    /// Its bytes: three words.
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        for word in [self.version, self.required, self.optional] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(crate) fn decode(d: &mut crate::codec::Decoder<'_>) -> Option<Self> {
        Some(Format { version: d.u32()?, required: d.u32()?, optional: d.u32()? })
    }
}

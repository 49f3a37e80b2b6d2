//! The rule of a key's prefix.

/// Part of a key that is its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixRule {
    /// The first bytes up to this length, or the whole of a shorter key.
    Length(u32),
    /// All through the first of these bytes, or the whole of a key without one.
    Delimiter(u8),
}

/// A rule's kinds, as they are stored.
const LENGTH: u8 = 0;
const DELIMITER: u8 = 1;

impl PrefixRule {
    /// Whether there are rules in this build.
    pub const KNOWN: bool = true;

    /// The prefix of a key.
    #[must_use]
    pub fn of(self, key: &[u8]) -> &[u8] {
        let length = match self {
            PrefixRule::Length(length) => length as usize,
            PrefixRule::Delimiter(delimiter) => {
                key.iter().position(|byte| *byte == delimiter).map_or(key.len(), |at| at + 1)
            }
        };
        key.get(..length).unwrap_or(key)
    }

    /// The kind and the value under which it is stored.
    #[must_use]
    pub fn to_stored(self) -> (u8, u32) {
        match self {
            PrefixRule::Length(length) => (LENGTH, length),
            PrefixRule::Delimiter(delimiter) => (DELIMITER, delimiter.into()),
        }
    }

    /// The rule that is stored as this; `None` if none is.
    #[must_use]
    pub fn from_stored(kind: u8, value: u64) -> Option<Self> {
        match kind {
            LENGTH => u32::try_from(value).ok().map(PrefixRule::Length),
            DELIMITER => u8::try_from(value).ok().map(PrefixRule::Delimiter),
            _ => None,
        }
    }
}

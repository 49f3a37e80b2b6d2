//! Without the feature `all` no policy has a rule. None can be made, so that nothing which follows from
//! one is in the build.

/// The rule of a key's prefix: there is none in this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixRule {}

impl PrefixRule {
    /// Whether there are rules in this build.
    pub const KNOWN: bool = false;

    /// The prefix of a key.
    #[must_use]
    pub fn of(self, _: &[u8]) -> &[u8] {
        match self {}
    }

    /// The kind and the value under which it is stored.
    #[must_use]
    pub fn to_stored(self) -> (u8, u32) {
        match self {}
    }

    /// `None`.
    #[must_use]
    pub fn from_stored(_: u8, _: u64) -> Option<Self> {
        None
    }
}

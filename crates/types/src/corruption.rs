//! Damage that was detected in stored bytes.

use serde::Serialize;
use std::fmt;

/// Damage that was detected: where, what was expected there, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[error("{file} is damaged at byte {offset}: expected {expected}, found {found}")]
pub struct Corruption {
    /// The file, as the storage names it.
    pub file: String,
    /// Offset in that file, in bytes.
    pub offset: u64,
    /// Content expected of a sound store.
    pub expected: String,
    /// Content found.
    pub found: String,
}

impl Corruption {
    /// Damage in `file` at `offset`.
    #[cold]
    pub fn new(
        file: impl AsRef<str>,
        offset: u64,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        damage(file.as_ref(), offset, &expected, &found)
    }
}

/// Formats out of line, so that the code that detects damage stays small.
#[inline(never)]
fn damage(
    file: &str,
    offset: u64,
    expected: &dyn fmt::Display,
    found: &dyn fmt::Display,
) -> Corruption {
    let (expected, found) = (expected.to_string(), found.to_string());
    Corruption { file: file.to_owned(), offset, expected, found }
}

//! Names of objects.
//!
//! ```text
//! claim/N                             a writer's claim of the place, by number
//! LINEAGE/manifest/N                  a state of the backup, by number
//! LINEAGE/base/LAST-CHECKSUM          tables and keyspaces of a moment
//! LINEAGE/table/NUMBER-CHECKSUM       a table
//! LINEAGE/log/FIRST-LAST-CHECKSUM     batches
//! ```
//!
//! Lineage and checksum are 16 hexadecimal digits, the numbers have 20 decimal digits. All but claims and manifests are
//! named after their content: two writers never write different objects of one name.

use std::fmt;
use terrane::entry::Seq;

/// The name of an object of a lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Name {
    Manifest(u64),
    Base { last: Seq, checksum: u64 },
    Table { number: u64, checksum: u64 },
    Log { first: Seq, last: Seq, checksum: u64 },
}

/// The folder of claims.
pub(crate) const CLAIM: &str = "claim";
/// Folders of a lineage.
pub(crate) const MANIFEST: &str = "manifest";
pub(crate) const BASE: &str = "base";
pub(crate) const TABLE: &str = "table";
pub(crate) const LOG: &str = "log";

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Manifest(number) => write!(f, "{MANIFEST}/{number:020}"),
            Name::Base { last, checksum } => write!(f, "{BASE}/{last:020}-{checksum:016x}"),
            Name::Table { number, checksum } => write!(f, "{TABLE}/{number:020}-{checksum:016x}"),
            Name::Log { first, last, checksum } => {
                write!(f, "{LOG}/{first:020}-{last:020}-{checksum:016x}")
            }
        }
    }
}

impl Name {
    /// Parses a name as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        let (folder, rest) = text.split_once('/')?;
        let mut parts = rest.split('-');
        let mut number = || parts.next()?.parse().ok();
        let first = number()?;
        let name = match folder {
            MANIFEST => Name::Manifest(first),
            LOG => Name::Log { first, last: number()?, checksum: hex64(parts.next()?)? },
            BASE => Name::Base { last: first, checksum: hex64(parts.next()?)? },
            TABLE => Name::Table { number: first, checksum: hex64(parts.next()?)? },
            _ => return None,
        };
        (name.to_string() == text).then_some(name)
    }
}

/// Parses a number of 16 hexadecimal digits, such as a lineage or a checksum.
pub(crate) fn hex64(text: &str) -> Option<u64> {
    let number = u64::from_str_radix(text, 16).ok()?;
    (folder(number) == text).then_some(number)
}

/// Returns the folder of a lineage.
pub(crate) fn folder(lineage: u64) -> String {
    format!("{lineage:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let names = [
            Name::Manifest(7),
            Name::Base { last: 3, checksum: u64::MAX },
            Name::Table { number: u64::MAX, checksum: 0 },
            Name::Log { first: 1, last: 2, checksum: 3 },
        ];
        for name in names {
            assert_eq!(Name::parse(&name.to_string()), Some(name));
        }
        let malformed =
            ["", "manifest", "manifest/7", "manifest/+0000000000000000007", "other/1", "log/1-2-3"];
        for text in malformed {
            assert_eq!(Name::parse(text), None, "{text}");
        }
        assert_eq!(hex64("00000000000000ff"), Some(255));
        assert_eq!((hex64("ff"), hex64("00000000000000FF")), (None, None));
    }
}

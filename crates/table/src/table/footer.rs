//! The end of a table: the directory of its sections, and the footer.
//!
//! The directory lists the sections in file order, each as three varints: kind, offset, length.
//! Readers ignore unknown kinds.
//!
//! The footer is the last 80 bytes, little-endian. Its layout never changes:
//!
//! ```text
//!  0  table number: u64          40  length of the directory: u32   52  format version: u16
//!  8  the store's salt: u64      44  required features: u32         54  zero: u16
//! 16  commits before it: u64     48  optional features: u32         56  length of the file: u64
//! 24  length of the data: u64                                       64  checksum of bytes 0 to 63
//! 32  offset of directory: u64                                      72  magic
//! ```
//!
//! The number and the salt seed all other checksums, so a table can be verified by itself.

use super::Malformed;
use super::block_codec::{TRAILER_BYTES, seed};
use crate::coding::{Decoder, checksum, put_varint};
use crate::error::{Corruption, Error, Result};
use std::fmt::Display;

/// Length of a footer, in bytes.
pub const FOOTER_BYTES: usize = 80;
/// The format version that this release reads and writes.
pub const FORMAT_VERSION: u16 = 2;

/// The last bytes of every table.
pub const MAGIC_BYTES: [u8; 8] = *b"TERRANE\x02";
const MAGIC: u64 = u64::from_le_bytes(MAGIC_BYTES);
const CHECKSUM_SEED: u64 = MAGIC;
/// The bytes under the checksum.
const BODY: usize = 64;
/// Required features that this release knows: none yet.
const KNOWN_FEATURES: u32 = 0;

/// The footer of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The table's number.
    pub table: u64,
    /// The salt of the store that wrote it.
    pub salt: u64,
    /// Number of commits of that store when it started the table.
    pub commits: u64,
    /// Bytes of data blocks, from the start of the file; the sections follow.
    pub data_len: u64,
    /// Offset of the directory, in bytes.
    pub directory_offset: u64,
    /// Stored length of the directory, in bytes.
    pub directory_len: u32,
}

impl Footer {
    /// The seed of the checksums of the table's parts.
    #[must_use]
    pub fn seed(&self) -> u64 {
        seed(self.salt, self.table)
    }

    /// The number and length of the table with this footer; `None` if it is not a valid footer.
    #[must_use]
    pub fn file_of(bytes: &[u8; FOOTER_BYTES]) -> Option<(u64, u64)> {
        let len = Fields::decode(bytes)?.file_len;
        Some((Footer::decode(bytes, "", len).ok()?.table, len))
    }

    /// The length of the whole file, in bytes.
    fn file_len(&self) -> Option<u64> {
        let end = self.directory_offset.checked_add(self.directory_len.into())?;
        end.checked_add(FOOTER_BYTES as u64)
    }

    /// Appends the footer.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let Footer { table, salt, commits, data_len, directory_offset, .. } = *self;
        for word in [table, salt, commits, data_len, directory_offset] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.directory_len.to_le_bytes());
        out.extend_from_slice(&KNOWN_FEATURES.to_le_bytes());
        out.extend_from_slice(&0u32.to_le_bytes());
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
        out.extend_from_slice(&self.file_len().unwrap_or_default().to_le_bytes());
        let sum = checksum(out.get(start..).unwrap_or_default(), CHECKSUM_SEED);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(&MAGIC.to_le_bytes());
    }

    /// Decodes the footer of `file`, which is `file_len` bytes long.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Corrupt`] for bytes that are not a footer of a file of that length, and
    /// [`crate::error::ErrorKind::NewerFormat`] for one that a later release wrote.
    pub fn decode(bytes: &[u8; FOOTER_BYTES], file: &str, file_len: u64) -> Result<Self> {
        let start = file_len.saturating_sub(FOOTER_BYTES as u64);
        let damage = |at: u64, expected: &dyn Display, found: &dyn Display| {
            Error::from(Corruption::new(file, start + at, expected, found))
        };
        let fields = Fields::decode(bytes)
            .ok_or_else(|| damage(0, &format_args!("{FOOTER_BYTES} bytes"), &"fewer"))?;
        if fields.magic != MAGIC {
            return Err(damage(
                72,
                &format_args!("magic {MAGIC:016x}"),
                &format_args!("{:016x}", fields.magic),
            ));
        }
        let sum = checksum(bytes.get(..BODY).unwrap_or_default(), CHECKSUM_SEED);
        if fields.sum != sum {
            let expected = format_args!("checksum {:016x}", fields.sum);
            return Err(damage(0, &expected, &format_args!("{sum:016x}")));
        }
        if fields.version > FORMAT_VERSION {
            let found = format_args!("format version {}", fields.version);
            return Err(Error::newer_format(file, found, format_args!("version {FORMAT_VERSION}")));
        }
        if fields.version < FORMAT_VERSION {
            let expected = format_args!("version {FORMAT_VERSION}");
            return Err(damage(52, &expected, &format_args!("version {}", fields.version)));
        }
        if fields.required & !KNOWN_FEATURES != 0 {
            return Err(Error::newer_feature(file, fields.required, KNOWN_FEATURES));
        }
        let footer = fields.footer;
        let whole = footer.file_len();
        if whole != Some(file_len) || fields.file_len != file_len {
            let expected = format_args!("a footer of a file of {file_len} bytes");
            return Err(damage(56, &expected, &format_args!("one of {}", fields.file_len)));
        }
        if footer.data_len > footer.directory_offset {
            let expected = format_args!("data within {} bytes", footer.directory_offset);
            return Err(damage(24, &expected, &footer.data_len));
        }
        Ok(footer)
    }
}

struct Fields {
    footer: Footer,
    required: u32,
    version: u16,
    file_len: u64,
    sum: u64,
    magic: u64,
}

impl Fields {
    fn decode(bytes: &[u8; FOOTER_BYTES]) -> Option<Self> {
        let mut d = Decoder::new(bytes);
        let footer = Footer {
            table: d.u64()?,
            salt: d.u64()?,
            commits: d.u64()?,
            data_len: d.u64()?,
            directory_offset: d.u64()?,
            directory_len: d.u32()?,
        };
        let required = d.u32()?;
        let _optional = d.u32()?;
        let version = u16::from_le_bytes(*d.take(2)?.first_chunk()?);
        let _zero = d.take(2)?;
        Some(Fields {
            footer,
            required,
            version,
            file_len: d.u64()?,
            sum: d.u64()?,
            magic: d.u64()?,
        })
    }
}

/// The kinds of sections.
pub(super) mod kind {
    pub const PARTITIONS: u64 = 1;
    pub const INDEX: u64 = 2;
    pub const PROPERTIES: u64 = 3;
}

/// A section: a part of the table between the data and the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its kind.
    pub kind: u64,
    /// Its offset, in bytes.
    pub offset: u64,
    /// Its stored length, in bytes.
    pub len: u64,
}

/// Appends a directory of `sections`.
pub fn encode_directory(sections: &[Section], out: &mut Vec<u8>) {
    for section in sections {
        put_varint(out, section.kind);
        put_varint(out, section.offset);
        put_varint(out, section.len);
    }
}

/// Decodes a directory, whose sections must follow each other from the end of the data to the
/// directory itself.
pub fn decode_directory(bytes: &[u8], footer: &Footer) -> Result<Vec<Section>, Malformed> {
    let mut d = Decoder::new(bytes);
    let mut sections = Vec::new();
    let mut end = footer.data_len;
    while !d.is_empty() {
        let at = bytes.len() - d.rest().len();
        let mut section =
            || Some(Section { kind: d.varint()?, offset: d.varint()?, len: d.varint()? });
        let section = section()
            .ok_or_else(|| Malformed::new(at, "kind, offset and length", "bytes that are not"))?;
        let fits = section.offset == end && section.len >= TRAILER_BYTES as u64;
        end = end.saturating_add(section.len);
        if !fits || end > footer.directory_offset {
            return Err(Malformed::new(
                at,
                format_args!("a section from {end} within {}", footer.directory_offset),
                format_args!("{} bytes at {}", section.len, section.offset),
            ));
        }
        sections.push(section);
    }
    if end != footer.directory_offset {
        return Err(Malformed::new(
            bytes.len(),
            format_args!("sections up to {}", footer.directory_offset),
            format_args!("an end at {end}"),
        ));
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const FOOTER: Footer = Footer {
        table: 7,
        salt: 8,
        commits: 9,
        data_len: 1000,
        directory_offset: 1500,
        directory_len: 20,
    };

    fn stored() -> [u8; FOOTER_BYTES] {
        let mut out = Vec::new();
        FOOTER.encode(&mut out);
        out.try_into().unwrap()
    }

    /// A footer with the bytes at `at` replaced and its checksum corrected.
    fn altered(at: usize, bytes: &[u8]) -> [u8; FOOTER_BYTES] {
        let mut out = stored();
        out[at..at + bytes.len()].copy_from_slice(bytes);
        let sum = checksum(&out[..BODY], CHECKSUM_SEED);
        out[BODY..BODY + 8].copy_from_slice(&sum.to_le_bytes());
        out
    }

    #[test]
    fn a_footer_decodes_only_for_a_file_of_its_length() {
        assert_eq!(Footer::decode(&stored(), "t", 1600).unwrap(), FOOTER);
        assert!(matches!(
            Footer::decode(&stored(), "t", 1601).map_err(Error::into_kind),
            Err(ErrorKind::Corrupt(_))
        ));
        for contradicts in [altered(56, &1601u64.to_le_bytes()), altered(40, &21u32.to_le_bytes())]
        {
            assert!(matches!(
                Footer::decode(&contradicts, "t", 1600).map_err(Error::into_kind),
                Err(ErrorKind::Corrupt(_))
            ));
        }
        let no_sections = altered(24, &1500u64.to_le_bytes());
        assert_eq!(Footer::decode(&no_sections, "t", 1600).unwrap().data_len, 1500);
        assert!(matches!(
            Footer::decode(&[0; FOOTER_BYTES], "t", 80).map_err(Error::into_kind),
            Err(ErrorKind::Corrupt(_))
        ));
    }

    #[test]
    fn a_file_is_recognised_by_its_footer_alone() {
        assert_eq!(Footer::file_of(&stored()), Some((7, 1600)));
        let mut flipped = stored();
        flipped[0] ^= 1;
        assert_eq!(Footer::file_of(&flipped), None);
        assert_eq!(Footer::file_of(&altered(52, &[3, 0])), None);
    }

    #[test]
    fn damage_is_reported_where_it_is_in_the_file() {
        let at = |bytes: [u8; FOOTER_BYTES], len| match Footer::decode(&bytes, "t", len)
            .map_err(Error::into_kind)
        {
            Err(ErrorKind::Corrupt(damage)) => damage.offset,
            other => panic!("{other:?}"),
        };
        assert_eq!(at([0; FOOTER_BYTES], 1600), 1520 + 72);
        assert_eq!(at(altered(52, &[1, 0]), 1600), 1520 + 52);
        assert_eq!(at(altered(24, &1501u64.to_le_bytes()), 1600), 1520 + 24);
        assert_eq!(at(stored(), 1601), 1521 + 56);
    }

    #[test]
    fn a_newer_version_or_required_feature_is_refused_by_name() {
        let newer = |bytes| {
            matches!(
                Footer::decode(&bytes, "t", 1600).map_err(Error::into_kind),
                Err(ErrorKind::NewerFormat(_))
            )
        };
        assert!(newer(altered(52, &[3, 0])));
        assert!(newer(altered(44, &[0, 0, 0, 0x80])));
        assert_eq!(Footer::decode(&altered(48, &[1, 0, 0, 0]), "t", 1600).unwrap(), FOOTER);
        assert!(matches!(
            Footer::decode(&altered(52, &[1, 0]), "t", 1600).map_err(Error::into_kind),
            Err(ErrorKind::Corrupt(_))
        ));
    }

    #[test]
    fn a_directory_must_tile_the_space_before_it() {
        let section = |kind, offset, len| Section { kind, offset, len };
        let decode = |sections: &[Section]| {
            let mut out = Vec::new();
            encode_directory(sections, &mut out);
            decode_directory(&out, &FOOTER)
        };
        let sound = [section(1, 1000, 100), section(99, 1100, 400)];
        assert_eq!(decode(&sound).unwrap(), sound);
        assert!(decode(&[section(1, 1000, 100), section(2, 1101, 399)]).is_err(), "a gap");
        assert!(
            decode(&[section(1, 1000, 100), section(2, 1101, 400)]).is_err(),
            "a gap, in sum none"
        );
        assert!(
            decode(&[section(1, 1000, 5), section(2, 1005, 495)]).is_err(),
            "no room for a checksum"
        );
        let misplaced = decode(&[section(1, 1000, 100), section(2, 1101, 399)]).unwrap_err();
        // A number below 128 takes a byte, one below 16384 two.
        assert_eq!(misplaced.0.at, 1 + 2 + 1);
        assert!(decode(&[section(1, 1000, 100)]).is_err(), "an early end");
        assert!(decode(&[section(1, 1000, u64::MAX)]).is_err(), "a length out of bounds");
        assert!(decode_directory(&[1, 0x80], &FOOTER).is_err(), "a cut varint");
    }
}

//! Manifest records: the placement of added files, the files dropped, and the engine's edit.
//!
//! ```text
//! varint n, n x placement     kind u8, number, length, backing u8, n x (offset, length) of extents
//! varint n, n x file dropped  kind u8, number
//! 1, the edit's bytes to the end     or 0: a record of the storage itself, without an edit
//! ```
//!
//! Numbers are varints. Extents are in units of 4 KiB; files of a directory have none.

use crate::coding::{Decoder, put_varint};
use crate::error::{Corruption, Error, Result};
use crate::storage::extent::{Extent, UNIT};
use crate::storage::{FileId, FileKind};
use crate::vec_map::VecMap;

/// A file's length and, in a volume, its location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Its length, in bytes.
    pub len: u64,
    /// The backing file that holds it.
    pub backing: u8,
    /// Its extents in the backing file, in the order of the file's bytes.
    pub extents: Vec<Extent>,
}

/// A record. A live file that is placed again has moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// Added or moved files.
    pub placed: Vec<(FileId, Placement)>,
    /// Dropped files.
    pub dropped: Vec<FileId>,
    /// The engine's edit, or its snapshot in a manifest's first record.
    pub edit: Option<&'a [u8]>,
}

impl Record<'_> {
    /// Its bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.edit.map_or(0, <[u8]>::len));
        put_varint(&mut out, self.placed.len() as u64);
        for (id, placement) in &self.placed {
            put_id(&mut out, *id);
            put_varint(&mut out, placement.len);
            out.push(placement.backing);
            put_varint(&mut out, placement.extents.len() as u64);
            for extent in &placement.extents {
                put_varint(&mut out, extent.offset / UNIT);
                put_varint(&mut out, extent.len / UNIT);
            }
        }
        put_varint(&mut out, self.dropped.len() as u64);
        for id in &self.dropped {
            put_id(&mut out, *id);
        }
        out.push(u8::from(self.edit.is_some()));
        out.extend_from_slice(self.edit.unwrap_or_default());
        out
    }
}

/// Reason why a record cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The bytes are not a record.
    Malformed,
    /// A later release wrote it: it has a file of this kind.
    Kind(u8),
}

/// Decodes a record.
///
/// # Errors
/// Why the bytes cannot be decoded.
pub fn decode(bytes: &[u8]) -> Result<Record<'_>, Unread> {
    let mut unknown = None;
    take_record(bytes, &mut unknown).ok_or(unknown.map_or(Unread::Malformed, Unread::Kind))
}

/// Decodes a record; `None` if that fails, with `unknown` set if the reason is a kind of file.
fn take_record<'a>(bytes: &'a [u8], unknown: &mut Option<u8>) -> Option<Record<'a>> {
    let mut d = Decoder::new(bytes);
    let mut record = Record::default();
    for _ in 0..d.varint()? {
        let id = take_id(&mut d, unknown)?;
        let mut placement =
            Placement { len: d.varint()?, backing: d.u8()?, ..Placement::default() };
        for _ in 0..d.varint()? {
            placement.extents.push(Extent::of_units(d.varint()?, d.varint()?)?);
        }
        record.placed.push((id, placement));
    }
    for _ in 0..d.varint()? {
        record.dropped.push(take_id(&mut d, unknown)?);
    }
    record.edit = match d.u8()? {
        0 if d.is_empty() => None,
        1 => Some(d.rest()),
        _ => return None,
    };
    Some(record)
}

fn put_id(out: &mut Vec<u8>, id: FileId) {
    out.push(match id.kind {
        FileKind::Log => 0,
        FileKind::Table => 1,
    });
    put_varint(out, id.number);
}

fn take_id(d: &mut Decoder<'_>, unknown: &mut Option<u8>) -> Option<FileId> {
    let kind = match d.u8()? {
        0 => FileKind::Log,
        1 => FileKind::Table,
        kind => {
            *unknown = Some(kind);
            return None;
        }
    };
    Some(FileId { kind, number: d.varint()? })
}

/// The result of replaying a manifest.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// The live files after the last record.
    pub(crate) live: VecMap<FileId, Placement>,
    /// Number of live files after the first record.
    pub(crate) live_at_first: usize,
    /// The engine's snapshot and edits.
    pub(crate) edits: Vec<Vec<u8>>,
}

/// Applies records (their offsets in `file`, and their bytes) in order.
pub(crate) fn replay(file: &str, records: &[(u64, &[u8])]) -> Result<Replayed> {
    let mut out = Replayed::default();
    for (offset, bytes) in records {
        let bad = |expected: &str, found: String| {
            Corruption::new(file, *offset, expected.to_owned(), found)
        };
        let record = decode(bytes).map_err(|unread| match unread {
            Unread::Malformed => {
                Error::from(bad("a record", format!("{} bytes that are none", bytes.len())))
            }
            Unread::Kind(kind) => {
                let found = format_args!("a file of kind {kind}");
                Error::newer_format(file, found, "logs and tables")
            }
        })?;
        out.live.extend(record.placed);
        for id in record.dropped {
            if out.live.remove(&id).is_none() {
                return Err(bad("a live file to drop", id.to_string()).into());
            }
        }
        out.edits.extend(record.edit.map(<[u8]>::to_vec));
        if out.edits.len() == 1 {
            out.live_at_first = out.live.len();
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_round_trip_and_no_prefix_decodes(
            placed in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u8>(),
                prop::collection::vec((0u64..1 << 40, 1u64..1 << 10), 0..4)), 0..4),
            dropped in prop::collection::vec(any::<u64>(), 0..4),
            edit in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
            noise in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let record = Record {
                placed: placed.into_iter().map(|(n, len, backing, extents)| {
                    let extents = extents.into_iter()
                        .map(|(at, n)| Extent { offset: at * UNIT, len: n * UNIT }).collect();
                    (FileId::table(n), Placement { len, backing, extents })
                }).collect(),
                dropped: dropped.into_iter().map(FileId::log).collect(),
                edit: edit.as_deref(),
            };
            let bytes = record.encode();
            prop_assert_eq!(decode(&bytes), Ok(record.clone()));
            let fixed = bytes.len() - record.edit.map_or(0, <[u8]>::len);
            for cut in 0..fixed {
                prop_assert_eq!(decode(&bytes[..cut]), Err(Unread::Malformed));
            }
            let _ = decode(&noise);
        }
    }

    #[test]
    fn a_later_kind_of_file_is_refused_by_name() {
        let placed = [1, 7, 9, 0, 0, 0, 0, 0];
        let dropped = [0, 1, 7, 9, 0];
        for record in [&placed[..], &dropped] {
            let read = replay("MANIFEST-000001", &[(0, record)]);
            let read = read.map_err(Error::into_kind);
            let Err(ErrorKind::NewerFormat(newer)) = read else { panic!("{read:?}") };
            assert_eq!(newer.found, "a file of kind 7");
        }
    }

    #[test]
    fn nothing_follows_a_record_without_an_edit() {
        let record = Record { dropped: vec![FileId::log(3)], ..Record::default() };
        let mut bytes = record.encode();
        assert_eq!(decode(&bytes), Ok(record));
        bytes.push(0);
        assert_eq!(decode(&bytes), Err(Unread::Malformed));
        assert_eq!(decode(&[0, 0, 2]), Err(Unread::Malformed), "no such flag");
    }
}

//! The bytes of a keyspace's range deletes within a range (FORMAT.md, "Range deletes").

use super::body::{Body, Unread};
use crate::coding::{put_bytes, put_varint};
use terrane_types::range_deletes::{End, Fragment, RangeDeletes};

/// Appends a range and the range deletes within it.
pub(super) fn encode(from: &[u8], to: &End, range_deletes: &RangeDeletes, out: &mut Vec<u8>) {
    put_range(from, to, out);
    put_varint(out, range_deletes.fragments().len() as u64);
    for fragment in range_deletes.fragments() {
        put_range(&fragment.from, &fragment.to, out);
        put_varint(out, fragment.seqs().count() as u64);
        fragment.seqs().for_each(|seq| put_varint(out, seq));
    }
}

/// Takes a range and the range deletes within it.
pub(super) fn decode(d: &mut Body<'_>) -> Result<(Vec<u8>, End, RangeDeletes), Unread> {
    let (from, to) = range(d)?;
    let fragments = d.list(|d| {
        let (from, to) = range(d)?;
        let seqs = d.list(Body::varint)?;
        Fragment::of(from, to, &seqs).ok_or(Unread::Malformed)
    })?;
    let is_within = |fragment: &Fragment| *from <= *fragment.from && fragment.to.is_within(&to);
    let is_sound = !to.is_at_most(from) && fragments.iter().all(is_within);
    let range_deletes = RangeDeletes::from_fragments(fragments).filter(|_| is_sound);
    Ok((from.to_vec(), to, range_deletes.ok_or(Unread::Malformed)?))
}

fn put_range(from: &[u8], to: &End, out: &mut Vec<u8>) {
    put_bytes(out, from);
    put_varint(out, to.key().map_or(0, |to| to.len() as u64 + 1));
    out.extend_from_slice(to.key().unwrap_or_default());
}

fn range<'a>(d: &mut Body<'a>) -> Result<(&'a [u8], End), Unread> {
    let from = d.bytes()?;
    let to = match d.length()?.checked_sub(1) {
        None => None,
        Some(length) => Some(d.take(length)?),
    };
    Ok((from, End::before(to)))
}

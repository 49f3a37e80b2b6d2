//! Versions of a key with operands among them: each operand joined with what lies below it.

use crate::cursor::Cursor;
use crate::entry::{Kind, Seq, Tag, newer_kind, same_key, value_of};
use crate::error::Result;
use crate::operand::{AVAILABLE, Function, MergeOperator, Merged};

/// A version of a key: its tag, and what is stored as its value.
pub type Stored = (Tag, Vec<u8>);

/// An operand that an older version has met, or the value that they make.
pub enum Joined {
    /// Older versions count as well.
    Operand(Merged),
    /// None does.
    Value(Vec<u8>),
}

/// Joins an operand with the newest version below it; with none, where the key had no value there.
///
/// # Errors
/// Damage; operands of a merge operator that the store does not have.
pub fn join(
    merged: Merged,
    below: Option<(Tag, &[u8])>,
    operator: Option<&MergeOperator>,
) -> Result<Joined> {
    let Some((tag, stored)) = below else {
        return merged.function.apply(None, operator).map(Joined::Value);
    };
    match tag.kind() {
        Some(Kind::Merge) => {
            let older = Merged::decode(tag, stored)?;
            let function = Function::then(older.function, merged.function, operator)?;
            Ok(Joined::Operand(Merged { function, since: older.since }))
        }
        Some(Kind::Delete) => merged.function.apply(None, operator).map(Joined::Value),
        None => Err(newer_kind("a table", tag.kind_byte())),
        Some(Kind::Put | Kind::PutExpiring) => {
            let value = value_of(tag, stored).0;
            merged.function.apply(Some(value), operator).map(Joined::Value)
        }
    }
}

/// Takes the version under a cursor and those of its key that follow: the key, and the versions.
///
/// # Errors
/// The errors of the cursor.
pub fn take_versions(cursor: &mut impl Cursor) -> Result<(Vec<u8>, Vec<Stored>)> {
    let key = cursor.key().to_vec();
    let mut versions = Vec::new();
    while cursor.valid() && same_key(cursor.key(), &key) {
        versions.push((cursor.tag(), cursor.value().to_vec()));
        cursor.next()?;
    }
    Ok((key, versions))
}

/// Returns the first of these versions of a key, newest first; an operand is joined with the others. `hides` says
/// whether a range delete lies between two sequence numbers; `is_last`, whether nothing older of the key is elsewhere.
///
/// # Errors
/// The errors of [`join`]; a result over its limit.
pub fn join_first(
    versions: &[Stored],
    hides: impl Fn(Seq, Seq) -> bool,
    mut is_last: impl FnMut() -> bool,
    operator: Option<&MergeOperator>,
) -> Result<Option<Stored>> {
    let mut older = versions.iter();
    let Some((tag, stored)) = older.next() else { return Ok(None) };
    if !is_operand(*tag) {
        return Ok(Some((*tag, stored.clone())));
    }
    let mut merged = Merged::decode(*tag, stored)?;
    loop {
        let below = match older.find(|(older, _)| older.seq() < merged.since) {
            Some((older, _)) if hides(older.seq(), merged.since) => None,
            Some((older, stored)) => Some((*older, stored.as_slice())),
            None if is_last() => None,
            None => return Ok(Some((*tag, merged.encode(tag.seq())))),
        };
        match join(merged, below, operator)? {
            Joined::Operand(joined) => merged = joined,
            Joined::Value(value) => return Ok(Some((Tag::new(tag.seq(), Kind::Put), value))),
        }
    }
}

/// Whether an entry is an operand.
#[inline]
#[must_use]
pub fn is_operand(tag: Tag) -> bool {
    AVAILABLE && tag.kind() == Some(Kind::Merge)
}

//! The resolver of entries: the rule of versions ([`terrane_types::resolve`]) over keys and tags, which every read and
//! every merge asks.
//!
//! An entry of a kind that only a later release knows is an error where a reader or a merge meets it, and none where
//! it is newer than the reader's moment.

use super::join_operands::{Stored, is_operand, join_first};
use crate::entry::{EXPIRY_BYTES, Kind, Seq, Tag, newer_kind, same_key, split_expiring, value_of};
use crate::error::{Corruption, Error, ErrorKind, Result};
use crate::operand::MergeOperator;
use terrane_types::range_deletes::RangeDeletes;
use terrane_types::resolve::{DropRule, Fate, Reader, Sight, Version};

/// Returns what a reader sees of a key if this is the newest of its versions up to there; `None` if the version is
/// newer.
///
/// # Errors
/// [`NewerFormat`](crate::error::ErrorKind::NewerFormat) for a kind that this release does not know;
/// [`Corrupt`](crate::error::ErrorKind::Corrupt) for a value that expires without its time.
#[inline]
pub fn sight(tag: Tag, stored: &[u8], reader: Reader) -> Result<Option<Sight>> {
    if !reader.reaches(tag.seq()) {
        return Ok(None);
    }
    version(tag, stored).map(|version| Some(reader.sight(version)))
}

#[inline]
fn version(tag: Tag, stored: &[u8]) -> Result<Version> {
    let kind: Kind = tag.kind().ok_or_else(|| newer_kind("a table", tag.kind_byte()))?;
    let mut expires_at = 0;
    if kind == Kind::PutExpiring {
        expires_at = split_expiring(stored).ok_or_else(|| without_time(stored))?.0;
    }
    Ok(Version { seq: tag.seq(), kind, expires_at })
}

#[cold]
fn without_time(stored: &[u8]) -> Error {
    let expected = format_args!("a value after a time of {EXPIRY_BYTES} bytes");
    Corruption::new("a table", 0, expected, format_args!("{} bytes", stored.len())).into()
}

/// The judgement of a merge about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Treatment of the entry.
    pub fate: Fate,
    /// The sequence number of the range delete that hides it from later readers, if one does.
    pub hidden_by: Option<Seq>,
    /// Whether the entry is kept as a tombstone: it has expired for every reader, or the filter removes it.
    pub is_removed: bool,
}

/// Returns `true` for a key and a value that a merge removes.
pub type MergeFilter = Box<dyn FnMut(&[u8], &[u8]) -> bool + Send>;

/// Decides which entries a flush or a merge keeps. They come in order: keys ascending, versions newest first.
pub struct Resolver {
    rule: DropRule,
    key: Vec<u8>,
    range_deletes: RangeDeletes,
    /// The index of the first fragment that ends above the key.
    fragment: Option<usize>,
    filter: Option<MergeFilter>,
    operator: Option<MergeOperator>,
    /// Whether the operands of this key stay apart, with what lies below them.
    apart: bool,
}

impl Resolver {
    /// Keeps what readers at these moments see. They ascend; the last is the present.
    #[must_use]
    pub fn new(readers: Vec<Reader>) -> Self {
        Resolver {
            rule: DropRule::new(readers),
            key: Vec::new(),
            range_deletes: RangeDeletes::default(),
            fragment: None,
            filter: None,
            operator: None,
            apart: false,
        }
    }

    /// Sets the filter. It is called with the newest version of a key, unless a snapshot sees that version.
    #[must_use]
    pub fn filtering(mut self, filter: Option<MergeFilter>) -> Self {
        self.filter = filter;
        self
    }

    /// Sets the range deletes, which drop what they hide from all readers.
    #[must_use]
    pub fn applying(mut self, range_deletes: RangeDeletes) -> Self {
        self.range_deletes = range_deletes;
        self
    }

    /// Sets the merge operator.
    #[must_use]
    pub fn merging(mut self, operator: Option<MergeOperator>) -> Self {
        self.operator = operator;
        self
    }

    /// Joins the operands that stay among the next versions of a key, before they are judged, with what lies below
    /// them. `covered` is that of [`Resolver::judge`]. If the operator makes a result too long, the versions stay as
    /// they are, so that one such key does not block the job, and another operator may join them later.
    ///
    /// # Errors
    /// Damage.
    pub fn join(
        &mut self,
        key: &[u8],
        versions: &mut [Stored],
        covered: impl FnOnce(&[u8]) -> bool,
    ) -> Result<()> {
        let staying = self.staying(key, versions)?;
        let mut replaced = Vec::new();
        let joined = self.join_each(key, versions, &staying, covered, &mut replaced);
        self.apart =
            joined.as_ref().is_err_and(|e| matches!(e.kind(), ErrorKind::InvalidArgument(_)));
        if !self.apart {
            return joined;
        }
        for (at, before) in replaced {
            if let Some(version) = versions.get_mut(at) {
                *version = before;
            }
        }
        Ok(())
    }

    /// Returns the indices of the operands that stay, as if each hid what lies below it.
    fn staying(&mut self, key: &[u8], versions: &[Stored]) -> Result<Vec<usize>> {
        let mut rule = self.rule.clone();
        if !same_key(key, &self.key) {
            rule.start_key();
        }
        let mut staying = Vec::new();
        for (at, (tag, stored)) in versions.iter().enumerate() {
            let hidden_by = self.deletion_of(key, tag.seq());
            let fate = rule.judge(version(*tag, stored)?, hidden_by, || true);
            if fate != Fate::Dropped && is_operand(*tag) {
                staying.push(at);
            }
        }
        Ok(staying)
    }

    /// Joins these operands, the oldest first. Adds the index and the version to `replaced` when it replaces a version.
    fn join_each(
        &self,
        key: &[u8],
        versions: &mut [Stored],
        operands: &[usize],
        covered: impl FnOnce(&[u8]) -> bool,
        replaced: &mut Vec<(usize, Stored)>,
    ) -> Result<()> {
        let hides = |older, newer| self.range_deletes.newest_at(key, newer) > older;
        let (mut covered, mut nothing_below) = (Some(covered), None);
        let mut is_last = || {
            let asked = || covered.take().is_some_and(|covered| !covered(key));
            *nothing_below.get_or_insert_with(asked)
        };
        for at in operands.iter().rev() {
            let versions_from = versions.get(*at..).unwrap_or_default();
            let joined = join_first(versions_from, hides, &mut is_last, self.operator.as_ref())?;
            if let (Some(version), Some(joined)) = (versions.get_mut(*at), joined) {
                replaced.push((*at, std::mem::replace(version, joined)));
            }
        }
        Ok(())
    }

    /// Judges the next entry, whose stored value is `stored`. `covered` returns whether an older version of the key may
    /// lie below the output; it is called only for tombstones and expired entries.
    ///
    /// # Errors
    /// The errors of [`sight`].
    #[inline]
    pub fn judge(
        &mut self,
        key: &[u8],
        tag: Tag,
        stored: &[u8],
        covered: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Judgement> {
        if !same_key(key, &self.key) {
            self.key.clear();
            self.key.extend_from_slice(key);
            self.rule.start_key();
        }
        let hidden_by =
            if self.range_deletes.is_empty() { None } else { self.deletion_of(key, tag.seq()) };
        let mut version = version(tag, stored)?;
        let mut is_removed = self.rule.is_expired(version);
        if let Some(removes) = &mut self.filter
            && matches!(version.kind, Kind::Put | Kind::PutExpiring)
            && !is_removed
            && hidden_by.is_none()
            && self.rule.is_only_of_the_present(version.seq)
            && removes(key, value_of(tag, stored).0)
        {
            version.kind = Kind::Delete;
            is_removed = true;
        }
        let fate = if self.apart && version.kind == Kind::Merge {
            self.rule.judge_apart(version, hidden_by)
        } else {
            self.rule.judge(version, hidden_by, || covered(key))
        };
        Ok(Judgement { fate, hidden_by, is_removed })
    }

    /// The first range delete after an entry of the key, which is at or above those before it.
    fn deletion_of(&mut self, key: &[u8], seq: Seq) -> Option<Seq> {
        let fragments = self.range_deletes.fragments();
        let mut at =
            self.fragment.unwrap_or_else(|| fragments.partition_point(|f| f.to.is_at_most(key)));
        while fragments.get(at).is_some_and(|fragment| fragment.to.is_at_most(key)) {
            at += 1;
        }
        self.fragment = Some(at);
        fragments.get(at).filter(|fragment| *fragment.from <= *key)?.first_after(seq)
    }
}

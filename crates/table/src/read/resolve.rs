//! The resolver of entries: the rule of versions ([`terrane_types::resolve`]) over keys and tags, which every read and
//! every merge asks.
//!
//! An entry of a kind that only a later release knows is an error where a reader or a merge meets it, and none where
//! it is newer than the reader's moment.

use crate::entry::{Kind, Seq, Tag, newer_kind, same_key};
use crate::error::Result;
use terrane_types::range_deletes::RangeDeletes;
use terrane_types::resolve::{DropRule, Fate, Reader, Sight, Version};

/// Returns what a reader at `at` sees of a key if this is the newest of its versions up to there; `None` if the
/// version is newer.
///
/// # Errors
/// [`NewerFormat`](crate::error::ErrorKind::NewerFormat) for a kind that this release does not know.
#[inline]
pub fn sight(tag: Tag, at: Seq) -> Result<Option<Sight>> {
    let reader = Reader { at };
    if !reader.reaches(tag.seq()) {
        return Ok(None);
    }
    version(tag).map(|version| Some(reader.sight(version)))
}

#[inline]
fn version(tag: Tag) -> Result<Version> {
    let kind: Kind = tag.kind().ok_or_else(|| newer_kind("a table", tag.kind_byte()))?;
    Ok(Version { seq: tag.seq(), kind })
}

/// Decides which entries a flush or a merge keeps. They come in order: keys ascending, versions newest first.
pub struct Resolver {
    rule: DropRule,
    key: Vec<u8>,
    range_deletes: RangeDeletes,
    /// The index of the first fragment that ends above the key.
    fragment: Option<usize>,
    /// The range delete that hides the entry judged last.
    hidden_by: Option<Seq>,
}

impl Resolver {
    /// Keeps what readers at these sequence numbers see. They ascend; the last is the newest visible one.
    #[must_use]
    pub fn new(readers: Vec<Seq>) -> Self {
        Resolver {
            rule: DropRule::new(readers),
            key: Vec::new(),
            range_deletes: RangeDeletes::default(),
            fragment: None,
            hidden_by: None,
        }
    }

    /// The same, without what these range deletes hide from all readers.
    #[must_use]
    pub fn applying(mut self, range_deletes: RangeDeletes) -> Self {
        self.range_deletes = range_deletes;
        self
    }

    /// The sequence number of the range delete that hides the entry judged last from later readers, if one does.
    #[must_use]
    pub fn hidden_by(&self) -> Option<Seq> {
        self.hidden_by
    }

    /// Judges the next entry. `covered` says whether something older of the key may lie below the output; it is
    /// called only for tombstones.
    ///
    /// # Errors
    /// As for [`sight`].
    #[inline]
    pub fn judge(
        &mut self,
        key: &[u8],
        tag: Tag,
        covered: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Fate> {
        if !same_key(key, &self.key) {
            self.key.clear();
            self.key.extend_from_slice(key);
            self.rule.start_key();
        }
        self.hidden_by =
            if self.range_deletes.is_empty() { None } else { self.deletion_of(key, tag.seq()) };
        Ok(self.rule.judge(version(tag)?, self.hidden_by, || covered(key)))
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

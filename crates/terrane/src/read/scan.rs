//! Scans: what a reader at one sequence sees, key by key, in either direction.
//!
//! The merged cursor shows every version of every key. A scan shows the newest version at or below
//! its sequence of each key in bounds, and no tombstone.
//!
//! * Forward, a key's versions come newest first: take the first visible one and skip the rest.
//! * Backward, they come oldest first: remember the last visible one until the key changes, so the
//!   merged cursor stands one key ahead of what the scan shows.

use super::{Cursor, MergeCursor, Source};
use crate::db::View;
use crate::entry::{Kind, MAX_SEQ, Seq, Tag};
use crate::error::{Corruption, Result};
use std::ops::Bound;
use std::sync::Arc;

/// Which keys a scan covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Where it starts.
    pub from: Bound<Vec<u8>>,
    /// Where it ends.
    pub to: Bound<Vec<u8>>,
}

impl Default for Range {
    fn default() -> Self {
        Range { from: Bound::Unbounded, to: Bound::Unbounded }
    }
}

impl Range {
    /// Every key that begins with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        let mut end = prefix.to_vec();
        // The least key above the whole prefix: drop trailing 0xff, then count the last byte up.
        while let Some(last) = end.pop() {
            if last < 0xff {
                end.push(last + 1);
                return Range { from: Bound::Included(prefix.to_vec()), to: Bound::Excluded(end) };
            }
        }
        Range { from: Bound::Included(prefix.to_vec()), to: Bound::Unbounded }
    }

    /// Whether a key lies before the range's end.
    pub(crate) fn below_end(&self, key: &[u8]) -> bool {
        match &self.to {
            Bound::Included(to) => key <= to.as_slice(),
            Bound::Excluded(to) => key < to.as_slice(),
            Bound::Unbounded => true,
        }
    }

    /// Whether a key lies behind the range's start.
    pub(crate) fn above_start(&self, key: &[u8]) -> bool {
        match &self.from {
            Bound::Included(from) => key >= from.as_slice(),
            Bound::Excluded(from) => key > from.as_slice(),
            Bound::Unbounded => true,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first call.
    Fresh,
    /// At the saved key, which need not be there.
    Sought,
    /// Showing the merged cursor's entry (forward) or the saved one (backward).
    Forward,
    Backward,
    Ended,
}

/// A walk over the live keys of a range, as they were when it began.
///
/// A scan pins what it reads: drop it when done.
pub struct Scan {
    merge: MergeCursor<Source>,
    range: Range,
    seq: Seq,
    state: State,
    /// The key shown last, whose older versions are skipped; or the one sought.
    key: Vec<u8>,
    /// The value found on the way back.
    value: Vec<u8>,
    /// Keeps the tables' files alive; after `merge`, so that it drops last.
    _view: Arc<View>,
}

impl Scan {
    pub(crate) fn new(view: Arc<View>, sources: Vec<Source>, range: Range, seq: Seq) -> Self {
        let merge = MergeCursor::new(sources);
        let state = State::Fresh;
        Scan { merge, range, seq, state, key: Vec::new(), value: Vec::new(), _view: view }
    }

    /// Goes to a key, which need not be there: [`Scan::next`] shows the first pair at or above it
    /// then, [`Scan::prev`] the last at or below it, both in the range. A scan that was at its end
    /// goes on.
    pub fn seek(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.state = State::Sought;
    }

    /// The next pair in key order; `None` at the end, and from then on. The first call starts at
    /// the range's beginning.
    ///
    /// # Errors
    /// Damage or a failing medium; the scan is over then.
    #[allow(clippy::should_implement_trait)] // lends from itself, which Iterator cannot
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let moved = match self.state {
            State::Fresh => self.seek_start(),
            State::Sought if !self.range.above_start(&self.key) => self.seek_start(),
            State::Sought => self.merge.seek(&self.key, Tag::at(MAX_SEQ)),
            State::Forward => self.skip_shown(),
            State::Backward => {
                let found = self.merge.seek(&self.key, Tag(0));
                found.and_then(|()| self.skip_shown())
            }
            State::Ended => return Ok(None),
        };
        let found = moved.and_then(|()| self.find_forward());
        if found.is_err() {
            self.state = State::Ended;
        }
        Ok(found?.then(|| (self.merge.key(), self.merge.value())))
    }

    /// The pair before in key order; the first call starts at the range's end.
    ///
    /// # Errors
    /// Damage or a failing medium; the scan is over then.
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let moved = match self.state {
            State::Fresh => self.seek_end(),
            State::Sought if !self.range.below_end(&self.key) => self.seek_end(),
            State::Sought => self.merge.seek_before(&self.key, Tag(0)),
            State::Forward => {
                self.key.clear();
                self.key.extend_from_slice(self.merge.key());
                self.merge.seek_before(&self.key, Tag(u64::MAX))
            }
            State::Backward => Ok(()),
            State::Ended => return Ok(None),
        };
        let found = moved.and_then(|()| self.find_backward());
        if found.is_err() {
            self.state = State::Ended;
        }
        Ok(found?.then_some((&self.key, &self.value)))
    }

    fn seek_start(&mut self) -> Result<()> {
        match &self.range.from {
            Bound::Unbounded => self.merge.seek_first(),
            Bound::Included(from) => self.merge.seek(from, Tag::at(MAX_SEQ)),
            // No entry has tag 0, since sequences start at 1: this is past every version of `from`.
            Bound::Excluded(from) => self.merge.seek(from, Tag(0)),
        }
    }

    fn seek_end(&mut self) -> Result<()> {
        match &self.range.to {
            Bound::Unbounded => self.merge.seek_last(),
            Bound::Excluded(to) => self.merge.seek_before(to, Tag(u64::MAX)),
            Bound::Included(to) => self.merge.seek_before(to, Tag(0)),
        }
    }

    /// Leaves the key that is shown, all its versions with it.
    fn skip_shown(&mut self) -> Result<()> {
        if self.state == State::Forward {
            self.key.clear();
            self.key.extend_from_slice(self.merge.key());
        }
        while self.merge.valid() && self.merge.key() == self.key.as_slice() {
            self.merge.next()?;
        }
        Ok(())
    }

    /// From where the merged cursor stands to the next live entry in bounds.
    fn find_forward(&mut self) -> Result<bool> {
        while self.merge.valid() && self.range.below_end(self.merge.key()) {
            let tag = self.merge.tag();
            if tag.seq() > self.seq {
                self.merge.next()?;
                continue;
            }
            match known_kind(tag)? {
                Kind::Put => {
                    self.state = State::Forward;
                    return Ok(true);
                }
                Kind::Delete => {
                    self.state = State::Forward;
                    self.skip_shown()?;
                }
            }
        }
        self.state = State::Ended;
        Ok(false)
    }

    /// From where the merged cursor stands back to the next live entry in bounds.
    fn find_backward(&mut self) -> Result<bool> {
        self.state = State::Backward;
        while self.merge.valid() && self.range.above_start(self.merge.key()) {
            self.key.clear();
            self.key.extend_from_slice(self.merge.key());
            let mut live = false;
            while self.merge.valid() && self.merge.key() == self.key.as_slice() {
                if self.merge.tag().seq() <= self.seq {
                    live = known_kind(self.merge.tag())? == Kind::Put;
                    self.value.clear();
                    self.value.extend_from_slice(self.merge.value());
                }
                self.merge.prev()?;
            }
            if live {
                return Ok(true);
            }
        }
        self.state = State::Ended;
        Ok(false)
    }
}

/// The kind of an entry that was read; a number that no release wrote is damage.
pub(crate) fn known_kind(tag: Tag) -> Result<Kind> {
    tag.kind().ok_or_else(|| {
        let found = format!("kind {}", tag.0 & 0xff);
        Corruption::new("table", 0, "a known kind of entry", found).into()
    })
}

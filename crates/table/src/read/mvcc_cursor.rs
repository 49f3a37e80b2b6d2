//! A scan's walk: what a reader at one sequence sees, key by key, in either direction.
//!
//! The merged cursor shows every version of every key. A scan shows the newest version at or below
//! its sequence of each key in bounds, and no tombstone.
//!
//! * Forward, a key's versions come newest first: take the first visible one and skip the rest.
//! * Backward, they come oldest first: remember the last visible one until the key changes, so the
//!   merged cursor stands one key ahead of what the scan shows.

use super::{MergeCursor, Range, Source};
use crate::cursor::Cursor;
use crate::entry::{Kind, MAX_SEQ, Seq, Tag};
use crate::error::Result;
use crate::trace::ReadTracer;
use std::ops::Bound;

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

/// A walk over the live keys of a range, in either direction.
pub struct MvccCursor {
    merge: MergeCursor,
    range: Range,
    seq: Seq,
    state: State,
    /// The key shown last, whose older versions are skipped; or the one sought.
    key: Vec<u8>,
    /// The value found on the way back.
    value: Vec<u8>,
    /// Is told of the walk as a whole; each source has its own.
    tracer: ReadTracer,
}

impl MvccCursor {
    /// A walk over what `sources` hold, newest first.
    #[must_use]
    pub fn new(sources: Vec<Source>, range: Range, seq: Seq, tracer: ReadTracer) -> Self {
        let merge = MergeCursor::new(sources);
        let (state, key, value) = (State::Fresh, Vec::new(), Vec::new());
        MvccCursor { merge, range, seq, state, key, value, tracer }
    }

    /// What the read tracers of the whole and of the sources hold, in this order.
    pub fn into_tracers(self) -> impl Iterator<Item = ReadTracer> {
        let sources = self.merge.into_sources().into_iter().filter_map(Source::into_tracer);
        std::iter::once(self.tracer).chain(sources)
    }

    /// Goes to a key, which need not be there.
    pub fn seek(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.state = State::Sought;
    }

    /// The next pair in key order; `None` at the end, and from then on.
    ///
    /// # Errors
    /// Damage or a failing file system; the walk is over then.
    #[allow(clippy::should_implement_trait)] // lends from itself, which Iterator cannot
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.begin();
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
        if !found? {
            return Ok(None);
        }
        let (key, value) = (self.merge.key(), self.merge.value());
        self.tracer.row(key, value);
        Ok(Some((key, value)))
    }

    /// The pair before in key order.
    ///
    /// # Errors
    /// As for [`MvccCursor::next`].
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.begin();
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
        if !found? {
            return Ok(None);
        }
        self.tracer.row(&self.key, &self.value);
        Ok(Some((&self.key, &self.value)))
    }

    /// Leaves what was shown out of the range. The walk starts again at either end of what remains;
    /// one that is over stays so.
    pub fn narrow(&mut self) {
        match self.state {
            State::Forward => self.range.from = Bound::Excluded(self.merge.key().to_vec()),
            State::Backward => self.range.to = Bound::Excluded(self.key.clone()),
            State::Fresh | State::Sought | State::Ended => return,
        }
        self.state = State::Fresh;
    }

    /// Tells of a search that comes next.
    fn begin(&mut self) {
        if matches!(self.state, State::Fresh | State::Sought) {
            self.tracer.tables();
        }
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

/// The kind of an entry that was read; one that this release does not know is refused.
pub fn known_kind(tag: Tag) -> Result<Kind> {
    tag.kind().ok_or_else(|| Kind::newer("a table", tag.kind_byte()))
}

#[cfg(test)]
mod tests;

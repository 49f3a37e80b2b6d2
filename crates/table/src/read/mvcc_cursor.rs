//! The MVCC cursor: the keys and values visible at one sequence number, in either direction.
//!
//! The merging cursor below yields every version of every key. This one yields, for each key in range, the newest
//! version at or below its sequence number, unless that is a tombstone or has expired (`resolve`).
//!
//! * Forward, a key's versions come newest first: take the first visible one and skip the rest.
//! * Backward, they come oldest first: remember the last visible one until the key changes. The
//!   merging cursor is then one key ahead of the pair returned.
//!
//! Forward, a row is found by the first way that applies:
//! 1. A step to a short entry in the same block, whose key no other source precedes, and which is a plain row: put,
//!    visible, and without expiry and range deletes around it. It is code without a call.
//! 2. Whatever leaves the key and leads to a plain row: other sources, other blocks, long entries.
//! 3. All rules.
//!
//! An operand is joined with older versions, until one of them is a value or none is left.
//!
//! What range deletes hide is passed over: sources that have nothing newer seek past all of it at once.
//!
//! A run promises the first entry of a table that the cursor has not reached: the table is read when the promise is the
//! next entry in the range, and not at all if the scan ends before.

use super::cover::Cover;
use super::join_operands::{Joined, Stored, join, join_first};
use super::merge_cursor::Stepped;
use super::{KeyRange, MergeCursor, Reader, Sight, Source, sight};
use crate::cursor::Cursor;
use crate::entry::{Kind, MAX_SEQ, Millis, Seq, Tag, left_out, same_key, value_of};
use crate::error::{Error, ErrorKind, Result};
use crate::key_buffer::KeyBuffer;
use crate::operand::{AVAILABLE, MergeOperator, Merged};
use crate::trace::ReadTracer;
use std::ops::Bound;
use terrane_types::range_deletes::RangeDeletes;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not positioned yet: starts at either end of the range.
    Start,
    /// Positioned at the key sought, which need not exist.
    Sought,
    /// On the merging cursor's entry.
    Forward,
    /// On the saved entry, of whose key the merging cursor may have passed versions.
    Joined,
    /// On the saved entry.
    Backward,
    Ended,
}

/// A cursor over the pairs of a range that a reader sees.
pub struct MvccCursor {
    merge: MergeCursor,
    range: KeyRange,
    reader: Reader,
    state: State,
    /// The key sought last.
    sought: KeyBuffer,
    /// The key returned last, whose older versions are skipped.
    key: KeyBuffer,
    /// The value of the saved entry.
    value: Vec<u8>,
    /// The time at which the row returned last expires.
    expires_at: Option<Millis>,
    /// Traces the scan as a whole; each source has a tracer of its own, whose counts are added to this one's in the
    /// end.
    tracer: ReadTracer,
    /// Keys that range deletes hide.
    cover: Option<Cover>,
    operator: Option<MergeOperator>,
}

impl MvccCursor {
    /// Returns a cursor over `range` of the merged `sources`, for a reader.
    #[must_use]
    pub fn new(sources: Vec<Source>, range: KeyRange, reader: Reader, tracer: ReadTracer) -> Self {
        let merge = MergeCursor::new(sources);
        MvccCursor {
            merge,
            range,
            reader,
            state: State::Start,
            sought: KeyBuffer::default(),
            key: KeyBuffer::default(),
            value: Vec::new(),
            expires_at: None,
            tracer,
            cover: None,
            operator: None,
        }
    }

    /// Sets the range deletes, whose hidden versions the cursor skips.
    #[must_use]
    pub fn hiding(mut self, range_deletes: Vec<RangeDeletes>) -> Self {
        self.cover = Cover::new(range_deletes, self.reader.at);
        self
    }

    /// Sets the merge operator.
    #[must_use]
    pub fn merging(mut self, operator: Option<MergeOperator>) -> Self {
        self.operator = operator;
        self
    }

    /// Ends the cursor and returns its tracer, then those of the sources.
    pub fn into_tracers(mut self) -> impl Iterator<Item = ReadTracer> {
        let sources = self.merge.take_sources().into_iter().filter_map(Source::into_tracer);
        std::iter::once(std::mem::take(&mut self.tracer)).chain(sources)
    }

    /// Returns the time at which the last returned row expires; `None` if it does not expire.
    #[must_use]
    pub fn expires_at(&self) -> Option<Millis> {
        self.expires_at
    }

    /// Sets whether a step fails, with [`WouldRead`](ErrorKind::WouldRead), rather than read a file. The first step,
    /// and one after a seek, can be tried again then; otherwise the cursor is at its end.
    pub fn set_only_cached(&mut self, only_cached: bool) {
        self.merge.set_only_cached(only_cached);
    }

    /// Moves to a key, which need not exist: `next` returns the pair at or after it, `prev` the one at
    /// or before it.
    pub fn seek(&mut self, key: &[u8]) {
        self.sought.set(key);
        self.state = State::Sought;
    }

    /// Returns the next pair in key order; `None` at the end, and from then on.
    ///
    /// # Errors
    /// Corruption and I/O failures, which end the scan.
    #[allow(clippy::should_implement_trait)] // lends from itself, which Iterator cannot
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.state != State::Forward {
            return self.next_judged(false);
        }
        // In a browser a module of one path is shorter, and as fast.
        let stepped =
            if cfg!(target_arch = "wasm32") { Stepped::Stays } else { self.merge.step_short() };
        match stepped {
            Stepped::Leads if self.is_plain() => self.plain_row(),
            Stepped::Leads => self.next_judged(false),
            Stepped::Lags => self.next_replayed(),
            Stepped::Stays => self.next_passed(),
        }
    }

    /// Returns the next pair after a step to another key, of which another source may have an earlier one.
    #[inline(never)]
    fn next_replayed(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.merge.replay();
        if self.is_plain() { self.plain_row() } else { self.next_judged(false) }
    }

    /// Leaves the key and returns the next pair.
    #[cfg_attr(not(target_arch = "wasm32"), inline(never))]
    fn next_passed(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match self.pass() {
            Ok(false) if self.is_plain() => self.plain_row(),
            Ok(passes) => self.next_judged(passes),
            Err(error) => {
                self.state = State::Ended;
                Err(error)
            }
        }
    }

    /// Returns the entry, which is a plain row.
    #[inline(always)]
    fn plain_row(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some((key, _, value)) = self.merge.current() else { return Ok(None) };
        self.tracer.row(key, value);
        Ok(Some((key, value)))
    }

    /// Whether the entry is a plain row after another that does not expire, as most are. Writes nothing: the compiler
    /// then looks for the entry once, here and in the caller.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.cover.is_none()
            && self.expires_at.is_none()
            && self.merge.current().is_some_and(|(key, tag, _)| {
                tag.kind_byte() == Kind::Put as u8
                    && self.reader.reaches(tag.seq())
                    && self.range.below_end(key)
            })
    }

    /// Returns the next pair, by all rules. Forward, the merging cursor has left the last row's key; it `passes` older
    /// versions of the saved key, if any follow.
    #[inline(never)]
    fn next_judged(&mut self, passes: bool) -> Result<Option<(&[u8], &[u8])>> {
        self.begin_step(State::Forward);
        let before = self.state;
        // Each says whether older versions of the saved key may follow.
        let moved = match self.state {
            State::Forward => Ok(passes),
            State::Start => self.seek_start().map(|()| false),
            State::Sought if !self.range.above_start(self.sought.as_slice()) => {
                self.seek_start().map(|()| false)
            }
            State::Sought => {
                self.merge.seek(self.sought.as_slice(), Tag::at(MAX_SEQ)).map(|()| false)
            }
            State::Joined => Ok(true),
            State::Backward => self.merge.seek(self.key.as_slice(), Tag(0)).map(|()| true),
            State::Ended => return Ok(None),
        };
        let found = moved.and_then(|passes| self.find_forward(passes));
        if let Err(error) = &found {
            self.fail(before, error);
        }
        if !found? {
            return Ok(None);
        }
        if self.state == State::Joined {
            self.expires_at = None;
            self.tracer.row(self.key.as_slice(), &self.value);
            return Ok(Some((self.key.as_slice(), &self.value)));
        }
        let Some((key, tag, stored)) = self.merge.current() else { return Ok(None) };
        let (value, expires_at) = value_of(tag, stored);
        self.expires_at = expires_at;
        self.tracer.row(key, value);
        Ok(Some((key, value)))
    }

    /// Returns the previous pair in key order; `None` at the start, and from then on.
    ///
    /// # Errors
    /// The errors of [`MvccCursor::next`].
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.begin_step(State::Backward);
        let before = self.state;
        let moved = match self.state {
            State::Start => self.seek_end(),
            State::Sought if !self.range.below_end(self.sought.as_slice()) => self.seek_end(),
            State::Sought => self.merge.seek_before(self.sought.as_slice(), Tag(0)),
            State::Forward => {
                self.key.set(self.merge.key());
                self.merge.seek_before(self.key.as_slice(), Tag(u64::MAX))
            }
            State::Joined => self.merge.seek_before(self.key.as_slice(), Tag(u64::MAX)),
            State::Backward => Ok(()),
            State::Ended => return Ok(None),
        };
        let found = moved.and_then(|()| self.find_backward());
        if let Err(error) = &found {
            self.fail(before, error);
        }
        if !found? {
            return Ok(None);
        }
        self.tracer.row(self.key.as_slice(), &self.value);
        Ok(Some((self.key.as_slice(), &self.value)))
    }

    /// Ends the cursor after an error of a step that started in state `before`, unless the step can be tried again, in
    /// either direction.
    #[cold]
    fn fail(&mut self, before: State, error: &Error) {
        let has_sought = matches!(before, State::Start | State::Sought);
        let is_kept = has_sought && matches!(error.kind(), ErrorKind::WouldRead);
        self.state = if is_kept { before } else { State::Ended };
    }

    /// Narrows the range to exclude what was returned. The scan starts again at either end of what
    /// remains; one that has ended stays ended.
    pub fn narrow(&mut self) {
        match self.state {
            State::Forward => self.range.from = Bound::Excluded(self.merge.key().to_vec()),
            State::Joined => self.range.from = Bound::Excluded(self.key.as_slice().to_vec()),
            State::Backward => self.range.to = Bound::Excluded(self.key.as_slice().to_vec()),
            State::Start | State::Sought | State::Ended => return,
        }
        self.state = State::Start;
    }

    /// Traces that the next step seeks, and forgets what was skipped if the direction or the position changes.
    fn begin_step(&mut self, goes_on: State) {
        let is_joined = self.state == State::Joined && goes_on == State::Forward;
        let turns = self.state != goes_on && !is_joined;
        if let Some(cover) = self.cover.as_mut().filter(|_| turns) {
            cover.forget_skip();
        }
        if matches!(self.state, State::Start | State::Sought) {
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

    /// Leaves the key of the entry. Returns whether older versions of it may follow; it is saved then.
    #[inline]
    fn pass(&mut self) -> Result<bool> {
        if self.merge.leave_key()? { Ok(false) } else { self.pass_all() }
    }

    /// The same where several sources may have the key.
    fn pass_all(&mut self) -> Result<bool> {
        self.key.set(self.merge.key());
        Ok(!self.merge.pass(self.key.as_slice())?)
    }

    /// Moves forward to the next visible pair in range; if it `passes` the saved key, behind the versions of that.
    fn find_forward(&mut self, mut passes: bool) -> Result<bool> {
        while let Some((key, tag, stored)) = self.merge.current() {
            passes = passes && same_key(key, self.key.as_slice());
            if passes {
                self.merge.next()?;
                continue;
            }
            if !self.range.below_end(key) {
                break;
            }
            // A promised entry is read once all before it have been passed.
            if tag == Tag::PROMISED {
                self.merge.next()?;
                continue;
            }
            let Some(sight) = sight(tag, stored, self.reader)? else {
                self.merge.next()?;
                continue;
            };
            let mut deleted = 0;
            if let Some(cover) = &mut self.cover {
                deleted = cover.newest_at(key);
                if tag.seq() < deleted {
                    let all = !std::mem::replace(&mut cover.is_skipped, true);
                    self.merge.skip(cover.to(), deleted, all)?;
                    continue;
                }
            }
            self.state = State::Forward;
            match sight {
                Sight::Value => return Ok(true),
                Sight::Nothing => passes = self.pass()?,
                Sight::Operand if AVAILABLE => {
                    self.join_forward(deleted)?;
                    return Ok(true);
                }
                Sight::Operand => return Err(left_out()),
            }
        }
        self.state = State::Ended;
        Ok(false)
    }

    /// Joins the operand under the merging cursor with the older versions of its key, none of which is older than
    /// `deleted`, and saves the pair.
    #[cold]
    fn join_forward(&mut self, deleted: Seq) -> Result<()> {
        let operator = self.operator.as_ref();
        self.key.set(self.merge.key());
        let mut merged = Merged::decode(self.merge.tag(), self.merge.value())?;
        self.value = loop {
            self.merge.next()?;
            let is_version = self.merge.valid() && same_key(self.merge.key(), self.key.as_slice());
            let tag = self.merge.tag();
            if is_version && tag.seq() >= merged.since {
                continue;
            }
            let below = (is_version && tag.seq() >= deleted).then(|| (tag, self.merge.value()));
            match join(merged, below, operator)? {
                Joined::Operand(joined) => merged = joined,
                Joined::Value(value) => break value,
            }
        };
        self.state = State::Joined;
        Ok(())
    }

    /// Moves backward to the next visible pair in range.
    fn find_backward(&mut self) -> Result<bool> {
        self.state = State::Backward;
        while self.merge.valid() && self.range.above_start(self.merge.key()) {
            if self.merge.tag() == Tag::PROMISED_BACKWARD {
                self.merge.prev()?;
                continue;
            }
            let mut deleted = 0;
            if let Some(cover) = &mut self.cover {
                deleted = cover.newest_at(self.merge.key());
                if self.merge.tag().seq() < deleted {
                    let all = !std::mem::replace(&mut cover.is_skipped, true);
                    self.merge.skip_back(cover.from(), deleted, all)?;
                    continue;
                }
            }
            self.key.set(self.merge.key());
            let mut live = false;
            let mut newest = 0;
            // Operands, oldest first, over the value below them.
            let mut operands: Vec<Stored> = Vec::new();
            while self.merge.valid() && same_key(self.merge.key(), self.key.as_slice()) {
                let tag = self.merge.tag();
                let sight = sight(tag, self.merge.value(), self.reader)?;
                if let Some(sight) = sight.filter(|_| tag.seq() >= deleted) {
                    if AVAILABLE && sight == Sight::Operand {
                        if operands.is_empty() && live {
                            let below = std::mem::take(&mut self.value);
                            operands.push((Tag::new(newest, Kind::Put), below));
                        }
                        operands.push((tag, self.merge.value().to_vec()));
                        live = true;
                        self.merge.prev()?;
                        continue;
                    }
                    operands.clear();
                    newest = tag.seq();
                    live = sight == Sight::Value;
                    let (value, expires_at) = value_of(tag, self.merge.value());
                    self.expires_at = expires_at;
                    self.value.clear();
                    self.value.extend_from_slice(value);
                }
                self.merge.prev()?;
            }
            if AVAILABLE && !operands.is_empty() {
                self.join_backward(operands)?;
            }
            if live {
                return Ok(true);
            }
        }
        self.state = State::Ended;
        Ok(false)
    }

    /// Joins these versions of a key, oldest first, of which the newest is an operand, and saves the value.
    #[cold]
    fn join_backward(&mut self, mut versions: Vec<Stored>) -> Result<()> {
        versions.reverse();
        let joined = join_first(&versions, |_, _| false, || true, self.operator.as_ref())?;
        self.value = joined.map(|(_, value)| value).unwrap_or_default();
        self.expires_at = None;
        Ok(())
    }
}

impl Drop for MvccCursor {
    fn drop(&mut self) {
        for source in self.merge.sources().iter().filter_map(Source::tracer) {
            self.tracer.add(source.counts());
        }
    }
}

#[cfg(test)]
mod tests;

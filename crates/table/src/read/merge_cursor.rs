//! The merging cursor: many sorted sequences as one.
//!
//! It is a loser tree: each inner node keeps the child that lost its match, and the overall winner is
//! at the root. A step moves the winner's cursor and replays the path from its leaf to the root, one
//! comparison per level. Cursors that are not valid lose to all others. No two entries are equal,
//! since no two entries of a key share a sequence number. A match compares the heads of keys, which lie side by side,
//! and whole entries only if the heads are the same. Forward, the least head of those that lost is known: a winner
//! whose next key is below it wins again without a match, and no other source has its key. Few sources have no tree:
//! the winner is found by comparing all, and all that have a key pass it before.

use super::Source;
use crate::cursor::Cursor;
use crate::entry::{Seq, Tag, compare, head, same_key};
use crate::error::Result;
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// The [`head`] of the key that a cursor is on; `None` if it is not valid.
type Head = Option<u64>;

/// The number of no source.
const NONE: usize = usize::MAX;
/// The most sources that are compared one by one, and of which all that have a key pass it at once.
const FEW_MAX: usize = 8;

/// The most steps over versions of a key before a search for the next key, which costs about as much. A memtable keeps
/// all versions of a key that is often written.
const STEPS_MAX: usize = 16;

/// The state of source `i` and of inner node `i`.
#[derive(Clone, Copy)]
struct Place {
    /// The head of source `i`.
    head: Head,
    /// The source that lost the match at inner node `i`; at 0 the winner, or [`NONE`] while there is none.
    loser: usize,
}

/// Outcome of [`MergeCursor::step_short`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stepped {
    /// To another key of the same source, which is the next.
    Leads,
    /// To another key of the source, which may not be the next: a [replay](MergeCursor::replay) is due.
    Lags,
    /// Nowhere, or to an older version of the key.
    Stays,
}

/// A cursor that merges many.
pub struct MergeCursor {
    sources: Vec<Source>,
    places: Vec<Place>,
    /// Head below which the winner wins again: forward, the least of those that lost to it.
    rival: u64,
    direction: Direction,
}

impl MergeCursor {
    /// Merges `sources`. The cursor is not positioned.
    pub fn new(sources: Vec<Source>) -> Self {
        let places = vec![Place { head: None, loser: NONE }; sources.len()];
        MergeCursor { sources, places, rival: 0, direction: Direction::Forward }
    }

    /// The cursors, in their original order.
    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Takes the cursors, in their original order.
    pub(super) fn take_sources(&mut self) -> Vec<Source> {
        self.places.clear();
        std::mem::take(&mut self.sources)
    }

    /// Sets whether a step fails rather than read a file.
    pub(super) fn set_only_cached(&mut self, only_cached: bool) {
        self.sources.iter_mut().for_each(|source| source.set_only_cached(only_cached));
    }

    #[inline(always)]
    fn winner(&self) -> Option<&Source> {
        self.places.first().and_then(|place| self.sources.get(place.loser))
    }

    /// The number of the winner.
    #[inline(always)]
    fn winner_at(&self) -> Option<usize> {
        self.places.first().map(|place| place.loser).filter(|winner| *winner != NONE)
    }

    /// Leaves the cursor without a position.
    fn invalidate(&mut self) {
        self.put(0, NONE);
    }

    #[inline(always)]
    fn head(&self, source: usize) -> Head {
        self.places.get(source).and_then(|place| place.head)
    }

    /// Whether source `a` comes before source `b` in the current direction.
    #[inline(always)]
    fn beats(&self, a: usize, b: usize) -> bool {
        let order = match (self.head(a), self.head(b)) {
            (Some(a), Some(b)) if a != b => a.cmp(&b),
            (Some(_), Some(_)) => self.compare(a, b),
            (a, _) => return a.is_some(),
        };
        match self.direction {
            Direction::Forward => order == Ordering::Less,
            Direction::Backward => order == Ordering::Greater,
        }
    }

    #[inline(never)]
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let entry =
            |i: usize| self.sources.get(i).map_or((&[][..], Tag(0)), |c| (c.key(), c.tag()));
        let ((a_key, a_tag), (b_key, b_tag)) = (entry(a), entry(b));
        compare(a_key, a_tag, b_key, b_tag)
    }

    /// Notes the heads of all sources, before their first match.
    fn note_all(&mut self) {
        for (place, source) in self.places.iter_mut().zip(&self.sources) {
            *place = Place { head: head_of(source), loser: NONE };
        }
    }

    /// Chooses the winner among few sources, of which each is compared with the best so far, by the heads that are
    /// noted.
    fn choose(&mut self) {
        let (mut best, mut rival) = (None, u64::MAX);
        for i in 0..self.places.len() {
            let Some(head) = self.head(i) else { continue };
            let wins = match best {
                Some((_, least)) if least != head => {
                    (head < least) == (self.direction == Direction::Forward)
                }
                Some((other, _)) => self.beats(i, other),
                None => true,
            };
            let lost =
                if wins { best.replace((i, head)).map(|(_, head)| head) } else { Some(head) };
            rival = lost.map_or(rival, |head| rival.min(head));
        }
        self.put(0, best.map_or(NONE, |(winner, _)| winner));
        self.rival = if self.direction == Direction::Forward { rival } else { 0 };
    }

    fn has_few(&self) -> bool {
        self.sources.len() <= FEW_MAX
    }

    /// Plays the whole tournament. The parent of leaf `s` is inner node `(s + n) / 2`.
    fn rebuild(&mut self) {
        self.note_all();
        if self.has_few() {
            return self.choose();
        }
        let n = self.sources.len();
        for source in 0..n {
            let mut winner = source;
            let mut node = (source + n) / 2;
            while node > 0 {
                let Some(held) = self.places.get(node).map(|place| place.loser) else { break };
                if held == NONE {
                    // The first to arrive waits for its opponent.
                    self.put(node, winner);
                    break;
                }
                if self.beats(held, winner) {
                    self.put(node, winner);
                    winner = held;
                }
                node /= 2;
            }
            if node == 0 {
                self.put(0, winner);
            }
        }
        self.note_rival();
    }

    /// Notes the least head of those that lost to the winner: one of them on each level.
    fn note_rival(&mut self) {
        self.rival = 0;
        let Some(winner) = self.winner_at() else { return };
        if self.direction == Direction::Backward {
            return;
        }
        self.rival = u64::MAX;
        let mut node = (winner + self.sources.len()) / 2;
        while node > 0 {
            let held = self.places.get(node).and_then(|place| self.head(place.loser));
            self.rival = self.rival.min(held.unwrap_or(u64::MAX));
            node /= 2;
        }
    }

    fn put(&mut self, node: usize, source: usize) {
        if let Some(place) = self.places.get_mut(node) {
            place.loser = source;
        }
    }

    /// Replays the winner's path after its cursor moved.
    #[inline(never)]
    pub(super) fn replay(&mut self) {
        let Some(source) = self.winner_at() else { return };
        if let (Some(place), Some(source)) = (self.places.get_mut(source), self.sources.get(source))
        {
            place.head = head_of(source);
        }
        if self.has_few() {
            return self.choose();
        }
        let mut winner = source;
        let mut node = (source + self.sources.len()) / 2;
        while node > 0 {
            let Some(held) = self.places.get(node).map(|place| place.loser) else { break };
            if self.beats(held, winner) {
                self.put(node, winner);
                winner = held;
            }
            node /= 2;
        }
        if winner != source {
            self.put(0, winner);
            self.note_rival();
        }
    }

    fn seek_all(
        &mut self,
        direction: Direction,
        mut seek: impl FnMut(&mut Source) -> Result<()>,
    ) -> Result<()> {
        self.direction = direction;
        self.invalidate();
        for source in &mut self.sources {
            seek(source)?;
        }
        self.rebuild();
        Ok(())
    }

    /// Moves the winner by one entry in the current direction.
    fn step(&mut self) -> Result<()> {
        let direction = self.direction;
        let Some(place) = self.places.first() else { return Ok(()) };
        let Some(winner) = self.sources.get_mut(place.loser) else { return Ok(()) };
        let moved = match direction {
            Direction::Forward => winner.next(),
            Direction::Backward => winner.prev(),
        };
        if moved.is_err() {
            self.invalidate();
            return moved;
        }
        // As long as one source has the next entries, no match is played.
        if head_of(winner).is_none_or(|head| head >= self.rival) {
            self.replay();
        }
        Ok(())
    }

    /// Moves to the next entry of another key, if the winner alone has the key that is left, and both lie in one of its
    /// blocks. Otherwise returns `false`, and is still on the key, perhaps on an older version of it.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn leave_key(&mut self) -> Result<bool> {
        let rival = self.rival;
        let Some(winner) = self.winner_at() else { return Ok(false) };
        let (Some(place), Some(source)) = (self.places.get(winner), self.sources.get_mut(winner))
        else {
            return Ok(false);
        };
        // The head may be that of an earlier key, which is below the rival only if this one's is as well.
        if place.head.is_none_or(|head| head >= rival) {
            return Ok(false);
        }
        loop {
            match source.next_within() {
                Ok(Some(true)) => break,
                Ok(Some(false)) => {}
                Ok(None) => return Ok(false),
                Err(error) => {
                    self.invalidate();
                    return Err(error);
                }
            }
        }
        if head(source.key()) >= rival {
            self.replay();
        }
        Ok(true)
    }

    /// Moves to the next entry of another key under the conditions of [`MergeCursor::leave_key`], if it is short, as
    /// most are. Makes no call, so that a step of a scan keeps its registers.
    #[inline(always)]
    pub(super) fn step_short(&mut self) -> Stepped {
        let rival = self.rival;
        let winner = self.places.first().map_or(NONE, |place| place.loser);
        if self.head(winner).is_none_or(|head| head >= rival) {
            return Stepped::Stays;
        }
        let Some(source) = self.sources.get_mut(winner) else { return Stepped::Stays };
        if source.next_short() != Some(true) {
            Stepped::Stays
        } else if head(source.key()) < rival {
            Stepped::Leads
        } else {
            Stepped::Lags
        }
    }

    /// Moves past all versions of `key`, which is the winner's, and returns `true`; past one of them if many sources
    /// are merged.
    pub(super) fn pass(&mut self, key: &[u8]) -> Result<bool> {
        let Some(winner) = self.winner_at() else { return Ok(true) };
        if !self.has_few() || self.direction == Direction::Backward {
            return self.next().map(|()| false);
        }
        let head = Some(head(key));
        for (i, (place, source)) in self.places.iter_mut().zip(&mut self.sources).enumerate() {
            // That of the winner may be the head of an earlier key.
            if i == winner || place.head == head && same_key(source.key(), key) {
                if let Err(error) = pass_versions(source, key) {
                    self.invalidate();
                    return Err(error);
                }
                place.head = head_of(source);
            }
        }
        self.choose();
        Ok(true)
    }

    /// Moves sources whose entries before `to` are all older than `seq` past them, and the winner, which is before
    /// `to` and older itself, at least by one entry. With `all`, that is every source, otherwise only the winner.
    pub(super) fn skip(&mut self, to: Option<&[u8]>, seq: Seq, all: bool) -> Result<()> {
        let here = |source: &Source| source.valid() && to.is_none_or(|to| source.key() < to);
        self.leave(seq, all, here, |source| source.skip(to, seq), Source::next)
    }

    /// Skips backward, past entries at or above `from`.
    pub(super) fn skip_back(&mut self, from: &[u8], seq: Seq, all: bool) -> Result<()> {
        let here = |source: &Source| source.valid() && source.key() >= from;
        self.leave(seq, all, here, |source| source.skip_back(from, seq), Source::prev)
    }

    fn leave(
        &mut self,
        seq: Seq,
        all: bool,
        here: impl Fn(&Source) -> bool,
        skip: impl Fn(&mut Source) -> Result<bool>,
        step: impl Fn(&mut Source) -> Result<()>,
    ) -> Result<()> {
        let Some(winner) = self.winner_at() else { return Ok(()) };
        let mut left = Ok(());
        for (i, source) in self.sources.iter_mut().enumerate() {
            if (all || i == winner) && here(source) && left.is_ok() {
                left = match skip(source) {
                    Ok(false) if i == winner && source.tag().seq() < seq => step(source),
                    skipped => skipped.map(|_| ()),
                };
            }
        }
        if left.is_err() {
            self.invalidate();
        } else if all {
            self.rebuild();
        } else {
            self.replay();
        }
        left
    }

    /// Reverses every source at the current entry, which stays the winner.
    fn reverse(&mut self, direction: Direction) -> Result<()> {
        let Some(winner) = self.winner().filter(|c| c.valid()) else { return Ok(()) };
        let (key, tag) = (winner.key().to_vec(), winner.tag());
        let at = self.winner_at();
        self.direction = direction;
        self.invalidate();
        for (i, source) in self.sources.iter_mut().enumerate() {
            if Some(i) == at {
                continue;
            }
            match direction {
                Direction::Forward => source.seek(&key, tag)?,
                Direction::Backward => source.seek_before(&key, tag)?,
            }
        }
        self.rebuild();
        Ok(())
    }
}

/// Moves a source past the versions of the key that it is on.
#[inline]
fn pass_versions(source: &mut Source, key: &[u8]) -> Result<()> {
    for _ in 0..STEPS_MAX {
        match source.next_within()? {
            Some(true) => return Ok(()),
            Some(false) => {}
            None => {
                source.next()?;
                if !source.valid() || !same_key(source.key(), key) {
                    return Ok(());
                }
            }
        }
    }
    source.seek_behind(key)
}

#[inline(always)]
fn head_of(source: &Source) -> Head {
    source.valid().then(|| head(source.key()))
}

impl Cursor for MergeCursor {
    fn seek_first(&mut self) -> Result<()> {
        self.seek_all(Direction::Forward, Source::seek_first)
    }

    fn seek_last(&mut self) -> Result<()> {
        self.seek_all(Direction::Backward, Source::seek_last)
    }

    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        if cfg!(target_arch = "wasm32") {
            return self.seek_all(Direction::Forward, |source| source.seek(key, tag));
        }
        // What one source waits for is read beside what the others wait for.
        self.invalidate();
        self.sources.iter_mut().try_for_each(|source| source.aim(key, tag))?;
        self.sources.iter_mut().try_for_each(|source| source.approach(key))?;
        self.seek_all(Direction::Forward, |source| source.land(key, tag))
    }

    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.seek_all(Direction::Backward, |c| c.seek_before(key, tag))
    }

    fn next(&mut self) -> Result<()> {
        if self.direction == Direction::Backward {
            self.reverse(Direction::Forward)?;
        }
        self.step()
    }

    fn prev(&mut self) -> Result<()> {
        if self.direction == Direction::Forward {
            self.reverse(Direction::Backward)?;
        }
        self.step()
    }

    #[inline(always)]
    fn valid(&self) -> bool {
        self.winner().is_some_and(Source::valid)
    }

    #[inline(always)]
    fn key(&self) -> &[u8] {
        self.winner().map_or(&[], Source::key)
    }

    #[inline(always)]
    fn tag(&self) -> Tag {
        self.winner().map_or(Tag(0), Source::tag)
    }

    #[inline(always)]
    fn value(&self) -> &[u8] {
        self.winner().map_or(&[], Source::value)
    }

    #[inline(always)]
    fn current(&self) -> Option<(&[u8], Tag, &[u8])> {
        self.winner()?.current()
    }
}

#[cfg(test)]
mod tests;

//! The search for a key in a super version: memtables, then runs, up to a version that is no operand.

use crate::entry::{MAX_SEQ, Millis, Seq, Tag, value_of};
use crate::error::Result;
#[cfg(not(target_arch = "wasm32"))]
use crate::memtable::Memtable;
use crate::operand::{self, Function, MergeOperator, Merged};
#[cfg(not(target_arch = "wasm32"))]
use crate::sync::Pinned;
use crate::table::key_hash;
use crate::version::{SoughtKey, Sources};
#[cfg(not(target_arch = "wasm32"))]
use terrane_table::read::ReadCounts;
use terrane_table::read::{Joined, ReadTracer, Reader, Sight, join, sight};

/// The sequence number of a value, and the time at which it expires.
pub(super) type Found = (Seq, Option<Millis>);

/// A search for a key, as a reader.
pub(super) struct Search<'a> {
    sources: &'a Sources,
    key: &'a [u8],
    hash: u64,
    reader: Reader,
    /// The sequence number of the newest range delete of the key; what is older has no effect.
    least: Seq,
    operator: Option<&'a MergeOperator>,
    /// The place at which the search in memory stopped, which is not tried in memory again.
    unread: Option<usize>,
}

/// The newest version of a key, to a reader.
enum Seen {
    /// A value, which was lent.
    Value(Option<Millis>),
    Operand(Merged),
    /// A tombstone, or a value that has expired.
    Nothing(Option<Millis>),
}

/// Result of a search in memory.
#[cfg(not(target_arch = "wasm32"))]
pub(super) enum SearchedMemory {
    /// The key has this value, which was lent, or none.
    Known(Option<Found>),
    /// The key has an operand, with its sequence number, at a place; what is below it is not searched.
    Operand(Merged, Seq, usize),
    /// The places from this one on are not searched.
    Unread(usize),
}

impl<'a> Search<'a> {
    #[cfg_attr(not(target_arch = "wasm32"), inline)]
    pub fn new(
        sources: &'a Sources,
        key: &'a [u8],
        reader: Reader,
        operator: Option<&'a MergeOperator>,
    ) -> Self {
        let least = sources.deleted(key, reader.at);
        Search { sources, key, hash: key_hash(key), reader, least, operator, unread: None }
    }

    /// Returns the search with the place at which memory had too little.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn unread_at(mut self, place: usize) -> Self {
        self.unread = Some(place);
        self
    }

    /// Lends the value of the key to `lend`, as the reader sees it; returns its version, if there is one. Places before
    /// `first` are not searched.
    pub fn value(
        &self,
        first: usize,
        lend: &mut dyn FnMut(&[u8]),
        tracer: &mut ReadTracer,
    ) -> Result<Option<Found>> {
        if self.least > 0 {
            tracer.range_delete(self.least);
        }
        let mut seen = Ok(Seen::Nothing(None));
        let see = &mut |tag, stored: &[u8]| seen = self.see(tag, stored, lend);
        let Some((tag, place)) = self.newest(first, self.reader.at, see, tracer)? else {
            return Ok(None);
        };
        match seen? {
            Seen::Value(expires_at) => Ok(Some((tag.seq(), expires_at))),
            Seen::Operand(merged) => {
                lend(&self.join(merged, place, tracer)?);
                Ok(Some((tag.seq(), None)))
            }
            Seen::Nothing(expired_at) => {
                expired_at.into_iter().for_each(|at| tracer.expired(at));
                Ok(None)
            }
        }
    }

    /// Searches memory alone, and lends the value if it is known then. `counts` count it, but for what is left.
    ///
    /// # Errors
    /// Damage.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub fn shown(
        &self,
        lend: &mut dyn FnMut(&[u8]),
        watching: bool,
        counts: &mut ReadCounts,
        pinned: &Pinned,
    ) -> Result<SearchedMemory> {
        let Search { sources, key, hash, reader: Reader { at, .. }, least, .. } = *self;
        let known = |seen: Seen, tag: Tag, place| match seen {
            Seen::Value(expires_at) => SearchedMemory::Known(Some((tag.seq(), expires_at))),
            Seen::Operand(merged) => SearchedMemory::Operand(merged, tag.seq(), place),
            Seen::Nothing(_) => SearchedMemory::Known(None),
        };
        let memtables = 1 + sources.sealed.len();
        let get = |memtable: &'a Memtable| match memtable.may_contain(hash) {
            true => memtable.get(key, at),
            false => None,
        };
        let mut found = get(&sources.active).map(|found| (found, 0));
        if found.is_none() {
            let mut sealed = (1..).zip(&sources.sealed);
            found = sealed.find_map(|(place, memtable)| Some((get(memtable)?, place)));
        }
        if let Some(((tag, stored), place)) = found {
            if tag.seq() < least {
                return Ok(SearchedMemory::Known(None));
            }
            return Ok(known(self.see(tag, stored, lend)?, tag, place));
        }
        counts.operations += 1;
        let mut seen = Ok(Seen::Nothing(None));
        let see = &mut |tag, stored: &[u8]| seen = self.see(tag, stored, lend);
        let sought = SoughtKey { key, hash, at, least, watching, unread: None };
        let counters = &sources.counters;
        Ok(match sources.runs.get_shown(sought, 0, see, counts, counters, pinned) {
            Ok(None) => SearchedMemory::Known(None),
            Ok(Some((tag, run))) => known(seen?, tag, memtables + run),
            Err(run) => SearchedMemory::Unread(memtables + run),
        })
    }

    /// Lends a version that is a value.
    #[inline]
    fn see(&self, tag: Tag, stored: &[u8], lend: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        Ok(match sight(tag, stored, self.reader)? {
            Some(Sight::Value) => {
                let (value, expires_at) = value_of(tag, stored);
                lend(value);
                Seen::Value(expires_at)
            }
            Some(Sight::Operand) if operand::AVAILABLE => {
                Seen::Operand(Merged::decode(tag, stored)?)
            }
            _ => Seen::Nothing(value_of(tag, stored).1),
        })
    }

    /// Returns what operands make of the value below them. They were found at `place`.
    #[cold]
    pub fn join(
        &self,
        merged: Merged,
        mut place: usize,
        tracer: &mut ReadTracer,
    ) -> Result<Vec<u8>> {
        let (mut merged, mut stored) = (merged, Vec::new());
        loop {
            // What is older there was joined with it, unless a merge operator was not asked or made it too long.
            place += usize::from(!matches!(merged.function, Function::Custom(_)));
            stored.clear();
            let copy = &mut |_, bytes: &[u8]| stored.extend_from_slice(bytes);
            let below = self.newest(place, merged.since.saturating_sub(1), copy, tracer)?;
            let mut version = below.map(|(tag, at)| {
                place = at;
                (tag, stored.as_slice())
            });
            if let Some((tag, stored)) = version
                && sight(tag, stored, self.reader)? == Some(Sight::Nothing)
            {
                version = None;
            }
            match join(merged, version, self.operator)? {
                Joined::Operand(joined) => merged = joined,
                Joined::Value(value) => return Ok(value),
            }
        }
    }

    /// Lends the stored value of the key's newest version at or below `at`; returns its tag and its place. The places
    /// are the memtables, then the runs, newest first. Places before `first` are not searched.
    #[inline]
    fn newest(
        &self,
        first: usize,
        at: Seq,
        lend: &mut dyn FnMut(Tag, &[u8]),
        tracer: &mut ReadTracer,
    ) -> Result<Option<(Tag, usize)>> {
        let Search { sources, key, hash, least, .. } = *self;
        let mut memtables = 0;
        for (place, memtable) in sources.memtables().enumerate() {
            memtables += 1;
            let is_older = least > 0 && memtable.last_seq().is_none_or(|last| last < least);
            if place < first || is_older {
                continue;
            }
            tracer.memtable(place);
            if memtable.may_contain(hash)
                && let Some((tag, stored)) = memtable.get(key, at)
            {
                tracer.found(tag, stored.len());
                if tag.seq() < least {
                    return Ok(None);
                }
                lend(tag, stored);
                return Ok(Some((tag, place)));
            }
            tracer.absent(false, || Ok(memtable.get(key, MAX_SEQ).is_some()))?;
        }
        if first == 0 {
            tracer.tables();
        }
        let runs = first.saturating_sub(memtables);
        let unread = self.unread.and_then(|place| place.checked_sub(memtables));
        let sought = SoughtKey { key, hash, at, least, watching: tracer.watches(), unread };
        let found = sources.runs.get(sought, runs, lend, tracer, &sources.counters)?;
        Ok(found.map(|(tag, run)| (tag, memtables + run)))
    }
}

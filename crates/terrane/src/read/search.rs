//! The search for a key in a super version: memtables, then runs, up to a version that is no operand.

use crate::engine::KeyspaceInner;
use crate::entry::{EXPIRY_BYTES, MAX_SEQ, Millis, Seq, Tag, value_of};
use crate::error::Result;
use crate::operand::{self, Function, MergeOperator, Merged};
use crate::table::key_hash;
use crate::version::{FilterCounters, SuperVersion};
use terrane_table::read::{Joined, ReadTracer, Reader, Sight, join, sight};

/// The sequence number of a value, and the time at which it expires.
pub(super) type Found = (Seq, Option<Millis>);

/// A search for a key, as a reader.
pub(super) struct Search<'a> {
    super_version: &'a SuperVersion,
    key: &'a [u8],
    hash: u64,
    reader: Reader,
    /// The sequence number of the newest range delete of the key; what is older has no effect.
    least: Seq,
    filters: &'a FilterCounters,
    operator: Option<&'a MergeOperator>,
}

impl<'a> Search<'a> {
    pub fn new(
        super_version: &'a SuperVersion,
        key: &'a [u8],
        reader: Reader,
        keyspace: &'a KeyspaceInner,
        operator: Option<&'a MergeOperator>,
    ) -> Self {
        let least = super_version.deleted(key, reader.at);
        let (hash, filters) = (key_hash(key), &keyspace.filters);
        Search { super_version, key, hash, reader, least, filters, operator }
    }

    /// Appends the value of the key to `out`, as the reader sees it; returns its version, if there is one.
    pub fn value(&self, out: &mut Vec<u8>, tracer: &mut ReadTracer) -> Result<Option<Found>> {
        if self.least > 0 {
            tracer.range_delete(self.least);
        }
        let before = out.len();
        let Some((tag, place)) = self.newest(0, self.reader.at, out, tracer)? else {
            return Ok(None);
        };
        let stored = out.get(before..).unwrap_or_default();
        match sight(tag, stored, self.reader)? {
            Some(Sight::Value) => {
                let expires_at = value_of(tag, stored).1;
                if expires_at.is_some() {
                    out.drain(before..before + EXPIRY_BYTES);
                }
                Ok(Some((tag.seq(), expires_at)))
            }
            Some(Sight::Operand) if operand::AVAILABLE => {
                let merged = Merged::decode(tag, stored)?;
                out.truncate(before);
                self.join(merged, place, out, tracer)?;
                Ok(Some((tag.seq(), None)))
            }
            _ => {
                if let Some(at) = value_of(tag, stored).1 {
                    tracer.expired(at);
                }
                Ok(None)
            }
        }
    }

    /// Appends what operands make of the value below them. They were found at `place`.
    #[cold]
    fn join(
        &self,
        merged: Merged,
        mut place: usize,
        out: &mut Vec<u8>,
        tracer: &mut ReadTracer,
    ) -> Result<()> {
        let (mut merged, mut stored) = (merged, Vec::new());
        loop {
            // What is older there was joined with it, unless a merge operator was not asked or made it too long.
            place += usize::from(!matches!(merged.function, Function::Custom(_)));
            stored.clear();
            let below = self.newest(place, merged.since.saturating_sub(1), &mut stored, tracer)?;
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
                Joined::Value(value) => {
                    out.extend_from_slice(&value);
                    return Ok(());
                }
            }
        }
    }

    /// Appends the stored value of the key's newest version at or below `at`; returns its tag and its place. The places
    /// are the memtables, then the runs, newest first. Places before `first` are not searched.
    #[inline]
    fn newest(
        &self,
        first: usize,
        at: Seq,
        out: &mut Vec<u8>,
        tracer: &mut ReadTracer,
    ) -> Result<Option<(Tag, usize)>> {
        let Search { super_version, key, hash, least, .. } = *self;
        let mut memtables = 0;
        for (place, memtable) in super_version.memtables().enumerate() {
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
                out.extend_from_slice(stored);
                return Ok(Some((tag, place)));
            }
            tracer.absent(false, || Ok(memtable.get(key, MAX_SEQ).is_some()))?;
        }
        if first == 0 {
            tracer.tables();
        }
        let runs = first.saturating_sub(memtables);
        let tree = &super_version.tree;
        let found = tree.get((key, hash), (least, at), runs, out, tracer, self.filters)?;
        Ok(found.map(|(tag, run)| (tag, memtables + run)))
    }
}

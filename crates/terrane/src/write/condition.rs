//! Conditions of a batch: what must hold when it is committed.
//!
//! 1. Before a conditional batch queues, its conditions are evaluated on what is visible then ([`Checks::evaluate`]),
//!    files included.
//! 2. Under the writer's lock only the batches since that moment can change the result, so only their entries
//!    are compared ([`Checks::after`]): no file is read and no range is scanned there, except at the last try of a
//!    batch that others have outrun each time before.

use crate::batch::{self, Operation};
use crate::engine::Engine;
use crate::entry::{Millis, Seq, split_expiring};
use crate::error::{Corruption, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::operand::AVAILABLE;
use crate::read;
use crate::read::Versioned;
use crate::vec_map::{VecMap, VecSet};
use std::ops::{Bound, Range};
use terrane_table::read::KeyRange;
use terrane_types::sort::sort_by;

/// The most conditions of a batch.
pub const CONDITIONS_MAX: usize = 10_000;

/// A condition of a batch; see [`Db::write_if`](crate::Db::write_if). One on a range comes from a snapshot:
/// [`Snapshot::unchanged`](crate::Snapshot::unchanged).
#[derive(Clone)]
pub struct Condition<'a> {
    keyspace: KeyspaceId,
    on: On,
    /// The store of the condition's snapshot.
    store: Option<&'a Engine>,
}

#[derive(Clone)]
enum On {
    Key(Vec<u8>, Expected),
    Range(KeyRange, Seq),
}

/// The expected state of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    Absent,
    Present,
    Version(Seq),
    Value(Vec<u8>),
    /// No batch after this one wrote the key.
    UnchangedSince(Seq),
}

impl Expected {
    fn holds(&self, found: Found<'_>) -> bool {
        match (self, found.map(|found| (found.seq, found.value))) {
            (Expected::Absent, found) => found.is_none(),
            (Expected::Present, found) => found.is_some(),
            (Expected::Version(seq), Some((found, _))) => *seq == found,
            (Expected::Value(value), Some((_, found))) => value == found,
            (Expected::Version(_) | Expected::Value(_), None) => false,
            // Asked about an entry of a later batch.
            (Expected::UnchangedSince(_), _) => false,
        }
    }
}

impl<'a> Condition<'a> {
    fn on_key(keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>, expected: Expected) -> Self {
        let on = On::Key(key.as_ref().to_vec(), expected);
        Condition { keyspace: keyspace.into(), on, store: None }
    }

    /// Expects that the key has no value, or one that has expired.
    pub fn absent(keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>) -> Self {
        Condition::on_key(keyspace, key, Expected::Absent)
    }

    /// Expects that the key has a value.
    pub fn present(keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>) -> Self {
        Condition::on_key(keyspace, key, Expected::Present)
    }

    /// Expects the value that the batch with this sequence number wrote.
    pub fn version(keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>, seq: Seq) -> Self {
        Condition::on_key(keyspace, key, Expected::Version(seq))
    }

    /// Expects this value.
    pub fn value(
        keyspace: impl Into<KeyspaceId>,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Self {
        Condition::on_key(keyspace, key, Expected::Value(value.as_ref().to_vec()))
    }

    /// Expects that no batch after `since`, at which a snapshot of `store` is held, wrote into the range.
    pub(crate) fn unchanged(
        store: &'a Engine,
        keyspace: KeyspaceId,
        range: KeyRange,
        since: Seq,
    ) -> Self {
        let on = match (range.from, range.to) {
            (Bound::Included(key), Bound::Included(to)) if key == to => {
                On::Key(key, Expected::UnchangedSince(since))
            }
            // The least key above this one.
            (Bound::Included(key), Bound::Excluded(to)) if to.strip_suffix(&[0]) == Some(&key) => {
                On::Key(key, Expected::UnchangedSince(since))
            }
            (from, to) => On::Range(KeyRange { from, to }, since),
        };
        Condition { keyspace, on, store: Some(store) }
    }
}

/// A batch with the conditions under which it is written; see [`Db::write_group`](crate::Db::write_group).
#[derive(Clone, Default)]
pub struct ConditionalBatch<'a> {
    /// Conditions that must hold; none for an unconditional batch.
    pub conditions: Vec<Condition<'a>>,
    /// Operations that are written then.
    pub batch: batch::WriteBatch,
}

/// The result of a conditional batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a batch that was refused wrote nothing"]
pub enum Outcome {
    /// All conditions held: the batch is written, under this sequence number.
    Written(Seq),
    /// Conditions that did not hold, in their order: nothing was written.
    Refused(Vec<Refusal>),
}

impl Outcome {
    /// Returns the sequence number of a batch that was written.
    #[must_use]
    pub fn written(self) -> Option<Seq> {
        match self {
            Outcome::Written(seq) => Some(seq),
            Outcome::Refused(_) => None,
        }
    }
}

/// A condition that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Index of the condition.
    pub condition: usize,
    /// Key of the condition or, if it is on a range, a key of it that a batch wrote.
    pub key: Vec<u8>,
    /// The key's value and version; `None` if it has no value.
    pub found: Option<Versioned>,
}

/// The conditions of a batch, in the order in which entries are compared with them.
#[derive(Default)]
pub(crate) struct Checks {
    /// By keyspace and key.
    keys: Vec<KeyCheck>,
    ranges: Vec<RangeCheck>,
    /// The bounds of the ranges of each keyspace, ascending. They divide the keys into stretches, so that an entry is
    /// compared with no more than these, however many ranges it lies in.
    bounds: VecMap<KeyspaceId, Vec<Vec<u8>>>,
}

/// Conditions as they were when they were evaluated.
#[derive(Default)]
pub(crate) struct Evaluated {
    /// Conditions that did not hold.
    pub refusals: Vec<Refusal>,
    /// The last sequence number that was visible.
    pub at: Seq,
    /// The time at which the first of the values that were found expires.
    pub until: Millis,
}

struct KeyCheck {
    condition: usize,
    keyspace: KeyspaceId,
    key: Vec<u8>,
    expected: Expected,
}

impl KeyCheck {
    fn place(&self) -> (KeyspaceId, &[u8]) {
        (self.keyspace, &self.key)
    }
}

struct RangeCheck {
    condition: usize,
    keyspace: KeyspaceId,
    range: KeyRange,
    since: Seq,
    /// The stretches within the range.
    stretches: Range<usize>,
}

impl Checks {
    /// Takes the conditions of a batch of `engine`.
    ///
    /// # Errors
    /// More than [`CONDITIONS_MAX`]; a snapshot of another store.
    pub fn new(engine: &Engine, conditions: Vec<Condition<'_>>) -> Result<Self> {
        if conditions.len() > CONDITIONS_MAX {
            let found = format_args!("{}", conditions.len());
            let expected = format_args!("at most {CONDITIONS_MAX}");
            return Err(Error::invalid("conditions of a batch", expected, found));
        }
        let mut checks = Checks::default();
        for (condition, Condition { keyspace, on, store }) in conditions.into_iter().enumerate() {
            if store.is_some_and(|store| !std::ptr::eq(store, engine)) {
                let what = "snapshot of a condition";
                return Err(Error::invalid(what, "one of this store", "one of another store"));
            }
            match on {
                On::Key(key, expected) => {
                    checks.keys.push(KeyCheck { condition, keyspace, key, expected })
                }
                On::Range(range, since) => {
                    let stretches = 0..0;
                    let check = RangeCheck { condition, keyspace, range, since, stretches };
                    checks.ranges.push(check);
                }
            }
        }
        sort_by(&mut checks.keys, |a, b| a.place().cmp(&b.place()));
        checks.divide();
        Ok(checks)
    }

    /// Finds the stretches of the ranges.
    fn divide(&mut self) {
        for check in &self.ranges {
            if let Some((from, to)) = check.range.half_open() {
                self.bounds.update(check.keyspace, |bounds: &mut Vec<_>| {
                    bounds.push(from);
                    bounds.extend(to);
                });
            }
        }
        for (_, bounds) in self.bounds.iter_mut() {
            sort_by(bounds, |a, b| a.cmp(b));
            bounds.dedup();
        }
        for check in &mut self.ranges {
            let bounds = self.bounds.get(&check.keyspace).map_or(&[][..], Vec::as_slice);
            if let Some((from, to)) = check.range.half_open() {
                let end = to.map_or(bounds.len() + 1, |to| stretch(bounds, &to));
                check.stretches = stretch(bounds, &from)..end;
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }

    /// Returns the keyspaces of the conditions, with repetitions.
    pub fn keyspaces(&self) -> impl Iterator<Item = KeyspaceId> {
        let of_keys = self.keys.iter().map(|check| check.keyspace);
        of_keys.chain(self.ranges.iter().map(|check| check.keyspace))
    }

    /// Evaluates the conditions on what is visible now.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped.
    pub fn evaluate(&self, engine: &Engine) -> Result<Evaluated> {
        let mut view = read::view(engine, self.keyspaces())?;
        let mut refusals = Vec::new();
        let mut until = Millis::MAX;
        for KeyCheck { condition, keyspace, key, expected } in &self.keys {
            let lookup = view.lookup(*keyspace)?;
            if let Expected::UnchangedSince(since) = expected
                && !lookup.has_changed(key, *since)?
            {
                continue;
            }
            let found = lookup.get_versioned(key)?;
            let expiry = found.as_ref().and_then(|found| found.expires_at);
            until = until.min(expiry.unwrap_or(Millis::MAX));
            if !expected.holds(found.as_ref().map(Current::of)) {
                refusals.push(Refusal { condition: *condition, key: key.clone(), found });
            }
        }
        for RangeCheck { condition, keyspace, range, since, .. } in &self.ranges {
            let lookup = view.lookup(*keyspace)?;
            if let Some(key) = lookup.changed(range, *since)? {
                let found = lookup.get_versioned(&key)?;
                refusals.push(Refusal { condition: *condition, key, found });
            }
        }
        sort_by(&mut refusals, |a, b| a.condition.cmp(&b.condition));
        Ok(Evaluated { refusals, at: view.reader().at, until })
    }

    /// Returns the conditions that do not hold at the time `now` after these batches, where `before` are those that
    /// did not hold before them; `None` if a merge of these batches has to be evaluated first.
    ///
    /// # Errors
    /// A batch that does not decode.
    pub fn after<'b>(
        &self,
        batches: impl Iterator<Item = (Seq, &'b [u8])>,
        before: &[Refusal],
        now: Millis,
    ) -> Result<Option<Vec<Refusal>>> {
        let mut keys: Vec<Last<'_>> = self.keys.iter().map(|_| None).collect();
        let mut changed: VecMap<KeyspaceId, Vec<Last<'_>>> = VecMap::default();
        for (keyspace, bounds) in self.bounds.iter() {
            changed.insert(*keyspace, (0..=bounds.len()).map(|_| None).collect());
        }
        for (seq, bytes) in batches {
            for entry in batch::decode(bytes) {
                let (keyspace, operation) = entry.map_err(|_| unsound())?;
                let bounds = self.bounds.get(&keyspace).map_or(&[][..], Vec::as_slice);
                let stretches = changed.get_mut(&keyspace);
                let (key, found) = match operation {
                    Operation::Put(key, value) => {
                        (key, Some(Current { value, seq, expires_at: None }))
                    }
                    Operation::PutExpiring(key, stored) => {
                        let (at, value) = split_expiring(stored).ok_or_else(unsound)?;
                        let current = Current { value, seq, expires_at: Some(at) };
                        (key, Some(current).filter(|_| at > now))
                    }
                    Operation::Delete(key) => (key, None),
                    Operation::Merge(key, _) if AVAILABLE && self.names(keyspace, key) => {
                        return Ok(None);
                    }
                    // Conditions on the keyspace are refused.
                    Operation::Merge(..) | Operation::DropKeyspace(_) => continue,
                    Operation::DeleteRange(from, to) => {
                        self.note_range(&mut keys, keyspace, (from, to));
                        note_stretches(stretches, bounds, (from, to));
                        continue;
                    }
                };
                let from = self.keys.partition_point(|check| check.place() < (keyspace, key));
                let checks = self.keys.iter().zip(&mut keys).skip(from);
                for (_, last) in checks.take_while(|(check, _)| check.place() == (keyspace, key)) {
                    note(last, key, found);
                }
                if let Some(last) = stretches.and_then(|s| s.get_mut(stretch(bounds, key))) {
                    note(last, key, found);
                }
            }
        }
        // What stood at a key counts no more once a batch wrote it; a range stays changed.
        let written = self.keys.iter().zip(&keys).filter(|(_, last)| last.is_some());
        let written: VecSet<usize> = written.map(|(check, _)| check.condition).collect();
        let stays = |refusal: &&Refusal| !written.contains(&refusal.condition);
        let mut refusals: Vec<Refusal> = before.iter().filter(stays).cloned().collect();
        for (check, last) in self.keys.iter().zip(&keys) {
            if let Some((key, found)) = last.as_ref().filter(|(_, f)| !check.expected.holds(*f)) {
                refusals.push(refusal(check.condition, key, *found));
            }
        }
        let known: VecSet<usize> = before.iter().map(|refusal| refusal.condition).collect();
        for check in self.ranges.iter().filter(|check| !known.contains(&check.condition)) {
            let stretches = changed.get(&check.keyspace);
            let within = stretches.and_then(|s| s.get(check.stretches.clone()));
            if let Some((key, found)) = within.unwrap_or_default().iter().flatten().next() {
                refusals.push(refusal(check.condition, key, *found));
            }
        }
        sort_by(&mut refusals, |a, b| a.condition.cmp(&b.condition));
        Ok(Some(refusals))
    }

    /// Whether a condition is on a key.
    fn names(&self, keyspace: KeyspaceId, key: &[u8]) -> bool {
        let at = self.keys.partition_point(|check| check.place() < (keyspace, key));
        let is_key = self.keys.get(at).is_some_and(|check| check.place() == (keyspace, key));
        let is_within = |check: &RangeCheck| {
            check.keyspace == keyspace && check.range.above_start(key) && check.range.below_end(key)
        };
        is_key || self.ranges.iter().any(is_within)
    }

    /// Notes which keys a range delete removes.
    fn note_range(&self, keys: &mut [Last<'_>], keyspace: KeyspaceId, (from, to): Span<'_>) {
        let start = self.keys.partition_point(|check| check.place() < (keyspace, from));
        let is_within = |check: &KeyCheck| {
            check.keyspace == keyspace && to.is_none_or(|to| check.key.as_slice() < to)
        };
        let checks = self.keys.iter().zip(keys).skip(start);
        for (check, last) in checks.take_while(|(check, _)| is_within(check)) {
            note(last, &check.key, None);
        }
    }
}

/// Returns the number of the stretch that a key lies in: the number of bounds at or below it.
fn stretch(bounds: &[Vec<u8>], key: &[u8]) -> usize {
    bounds.partition_point(|bound| bound.as_slice() <= key)
}

/// Notes which stretches a range delete changes.
fn note_stretches(stretches: Option<&mut Vec<Last<'_>>>, bounds: &[Vec<u8>], (from, to): Span<'_>) {
    let first = stretch(bounds, from);
    let end = to.map_or(bounds.len() + 1, |to| bounds.partition_point(|b| b.as_slice() < to) + 1);
    let within = stretches.and_then(|stretches| stretches.get_mut(first..end));
    for (number, last) in (first..).zip(within.unwrap_or_default()) {
        let start =
            number.checked_sub(1).and_then(|at| bounds.get(at)).map_or(&[][..], Vec::as_slice);
        note(last, from.max(start), None);
    }
}

/// The keys from one on, before another or to the end.
type Span<'a> = (&'a [u8], Option<&'a [u8]>);

/// A key's value with its version.
#[derive(Clone, Copy)]
struct Current<'a> {
    value: &'a [u8],
    seq: Seq,
    expires_at: Option<Millis>,
}

impl<'a> Current<'a> {
    fn of(Versioned { value, seq, expires_at }: &'a Versioned) -> Self {
        Current { value, seq: *seq, expires_at: *expires_at }
    }
}

/// A key's value, if it has one.
type Found<'a> = Option<Current<'a>>;

/// The last entry seen of a key, or of the first key of a stretch: the key, and its value with its number.
type Last<'a> = Option<(Vec<u8>, Found<'a>)>;

fn note<'a>(last: &mut Last<'a>, key: &[u8], found: Found<'a>) {
    match last {
        Some((seen, last)) if *seen == key => *last = found,
        Some(_) => {}
        None => *last = Some((key.to_vec(), found)),
    }
}

fn refusal(condition: usize, key: &[u8], found: Found<'_>) -> Refusal {
    let found = found.map(|Current { value, seq, expires_at }| Versioned {
        value: value.to_vec(),
        seq,
        expires_at,
    });
    Refusal { condition, key: key.to_vec(), found }
}

#[cold]
fn unsound() -> Error {
    Corruption::new("memory", 0, "a sound batch", "one that does not decode").into()
}

#[cfg(test)]
mod tests;

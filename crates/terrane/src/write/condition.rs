//! Conditions of a batch: what must hold when it is committed.
//!
//! 1. Before a conditional batch queues, its conditions are evaluated on what is visible then ([`Checks::evaluate`]),
//!    files included.
//! 2. Under the writer's lock only the batches since that moment can change the result, so only their entries
//!    are compared ([`Checks::after`]): no file is read and no range is scanned there.

use crate::batch;
use crate::engine::Engine;
use crate::entry::{Kind, Seq};
use crate::error::{Closed, Corruption, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::read::Versioned;
use crate::vec_map::{VecMap, VecSet};
use std::ops::Bound;
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
    fn holds(&self, found: Option<(Seq, &[u8])>) -> bool {
        match (self, found) {
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

    /// The key has no value.
    pub fn absent(keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>) -> Self {
        Condition::on_key(keyspace, key, Expected::Absent)
    }

    /// The key has a value.
    pub fn present(keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>) -> Self {
        Condition::on_key(keyspace, key, Expected::Present)
    }

    /// The key has the value that the batch with this sequence number wrote.
    pub fn version(keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>, seq: Seq) -> Self {
        Condition::on_key(keyspace, key, Expected::Version(seq))
    }

    /// The key has this value.
    pub fn value(
        keyspace: impl Into<KeyspaceId>,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Self {
        Condition::on_key(keyspace, key, Expected::Value(value.as_ref().to_vec()))
    }

    /// No batch after `since`, at which a snapshot of `store` is held, wrote into the range.
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
    /// Conditions that must hold; none for a batch that is written in any case.
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
    /// The condition's index.
    pub condition: usize,
    /// Its key or, of a range, one that a batch wrote.
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
                return Err(Closed::Snapshot.into());
            }
            match on {
                On::Key(key, expected) => {
                    checks.keys.push(KeyCheck { condition, keyspace, key, expected })
                }
                On::Range(range, since) => {
                    checks.ranges.push(RangeCheck { condition, keyspace, range, since })
                }
            }
        }
        sort_by(&mut checks.keys, |a, b| a.place().cmp(&b.place()));
        Ok(checks)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }

    /// The keyspaces of the conditions, with repetitions.
    pub fn keyspaces(&self) -> impl Iterator<Item = KeyspaceId> {
        let of_keys = self.keys.iter().map(|check| check.keyspace);
        of_keys.chain(self.ranges.iter().map(|check| check.keyspace))
    }

    /// Evaluates the conditions on what is visible now. Returns those that do not hold, and the last sequence
    /// number that was visible.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped.
    pub fn evaluate(&self, engine: &Engine) -> Result<(Vec<Refusal>, Seq)> {
        let mut view = engine.view(self.keyspaces())?;
        let mut refusals = Vec::new();
        for KeyCheck { condition, keyspace, key, expected } in &self.keys {
            let lookup = view.lookup(*keyspace)?;
            if let Expected::UnchangedSince(since) = expected
                && !lookup.has_changed(key, *since)?
            {
                continue;
            }
            let found = lookup.get_versioned(key)?;
            if !expected.holds(found.as_ref().map(Versioned::parts)) {
                refusals.push(Refusal { condition: *condition, key: key.clone(), found });
            }
        }
        for RangeCheck { condition, keyspace, range, since } in &self.ranges {
            let lookup = view.lookup(*keyspace)?;
            if let Some(key) = lookup.changed(range, *since)? {
                let found = lookup.get_versioned(&key)?;
                refusals.push(Refusal { condition: *condition, key, found });
            }
        }
        sort_by(&mut refusals, |a, b| a.condition.cmp(&b.condition));
        Ok((refusals, view.seq()))
    }

    /// Returns the conditions that do not hold after these batches, where `before` are those that did not hold
    /// before them.
    ///
    /// # Errors
    /// A batch that does not decode.
    pub fn after<'b>(
        &self,
        batches: impl Iterator<Item = (Seq, &'b [u8])>,
        before: &[Refusal],
    ) -> Result<Vec<Refusal>> {
        let mut keys = Last::default();
        let mut ranges = Last::default();
        for (seq, bytes) in batches {
            for entry in batch::decode(bytes) {
                let (kind, keyspace, key, value) = entry.map_err(|_| unsound())?;
                let found = (kind == Kind::Put).then_some((seq, value));
                let from = self.keys.partition_point(|check| check.place() < (keyspace, key));
                let checks = self.keys.iter().enumerate().skip(from);
                for (at, _) in checks.take_while(|(_, check)| check.place() == (keyspace, key)) {
                    note(&mut keys, at, key, found);
                }
                for (at, check) in self.ranges.iter().enumerate() {
                    if check.keyspace == keyspace && check.range.contains(key) {
                        note(&mut ranges, at, key, found);
                    }
                }
            }
        }
        // What stood at a key counts no more once a batch wrote it; a range stays changed.
        let written = keys.keys().filter_map(|at| self.keys.get(*at));
        let written: VecSet<usize> = written.map(|check| check.condition).collect();
        let stays = |refusal: &&Refusal| !written.contains(&refusal.condition);
        let mut refusals: Vec<Refusal> = before.iter().filter(stays).cloned().collect();
        for (at, (key, found)) in keys.iter() {
            if let Some(check) = self.keys.get(*at).filter(|check| !check.expected.holds(*found)) {
                refusals.push(refusal(check.condition, key, *found));
            }
        }
        for (at, (key, found)) in ranges.iter() {
            let check = self.ranges.get(*at);
            let known = |check: &&RangeCheck| before.iter().any(|r| r.condition == check.condition);
            refusals.extend(check.filter(|c| !known(c)).map(|c| refusal(c.condition, key, *found)));
        }
        sort_by(&mut refusals, |a, b| a.condition.cmp(&b.condition));
        Ok(refusals)
    }
}

/// A key's value with its sequence number, if it has one.
type Found<'a> = Option<(Seq, &'a [u8])>;

/// The last entry seen for each check, by the check's index: its key, and the value with its number. Of a range
/// the first key stays.
type Last<'a> = VecMap<usize, (&'a [u8], Found<'a>)>;

fn note<'a>(last: &mut Last<'a>, at: usize, key: &'a [u8], found: Found<'a>) {
    match last.get_mut(&at) {
        Some((seen, last)) if *seen == key => *last = found,
        Some(_) => {}
        None => {
            last.insert(at, (key, found));
        }
    }
}

fn refusal(condition: usize, key: &[u8], found: Found<'_>) -> Refusal {
    let found = found.map(|(seq, value)| Versioned { value: value.to_vec(), seq });
    Refusal { condition, key: key.to_vec(), found }
}

#[cold]
fn unsound() -> Error {
    Corruption::new("memory", 0, "a sound batch", "one that does not decode").into()
}

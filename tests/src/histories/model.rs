//! Expected state of a store: its batches and keyspaces, and the unknown after an error.
//!
//! 1. Every batch has a number, which it writes to the default keyspace: so a store shows how many there are.
//! 2. After a crash the store shows a prefix of the acknowledged batches, at least those that were promised;
//!    without one, all of them. Of those that failed since, it may show those of one record, whole: one, or a few
//!    that were written beside each other.
//! 3. The keyspaces are those of the acknowledged edits. Of the edits that failed since, one may have happened.
//!    A keyspace that is created again is another one: nothing of the first returns.

use crate::workload::Change;
use std::collections::{BTreeMap, BTreeSet};

/// The rows of a keyspace.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
/// The rows of each keyspace, by its name.
pub type Shown = BTreeMap<String, Rows>;

/// The key that every batch writes, in the default keyspace.
pub const NUMBER: &[u8] = b"number";
/// The keyspace that is always there.
pub const DEFAULT: &str = "default";

/// A change of a key, or from a key on, in a keyspace that is known by the place of its creation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The keyspace.
    pub keyspace: usize,
    /// The key.
    pub key: Vec<u8>,
    /// The change.
    pub change: Change,
}

/// A batch, by its number.
#[derive(Clone, Debug)]
struct Batch {
    number: u64,
    operations: Vec<Operation>,
}

/// A change of the keyspaces.
#[derive(Clone, Debug)]
enum Edit {
    Create(String, usize),
    Drop(String),
}

/// The living keyspaces, each with the place of its creation.
type Living = BTreeMap<String, usize>;
/// The rows of all keyspaces, living or not.
type Contents = Vec<Rows>;

/// The promises of a store: everything that it must show.
#[derive(Clone)]
pub struct Model {
    living: Living,
    /// Edits that failed since the store was opened.
    doubted: Vec<Edit>,
    /// Contents before the first of `batches`.
    base: Contents,
    /// Acknowledged batches.
    batches: Vec<Batch>,
    /// Number of these batches that are promised to survive a crash.
    promised: usize,
    /// Batches that failed since the last acknowledged one.
    failed: Vec<Batch>,
    now: Contents,
    numbers: u64,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            living: Living::from([(DEFAULT.to_owned(), 0)]),
            doubted: Vec::new(),
            base: vec![Rows::new()],
            batches: Vec::new(),
            promised: 0,
            failed: Vec::new(),
            now: vec![Rows::new()],
            numbers: 0,
        }
    }
}

fn apply(contents: &mut Contents, batch: &Batch) {
    for Operation { keyspace, key, change } in &batch.operations {
        change.apply(&mut contents[*keyspace], key);
    }
}

fn number_of(rows: Option<&Rows>) -> u64 {
    let stored = rows.and_then(|rows| rows.get(NUMBER));
    stored.map_or(0, |bytes| u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes")))
}

/// Returns the contents that a store with these keyspaces shows.
fn shown(contents: &Contents, living: &Living) -> Shown {
    living.iter().map(|(name, keyspace)| (name.clone(), contents[*keyspace].clone())).collect()
}

impl Model {
    /// The names of the keyspaces, with the places of their creation.
    #[must_use]
    pub fn living(&self) -> Vec<(String, usize)> {
        self.living.iter().map(|(name, keyspace)| (name.clone(), *keyspace)).collect()
    }

    /// Acknowledged batches that may not survive a crash.
    #[must_use]
    pub fn unpromised(&self) -> usize {
        self.batches.len() - self.promised
    }

    /// Returns everything that the open store must show.
    #[must_use]
    pub fn now(&self) -> Shown {
        shown(&self.now, &self.living)
    }

    /// The number of the next batch.
    pub fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Notes that a batch was written; `acknowledged` if the store said so, which shows that batches that failed
    /// before it are not there.
    pub fn written(&mut self, number: u64, operations: Vec<Operation>, acknowledged: bool) {
        let batch = Batch { number, operations };
        if acknowledged {
            self.failed.clear();
            apply(&mut self.now, &batch);
            self.batches.push(batch);
        } else {
            self.failed.push(batch);
        }
    }

    /// Notes that all acknowledged batches are durable.
    pub fn promise(&mut self) {
        self.promised = self.batches.len();
    }

    /// Notes that a keyspace was created, if that is `acknowledged`, or may have been.
    pub fn created(&mut self, name: &str, acknowledged: bool) {
        let keyspace = self.now.len();
        self.now.push(Rows::new());
        self.base.push(Rows::new());
        self.edited(Edit::Create(name.to_owned(), keyspace), acknowledged);
    }

    /// Notes that a keyspace was dropped, if that is `acknowledged`, or may have been.
    pub fn dropped(&mut self, name: &str, acknowledged: bool) {
        self.edited(Edit::Drop(name.to_owned()), acknowledged);
    }

    fn edited(&mut self, edit: Edit, acknowledged: bool) {
        if acknowledged {
            edit.apply(&mut self.living);
        } else {
            self.doubted.push(edit);
        }
    }

    /// Judges what a store shows after it was opened again; `all` if everything acknowledged must be there. The
    /// model continues from what was found, and counts it as promised if it is `durable`.
    ///
    /// # Errors
    /// The first difference.
    pub fn judge(&mut self, found: &Shown, all: bool, durable: bool) -> Result<(), String> {
        let living = self.living_of(found)?;
        let number = number_of(found.get(DEFAULT));
        let least = if all { self.batches.len() } else { self.promised };
        let kept = if number == number_of(self.base.first()) {
            Some(0)
        } else {
            self.batches.iter().position(|batch| batch.number == number).map(|at| at + 1)
        };
        let acknowledged = self.batches.len();
        let may = self.failed_records(number);
        let kept = match kept {
            Some(kept) => kept,
            None if !may.is_empty() => acknowledged,
            None => return Err(format!("batch {number} is the last, which was never written")),
        };
        if kept < least {
            let which = if all { "acknowledged" } else { "promised" };
            return Err(format!("{kept} batches of {least} that were {which}"));
        }
        let mut contents = self.base.clone();
        self.batches.iter().take(kept).for_each(|batch| apply(&mut contents, batch));
        let (mut record, mut verdict) = (Vec::new(), differ(&shown(&contents, &living), found));
        for failed in may {
            let mut with = contents.clone();
            failed.iter().for_each(|batch| apply(&mut with, batch));
            verdict = differ(&shown(&with, &living), found);
            if verdict.is_ok() {
                (contents, record) = (with, failed);
                break;
            }
        }
        verdict?;
        (self.living, self.now) = (living, contents);
        self.batches.truncate(kept);
        self.batches.extend(record);
        self.promised = self.promised.min(kept);
        if durable {
            self.base.clone_from(&self.now);
            self.batches.clear();
            self.promised = 0;
        }
        self.doubted.clear();
        self.failed.clear();
        Ok(())
    }

    /// Returns the records of failed batches that may be there, if the last batch has this number.
    fn failed_records(&self, number: u64) -> Vec<Vec<Batch>> {
        let Some(last) = self.failed.iter().find(|batch| batch.number == number) else {
            return Vec::new();
        };
        let others: Vec<_> = self.failed.iter().filter(|batch| batch.number != number).collect();
        let mut records = vec![vec![last.clone()]];
        for one in &others {
            records.push(vec![Batch::clone(one), last.clone()]);
            let different = others.iter().filter(|other| other.number != one.number);
            records.extend(
                different.map(|other| vec![Batch::clone(other), Batch::clone(one), last.clone()]),
            );
        }
        records
    }

    /// Returns the living keyspaces, by the names that are shown.
    fn living_of(&self, found: &Shown) -> Result<Living, String> {
        let names: BTreeSet<&String> = found.keys().collect();
        let edited = self.doubted.iter().map(|edit| {
            let mut living = self.living.clone();
            edit.apply(&mut living);
            living
        });
        let mut may = std::iter::once(self.living.clone()).chain(edited);
        may.find(|living| living.keys().collect::<BTreeSet<_>>() == names).ok_or_else(|| {
            let (living, doubted) = (self.living.keys(), &self.doubted);
            format!("keyspaces {names:?} for {living:?}, with {doubted:?} in doubt")
        })
    }
}

impl Edit {
    fn apply(&self, living: &mut Living) {
        match self {
            Edit::Create(name, keyspace) => drop(living.insert(name.clone(), *keyspace)),
            Edit::Drop(name) => drop(living.remove(name)),
        }
    }
}

/// Finds the first difference between what must be shown and what is shown.
///
/// # Errors
/// The difference.
pub fn differ(expected: &Shown, found: &Shown) -> Result<(), String> {
    let names = |shown: &Shown| shown.keys().cloned().collect::<Vec<_>>();
    if names(expected) != names(found) {
        return Err(format!("keyspaces {:?} for {:?}", names(found), names(expected)));
    }
    for (name, rows) in expected {
        let there = &found[name];
        if rows == there {
            continue;
        }
        let differs = |key: &&Vec<u8>| rows.get(*key) != there.get(*key);
        let key = rows.keys().chain(there.keys()).find(differs);
        let key = key.map(|key| String::from_utf8_lossy(key).into_owned());
        let counts = (number_of(found.get(DEFAULT)), number_of(expected.get(DEFAULT)));
        return Err(format!(
            "{name} differs at {key:?}: {} rows for {}, batch {} for {}",
            there.len(),
            rows.len(),
            counts.0,
            counts.1
        ));
    }
    Ok(())
}

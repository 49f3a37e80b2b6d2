//! Seeded workloads over two keyspaces.

use std::collections::BTreeMap;
use terrane::{Db, KeyspaceId, Millis, Operand, Result, WriteBatch};
use terrane_workload::Random;

/// The keyspaces' names.
pub const KEYSPACES: [&str; 2] = ["default", "other"];

/// The year 2286, in milliseconds since the epoch.
const LATER: Millis = 10_000_000_000_000;

/// A change of a key, or from a key on.
#[derive(Clone, Debug)]
pub enum Change {
    /// The key gets a value.
    Put(Vec<u8>),
    /// The key gets a value that has expired.
    PutExpired(Vec<u8>),
    /// The key gets a value that expires in a later century.
    PutExpiring(Vec<u8>),
    /// An operand is merged into the key's value.
    Merge(Merge),
    /// The key is removed.
    Delete,
    /// The keys from this one up to another are removed.
    DeleteRange(Vec<u8>),
}

/// An operand that is built in.
#[derive(Clone, Copy, Debug)]
pub enum Merge {
    /// Adds.
    Add(i64),
    /// Keeps the lesser.
    Min(i64),
    /// Keeps the greater.
    Max(i64),
}

impl Merge {
    /// Draws one, of numbers near each other.
    pub fn draw(random: &mut Random) -> Self {
        let number = random.below(2000).cast_signed() - 1000;
        match random.below(4) {
            0 => Merge::Min(number),
            1 => Merge::Max(number),
            _ => Merge::Add(number),
        }
    }

    /// Returns the operand for the engine.
    #[must_use]
    pub fn operand(self) -> Operand<'static> {
        match self {
            Merge::Add(n) => Operand::Add(n),
            Merge::Min(n) => Operand::Min(n),
            Merge::Max(n) => Operand::Max(n),
        }
    }

    /// Returns what it makes of a value.
    #[must_use]
    pub fn apply(self, value: Option<&Vec<u8>>) -> Vec<u8> {
        let text = value.and_then(|value| std::str::from_utf8(value).ok());
        let before = text.and_then(|text| text.parse::<i64>().ok());
        // A number in another form is none.
        let before = before.filter(|n| text == Some(&n.to_string()));
        let after = match self {
            Merge::Add(n) => before.unwrap_or(0).saturating_add(n),
            Merge::Min(n) => before.unwrap_or(n).min(n),
            Merge::Max(n) => before.unwrap_or(n).max(n),
        };
        after.to_string().into_bytes()
    }
}

impl Change {
    /// Adds the change to a batch.
    ///
    /// # Errors
    /// Those of the batch.
    pub fn add(&self, batch: &mut WriteBatch, keyspace: KeyspaceId, key: &[u8]) -> Result<()> {
        match self {
            Change::Put(value) => batch.put(keyspace, key, value),
            Change::PutExpired(value) => batch.put_expiring_at(keyspace, key, value, 1),
            Change::PutExpiring(value) => batch.put_expiring_at(keyspace, key, value, LATER),
            Change::Merge(merge) => batch.merge(keyspace, key, merge.operand()),
            Change::Delete => batch.delete(keyspace, key),
            Change::DeleteRange(to) => batch.delete_range(keyspace, key..to),
        }
    }

    /// Applies the change to a map.
    pub fn apply(&self, rows: &mut BTreeMap<Vec<u8>, Vec<u8>>, key: &[u8]) {
        match self {
            Change::Put(value) | Change::PutExpiring(value) => {
                drop(rows.insert(key.to_vec(), value.clone()))
            }
            Change::Merge(merge) => {
                let value = merge.apply(rows.get(key));
                rows.insert(key.to_vec(), value);
            }
            Change::Delete | Change::PutExpired(_) => drop(rows.remove(key)),
            Change::DeleteRange(to) => {
                rows.retain(|other, _| other.as_slice() < key || to <= other)
            }
        }
    }

    /// Draws one for the key with this number: mostly a put of what `value` draws. A keyspace `merges`, or has values
    /// that expire.
    pub fn draw(
        random: &mut Random,
        merges: bool,
        number: u64,
        value: impl FnOnce(&mut Random) -> Vec<u8>,
    ) -> Self {
        match random.below(20) {
            0..4 => Change::Delete,
            4 if random.one_in(3) => Change::DeleteRange(key(number + random.below(30))),
            5..8 if merges => Change::Merge(Merge::draw(random)),
            5 => Change::PutExpired(value(random)),
            6..8 => Change::PutExpiring(value(random)),
            _ => Change::Put(value(random)),
        }
    }
}

/// The key with a number.
#[must_use]
pub fn key(number: u64) -> Vec<u8> {
    format!("key{number:03}").into_bytes()
}

/// A change in one of the keyspaces.
pub type Operation = (usize, Vec<u8>, Change);

/// A batch of these operations, for a store that has both keyspaces or makes them.
///
/// # Errors
/// Those of making a keyspace.
pub fn write_batch(db: &Db, operations: &[Operation]) -> Result<WriteBatch> {
    let ids = [db.create_keyspace(KEYSPACES[0])?.id(), db.create_keyspace(KEYSPACES[1])?.id()];
    let mut batch = WriteBatch::new();
    for (keyspace, key, change) in operations {
        change.add(&mut batch, ids[*keyspace], key)?;
    }
    Ok(batch)
}

/// One step.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes a batch, synced or buffered.
    Write {
        /// The operations; every batch writes a counter, so no two states are equal.
        batch: Vec<Operation>,
        /// Whether it is synced.
        sync: bool,
    },
    /// Syncs the log.
    Sync,
    /// Flushes the memtables.
    Flush,
    /// Runs every job.
    Settle,
    /// Closes and reopens the store.
    Reopen,
    /// Drops the store without closing it, and reopens it.
    Drop,
}

/// A list of steps.
#[must_use]
pub fn workload(seed: u64, steps: usize) -> Vec<Step> {
    let mut random = Random(seed);
    (0..steps).map(|number| step(&mut random, number)).collect()
}

fn step(random: &mut Random, number: usize) -> Step {
    match random.below(40) {
        0 => Step::Sync,
        1 => Step::Flush,
        2 => Step::Settle,
        3 => Step::Reopen,
        4 => Step::Drop,
        _ => Step::Write { batch: batch(random, number), sync: random.one_in(3) },
    }
}

fn batch(random: &mut Random, number: usize) -> Vec<Operation> {
    let counter = (number as u64).to_be_bytes().to_vec();
    let mut batch = vec![
        (0, b"counter".to_vec(), Change::Put(counter.clone())),
        (1, b"counter".to_vec(), Change::Put(counter)),
    ];
    let size = if random.one_in(30) { 40 } else { random.below(6) };
    for _ in 0..size {
        let number = random.below(120);
        let length = match random.below(20) {
            0 => 0,
            // Longer than a log file: it gets a file of its own.
            1 if random.one_in(6) => 6000,
            _ => random.below(90) as usize,
        };
        let byte = random.word() as u8;
        let keyspace = random.below(2) as usize;
        let change = Change::draw(random, keyspace == 1, number, |_| vec![byte; length]);
        batch.push((keyspace, key(number), change));
    }
    batch
}

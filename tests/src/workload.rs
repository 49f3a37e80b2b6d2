//! Seeded workloads over two keyspaces.

use crate::random::Random;
use terrane::{Db, Result, WriteBatch};

/// The keyspaces' names.
pub const KEYSPACES: [&str; 2] = ["default", "other"];

/// A put (`Some`) or delete (`None`) in one of the keyspaces.
pub type Operation = (usize, Vec<u8>, Option<Vec<u8>>);

/// A batch of these operations, for a store that has both keyspaces or makes them.
///
/// # Errors
/// Those of making a keyspace.
pub fn write_batch(db: &Db, operations: &[Operation]) -> Result<WriteBatch> {
    let ids = [db.create_keyspace(KEYSPACES[0])?.id(), db.create_keyspace(KEYSPACES[1])?.id()];
    let mut batch = WriteBatch::new();
    for (keyspace, key, value) in operations {
        match value {
            Some(value) => batch.put(ids[*keyspace], key, value)?,
            None => batch.delete(ids[*keyspace], key)?,
        }
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
        (0, b"counter".to_vec(), Some(counter.clone())),
        (1, b"counter".to_vec(), Some(counter)),
    ];
    let size = if random.one_in(30) { 40 } else { random.below(6) };
    for _ in 0..size {
        let key = format!("key{:03}", random.below(120)).into_bytes();
        let length = match random.below(20) {
            0 => 0,
            // Longer than a log file: it gets a file of its own.
            1 if random.one_in(6) => 6000,
            _ => random.below(90) as usize,
        };
        let byte = random.word() as u8;
        let value = (!random.one_in(5)).then(|| vec![byte; length]);
        batch.push((random.below(2) as usize, key, value));
    }
    batch
}

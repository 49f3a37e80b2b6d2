//! Seeded workloads over two keyspaces.

use crate::random::Random;

/// The keyspaces' names.
pub const KEYSPACES: [&str; 2] = ["default", "other"];

/// A put (`Some`) or delete (`None`) in one of the keyspaces.
pub type Operation = (usize, Vec<u8>, Option<Vec<u8>>);

/// One step.
#[derive(Clone, Debug)]
pub enum Step {
    /// A batch, synced or buffered.
    Write {
        /// The operations; every batch writes a counter, so no two states are alike.
        batch: Vec<Operation>,
        /// Whether it is synced.
        sync: bool,
    },
    /// All buffered writes are put on the file system.
    Sync,
    /// Memtables become tables.
    Flush,
    /// Every job is run.
    Settle,
    /// The store is closed and opened.
    Reopen,
    /// The store is dropped without a word and opened.
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
            // Longer than a log file: it gets one of its own.
            1 if random.one_in(6) => 6000,
            _ => random.below(90) as usize,
        };
        let byte = random.word() as u8;
        let value = (!random.one_in(5)).then(|| vec![byte; length]);
        batch.push((random.below(2) as usize, key, value));
    }
    batch
}

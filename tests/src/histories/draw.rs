//! Draws from a seed: options within bounds, policies, batches.

use super::model::{Model, NUMBER, Operation};
use crate::fixtures::{adversarial, small_policies, tiny};
use crate::workload::{self, Change};
use std::time::Duration;
use terrane::Options;
use terrane::table::{Compression, TableOptions};
use terrane_policy::{FilterBits, PolicyOptions};
use terrane_workload::Random;

/// The names of keyspaces that come and go.
pub const NAMES: [&str; 3] = ["one", "two", "three"];

fn among<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// Options within bounds in which a few batches fill memtables, logs and levels.
#[must_use]
pub fn options(random: &mut Random) -> Options {
    let table = TableOptions {
        block_bytes: among(random, &[64, 256, 500, 4096]),
        partition_bytes: among(random, &[32, 100, 400, 16384]),
        filter_bits_per_key: FilterBits::from_thousandths(among(random, &[0, 2500, 10_000])),
        compression: among(random, &[Compression::None, Compression::Lz4]),
    };
    // A policy that proposes anything empties level 0 from four runs on, and else may let writes wait for ever.
    let l0_stop_trigger = among(random, &[5, 6, 12]);
    let mut options = tiny()
        .memtable_bytes(among(random, &[512, 1 << 10, 2 << 10, 6 << 10]))
        .max_immutable_memtables(among(random, &[1, 2, 4]))
        .wal_file_bytes(among(random, &[1 << 10, 2 << 10, 4 << 10, 16 << 10]))
        .max_total_wal_bytes(among(random, &[3 << 10, 12 << 10, 40 << 10]))
        .l0_stop_trigger(l0_stop_trigger)
        .cache_bytes(among(random, &[0, 3 << 10, 16 << 10, 1 << 20]))
        .max_open_files(among(random, &[1, 8, 1000]))
        .sync_interval(Duration::from_millis(among(random, &[1, 1, 5, 1000])))
        .policy(policy(random))
        .table(table);
    options.memory_bytes = among(random, &[None, None, Some(64 << 10)]);
    options
}

/// One of the small policies.
#[must_use]
pub fn policy(random: &mut Random) -> PolicyOptions {
    let policies = small_policies();
    policies[random.below(policies.len() as u64) as usize].clone()
}

/// One of the small policies, or one that proposes anything.
#[must_use]
pub fn any_policy(random: &mut Random) -> PolicyOptions {
    if random.one_in(4) { adversarial(random.word()) } else { policy(random) }
}

/// A key, of so few that most are written more than once.
#[must_use]
pub fn key(random: &mut Random) -> Vec<u8> {
    workload::key(random.below(120))
}

/// A batch over the living keyspaces, with its number.
pub fn batch(random: &mut Random, model: &mut Model) -> (u64, Vec<Operation>) {
    let (number, living) = (model.next_number(), model.living());
    let change = Change::Put(number.to_be_bytes().to_vec());
    let mut operations = vec![Operation { keyspace: 0, key: NUMBER.to_vec(), change }];
    let size = if random.one_in(25) { 40 } else { random.below(7) };
    for _ in 0..size {
        let keyspace = living[random.below(living.len() as u64) as usize].1;
        let length = match random.below(20) {
            0 => 0,
            // Longer than most log files: it gets a file of its own.
            1 if random.one_in(4) => 6000,
            _ => random.below(90) as usize,
        };
        let byte = random.word() as u8;
        let place = random.below(120);
        let change = Change::draw(random, keyspace % 2 == 1, place, |_| vec![byte; length]);
        operations.push(Operation { keyspace, key: workload::key(place), change });
    }
    (number, operations)
}

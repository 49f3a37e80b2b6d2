//! Rows and stores for the benchmarks.
#![allow(dead_code)] // each benchmark uses some

pub mod store;

use std::hint::black_box;
use std::time::Instant;
use terrane_workload::Random;

/// The key of a random number below `bound`.
pub fn any_key(random: &mut Random, bound: u64) -> [u8; 16] {
    key(random.below(bound))
}

/// Half random, half zeros.
pub fn value(random: &mut Random) -> [u8; 100] {
    let mut value = [0; 100];
    let words = value.chunks_exact_mut(8).take(6);
    words.for_each(|word| word.copy_from_slice(&random.word().to_le_bytes()));
    value
}

/// The key of a number, in the order of numbers.
pub fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key-....--------";
    key.iter_mut().skip(8).zip(number.to_be_bytes()).for_each(|(k, n)| *k = n);
    key
}

/// Returns the least nanoseconds of the rounds.
pub fn least(rounds: usize, mut body: impl FnMut() -> u64) -> f64 {
    let mut round = || {
        let began = Instant::now();
        black_box(body());
        began.elapsed().as_secs_f64() * 1e9
    };
    (0..rounds).map(|_| round()).fold(f64::INFINITY, f64::min)
}

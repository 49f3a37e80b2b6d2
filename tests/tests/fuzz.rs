//! Every decoder of stored bytes takes sound inputs, damaged ones and noise.
//!
//! `tests/fuzz` runs the same targets for longer, under libFuzzer.

use std::panic::catch_unwind;
use terrane_tests::full;
use terrane_tests::fuzz::{TARGETS, mutate};
use terrane_tests::random::Random;
use terrane_tests::seeds::seeds;

/// Runs a target and says with which bytes it fails.
fn run(name: &str, target: fn(&[u8]), data: &[u8]) {
    if catch_unwind(|| target(data)).is_err() {
        panic!("target {name} fails with {data:?}");
    }
}

#[test]
fn no_decoder_is_harmed_by_any_bytes() {
    let count = if full() { 1_000_000 } else { 20_000 };
    let seeds = seeds();
    for (number, (name, target)) in TARGETS.into_iter().enumerate() {
        let seeds = seeds.get(name).unwrap_or_else(|| panic!("there are inputs for {name}"));
        seeds.iter().for_each(|seed| run(name, target, seed));
        let mut random = Random(number as u64);
        for _ in 0..count {
            let mut pick = || &seeds[random.below(seeds.len() as u64) as usize];
            let (sound, other) = (pick(), pick());
            run(name, target, &mutate(&mut random, sound, other));
            let noise: Vec<u8> = (0..random.below(80)).map(|_| random.word() as u8).collect();
            run(name, target, &noise);
        }
    }
}

/// The first inputs of the long runs: `cargo test -p terrane-tests --test fuzz -- --ignored`.
#[test]
#[ignore = "writes files for tests/fuzz"]
fn write_the_corpus() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, inputs) in seeds() {
        std::fs::create_dir_all(corpus.join(name)).unwrap();
        for (number, input) in inputs.iter().enumerate() {
            std::fs::write(corpus.join(name).join(number.to_string()), input).unwrap();
        }
    }
}

//! Every decoder of stored bytes gets valid inputs, damaged inputs and noise.
//!
//! `tests/fuzz` runs the same targets for longer, under libFuzzer.

use std::panic::catch_unwind;
use std::sync::atomic::Ordering;
use terrane_tests::engines::{ENGINES, WRITTEN};
use terrane_tests::full;
use terrane_tests::fuzz::{TARGETS, Target, mutate};
use terrane_tests::seeds::seeds;
use terrane_workload::Random;

/// Runs a target and prints the bytes that make it fail.
fn run(name: &str, target: fn(&[u8]), data: &[u8]) {
    if catch_unwind(|| target(data)).is_err() {
        panic!("target {name} fails with {data:?}");
    }
}

/// Runs targets on valid inputs, on `count` damaged ones and, with `noise`, on noise.
fn run_all(targets: &[Target], count: u64, noise: bool) {
    let seeds = seeds();
    for (number, (name, target)) in targets.iter().enumerate() {
        let seeds = seeds.get(name.trim_start_matches("engine_"));
        let seeds = seeds.unwrap_or_else(|| panic!("there are inputs for {name}"));
        seeds.iter().for_each(|seed| run(name, *target, seed));
        let mut random = Random(number as u64);
        for _ in 0..count {
            let mut pick = || &seeds[random.below(seeds.len() as u64) as usize];
            let (sound, other) = (pick(), pick());
            run(name, *target, &mutate(&mut random, sound, other));
            if noise {
                let noise: Vec<u8> = (0..random.below(80)).map(|_| random.word() as u8).collect();
                run(name, *target, &noise);
            }
        }
    }
}

#[test]
fn no_decoder_fails_on_arbitrary_bytes() {
    run_all(&TARGETS, if full() { 1_000_000 } else { 20_000 }, true);
}

#[test]
fn the_engine_survives_anything_that_decodes() {
    let seeds = seeds();
    for (name, target) in ENGINES {
        let written = |seed: &Vec<u8>| {
            let before = WRITTEN.load(Ordering::Relaxed);
            run(name, target, seed);
            WRITTEN.load(Ordering::Relaxed) - before
        };
        let most = seeds[name.trim_start_matches("engine_")].iter().map(written).max();
        assert!(most >= Some(3), "{name}: no sound input is opened three times, but {most:?}");
    }
    run_all(&ENGINES, if full() { 50_000 } else { 100 }, false);
}

/// Writes the initial corpus for libFuzzer: `cargo test -p terrane-tests --test engine fuzz -- --ignored`.
#[test]
#[ignore = "writes files for tests/fuzz"]
fn write_the_corpus() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let seeds = seeds();
    for (name, _) in TARGETS.iter().chain(&ENGINES) {
        let inputs = &seeds[name.trim_start_matches("engine_")];
        std::fs::create_dir_all(corpus.join(name)).unwrap();
        for (number, input) in inputs.iter().enumerate() {
            std::fs::write(corpus.join(name).join(number.to_string()), input).unwrap();
        }
    }
}

//! Random histories of everything that can happen to a store ([`terrane_tests::histories`]).
//!
//! By default some hundred seeds are played. `TERRANE_FULL=1` plays 100,000, `TERRANE_SEEDS=from..to` a range, so
//! that processes can share them, and `TERRANE_SEEDS=seed` one, with its steps. If a history hangs, its seed is
//! printed and the process aborted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use terrane_tests::full;
use terrane_tests::histories::{Counts, Run};

/// A history takes some milliseconds; one that takes this long hangs.
const HANGS: Duration = Duration::from_secs(1500);

/// Returns the seeds to play.
fn seeds() -> std::ops::Range<u64> {
    let number = |text: &str| text.parse().expect("a seed");
    match std::env::var("TERRANE_SEEDS").ok().as_deref() {
        Some(seeds) => match seeds.split_once("..") {
            Some((from, to)) => number(from)..number(to),
            None => number(seeds)..number(seeds) + 1,
        },
        None if full() => 0..100_000,
        None => 0..400,
    }
}

/// Plays the history of a seed; the error describes a broken promise of the store.
fn play(seed: u64, log: bool) -> Result<Counts, String> {
    let mut run = Run::new(seed);
    if log {
        run.listen();
    }
    let played = catch_unwind(AssertUnwindSafe(|| run.play()));
    let played = played.unwrap_or_else(|_| Err("a panic".to_owned()));
    if log {
        run.log.lock().unwrap().iter().for_each(|step| println!("  {step}"));
    }
    played.map(|()| run.counts)
}

#[test]
fn random_histories_keep_every_promise() {
    let seeds = seeds();
    let (next, bad) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let playing = Mutex::new(std::collections::BTreeMap::new());
    let total = Mutex::new(Counts::default());
    let log = seeds.end - seeds.start == 1;
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(8);
    let worker = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            playing.lock().unwrap().insert(seed, Instant::now());
            match play(seed, log) {
                Ok(counts) => total.lock().unwrap().add(counts),
                Err(why) => {
                    println!("seed {seed}: {why}");
                    bad.lock().unwrap().push(seed);
                }
            }
            playing.lock().unwrap().remove(&seed);
        }
    };
    std::thread::scope(|threads| {
        let running: Vec<_> = (0..workers).map(|_| threads.spawn(worker)).collect();
        while !running.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            for (seed, began) in playing.lock().unwrap().iter() {
                if began.elapsed() > HANGS {
                    println!("seed {seed} hangs");
                    std::process::abort();
                }
            }
        }
    });
    println!("{:?}", total.into_inner().unwrap());
    let bad = bad.into_inner().unwrap();
    assert!(bad.is_empty(), "seeds {bad:?}: play one with TERRANE_SEEDS={}", bad[0]);
}

//! A model of stores, their writers, restores, and an object store between them, over the engine and the code of this
//! crate.
//!
//! * `world` - the steps of a schedule, and the promises about moments.
//! * `claims` - starts of writers, and the promises about who may claim the place.
//! * `machine` - files that lose power, the store on them, and its backup.
//! * `succession` - a take-over while a writer moves on to another lineage.
//! * `tries` - starts that fail, and late claims.
//! * `cloud` - requests that are lost, delayed, doubled and reordered.
//!
//! 1. A seed draws every step: a write, a step of a writer, a kill or a cut of power between steps or amid one, a
//!    start, two starts at once, an operator who takes over, a restore, a copy of a disk, a dropped keyspace, a late
//!    request, a clock that jumps. Time passes for the object store, and retention removes objects.
//! 2. Each moment that is restored has the rows of the store at its cursor. The newest one has every acknowledged write
//!    that the last writer had when it took the place.
//! 3. Once a writer has started, no earlier one acknowledges anything. A store does not take a place over unasked, nor
//!    continue it unasked without what was acknowledged, and the one that made the newest claim always may continue.
//!    Two lose acknowledged writes all the same: a restored store, since an operator chose its moment, and a copy that
//!    was written to, or started a lineage, before its backup starts, which is not known to be an older one. A copy
//!    may be refused although its claim is the newest one, if the store it is a copy of has gone on meanwhile.
//! 4. Each rule of `rules`, broken, is noticed by some schedule. Where a seed rarely draws what is needed, that is one
//!    of `tries`.
//!
//! A seed plays the same schedule each time: whatever is random, ids, marks and lineages too, is drawn from it, clocks
//! are the model's, and all runs on one thread.
//!
//! `TERRANE_SEEDS=40` plays one seed, `TERRANE_SEEDS=0..5000` a range.

mod claims;
mod cloud;
mod machine;
mod succession;
mod tries;
mod world;

use crate::rules::Rule;
use crate::time::CLOCK;
use object_store::path::Path;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use terrane::storage::StoreId;
use world::World;

/// Steps of a schedule.
const STEPS: u64 = 200;
/// Seeds within which each broken rule is noticed, unless a schedule made for it notices it.
const SEEDS: u64 = 400;
/// Seeds that are played twice.
const REPLAYED: u64 = 20;

/// Verdict on a schedule; the error names a broken promise.
type Verdict<T = ()> = Result<T, String>;
type Rows = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;
/// The objects that were written in a schedule, and when. Most are named after their content.
type Played = BTreeMap<Path, Duration>;

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn play(seed: u64) -> Verdict<Played> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(text)?;
    CLOCK.set(1 << 30);
    StoreId::draw_from(seed);
    runtime.block_on(async {
        let mut world = World::new(seed)?;
        world.play(STEPS).await?;
        Ok(world.cloud.written())
    })
}

/// Whether the long runs were asked for.
fn full() -> bool {
    std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0")
}

/// Returns the seeds that were asked for, or those of a short or a long run.
fn seeds() -> Range<u64> {
    let steps = if full() { 1_000_000 } else { 1_000 };
    let Ok(seeds) = std::env::var("TERRANE_SEEDS") else { return 0..steps / STEPS };
    let number = |text: &str| text.parse::<u64>().expect("a seed");
    match seeds.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => number(&seeds)..number(&seeds) + 1,
    }
}

#[test]
fn a_backup_keeps_its_promises() {
    for seed in seeds() {
        if let Err(why) = play(seed) {
            panic!("seed {seed}: {why}");
        }
    }
}

#[test]
fn a_seed_plays_the_same_schedule_each_time() {
    for seed in 0..REPLAYED {
        assert_eq!(play(seed), play(seed), "seed {seed}");
    }
}

#[test]
fn each_broken_rule_of_backups_is_noticed() {
    let mut unnoticed = Rule::ALL.to_vec();
    let mut play_all = |schedule: &str, play: &dyn Fn() -> Verdict| {
        unnoticed.retain(|rule| match rule.broken(play) {
            Ok(()) => true,
            Err(why) => {
                println!("{rule:?}, {schedule}: {why}");
                false
            }
        });
    };
    play_all("tries", &tries::play);
    for seed in 0..SEEDS {
        play_all(&format!("seed {seed}"), &|| play(seed).map(drop));
    }
    assert_eq!(unnoticed, []);
}

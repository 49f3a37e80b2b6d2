//! A model of writers, a server, its replicas and the network between them, over the engine and the code of this crate.
//!
//! * `world` - the steps of a schedule, and the promises at rest.
//! * `machine` - files that lose power, and the store on them.
//! * `server` - what the server does with letters and for streams.
//! * `network` - letters and streams under way.
//! * `history` - the state after each batch, and the writes that were acknowledged.
//!
//! 1. A seed draws every step: a writer sends, a letter arrives, is lost or doubled, a line arrives, a connection is
//!    cut or forgotten, a process is killed, power is cut between or within operations of its files, a keyspace is
//!    dropped, the server is restored to an earlier moment, or a replica is promoted.
//! 2. Whenever a replica is checked, it has the rows of the source at its cursor.
//! 3. At rest, when the network is whole and everything runs, the replicas equal the server, every acknowledged write
//!    is there unless the server was restored to an earlier moment, and none has taken effect twice.
//! 4. Each rule, broken, is noticed by some schedule.
//!
//! Letters of single requests are lost, doubled, delayed and reordered. Lines of one connection arrive in order, as
//! over TCP, up to where it is cut; a line may arrive twice, as from a proxy that repeats.

mod history;
mod machine;
mod network;
mod server;
mod world;

use crate::rules::Rule;
use terrane::rules::Rule as EngineRule;
use world::World;

/// Steps of a schedule.
const STEPS: u64 = 500;

/// Verdict on a schedule; the error names a broken promise.
type Verdict<T = ()> = Result<T, String>;

/// A mistake of the model's own server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// A write takes effect each time that its letter arrives.
    Unconditional,
    /// A durable write is acknowledged before it is synced.
    EarlyReply,
}

fn play(seed: u64, flaw: Option<Flaw>) -> Verdict {
    World::new(seed, flaw)?.play(STEPS)
}

/// Whether the long runs were asked for.
fn full() -> bool {
    std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0")
}

#[test]
fn replicas_equal_their_server_at_rest() {
    let steps = if full() { 1_000_000 } else { 20_000 };
    for seed in 0..steps / STEPS {
        if let Err(why) = play(seed, None) {
            panic!("seed {seed}: {why}");
        }
    }
}

/// Asserts that some schedule breaks a promise.
fn is_noticed(what: &str, broken: impl Fn(u64) -> Verdict) {
    let noticed = (0..4000).find_map(|seed| broken(seed).err().map(|why| (seed, why)));
    let (seed, why) = noticed.unwrap_or_else(|| panic!("nothing notices that {what} is broken"));
    println!("{what}, seed {seed}: {why}");
}

#[test]
fn each_broken_rule_of_replication_is_noticed() {
    for rule in Rule::ALL {
        is_noticed(&format!("{rule:?}"), |seed| rule.broken(|| play(seed, None)));
    }
}

#[test]
fn each_broken_rule_of_the_feed_is_noticed() {
    for rule in [EngineRule::FeedAfterSync, EngineRule::CursorOfLineage, EngineRule::DropBeforeEdit]
    {
        is_noticed(&format!("{rule:?}"), |seed| rule.broken(|| play(seed, None)));
    }
}

#[test]
fn each_flaw_of_a_server_is_noticed() {
    for flaw in [Flaw::Unconditional, Flaw::EarlyReply] {
        is_noticed(&format!("{flaw:?}"), |seed| play(seed, Some(flaw)));
    }
}

//! Runs a test in many orders, and makes the small stores that the tests use.

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler};
use shuttle::{Config, Runner};
use std::sync::Arc;
use terrane::executor::{ThreadExecutor, WorkerPool};
use terrane::{Db, Durability, Keyspace, Options};
use terrane_tests::fixtures::{Kind, Rig, tiny};
use terrane_tests::full;

/// Runs `body` in `orders` orders: half switch threads anywhere, half in few places.
///
/// A failure prints its schedule; `TERRANE_SCHEDULE` replays it.
pub fn explore(orders: usize, body: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    if let Ok(schedule) = std::env::var("TERRANE_SCHEDULE") {
        Runner::new(ReplayScheduler::new_from_encoded(&schedule), config).run(body);
        return;
    }
    let half = orders / 2 * if full() { 10 } else { 1 };
    Runner::new(RandomScheduler::new_from_seed(1, half), config.clone()).run(body.clone());
    Runner::new(PctScheduler::new_from_seed(2, 3, half), config).run(body);
}

/// A memtable holds two or three entries of [`value`]; one may wait to be flushed, and two L0 runs to
/// be merged.
pub fn crowded() -> Options {
    tiny().memtable_bytes(512).max_immutable_memtables(1).l0_stop_trigger(2)
}

/// A store on `rig` whose jobs run on threads.
pub fn open(rig: &Rig, options: Options) -> Db {
    let storage = rig.storage().expect("a sound place");
    Db::open_storage(storage, options, Arc::new(ThreadExecutor::new(2))).expect("a sound store")
}

/// The same in a pool.
pub fn open_in(pool: &WorkerPool, rig: &Rig, options: Options) -> Db {
    let storage = rig.storage().expect("a sound place");
    let executor = Arc::new(ThreadExecutor::in_pool(pool));
    Db::open_storage(storage, options, executor).expect("a sound store")
}

/// An empty place.
pub fn place() -> Rig {
    Rig::new(Kind::MemoryDirectory)
}

/// 200 bytes that show `number`.
pub fn value(number: u64) -> Vec<u8> {
    number.to_be_bytes().repeat(25)
}

/// The number that a value shows.
pub fn number(value: &[u8]) -> u64 {
    let number = u64::from_be_bytes(value[..8].try_into().expect("8 bytes"));
    assert_eq!(value, self::value(number), "a value is torn");
    number
}

/// Gives a key the value of `number`.
pub fn put(keyspace: &Keyspace, key: &[u8], number: u64) {
    keyspace.put(key, &value(number), Durability::Buffered).expect("nothing fails");
}

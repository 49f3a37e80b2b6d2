//! On one thread a steady load pays for its background work as it goes: no write does much of it at
//! once, none must wait, and what waits in memory stays bounded. Told in bytes, not in time.

use std::sync::Arc;
use terrane::driver::SliceDriver;
use terrane::storage::Directory;
use terrane::table::{Compression, TableOptions};
use terrane::{Db, Durability, Options};
use terrane_tests::metered::MeteredMedium;
use terrane_tests::rig::sized_policies;

/// Random puts into a store on one thread; answers the bytes that each write moved on the medium.
fn load(options: &Options, writes: u64) -> Vec<u64> {
    let medium = MeteredMedium::default();
    let storage = Directory::open(Arc::new(medium.clone())).unwrap();
    let driver = Arc::new(SliceDriver::default());
    let db = Db::open_storage(Arc::new(storage), options.clone(), driver).unwrap();
    let keyspace = db.default_keyspace();
    let moved = (0..writes).map(|n| {
        let before = medium.moved_bytes();
        let key = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        keyspace.put(&key, &[7; 100], Durability::Buffered).unwrap();
        if n % 64 == 0 {
            let stats = db.stats().unwrap();
            let waiting = &stats.keyspaces[0];
            assert!(waiting.memtables_sealed <= options.memtables_max);
            assert!(waiting.levels.first().is_none_or(|l| l.runs <= options.level0_runs_max));
        }
        medium.moved_bytes() - before
    });
    let moved = moved.collect();
    let stats = db.stats().unwrap();
    let written = stats.flushed_bytes + stats.merge_written_bytes;
    assert!(written > 8 << 20, "the load makes work: {written}");
    assert_eq!(stats.stalls, 0, "{}", keyspace.policy().unwrap().name());
    moved
}

#[test]
fn a_steady_load_never_waits_and_no_write_does_much_at_once() {
    for policy in sized_policies(128 << 10, 32 << 10) {
        let name = policy.name();
        let options = Options {
            memtable_bytes: 64 << 10,
            memtables_max: 2,
            log_bytes: 256 << 10,
            logs_bytes_max: 1 << 20,
            policy,
            table: TableOptions { compression: Compression::None, ..TableOptions::default() },
            ..Options::default()
        };
        // A merge begins by reading of each of its inputs, of which level 0 may be many.
        let bound = options.level0_runs_max as u64 * options.memtable_bytes;
        let most = load(&options, 40_000).into_iter().max().unwrap();
        assert!(most < bound, "{name} moves {most} bytes in one write");
    }
}

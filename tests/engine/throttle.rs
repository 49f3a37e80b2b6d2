//! On one thread a steady load pays for its background work as it goes: no write does much of it at
//! once, none stalls, and the data waiting in memory stays bounded. Measured in bytes, not time.

use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::storage::Directory;
use terrane::table::{Compression, TableOptions};
use terrane::{Db, Durability, Options};
use terrane_tests::counting_vfs::CountingVfs;
use terrane_tests::fixtures::sized_policies;

/// Random puts into a store on one thread; returns the bytes that each write moved.
fn load(options: &Options, writes: u64) -> Vec<u64> {
    let vfs = CountingVfs::default();
    let storage = Directory::open(Arc::new(vfs.clone())).unwrap();
    let executor = Arc::new(SliceExecutor::default());
    let db = Db::open_storage(Arc::new(storage), options.clone(), executor).unwrap();
    let keyspace = db.default_keyspace();
    let moved = (0..writes).map(|n| {
        let before = vfs.moved_bytes();
        let key = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        keyspace.put(&key, &[7; 100], Durability::Buffered).unwrap();
        if n % 64 == 0 {
            let stats = db.stats().unwrap();
            let waiting = &stats.keyspaces[0];
            assert!(waiting.memtables_sealed <= options.max_immutable_memtables);
            assert!(waiting.levels.first().is_none_or(|l| l.runs <= options.l0_stop_trigger));
        }
        vfs.moved_bytes() - before
    });
    let moved = moved.collect();
    let stats = db.stats().unwrap();
    let written = stats.flushed_bytes + stats.merge_written_bytes;
    assert!(written > 8 << 20, "the load makes work: {written}");
    assert_eq!(stats.stalls, 0, "{}", keyspace.policy().unwrap().name());
    moved
}

#[test]
fn a_steady_load_never_stalls_and_no_write_does_much_work() {
    for policy in sized_policies(128 << 10, 32 << 10) {
        let name = policy.name();
        let options = Options::default()
            .memtable_bytes(64 << 10)
            .max_immutable_memtables(2)
            .wal_file_bytes(256 << 10)
            .max_total_wal_bytes(1 << 20)
            .policy(policy)
            .table(TableOptions { compression: Compression::None, ..TableOptions::default() });
        // A merge starts by reading from each of its inputs: level 0 may have many, and a large table is
        // read further ahead.
        let bound = options.l0_stop_trigger as u64 * options.memtable_bytes + (512 << 10);
        let most = load(&options, 40_000).into_iter().max().unwrap();
        assert!(most < bound, "{name} moves {most} bytes in one write");
    }
}

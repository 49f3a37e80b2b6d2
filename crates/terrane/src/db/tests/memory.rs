//! Memory and log bounds over several keyspaces: what is sealed is worth a run.

use crate::executor::{Executor, SliceExecutor, ThreadExecutor};
use crate::storage::Directory;
use crate::storage::vfs::MemoryVfs;
use crate::{Db, Durability, Event, Options, WriteBatch};
use std::sync::{Arc, Mutex};
use terrane_policy::{PolicyOptions, Tiered};

/// Bytes of the memtables that were sealed, and entries of the runs that were flushed.
#[derive(Default)]
struct Seen {
    sealed: Vec<u64>,
    runs: Vec<u64>,
}

/// Writes entries to eight keyspaces in turn, nearly 4 MiB, and shows what became of them.
fn write_to_eight(options: Options, executor: Arc<dyn Executor>) -> Seen {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let listener = {
        let seen = seen.clone();
        move |_, event: &Event| match event {
            Event::MemtableSealed { bytes, .. } => seen.lock().unwrap().sealed.push(*bytes),
            Event::Flushed { tables, .. } => {
                let entries = tables.iter().map(|table| table.entries).sum();
                seen.lock().unwrap().runs.push(entries);
            }
            _ => {}
        }
    };
    let options = Options {
        listener: Some(Arc::new(listener)),
        // So that runs stay as they were flushed.
        l0_stop_trigger: 1000,
        policy: PolicyOptions::Tiered(Tiered::default()),
        ..options
    };
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let db = Db::open_storage(storage, options, executor).unwrap();
    let keyspaces: Vec<_> = (0..8).map(|n| db.create_keyspace(&format!("{n}")).unwrap()).collect();
    for n in 0..20_000u32 {
        let mut batch = WriteBatch::new();
        let keyspace = keyspaces[n as usize % 8].id();
        batch.put(keyspace, &n.to_be_bytes(), &[0; 100]).unwrap();
        db.write(batch, Durability::Buffered).unwrap();
    }
    db.close().unwrap();
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn memory_pressure_seals_no_small_memtables() {
    // A share of 1 MiB for all memtables: a sealed one has its part of three quarters of that.
    let options = Options { memtable_bytes: 512 << 10, memory_bytes: Some(0), ..Options::small() };
    let least = (768 << 10) / 8 / 2;
    let executors: [Arc<dyn Executor>; 2] =
        [Arc::new(SliceExecutor::default()), Arc::new(ThreadExecutor::new(1))];
    for executor in executors {
        let Seen { sealed, runs } = write_to_eight(options.clone(), executor);
        assert!(sealed.len() > 10, "{sealed:?}");
        assert!(sealed.iter().all(|bytes| *bytes > least), "{sealed:?}");
        assert!(runs.iter().all(|entries| *entries > 300), "{runs:?}");
    }
}

#[test]
fn logs_that_flushes_are_about_to_free_seal_nothing() {
    let logs =
        Options { wal_file_bytes: 64 << 10, max_total_wal_bytes: 512 << 10, ..Options::small() };
    let Seen { sealed, runs } = write_to_eight(logs, Arc::new(SliceExecutor::default()));
    assert!(sealed.len() > 10, "{sealed:?}");
    // Each has its part of the logs, less the one that fills.
    assert!(sealed.iter().all(|bytes| *bytes > 32 << 10), "{sealed:?}");
    assert!(runs.iter().all(|entries| *entries > 200), "{runs:?}");
}

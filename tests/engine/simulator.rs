//! The simulator and the engine agree: for one workload, with the same buffers flushed at the same
//! writes, a policy writes and keeps nearly the same bytes in both.
//!
//! 1. The simulator draws the operations; both execute them.
//! 2. Memtables end at the same operations, and compactions finish before the next one starts. Which
//!    jobs run concurrently is decided by a seed in the engine, and by time in the simulator.
//! 3. In the simulator an entry has the size it takes in the engine's flushed files, with its share of
//!    index, filter and checksums. Otherwise the policies would see other file sizes.
//! 4. "Written" counts the entries of all tables made by flushes and merges; "kept" counts all bytes of
//!    table files, including half-written files and those not yet removed.
//!
//! A difference remains: a file merged from several tables has less overhead than a flushed one, so a
//! level may reach its capacity a flush sooner or later.

use std::sync::{Arc, Mutex};
use terrane::executor::SeededExecutor;
use terrane::storage::Directory;
use terrane::table::{Compression, TableOptions};
use terrane::{Db, Durability, Event, Options};
use terrane_policy::{PolicyOptions, TableInfo, presets};
use terrane_sim::{Clients, Config, Device, Operation, Operations, Simulation, Workload};
use terrane_tests::counting_vfs::CountingVfs;

const KEY_BYTES: u64 = 8;
const VALUE: [u8; 4000] = [7; 4000];
const BUFFER_ENTRIES: u64 = 16;
const SEED: u64 = 5;

/// The result of either side.
struct Outcome {
    flushes: u64,
    write_amp: f64,
    peak_bytes: u64,
}

/// A load, followed by more updates.
fn workload() -> Workload {
    Workload::then(1500, 2500, Clients::default())
}

fn simulated(policy: &PolicyOptions, entry_bytes: u64) -> Outcome {
    let simulation = Simulation::new(Config {
        policy: policy.clone(),
        buffer_bytes: BUFFER_ENTRIES * entry_bytes,
        key_bytes: KEY_BYTES,
        value_bytes: entry_bytes - KEY_BYTES,
        // As many jobs as the seeded executor runs, and as much time as they take.
        workers: 4,
        device: Device { request_bytes: 4096, write_micros: 1e6, ..Device::default() },
        log: false,
        workload: workload(),
        seed: SEED,
        ..Config::default()
    });
    let whole = simulation.unwrap().run().unwrap().whole;
    assert_eq!(whole.refused_plans, 0);
    Outcome {
        flushes: whole.flushes,
        write_amp: whole.write_amp.unwrap(),
        peak_bytes: whole.store_bytes_peak,
    }
}

/// Tables that the engine made.
#[derive(Default)]
struct Made {
    flushes: u64,
    flushed: [u64; 2],
    merged: [u64; 2],
}

/// Adds the entries and bytes of these tables.
fn add(sums: &mut [u64; 2], tables: &[TableInfo]) {
    for table in tables {
        sums[0] += table.entries;
        sums[1] += table.bytes;
    }
}

/// Runs the engine; returns the bytes that an entry takes in its flushed files.
fn real(policy: &PolicyOptions) -> (Outcome, u64) {
    let made = Arc::new(Mutex::new(Made::default()));
    let recorded = made.clone();
    let listener = Arc::new(move |_, event: &Event| {
        let mut made = recorded.lock().unwrap();
        match event {
            Event::Flushed { tables, .. } => {
                made.flushes += 1;
                add(&mut made.flushed, tables);
            }
            Event::GroupInstalled { outputs, moved: false, .. } => add(&mut made.merged, outputs),
            _ => {}
        }
    });
    let vfs = CountingVfs::default();
    let storage = Directory::open(Arc::new(vfs.clone())).unwrap();
    let options = Options::default()
        .policy(policy.clone())
        .table(TableOptions { compression: Compression::None, ..TableOptions::default() })
        .listener(listener);
    let executor = Arc::new(SeededExecutor::new(SEED + 1));
    let db = Db::open_storage(Arc::new(storage), options, executor).unwrap();
    let keyspace = db.default_keyspace();
    let workload = workload();
    let keys = Operations::new(&workload, SEED);
    for (n, operation) in (1..).zip(Operations::new(&workload, SEED)) {
        let Operation::Put(number) = operation else { panic!("{operation:?}") };
        let key = keys.key(number).to_be_bytes();
        keyspace.put(&key, &VALUE, Durability::Buffered).unwrap();
        if n % BUFFER_ENTRIES == 0 || n == workload.operations() {
            db.flush().unwrap();
            db.wait_until_idle().unwrap();
        }
    }
    let Made { flushes, flushed, merged } = &*made.lock().unwrap();
    let written = flushed[0] + merged[0];
    let write_amp = written as f64 / (workload.operations()) as f64;
    let peak_bytes = vfs.table_bytes_peak();
    (Outcome { flushes: *flushes, write_amp, peak_bytes }, flushed[1] / flushed[0])
}

#[test]
fn the_simulator_and_the_engine_agree_under_every_policy() {
    // A base level slightly smaller than a flush, and tables of half a buffer.
    let buffer = BUFFER_ENTRIES * (KEY_BYTES + VALUE.len() as u64);
    let named = presets().into_iter().filter_map(|preset| PolicyOptions::preset(preset.name));
    let sized = |options: PolicyOptions| options.sized(buffer - buffer / 16, buffer / 2);
    let floor = buffer / 4;
    let partitioned = ["none", "size", "local-range", "local-range-by-group", "global-range"];
    let partitioned = partitioned.map(|partitioner| {
        let options = format!(
            r#"{{"policy": "universal", "partitioner": "{partitioner}", "flush-floor-bytes": {floor}}}"#
        );
        options.parse().unwrap()
    });
    // Tables of several entries: the simulator has no overhead of tables.
    let ptier =
        r#"{"policy": "ptier", "prefix-length": 1, "split-bytes": 33554432}"#.parse().unwrap();
    // The largest level takes an arrival every four flushes. By default there are few, and a level that fills a flush
    // sooner or later decides what the last of them meets.
    let fluid = r#"{"policy": "fluid", "size-ratios": "4 30", "runs": "2"}"#.parse().unwrap();
    let named = named.filter(|policy| !["ptier", "fluid"].contains(&policy.name()));
    let named = named.chain([ptier, fluid]);
    for policy in named.chain(partitioned).map(sized) {
        let (real, entry_bytes) = real(&policy);
        let simulated = simulated(&policy, entry_bytes);
        assert_eq!(real.flushes, simulated.flushes);
        let writes = real.write_amp / simulated.write_amp;
        let peak = real.peak_bytes as f64 / simulated.peak_bytes as f64;
        assert!((0.95..=1.05).contains(&writes), "{}: {writes} times as much", policy.name());
        assert!((0.9..=1.1).contains(&peak), "{}: {peak} times as large", policy.name());
    }
}

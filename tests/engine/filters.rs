//! Filters by run at equal memory: what gets of missing keys cost in a store that grows, counted by
//! level, beside a model of the format's filters and beside the simulator.
//!
//! 1. The simulator finds the bits with which Monkey's and dynamic filters come to the memory of uniform
//!    ones.
//! 2. Both write the same keys, a buffer at a time, and look missing keys up whenever the tree is idle.
//! 3. The model: a key selects one of a filter's lines of 512 bits and some bits of it. The other keys of
//!    that line are Poisson-distributed, and a filter has the number of bits for which fewest keys pass.

use std::sync::Arc;
use terrane::executor::ThreadExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::MemoryVfs;
use terrane::table::{Compression, TableOptions};
use terrane::{Db, Durability, ErrorKind, Keyspace, Options};
use terrane_policy::{FilterBits, PolicyOptions};
use terrane_sim::{Clients, Config, Device, Mix, Operations, Phase, Simulation, Workload};

/// Filter bits of a key that uniform filters have.
const BITS: f64 = 5.0;
/// Keys of a buffer, buffers, and lookups after each.
const BUFFER: u64 = 1024;
const BUFFERS: u64 = 50;
const LOOKUPS: u64 = 400;
const KEY_BYTES: u64 = 8;
const VALUE: [u8; 92] = [7; 92];
const SEED: u64 = 11;

const POLICIES: [&str; 3] = [
    r#""lazy-leveled", "size-ratio": 4"#,
    r#""horizontal-tiering", "data-bytes": 6000000"#,
    r#""vertiorizon", "size-ratio": 4, "merge-policy": "tiering", "levels": 2"#,
];

fn policy(json: &str, filters: &str) -> PolicyOptions {
    let json = format!(r#"{{"policy": {json}, "filters": "{filters}"}}"#);
    let buffer = BUFFER * (KEY_BYTES + VALUE.len() as u64);
    json.parse::<PolicyOptions>().unwrap().sized(buffer - buffer / 16, buffer * 4)
}

/// Step 2, the store.
struct Grown {
    bits: f64,
    /// For each level, tables that passed a missing key, in all: expected, its variance, and counted.
    levels: Vec<[f64; 3]>,
}

impl Grown {
    /// Tables that passed falsely, for each lookup.
    fn passes(&self) -> f64 {
        self.levels.iter().map(|[_, _, counted]| counted).sum::<f64>() / (BUFFERS * LOOKUPS) as f64
    }
}

fn open(policy: PolicyOptions, bits: f64) -> Db {
    let table = TableOptions {
        filter_bits_per_key: FilterBits::new(bits).unwrap(),
        compression: Compression::None,
        // One filter for a table.
        partition_bytes: 1 << 20,
        ..TableOptions::default()
    };
    let storage = Directory::open(Arc::new(MemoryVfs::new())).unwrap();
    let options = Options::default().policy(policy).table(table);
    Db::open_storage(Arc::new(storage), options, Arc::new(ThreadExecutor::new(1))).unwrap()
}

fn write(keyspace: &Keyspace, keys: &Operations, buffer: u64) {
    for number in buffer * BUFFER..(buffer + 1) * BUFFER {
        let key = keys.key(number).to_be_bytes();
        keyspace.put(key, VALUE, Durability::Buffered).unwrap();
    }
}

fn grown(policy: PolicyOptions, bits: f64) -> Grown {
    let db = open(policy, bits);
    let keyspace = db.default_keyspace();
    let keys = Operations::new(&Workload::default(), SEED);
    let mut grown = Grown { bits: 0.0, levels: Vec::new() };
    for buffer in 0..BUFFERS {
        write(&keyspace, &keys, buffer);
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
        let shape = keyspace.shape().unwrap();
        grown.levels.resize(grown.levels.len().max(shape.levels().len()), [0.0; 3]);
        for (level, _, table) in shape.tables() {
            let at = |key: &[u8]| u64::from_be_bytes(key.try_into().unwrap()) as f64;
            let covers = (at(&table.largest) - at(&table.smallest)) / 2f64.powi(64);
            let passes = covers * rate(table.entries, table.filter_bits);
            let [modelled, variance, _] = &mut grown.levels[level];
            *modelled += LOOKUPS as f64 * passes;
            *variance += LOOKUPS as f64 * passes * (1.0 - passes);
        }
        let totals = shape.totals();
        grown.bits += totals.filter_bytes() as f64 * 8.0 / totals.entries() as f64;
        let first = (1 << 40) + buffer * LOOKUPS;
        for number in first..first + LOOKUPS {
            assert_eq!(keyspace.get(keys.key(number).to_be_bytes()).unwrap(), None);
        }
    }
    grown.bits /= BUFFERS as f64;
    let stats = db.stats().unwrap();
    for (level, stats) in grown.levels.iter_mut().zip(&stats.keyspaces[0].levels) {
        assert_eq!(stats.filter_positives, stats.filter_false_positives, "no key is there");
        level[2] = stats.filter_false_positives as f64;
    }
    grown
}

/// Step 3.
fn rate(keys: u64, bits: FilterBits) -> f64 {
    let lines = (keys as f64 * bits.bits() / 512.0).ceil().max(1.0);
    let keys_of_a_line = keys as f64 / lines;
    let with = |probes: i32| {
        let mut likely = (-keys_of_a_line).exp();
        let mut rate = 0.0;
        for keys in 1..2000 {
            likely *= keys_of_a_line / f64::from(keys);
            rate += likely * (1.0 - (1.0f64 - 1.0 / 512.0).powi(keys * probes)).powi(probes);
        }
        rate
    };
    (1..=24).map(with).fold(1.0, f64::min)
}

/// Step 2, simulated: tables that passed falsely for each lookup, and the memory in bits per key.
fn simulated(policy: PolicyOptions, bits: f64, entry_bytes: u64) -> (f64, f64) {
    let phase = |operations, wait_until_idle, mix| {
        let clients = vec![Clients { mix, ..Clients::default() }];
        Phase { operations, wait_until_idle, clients, ..Phase::default() }
    };
    let phases = (0..BUFFERS).flat_map(|_| {
        let insert = phase(BUFFER, false, Mix { insert: 1.0, ..Mix::default() });
        [insert, phase(LOOKUPS, true, Mix { read_missing: 1.0, ..Mix::default() })]
    });
    let workload = Workload { load: 0, phases: phases.collect(), ..Workload::default() };
    let mut simulation = Simulation::new(Config {
        policy,
        buffer_bytes: BUFFER * entry_bytes,
        key_bytes: KEY_BYTES,
        value_bytes: entry_bytes - KEY_BYTES,
        filter_bits_per_key: bits,
        workers: 4,
        device: Device { request_bytes: 4096, write_micros: 1e6, ..Device::default() },
        log: false,
        seed: SEED,
        workload,
        ..Config::default()
    })
    .unwrap();
    let mut mean = 0.0;
    while simulation.advance(1).unwrap() {
        let (done, _) = simulation.progress();
        if done % (BUFFER + LOOKUPS) == 0 {
            let totals = simulation.shape().totals();
            mean += totals.filter_bytes() as f64 * 8.0 / totals.entries() as f64;
        }
    }
    let whole = simulation.report().whole;
    let passes: u64 = whole.by_level.iter().map(|level| level.false_positives).sum();
    (passes as f64 / whole.gets as f64, mean / BUFFERS as f64)
}

/// Step 1.
fn at_equal_memory(policy: &PolicyOptions, entry_bytes: u64) -> f64 {
    let mut bits = BITS;
    for _ in 0..9 {
        let (_, mean) = simulated(policy.clone(), bits, entry_bytes);
        if (mean / BITS - 1.0).abs() <= 0.005 {
            return bits;
        }
        bits *= BITS / mean;
    }
    panic!("{policy:?}: the filters do not come to {BITS} bits per key");
}

/// The bytes that an entry takes in a flushed table.
fn entry_bytes() -> u64 {
    let db = open(PolicyOptions::default(), BITS);
    write(&db.default_keyspace(), &Operations::new(&Workload::default(), SEED), 0);
    db.flush().unwrap();
    let shape = db.default_keyspace().shape().unwrap();
    shape.totals().bytes() / shape.totals().entries()
}

#[test]
fn filters_by_run_pass_as_modelled_and_less_than_uniform_ones() {
    let entry_bytes = entry_bytes();
    for json in POLICIES {
        let [uniform, monkey, dynamic] = ["uniform", "monkey", "dynamic"].map(|filters| {
            let policy = policy(json, filters);
            let bits = at_equal_memory(&policy, entry_bytes);
            let grown = grown(policy.clone(), bits);
            let what = format!("{json}, {filters}");
            for (level, [modelled, variance, counted]) in grown.levels.iter().enumerate() {
                let apart = (counted - modelled).abs();
                let most = 5.0 * variance.sqrt() + 0.03 * modelled;
                assert!(apart <= most, "{what}, level {level}: {counted}, expected {modelled}");
            }
            // The store's filters are rounded up to lines; the simulator's get as much here. They are
            // not of lines, and gain more from many bits.
            let (simulated, _) = simulated(policy, bits * grown.bits / BITS, entry_bytes);
            let passes = grown.passes();
            let modelled: f64 = grown.levels.iter().map(|[modelled, ..]| modelled).sum();
            let (bits, modelled) = (grown.bits, modelled / (BUFFERS * LOOKUPS) as f64);
            println!(
                "{what}, {bits:.2} bits: {modelled:.4}, {simulated:.4} simulated, {passes:.4}"
            );
            assert!((0.8..=1.1).contains(&(simulated / passes)), "{what}: {passes}, {simulated}");
            grown
        });
        for by_run in [&monkey, &dynamic] {
            assert!((by_run.bits / uniform.bits - 1.0).abs() < 0.04, "{json}: {}", by_run.bits);
            assert!(by_run.passes() < uniform.passes() * 0.85, "{json}: {}", by_run.passes());
        }
        assert!(dynamic.passes() < monkey.passes() * 1.05, "{json}: {}", dynamic.passes());
    }
}

#[test]
fn declared_data_with_filters_beyond_the_budget_is_refused() {
    let db = open(PolicyOptions::default(), 10.0);
    let keyspace = db.default_keyspace();
    let declared = |bytes: u64| {
        let json =
            format!(r#"{{"policy": "vertiorizon", "data-bytes": {bytes}, "filters": "dynamic"}}"#);
        json.parse::<PolicyOptions>().unwrap()
    };
    // Nothing is known of the entries.
    keyspace.set_policy(&declared(1 << 50)).unwrap();
    for flushed in [false, true] {
        write(&keyspace, &Operations::new(&Workload::default(), SEED), 0);
        if flushed {
            db.flush().unwrap();
        }
        let refused = keyspace.set_policy(&declared(1 << 49)).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::InvalidArgument(_)));
        let told = refused.to_string();
        for word in ["expected at most", "dynamic", "vertiorizon: `data-bytes` is 562949953421312"]
        {
            assert!(told.contains(word), "{told}");
        }
        keyspace.set_policy(&declared(1 << 30)).unwrap();
        assert_eq!(keyspace.policy().unwrap(), declared(1 << 30));
    }
}

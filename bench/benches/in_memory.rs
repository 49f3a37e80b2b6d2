//! The engine natively, set up as in a page: a volume in memory, the browser's options, no threads, and the
//! calls to it that `crates/wasm` makes. `npm run in-memory` in `tests/e2e` runs this beside the same engine in
//! a browser. Prints as JSON the microseconds of one operation, and the sum of what all of them returned:
//!
//! ```sh
//! cargo bench -p terrane-bench --bench in_memory
//! ```
//!
//! `tests/e2e/pages/in-memory.js` is the same workload, line by line: rows, operations and sums are equal.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::{Arc, LazyLock};
use std::time::Instant;
use terrane::executor::SliceExecutor;
use terrane::storage::StoreId;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::volume::{Volume, VolumeOptions};
use terrane::{Db, Durability, Keyspace, Options, WriteBatch};

const ROWS: usize = 100_000;
const PUTS: usize = 40_000;
const GETS: usize = 200_000;
const LOOKUPS: usize = 2_000;
const SCANS: usize = 10_000;
const BATCH: usize = 1000;
/// The rows of a lookup and of a scan.
const TOGETHER: usize = 100;

type Key = [u8; 16];
type Value = [u8; 100];

fn main() {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let clock = || u64::try_from(BEGAN.elapsed().as_micros()).unwrap();
    let file = MemoryVfs::new().create("memory").unwrap();
    let options = VolumeOptions { new_id: StoreId::new([1; 16]), ..VolumeOptions::default() };
    let storage = Arc::new(Volume::open(vec![file], options).unwrap());
    let executor = Arc::new(SliceExecutor::with_clock(clock));
    let db = Db::open_storage(storage, Options::small(), executor).unwrap();
    println!("{{{}}}", run(&db, &db.default_keyspace()).join(","));
}

fn run(db: &Db, rows: &Keyspace) -> Vec<String> {
    let mut random = Random(1);
    let loaded: Vec<_> = (0..ROWS).map(|_| (random.key(), random.value())).collect();
    let mut keys: Vec<Key> = loaded.iter().map(|row| row.0).collect();
    keys.sort_unstable();
    let settle = || {
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
    };
    let rows_id = rows.id();
    let encoded = |rows: &[(Key, Value)]| {
        let mut batch = WriteBatch::new();
        rows.iter().for_each(|(key, value)| batch.put(rows_id, key, value).unwrap());
        batch.bytes().to_vec()
    };
    let write = |batch: &Vec<u8>| {
        let batch = WriteBatch::from_encoded(batch.clone()).unwrap();
        u32::try_from(db.write(batch, Durability::Buffered).unwrap()).unwrap()
    };
    let mut found = Vec::new();
    let mut get = |key: &Key| {
        found.clear();
        let exists = rows.lookup(1).unwrap().get_into(key, &mut found).unwrap();
        if exists { word(&found) } else { 0 }
    };

    let batches: Vec<_> = loaded.chunks(BATCH).map(encoded).collect();
    let mut report = vec![time("batches of 1000 puts", &batches, write)];
    settle();
    let puts: Vec<_> = (0..PUTS).map(|_| (keys[random.below(ROWS)], random.value())).collect();
    let puts: Vec<_> = puts.chunks(1).map(encoded).collect();
    report.push(time("puts", &puts, write));
    settle();
    let gets: Vec<_> = (0..GETS).map(|_| keys[random.below(ROWS)]).collect();
    report.push(time("gets", &gets, &mut get));
    let mut missing = gets;
    missing.iter_mut().for_each(|key| key[15] = b'~');
    report.push(time("gets of missing keys", &missing, &mut get));
    let lookups: Vec<_> = (0..LOOKUPS * TOGETHER).map(|_| keys[random.below(ROWS)]).collect();
    let lookups: Vec<_> = lookups.chunks(TOGETHER).collect();
    report.push(time("100 gets together", &lookups, |keys| {
        let (mut lookup, mut values) = (rows.lookup(keys.len()).unwrap(), Vec::new());
        keys.iter().for_each(|key| assert!(lookup.get_into(key, &mut values).unwrap()));
        values.chunks(100).map(word).fold(0, u32::wrapping_add)
    }));
    let ranges: Vec<_> = (0..SCANS).map(|_| random.below(ROWS - TOGETHER)).collect();
    let ranges: Vec<_> = ranges.iter().map(|&from| keys[from]..keys[from + TOGETHER]).collect();
    report.push(time("scans of 100", &ranges, |range| {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let mut cursor = rows.cursor(range.clone()).unwrap();
        while let Some((key, value)) = cursor.next().unwrap() {
            keys.extend_from_slice(key);
            values.extend_from_slice(value);
        }
        let page = [keys, values].concat();
        page[1600..].chunks(100).map(word).fold(0, u32::wrapping_add)
    }));
    report.push(time("counts of 100", &ranges, |range| {
        let mut cursor = rows.cursor(range.clone()).unwrap();
        let mut count = 0;
        while cursor.next().unwrap().is_some() {
            count += 1;
        }
        count
    }));
    report
}

/// Performs every operation. Returns the microseconds of one, not counting the first quarter, and the sum of
/// what all returned.
fn time<T>(name: &str, operations: &[T], mut perform: impl FnMut(&T) -> u32) -> String {
    let (warm_up, timed) = operations.split_at(operations.len() / 4);
    let mut sum = |part: &[T]| part.iter().map(&mut perform).fold(0, u32::wrapping_add);
    let first = sum(warm_up);
    let began = Instant::now();
    let rest = sum(timed);
    let micros = began.elapsed().as_secs_f64() * 1e6 / timed.len() as f64;
    format!("\"{name}\":[{micros:.3},{}]", first.wrapping_add(rest))
}

/// The first word of a value.
fn word(value: &[u8]) -> u32 {
    u32::from_le_bytes(*value.first_chunk().unwrap())
}

/// A stream of 32-bit numbers (splitmix32).
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9);
        let z = (self.0 ^ (self.0 >> 16)).wrapping_mul(0x21f0_aaad);
        let z = (z ^ (z >> 15)).wrapping_mul(0x735a_2d97);
        z ^ (z >> 15)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }

    /// Digits, so that a key with another character is missing.
    fn key(&mut self) -> Key {
        let digits = format!("{:08x}{:08x}", self.next(), self.next());
        digits.as_bytes().try_into().unwrap()
    }

    /// Half random, half zeros.
    fn value(&mut self) -> Value {
        let mut value = [0; 100];
        let random = value.chunks_exact_mut(4).take(12);
        random.for_each(|word| word.copy_from_slice(&self.next().to_le_bytes()));
        value
    }
}

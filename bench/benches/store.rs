//! What callers do, in a native directory: 16-byte keys, 100-byte values that compress to about half,
//! WAL on, buffered.
#![allow(missing_docs, clippy::unwrap_used)] // criterion's macros make undocumented items

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use terrane::{Db, Durability, Keyspace, Options, WriteBatch};

const ENTRIES: u64 = 200_000;

/// A stream of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn key(&mut self) -> [u8; 16] {
        key(self.next() % ENTRIES)
    }

    /// Half random, half zeros.
    fn value(&mut self) -> [u8; 100] {
        let mut value = [0; 100];
        value
            .chunks_exact_mut(8)
            .take(6)
            .for_each(|c| c.copy_from_slice(&self.next().to_le_bytes()));
        value
    }
}

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key-....--------";
    key.iter_mut().skip(8).zip(number.to_be_bytes()).for_each(|(k, n)| *k = n);
    key
}

/// An empty store in a temporary directory.
struct Place {
    db: Db,
    keyspace: Keyspace,
    _dir: tempfile::TempDir,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path().join("store"), Options::default()).unwrap();
    Place { keyspace: db.default_keyspace(), db, _dir: dir }
}

/// An idle store with [`ENTRIES`] entries.
fn filled() -> Place {
    let place = place();
    let mut random = Random(1);
    for start in (0..ENTRIES).step_by(1000) {
        let mut batch = WriteBatch::new();
        for number in start..start + 1000 {
            batch.put(place.keyspace.id(), &key(number), &random.value()).unwrap();
        }
        place.db.write(batch, Durability::Buffered).unwrap();
    }
    place.db.flush().unwrap();
    place.db.wait_until_idle().unwrap();
    place
}

fn writes(c: &mut Criterion) {
    let place = place();
    let mut random = Random(2);
    let mut group = c.benchmark_group("write");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one put", |b| {
        b.iter(|| {
            place.keyspace.put(&random.key(), &random.value(), Durability::Buffered).unwrap();
        });
    });
    group.throughput(Throughput::Elements(1000));
    group.bench_function("a batch of 1000", |b| {
        b.iter_batched(
            || {
                let mut batch = WriteBatch::new();
                for _ in 0..1000 {
                    batch.put(place.keyspace.id(), &random.key(), &random.value()).unwrap();
                }
                batch
            },
            |batch| place.db.write(batch, Durability::Buffered).unwrap(),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn reads(c: &mut Criterion) {
    let place = filled();
    let mut random = Random(3);
    let mut group = c.benchmark_group("read");
    group.throughput(Throughput::Elements(1));
    group.bench_function("a key that is there", |b| {
        b.iter(|| place.keyspace.get(&random.key()).unwrap().unwrap());
    });
    group.bench_function("a key that is missing", |b| {
        b.iter(|| {
            // Between two keys that exist.
            let key: Vec<u8> = random.key().into_iter().chain([0]).collect();
            place.keyspace.get(&key).unwrap()
        });
    });
    group.throughput(Throughput::Elements(100));
    group.bench_function("a scan of 100", |b| {
        b.iter(|| {
            let mut cursor = place.keyspace.cursor(random.key()..).unwrap();
            (0..100).take_while(|_| cursor.next().unwrap().is_some()).count()
        });
    });
    group.finish();
}

criterion_group!(benches, writes, reads);
criterion_main!(benches);

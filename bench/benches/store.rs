//! Calls of applications, in a native directory: 16-byte keys, 100-byte values that compress to about
//! half, WAL on, buffered.
#![allow(missing_docs, clippy::unwrap_used)] // criterion's macros make undocumented items

mod rows;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rows::{any_key, key, value};
use terrane::{Db, Durability, Keyspace, Options, WriteBatch};
use terrane_workload::Random;

const ENTRIES: u64 = 200_000;

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
            batch.put(place.keyspace.id(), &key(number), &value(&mut random)).unwrap();
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
            place
                .keyspace
                .put(&any_key(&mut random, ENTRIES), &value(&mut random), Durability::Buffered)
                .unwrap();
        });
    });
    group.throughput(Throughput::Elements(1000));
    group.bench_function("a batch of 1000", |b| {
        b.iter_batched(
            || {
                let mut batch = WriteBatch::new();
                for _ in 0..1000 {
                    batch
                        .put(
                            place.keyspace.id(),
                            &any_key(&mut random, ENTRIES),
                            &value(&mut random),
                        )
                        .unwrap();
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
        b.iter(|| place.keyspace.get(&any_key(&mut random, ENTRIES)).unwrap().unwrap());
    });
    group.bench_function("a key that is missing", |b| {
        b.iter(|| {
            // Between two keys that exist.
            let key: Vec<u8> = any_key(&mut random, ENTRIES).into_iter().chain([0]).collect();
            place.keyspace.get(&key).unwrap()
        });
    });
    group.throughput(Throughput::Elements(100));
    group.bench_function("a scan of 100", |b| {
        b.iter(|| {
            let mut cursor = place.keyspace.cursor(any_key(&mut random, ENTRIES)..).unwrap();
            (0..100).take_while(|_| cursor.next().unwrap().is_some()).count()
        });
    });
    group.finish();
}

criterion_group!(benches, writes, reads);
criterion_main!(benches);

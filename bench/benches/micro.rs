//! The engine's hot paths, each by itself and in memory: keys of 16 bytes, values of 100 that compress to
//! about half, blocks of 4 KiB.
#![allow(missing_docs, clippy::unwrap_used)] // criterion's macros make undocumented items

mod rows;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rows::{any_key, key, value};
use std::hint::black_box;
use std::sync::Arc;
use terrane::storage::File;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::wal::{LogId, LogWriter};
use terrane::{KeyspaceId, WriteBatch};
use terrane_policy::{FilterBits, TableId, TableInfo};
use terrane_table::coding::{checksum, key_hash, put_varint};
use terrane_table::cursor::Cursor;
use terrane_table::entry::{Kind, MAX_SEQ, Tag};
use terrane_table::error::Result;
use terrane_table::memtable::Memtable;
use terrane_table::read::{MergeCursor, ReadTracer, Source};
use terrane_table::table::block::Block;
use terrane_table::table::block_codec::{PartEncoder, decode_into};
use terrane_table::table::filter::Filter;
use terrane_table::table::{
    BlockCache, BlockCursor, Compression, Table, TableFiles, TableOptions, TableWriter,
};
use terrane_workload::Random;

const MEMTABLE_BYTES: usize = 64 << 20;
const BLOCK_BYTES: usize = 4 << 10;
/// Rows of a table: about 16 MiB.
const TABLE_ROWS: u64 = 140_000;
const LOG_BYTES: u64 = 16 << 20;

fn tag(seq: u64) -> Tag {
    Tag::new(seq, Kind::Put)
}

/// A memtable with rows of random keys until it is full.
fn full_memtable(random: &mut Random, rows: u64) -> Arc<Memtable> {
    let memtable = Memtable::new(MEMTABLE_BYTES);
    let mut seq = 0;
    while memtable.bytes() < MEMTABLE_BYTES {
        seq += 1;
        memtable.insert(&any_key(random, rows), tag(seq), &value(random)).unwrap();
    }
    Arc::new(memtable)
}

fn memtables(c: &mut Criterion) {
    let mut random = Random(1);
    let mut group = c.benchmark_group("memtable");
    group.throughput(Throughput::Elements(1));
    let (mut memtable, mut seq) = (Memtable::new(MEMTABLE_BYTES), 0);
    group.bench_function("insert, from empty to full", |b| {
        b.iter(|| {
            if memtable.bytes() >= MEMTABLE_BYTES {
                memtable = Memtable::new(MEMTABLE_BYTES);
            }
            seq += 1;
            memtable
                .insert(&any_key(&mut random, u64::MAX), tag(seq), &value(&mut random))
                .unwrap();
        });
    });
    const ROWS: u64 = 1 << 17;
    let memtable = full_memtable(&mut random, ROWS);
    group.bench_function("get from a full one", |b| {
        b.iter(|| memtable.get(&any_key(&mut random, ROWS), MAX_SEQ).map(|(tag, _)| tag));
    });
    group.bench_function("filter of a full one, for a missing key", |b| {
        b.iter(|| memtable.may_contain(key_hash(&any_key(&mut random, u64::MAX))));
    });
    group.finish();
}

/// The contents of a block with a restart point every 16 entries, as FORMAT.md has it, and its keys.
fn block(random: &mut Random) -> (Vec<u8>, Vec<[u8; 16]>) {
    let (mut bytes, mut restarts, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    while bytes.len() < BLOCK_BYTES {
        let (key, value) = (key(keys.len() as u64 * 7), value(random));
        let previous: Option<&[u8; 16]> = keys.last().filter(|_| !keys.len().is_multiple_of(16));
        if previous.is_none() {
            restarts.push(bytes.len() as u32);
        }
        let equal =
            |previous: &[u8; 16]| previous.iter().zip(&key).take_while(|(a, b)| a == b).count();
        let shared = previous.map_or(0, equal);
        for number in [shared, key.len() - shared, value.len()] {
            put_varint(&mut bytes, number as u64);
        }
        put_varint(&mut bytes, tag(1).0);
        bytes.extend(key.iter().skip(shared));
        bytes.extend(value);
        keys.push(key);
    }
    let count = restarts.len() as u32;
    restarts.iter().chain([&count]).for_each(|number| bytes.extend(number.to_le_bytes()));
    (bytes, keys)
}

fn blocks(c: &mut Criterion) {
    let mut random = Random(2);
    let (bytes, keys) = block(&mut random);
    let mut group = c.benchmark_group("block");
    let decoded = Arc::new(Block::decode(bytes.clone()).unwrap());
    group.bench_function("search", |b| {
        let mut cursor = BlockCursor::new(Arc::clone(&decoded));
        b.iter(|| {
            let at = random.below(keys.len() as u64) as usize;
            keys.get(at).into_iter().for_each(|key| cursor.seek(key, Tag::at(MAX_SEQ)).unwrap());
            cursor.valid()
        });
    });
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("decode", |b| {
        b.iter_batched(|| bytes.clone(), |b| Block::decode(b).unwrap(), BatchSize::SmallInput);
    });
    group.bench_function("checksum", |b| b.iter(|| checksum(black_box(&bytes), 1)));
    for compression in [Compression::None, Compression::Lz4] {
        let mut encoder = PartEncoder::new(1, compression);
        let mut stored = Vec::new();
        group.bench_function(format!("codec, write, {compression:?}"), |b| {
            b.iter(|| {
                stored.clear();
                encoder.encode_compressed(black_box(&bytes), 0, &mut stored);
            });
        });
        let mut out = Vec::new();
        group.bench_function(format!("codec, read, {compression:?}"), |b| {
            b.iter(|| decode_into(black_box(&stored), 1, 0, &mut out).unwrap());
        });
    }
    group.finish();
}

fn filters(c: &mut Criterion) {
    let mut random = Random(3);
    let hashes: Vec<u64> = (0..TABLE_ROWS).map(|number| key_hash(&key(number))).collect();
    let mut group = c.benchmark_group("filter");
    group.throughput(Throughput::Elements(TABLE_ROWS));
    group.bench_function("build", |b| b.iter(|| Filter::build(&hashes, FilterBits::whole(10))));
    let filter = Filter::build(&hashes, FilterBits::whole(10));
    group.throughput(Throughput::Elements(1));
    group.bench_function("a missing key", |b| {
        b.iter(|| filter.may_contain(key_hash(&any_key(&mut random, u64::MAX))));
    });
    group.finish();
}

/// The file of the one table.
struct OneFile(Arc<dyn File>);

impl TableFiles for OneFile {
    fn open(&self, _: TableId) -> Result<Arc<dyn File>> {
        Ok(Arc::clone(&self.0))
    }
}

fn write_table(file: &Arc<dyn File>, rows: u64, random: &mut Random) -> TableInfo {
    let mut writer = TableWriter::new(Arc::clone(file), TableId(1), &TableOptions::default());
    for number in 0..rows {
        writer.add(&key(number), tag(1), &value(random)).unwrap();
    }
    writer.finish().unwrap()
}

fn tables(c: &mut Criterion) {
    let mut random = Random(4);
    let file = MemoryVfs::new().create("1.sst").unwrap();
    let mut group = c.benchmark_group("table");
    const FEW: u64 = 10_000;
    group.throughput(Throughput::Elements(FEW));
    group.bench_function("write", |b| b.iter(|| write_table(&file, FEW, &mut random)));
    group.throughput(Throughput::Elements(1));
    for (name, cache_bytes) in
        [("get, all in the cache", 64 << 20), ("get, 1 of 16 in the cache", 1 << 20)]
    {
        let info = Arc::new(write_table(&file, TABLE_ROWS, &mut random));
        let files = Arc::new(OneFile(Arc::clone(&file)));
        let table = Table::new(info, files, Arc::new(BlockCache::new(cache_bytes)));
        for number in 0..TABLE_ROWS {
            table.get(&key(number), MAX_SEQ).unwrap().unwrap();
        }
        group.bench_function(name, |b| {
            b.iter(|| table.get(&any_key(&mut random, TABLE_ROWS), MAX_SEQ).unwrap().unwrap());
        });
    }
    group.finish();
}

fn merges(c: &mut Criterion) {
    let mut random = Random(5);
    let mut group = c.benchmark_group("merge");
    group.throughput(Throughput::Elements(1));
    for count in [1, 4, 16] {
        let source = |_| {
            let memtable = Memtable::new(1 << 20);
            for seq in 1..4000 {
                memtable
                    .insert(&any_key(&mut random, u64::MAX), tag(seq), &value(&mut random))
                    .unwrap();
            }
            Source::Memtable(Arc::new(memtable).cursor(), ReadTracer::default())
        };
        let mut cursor = MergeCursor::new((0..count).map(source).collect());
        group.bench_function(format!("next of {count}"), |b| {
            b.iter(|| {
                match cursor.valid() {
                    true => cursor.next().unwrap(),
                    false => cursor.seek_first().unwrap(),
                }
                cursor.tag()
            });
        });
    }
    group.finish();
}

fn logs(c: &mut Criterion) {
    let mut random = Random(6);
    let vfs = MemoryVfs::new();
    let mut group = c.benchmark_group("log");
    for rows in [1, 1000] {
        let mut batch = WriteBatch::new();
        for _ in 0..rows {
            batch.put(KeyspaceId(0), any_key(&mut random, u64::MAX), value(&mut random)).unwrap();
        }
        let (mut number, mut first) = (0, 0);
        let mut begin = || {
            number += 1;
            let id = LogId { number, salt: 1 };
            LogWriter::begin(vfs.create("log").unwrap(), id, LOG_BYTES).unwrap()
        };
        let mut log = begin();
        group.throughput(Throughput::Elements(rows));
        group.bench_function(format!("append a batch of {rows}"), |b| {
            b.iter(|| {
                if !log.fits(batch.bytes().len() + 16) {
                    log = begin();
                }
                first += rows;
                log.append(first, 0, &[batch.bytes()]).unwrap();
            });
        });
    }
    group.finish();
}

criterion_group!(benches, memtables, blocks, filters, tables, merges, logs);
criterion_main!(benches);

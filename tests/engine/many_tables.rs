//! A store of thousands of tables. Power is cut and operations fail while it opens, flushes, compacts
//! and closes.
//!
//! It is made once; each experiment gets a copy of its file system, fails one of the operations, and
//! checks what is left.

use std::ops::Range as Operations;
use std::sync::{Arc, OnceLock};
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::Vfs;
use terrane::storage::vfs::fault::{Fault, SECTORS, Survivors};
use terrane::table::{Compression, TableOptions};
use terrane::{Db, Durability, KeyRange, Options, Result, WriteBatch};
use terrane_policy::{Leveled, PolicyOptions};
use terrane_tests::fixtures::{Kind, Rig, tiny};
use terrane_tests::full;
use terrane_tests::image::Image;
use terrane_workload::Random;

/// The number of tables. In a volume each takes whole units, and copying them takes time.
fn tables_in(kind: Kind) -> u32 {
    if kind.backings().is_empty() { 10_000 } else { 2_000 }
}

/// A value that fills a table.
const FIRST: [u8; 1024] = [1; 1024];
const SECOND: [u8; 1024] = [2; 1024];

/// A table for every entry.
fn options() -> Options {
    let policy =
        Leveled { level_base_bytes: 64 << 20, target_file_bytes: 1 << 10, ..Leveled::default() };
    tiny()
        .memtable_bytes(32 << 20)
        .wal_file_bytes(1 << 20)
        .max_total_wal_bytes(64 << 20)
        .policy(PolicyOptions::Leveled(policy))
        .table(TableOptions { compression: Compression::None, ..TableOptions::default() })
}

fn open(rig: &Rig) -> Result<Db> {
    rig.open_with(options(), Arc::new(SliceExecutor::default()))
}

fn tables(db: &Db) -> usize {
    db.default_keyspace().shape().expect("a keyspace").tables().count()
}

/// The closed store.
fn store(kind: Kind) -> &'static Image {
    static DIRECTORY: OnceLock<Image> = OnceLock::new();
    static VOLUME: OnceLock<Image> = OnceLock::new();
    let image = if kind.backings().is_empty() { &DIRECTORY } else { &VOLUME };
    image.get_or_init(|| {
        let rig = Rig::new(kind);
        let db = open(&rig).expect("a new store");
        let id = db.default_keyspace().id();
        let count = tables_in(kind);
        for part in 0..4 {
            let mut batch = WriteBatch::new();
            for key in (part..count).step_by(4) {
                batch.put(id, &key.to_be_bytes(), &FIRST).expect("a short key");
            }
            db.write(batch, Durability::Buffered).expect("nothing fails");
            db.flush().expect("nothing fails");
        }
        db.wait_until_idle().expect("nothing fails");
        assert!(tables(&db) >= count as usize, "{} tables", tables(&db));
        db.close().expect("nothing fails");
        Image::of(&rig.vfs)
    })
}

/// The operations under test: opening, a flush, a range compaction, closing.
fn run(rig: &Rig, marks: &mut Vec<u64>) -> Result<()> {
    let mut mark = || marks.push(rig.vfs.operations());
    mark();
    let db = open(rig)?;
    mark();
    let rows = db.default_keyspace();
    rows.put(&7u32.to_be_bytes(), &SECOND, Durability::Sync)?;
    rows.delete(&8u32.to_be_bytes(), Durability::Buffered)?;
    db.flush()?;
    mark();
    let from = KeyRange { to: KeyRange::prefix(&[0, 0, 0]).to, ..KeyRange::default() };
    rows.compact_range(&from)?;
    mark();
    db.close()?;
    mark();
    Ok(())
}

/// Only these two keys may have changed, and in the order of their writes.
fn judge(db: &Db, count: u32) -> std::result::Result<(), String> {
    let failed = |e: terrane::Error| format!("reading: {e}");
    let rows = db.default_keyspace();
    let scan = rows.scan(..).map_err(failed)?;
    let found: Vec<_> = scan.collect::<Result<_>>().map_err(failed)?;
    let put = found.iter().any(|(_, value)| *value == SECOND);
    let deleted = !found.iter().any(|(key, _)| *key == 8u32.to_be_bytes());
    let keys = (0..count).filter(|key| *key != 8 || !deleted);
    let value = |key| if put && key == 7 { SECOND } else { FIRST };
    let expected = keys.map(|key| (key.to_be_bytes().to_vec(), value(key).to_vec()));
    if !found.into_iter().eq(expected) || (deleted && !put) {
        return Err("it shows something else".to_owned());
    }
    Ok(())
}

/// Fails one operation and checks what is left.
fn strike(kind: Kind, operation: u64, fault: Option<Fault>) -> std::result::Result<(), String> {
    let mut rig = Rig::over(kind, Arc::new(store(kind).vfs()));
    match fault {
        Some(fault) => rig.vfs.fail_at(operation, fault),
        None => {
            rig.vfs.set_sector(SECTORS[(operation % 3) as usize]);
            rig.vfs.cut_at(operation);
        }
    }
    // Fails at that operation.
    let _ = run(&rig, &mut Vec::new());
    match fault {
        Some(_) => rig.vfs.heal(),
        None => {
            let failed = |e| format!("the crash: {e}");
            rig.vfs.crash(Survivors::Random(operation)).map_err(failed)?;
            rig.restore_power();
        }
    }
    let db = open(&rig).map_err(|e| format!("opening: {e}"))?;
    judge(&db, tables_in(kind))?;
    let tables_named = tables(&db);
    if kind == Kind::MemoryDirectory {
        let names = rig.vfs.list().map_err(|e| format!("listing: {e}"))?;
        let files = names.iter().filter(|name| name.ends_with(".sst")).count();
        if files != tables_named {
            return Err(format!("{tables_named} tables are named, and there are {files}"));
        }
    }
    Ok(())
}

/// Draws `count` operations of a range.
fn sample(range: Operations<u64>, count: u64, random: &mut Random) -> Vec<u64> {
    let all = range.end - range.start;
    if all <= count {
        return range.collect();
    }
    (0..count).map(|_| range.start + random.below(all)).collect()
}

fn strike_samples(kind: Kind) {
    let rig = Rig::over(kind, Arc::new(store(kind).vfs()));
    let mut marks = Vec::new();
    run(&rig, &mut marks).expect("nothing fails");
    let count = if full() { 200 } else { 5 };
    let mut random = Random(7);
    for stage in marks.windows(2) {
        for operation in sample(stage[0]..stage[1], count, &mut random) {
            for fault in [None, None, Some(Fault::Io), Some(Fault::Reverted), Some(Fault::NoSpace)]
            {
                if let Err(why) = strike(kind, operation, fault) {
                    panic!("{kind:?}, {fault:?} at {operation} of {marks:?}: {why}");
                }
            }
        }
    }
}

#[test]
fn a_directory_of_ten_thousand_tables_survives_faults() {
    strike_samples(Kind::MemoryDirectory);
}

#[test]
fn a_volume_of_two_thousand_tables_survives_faults() {
    strike_samples(Kind::MemoryVolume);
}

#[test]
fn a_volume_spends_a_few_units_on_each_small_table() {
    let kind = Kind::MemoryVolume;
    let vfs = store(kind).vfs();
    let data = vfs.open("data").and_then(|file| file.len()).expect("a backing");
    // A table with 1 KiB of value needs less than one unit; compactions leave twice as much free.
    let units = u64::from(tables_in(kind)) * 4096;
    assert!(data < 4 * units, "{data} bytes for {units}");
}

//! A store takes little space while it holds little.

use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::volume::VolumeOptions;
use terrane::storage::{File, StoreId, Volume};
use terrane::{Db, Durability, Options};

/// Three backings, as in the browser.
fn backings() -> Vec<Arc<dyn File>> {
    let vfs = MemoryVfs::new();
    ["store", "logs", "tables"].map(|name| vfs.create(name).unwrap()).to_vec()
}

fn open(backings: &[Arc<dyn File>]) -> Db {
    let options = VolumeOptions { new_id: StoreId::random().unwrap(), ..VolumeOptions::default() };
    let volume = Arc::new(Volume::open(backings.to_vec(), options).unwrap());
    Db::open_storage(volume, Options::small(), Arc::new(SliceExecutor::default())).unwrap()
}

fn taken(backings: &[Arc<dyn File>]) -> u64 {
    for b in backings {
        eprintln!("{} {}", b.name(), b.len().unwrap());
    }
    backings.iter().map(|file| file.len().unwrap()).sum()
}

#[test]
fn a_store_of_one_row_takes_less_than_1500_kibibytes() {
    let backings = backings();
    let db = open(&backings);
    db.default_keyspace().put("key", "value", Durability::Sync).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    assert!(taken(&backings) < 1500 << 10, "{}", taken(&backings));
}

#[test]
fn an_emptied_store_shrinks_when_all_is_compacted() {
    let backings = backings();
    let db = open(&backings);
    let keyspace = db.default_keyspace();
    for n in 0..200_000_u32 {
        keyspace.put(n.to_be_bytes(), [7; 100], Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    assert!(taken(&backings) > 12 << 20, "three logs of 4 MiB");
    for n in 0..200_000_u32 {
        keyspace.delete(n.to_be_bytes(), Durability::Buffered).unwrap();
    }
    keyspace.compact_range(..).unwrap();
    db.wait_until_idle().unwrap();
    assert!(taken(&backings) < 3 << 20, "{} bytes", taken(&backings));
    // What is written next is kept as ever.
    keyspace.put("key", "value", Durability::Buffered).unwrap();
    db.sync().unwrap();
    drop(keyspace);
    db.close().unwrap();
    let db = open(&backings);
    let rows: Vec<_> = db.default_keyspace().scan(..).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 1);
    db.close().unwrap();
}

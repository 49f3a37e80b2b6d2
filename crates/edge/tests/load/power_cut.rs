//! Power cuts: synced writes stay that were acknowledged through either door.

use crate::served::Served;
use crate::writers::Load;
use std::sync::Arc;
use terrane::executor::ThreadExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::fault::Survivors;
use terrane::storage::vfs::{FaultVfs, MemoryVfs};
use terrane::{Db, Durability, Options};

/// Opens the store in a file system whose power can be cut.
pub fn open(vfs: &FaultVfs) -> Db {
    let storage = Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap());
    Db::open_storage(storage, Options::default(), Arc::new(ThreadExecutor::new(1))).unwrap()
}

/// Cuts power under load, and checks the store that is left. If not the server, then each client asks for syncs.
fn cut(asks_for_sync: bool, round: u64) {
    let inner = Arc::new(MemoryVfs::new());
    let vfs = FaultVfs::new(inner.clone()).unwrap();
    let durability = if asks_for_sync { Durability::Buffered } else { Durability::Sync };
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let served = Served::of(dir, open(&vfs), |config| config.durability = durability);
    let load = Load::with(&served, asks_for_sync, None);
    load.wait_for(8);
    vfs.cut_at(vfs.operations() + 7 * round);
    load.wait_for_refusals(["HTTP/1.1 5", "-"]);
    let written = load.stop();
    drop(served);
    let survivors = [Survivors::Synced, Survivors::Random(round), Survivors::All];
    vfs.crash(survivors[round as usize % 3]).unwrap();
    let db = open(&FaultVfs::new(inner).unwrap());
    written.check(&db.default_keyspace());
}

fn rounds() -> u64 {
    if std::env::var_os("TERRANE_FULL").is_some() { 100 } else { 6 }
}

#[test]
fn a_power_cut_takes_no_write_of_a_durable_server() {
    (0..rounds()).for_each(|round| cut(false, round));
}

#[test]
fn a_power_cut_takes_no_write_that_asked_for_a_sync() {
    (0..rounds()).for_each(|round| cut(true, round));
}

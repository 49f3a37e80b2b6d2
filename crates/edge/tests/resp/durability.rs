//! Durable writes.

use crate::client::pipeline;
use crate::served::Served;
use std::sync::Arc;
use terrane::executor::ThreadExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::fault::Fault;
use terrane::storage::vfs::{FaultVfs, MemoryVfs};
use terrane::{Db, Durability, Options};

#[test]
fn writes_can_be_synced_by_request() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[
        ("SET a 1", "OK"),
        ("WAITAOF 1 0 0", "[:1 :0]"),
        ("WAITAOF 0 0 0", "[:0 :0]"),
        ("WAITAOF 2 0 0", "-ERR value is not an integer or out of range"),
        ("SAVE", "OK"),
        ("BGSAVE", "Background saving started"),
    ]);
    assert!(client.run("LASTSAVE").starts_with(":1"));
}

#[test]
fn durable_writes_of_a_pipeline_keep_their_order() {
    let served = Served::with(|config| config.durability = Durability::Sync);
    let mut client = served.connect();
    client.check(&[("CONFIG GET appendfsync", "[\"appendfsync\" \"always\"]")]);
    client.send(&pipeline(&["INCR n"; 500]));
    for n in 1..=500 {
        assert_eq!(client.read(), format!(":{n}"));
    }
    client.check(&[("MULTI", "OK"), ("INCR n", "QUEUED"), ("EXEC", "[:501]")]);
    let served = Served::on(served.stop(), |_| {});
    served.connect().check(&[("GET n", "\"501\"")]);
}

#[test]
fn a_write_whose_sync_fails_has_no_reply() {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let storage = Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap());
    let db = Db::open_storage(storage, Options::default(), Arc::new(ThreadExecutor::new(1)));
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let served = Served::of(dir, db.unwrap(), |config| config.durability = Durability::Sync);
    let connect = || served.connect();
    connect().check(&[("SET a 1", "OK"), ("INCR n", ":1")]);
    // The write succeeds, and its sync fails.
    vfs.fail_from(vfs.operations() + 1, Fault::Io);
    let mut client = connect();
    client.send(&pipeline(&["SET b 2", "GET a"]));
    assert_eq!(client.read(), "closed");
    // Reads succeed, also on a connection whose writes are refused in words.
    let mut client = connect();
    client.check(&[("GET a", "\"1\"")]);
    assert!(client.run("SET c 3").starts_with("-MISCONF"));
    assert!(client.run("INCR n").starts_with("-MISCONF"));
    client.check(&[("GET a", "\"1\"")]);
    assert!(served.shared.health.problem().is_some());
    vfs.heal();
}

#[test]
fn durable_writes_of_many_connections_share_syncs() {
    let served = Served::with(|config| config.durability = Durability::Sync);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = served.connect();
                for _ in 0..50 {
                    assert!(client.run("INCR n").starts_with(':'));
                }
            });
        }
    });
    served.connect().check(&[("GET n", "\"400\"")]);
}

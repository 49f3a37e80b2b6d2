//! A full disk and a failing one: writes are refused in words, reads succeed, and the server is not ready.

use crate::served::Served;
use std::sync::Arc;
use terrane::executor::ThreadExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::fault::Fault;
use terrane::storage::vfs::{FaultVfs, MemoryVfs};
use terrane::{Db, Options};

/// Starts a server on a store in memory, whose files can be made to fail.
fn served() -> (Served, FaultVfs) {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let storage = Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap());
    let executor = Arc::new(ThreadExecutor::new(1));
    let db = Db::open_storage(storage, Options::default(), executor).unwrap();
    (Served::of(Arc::new(tempfile::tempdir().unwrap()), db, |_| {}), vfs)
}

#[test]
fn a_full_disk_refuses_only_writes() {
    let (served, vfs) = served();
    served.put("/v1/default/keys/a", "1");
    vfs.set_capacity(0, Fault::NoSpace);
    // The log has some space ahead.
    let refused = loop {
        let reply = served.request("PUT /v1/default/keys/b", "", vec![7; 1 << 20]);
        if reply.status != 204 {
            break reply;
        }
    };
    refused.is_problem(507, "no-space", &["no space left"]);
    assert_eq!(served.get("/v1/default/keys/a").text(), "1");
    served.get("/health/ready").is_problem(503, "not-ready", &["no space left"]);
    vfs.heal();
    served.put("/v1/default/keys/b", vec![7; 1 << 20]);
}

#[test]
fn a_failed_log_refuses_only_writes() {
    let (served, vfs) = served();
    served.put("/v1/default/keys/a", "1");
    vfs.fail_from(vfs.operations(), Fault::Io);
    let put = || served.request("PUT /v1/default/keys/a?durability=sync", "", "2");
    assert!(put().status >= 500);
    put().is_problem(503, "writes-failed", &[]);
    assert_eq!(served.get("/v1/default/keys/a").status, 200);
    served.get("/health/ready").is_problem(503, "not-ready", &[]);
    assert!(served.get("/metrics").text().contains("terrane_ready 0\n"));
    vfs.heal();
}

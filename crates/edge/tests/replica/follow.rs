//! A replica has the rows of its source after a snapshot, after changes and after a power cut at any point.

use crate::client::Reply;
use crate::served::Served;
use std::sync::Arc;
use std::time::Duration;
use terrane::executor::ThreadExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::fault::Survivors;
use terrane::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use terrane::{Db, Durability, Operand, Options, WriteBatch};
use terrane_edge::follow::Source;

/// Starts a server whose store retains logs.
pub fn source(feed_bytes: u64) -> Served {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let options = Options::small().wal_file_bytes(16 << 10).feed_bytes(feed_bytes);
    let db = Db::open(dir.path().join("db"), options).unwrap();
    Served::of(dir, db, |_| {})
}

/// Starts a replica on a store.
pub fn replica_on(source: &Served, db: Db) -> Served {
    let url = format!("http://{}", source.http);
    Served::of(Arc::new(tempfile::tempdir().unwrap()), db, |config| {
        config.follow = Some(Source::parse(&url, None, None).unwrap());
        config.max_lag = Duration::MAX;
    })
}

pub fn replica(source: &Served) -> Served {
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let executor = Arc::new(ThreadExecutor::new(1));
    replica_on(source, Db::open_storage(storage, Options::small(), executor).unwrap())
}

/// Reads from a replica once it has all batches of its source.
pub fn get(source: &Served, replica: &Served, path: &str) -> Reply {
    let last = source.shared.db.inner().latest_sequence();
    loop {
        let headers = format!("Terrane-Min-Sequence: {last}\r\n");
        let reply = replica.request(&format!("GET {path}"), &headers, "");
        // It loads a snapshot, or the machine is busy.
        if !matches!(reply.status, 503 | 504) {
            return reply;
        }
    }
}

/// The rows of a whole server, without the cursor.
fn rows(snapshot: &Reply) -> Vec<String> {
    assert_eq!(snapshot.status, 200, "{}", snapshot.text());
    snapshot.text().lines().skip(1).map(str::to_owned).collect()
}

/// Asserts that a replica equals its source, at rest.
pub fn assert_equal(source: &Served, replica: &Served) {
    let expected = rows(&source.get("/v1/snapshot"));
    assert_eq!(rows(&get(source, replica, "/v1/snapshot")), expected);
}

/// Writes a batch of every kind of operation.
pub fn write(source: &Served, n: u64) {
    let db = source.shared.db.inner();
    let (rows, counts) = (db.default_keyspace(), db.create_keyspace("counts").unwrap());
    let mut batch = WriteBatch::new();
    batch.put(&rows, format!("{:03}", n % 50), vec![n as u8; 100]).unwrap();
    batch.put(&rows, [0xff, n as u8], "bytes").unwrap();
    batch.put_expiring_at(&rows, format!("until{n}"), "later", 1 << 50).unwrap();
    batch.merge(&counts, format!("{}", n % 7), Operand::Add(n.cast_signed())).unwrap();
    batch.delete(&rows, format!("{:03}", (n * 7) % 50)).unwrap();
    if n % 10 == 3 {
        batch.delete_range(&rows, format!("{:03}", n % 40)..format!("{:03}", n % 40 + 5)).unwrap();
    }
    db.write(batch, Durability::Buffered).unwrap();
}

#[test]
fn a_replica_loads_a_snapshot_and_follows_the_changes() {
    let source = source(1 << 20);
    (0..100).for_each(|n| write(&source, n));
    let replica = replica(&source);
    assert_equal(&source, &replica);
    for n in 100..300 {
        write(&source, n);
        if n % 50 == 0 {
            source.shared.db.inner().flush().unwrap();
            assert_equal(&source, &replica);
        }
    }
    assert_equal(&source, &replica);
    // Each write's number finds what it wrote.
    let put = source.request("PUT /v1/default/keys/a", "", "1");
    let headers = format!("Terrane-Min-Sequence: {}\r\n", put.header("terrane-sequence").unwrap());
    let read = replica.request("GET /v1/default/keys/a", &headers, "");
    assert_eq!((read.status, read.text()), (200, "1"));
    assert!(read.header("terrane-sequence") >= put.header("terrane-sequence"));
}

#[test]
fn a_removed_keyspace_is_removed_from_the_replica() {
    let source = source(1 << 20);
    source.put("/v1/users/keys/a", "1");
    source.put("/v1/default/keys/b", "2");
    let replica = replica(&source);
    assert_eq!(get(&source, &replica, "/v1/users/keys/a").status, 200);
    source.shared.db.inner().drop_keyspace("users").unwrap();
    while replica.get("/v1/users/keys/a").status != 404 {}
    assert_equal(&source, &replica);
    source.put("/v1/users/keys/c", "3");
    assert_equal(&source, &replica);
}

#[test]
fn a_replica_continues_after_restarts_of_either() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let options = || Options::small().feed_bytes(1 << 20);
    let open = || Db::open(dir.path().join("db"), options()).unwrap();
    let source = Served::of(dir.clone(), open(), |_| {});
    let place = tempfile::tempdir().unwrap();
    let own = || Db::open(place.path().join("db"), Options::small()).unwrap();
    (0..20).for_each(|n| write(&source, n));
    let replica = replica_on(&source, own());
    assert_equal(&source, &replica);
    replica.stop();
    (20..40).for_each(|n| write(&source, n));
    let replica = replica_on(&source, own());
    assert_equal(&source, &replica);
    let address = source.http;
    source.stop();
    let source = Served::of(dir.clone(), open(), |config| config.http = Some(address));
    (40..60).for_each(|n| write(&source, n));
    assert_equal(&source, &replica);
}

#[test]
fn a_replica_that_is_too_late_loads_a_snapshot_anew() {
    let source = source(0);
    let place = tempfile::tempdir().unwrap();
    let own = || Db::open(place.path().join("db"), Options::small()).unwrap();
    (0..20).for_each(|n| write(&source, n));
    let replica = replica_on(&source, own());
    assert_equal(&source, &replica);
    replica.stop();
    for n in 20..200 {
        write(&source, n);
        source.shared.db.inner().flush().unwrap();
    }
    assert!(source.shared.db.inner().oldest_feed_cursor().sequence > 20);
    assert_equal(&source, &replica_on(&source, own()));
}

#[test]
fn a_replica_whose_power_is_cut_anywhere_equals_its_source() {
    let source = source(1 << 20);
    let mut n = 0;
    let mut more = |batches| {
        (n..n + batches).for_each(|n| write(&source, n));
        n += batches;
    };
    more(50);
    let memory = Arc::new(MemoryVfs::default());
    let open = |vfs: Arc<dyn Vfs>| {
        let executor = Arc::new(ThreadExecutor::new(1));
        let options = Options::small().wal_file_bytes(16 << 10);
        Db::open_storage(Arc::new(Directory::open(vfs)?), options, executor)
    };
    for cut in [1, 5, 9, 14, 20, 27, 35, 50, 80, 120, 200, 400] {
        let vfs = FaultVfs::new(memory.clone()).unwrap();
        vfs.cut_at(cut);
        // The first cuts leave no store.
        if let Ok(db) = open(Arc::new(vfs.clone())) {
            let replica = replica_on(&source, db);
            more(20);
            while vfs.operations() <= cut && !is_current(&source, &replica) {}
        }
        vfs.crash(Survivors::Random(cut)).unwrap();
    }
    assert_equal(&source, &replica_on(&source, open(memory).unwrap()));
}

/// Whether a replica has all of its source's batches.
fn is_current(source: &Served, replica: &Served) -> bool {
    let has = replica.shared.replica.as_ref().unwrap().sequence();
    has == Some(source.shared.db.inner().latest_sequence())
}

//! Refusals, readiness and promotion of replicas.

use crate::follow::{assert_equal, get, replica, replica_on, source, write};
use crate::served::Served;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use terrane::{Db, Options};
use terrane_edge::follow::{Source, is_replica, promote};
use terrane_edge::{Config, Server};
use tokio::runtime::Runtime;

#[test]
fn a_replica_refuses_writes_through_both_doors() {
    let source = source(1 << 20);
    source.put("/v1/default/keys/a", "1");
    let replica = replica(&source);
    assert_equal(&source, &replica);
    for line in ["PUT /v1/default/keys/a", "DELETE /v1/default/keys/a", "POST /v1/batch"] {
        replica.request(line, "", "{\"do\":[]}").is_problem(403, "read-only-replica", &["follows"]);
    }
    let several = replica.request("POST /v1/default/get", "", "{\"keys\":[\"a\"]}");
    assert_eq!(several.status, 200, "{}", several.text());
    let mut client = TcpStream::connect(replica.resp).unwrap();
    client.write_all(b"SET a 2\r\nINCR a\r\nFLUSHALL\r\nGET a\r\nQUIT\r\n").unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).unwrap();
    let refused = "-READONLY You can't write against a read only replica.\r\n";
    assert_eq!(replies, format!("{refused}{refused}{refused}$1\r\n1\r\n+OK\r\n"));
    assert_equal(&source, &replica);
}

#[test]
fn a_replica_is_ready_once_it_has_caught_up() {
    let source = source(1 << 20);
    (0..10).for_each(|n| write(&source, n));
    let replica = replica(&source);
    while replica.get("/health/ready").status != 200 {}
    let address = source.http;
    // A replica whose source is gone says so where it has nothing.
    source.stop();
    let own = tempfile::tempdir().unwrap();
    let db = Db::open(own.path().join("db"), Options::small()).unwrap();
    let lone = Served::of(Arc::new(own), db, |config| {
        config.follow = Some(Source::parse(&format!("http://{address}"), None, None).unwrap());
    });
    lone.get("/health/ready").is_problem(503, "not-ready", &["not caught up"]);
    lone.get("/v1/default/range").is_problem(503, "not-ready", &["rows"]);
    let mut client = TcpStream::connect(lone.resp).unwrap();
    client.write_all(b"GET a\r\nPING\r\nQUIT\r\n").unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).unwrap();
    assert!(replies.starts_with("-LOADING ") && replies.ends_with("+PONG\r\n+OK\r\n"), "{replies}");
}

#[test]
fn a_batch_that_does_not_arrive_is_a_timeout() {
    let source = source(0);
    let least = "Terrane-Min-Sequence: 9\r\n";
    let late = source.request("GET /v1/default/range", least, "");
    late.is_problem(504, "behind", &["batch 9", "batch 0"]);
    let malformed = source.request("GET /v1/default/range", "Terrane-Min-Sequence: x\r\n", "");
    malformed.is_problem(400, "malformed-request", &["Terrane-Min-Sequence"]);
}

#[test]
fn a_promoted_replica_is_a_store_of_its_own() {
    let source = source(1 << 20);
    (0..10).for_each(|n| write(&source, n));
    let place = tempfile::tempdir().unwrap();
    let open = || Db::open(place.path().join("db"), Options::small()).unwrap();
    let replica = replica_on(&source, open());
    assert_equal(&source, &replica);
    let rows = get(&source, &replica, "/v1/default/range").body;
    replica.stop();
    let runtime = Runtime::new().unwrap();
    let start = |db: Db, follow: Option<&str>| {
        let mut config = Config::default();
        (config.http, config.resp) = (None, None);
        config.follow = follow.map(|url| Source::parse(url, None, None).unwrap());
        runtime.block_on(Server::start(db, config)).map(drop).map_err(|e| e.to_string())
    };
    let refused = start(open(), None).unwrap_err();
    assert!(refused.contains("--promote"), "{refused}");
    let db = open();
    let before = db.feed_cursor();
    assert!(promote(&db).unwrap());
    assert_ne!(db.feed_cursor().lineage, before.lineage);
    assert!(!promote(&db).unwrap() && is_replica(&db).unwrap().is_none());
    let refused = start(db.clone(), Some("http://127.0.0.1:1")).unwrap_err();
    assert!(refused.contains("rows of its own"), "{refused}");
    db.close().unwrap();
    let own = Served::of(Arc::new(tempfile::tempdir().unwrap()), open(), |_| {});
    assert_eq!(own.get("/v1/default/range").body, rows);
    own.put("/v1/default/keys/a", "own");
}

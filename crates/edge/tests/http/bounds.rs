//! Bounds of requests: sizes, times, connections, hosts and origins.

use crate::served::Served;
use std::time::Duration;
use terrane::{Error, Options};

#[test]
fn a_key_or_a_body_over_its_bound_is_refused() {
    let served = Served::start();
    let longest = "k".repeat(60_000);
    served.put(&format!("/v1/default/keys/{longest}"), "1");
    let encoded = "%00".repeat(65_536 / 3);
    assert_eq!(served.get(&format!("/v1/default/keys/{encoded}")).status, 431);
    // A declared length is refused before any of it arrives.
    let mut client = served.connect();
    let declared = (64 << 20) + 1;
    client.send(format!(
        "PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: {declared}\r\n\r\n"
    ));
    client.reply(false).is_problem(413, "too-large", &["67108864", "67108865"]);
    assert_eq!(served.shared.limits.held_bytes(), 0);
    served.get("/v1/default/keys/a").is_problem(404, "not-found", &[]);
}

#[test]
fn a_batch_for_which_memory_never_suffices_is_too_large() {
    let served = Served::with(|config| config.buffer_bytes = 100_000);
    let batch = |bytes: usize| {
        let value = "v".repeat(bytes);
        let body = format!(r#"{{"do":[{{"op":"put","key":"a","value":"{value}"}}]}}"#);
        served.request("POST /v1/batch", "", body)
    };
    assert_eq!(batch(49_900).status, 200);
    batch(50_000).is_problem(413, "too-large", &["at most 50000 bytes"]);
}

#[test]
fn a_body_without_a_length_is_refused_once_too_long() {
    let served = Served::with(|config| config.buffer_bytes = 100_000);
    let put = || {
        let mut client = served.connect();
        client.send("PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n");
        client.send("Transfer-Encoding: chunked\r\n\r\n186a0\r\n");
        client.send([b'v'; 100_000]);
        client.send("\r\n1\r\nv\r\n");
        client.reply(false)
    };
    put().is_problem(413, "too-large", &["at most 100000 bytes"]);
    let held = served.shared.limits.hold(50_000);
    let refused = put();
    refused.is_problem(503, "busy", &["memory"]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(held);
    while served.shared.limits.held_bytes() > 0 {}
    served.put("/v1/default/keys/a", [b'v'; 100_000]);
}

#[test]
fn a_long_reply_without_memory_is_refused() {
    let served = Served::with(|config| config.buffer_bytes = 1 << 20);
    served.put("/v1/default/keys/a", vec![7; 1 << 20]);
    served.put("/v1/default/keys/short", "1");
    let held = served.shared.limits.hold(1 << 20);
    served.get("/v1/default/keys/a").is_problem(503, "busy", &["memory"]);
    // Short values need no memory.
    assert_eq!(served.get("/v1/default/keys/short").text(), "1");
    served.put("/v1/default/keys/short", "2");
    drop(held);
    assert_eq!(served.get("/v1/default/keys/a").body.len(), 1 << 20);
}

#[test]
fn a_head_over_its_bound_is_refused() {
    let served = Served::start();
    let long = format!("X-Long: {}\r\n", "a".repeat(70_000));
    let mut client = served.connect();
    client.send(format!("GET /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n{long}\r\n"));
    assert_eq!(client.head().0, 431);
    client.rest();
}

#[test]
fn bytes_that_are_no_request_are_refused_and_closed() {
    let served = Served::start();
    for bytes in [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"*1\r\n$4\r\nPING\r\n", b"GET\r\n\r\n"] {
        let mut client = served.connect();
        client.send(bytes);
        let reply = client.rest();
        assert!(reply.starts_with(b"HTTP/1.1 400 "), "{}", reply.escape_ascii());
    }
    let mut client = served.connect();
    client.send("PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n");
    client.send("Transfer-Encoding: chunked\r\n\r\nnone\r\n");
    client.reply(false).is_problem(400, "malformed-request", &["the body"]);
    served.get("/v1/default/keys/a").is_problem(404, "not-found", &[]);
}

#[test]
fn a_head_that_does_not_arrive_is_refused() {
    let served = Served::with(|config| config.head_time = Duration::from_millis(50));
    let mut client = served.connect();
    client.send("GET /v1/default/keys/a HTTP/1.1\r\nHost:");
    assert!(client.rest().starts_with(b"HTTP/1.1 408 "));
    // A client that is silent is not answered.
    assert_eq!(served.connect().rest(), b"");
}

#[test]
fn a_body_that_does_not_arrive_is_refused() {
    let served = Served::with(|config| config.pace_span = Duration::from_millis(50));
    let mut client = served.connect();
    client.send("PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n");
    client.send("Content-Length: 10\r\n\r\nabc");
    client.reply(false).is_problem(408, "too-slow", &["1024 bytes a second", "3 bytes"]);
    client.rest();
    served.get("/v1/default/keys/a").is_problem(404, "not-found", &[]);
}

#[test]
fn a_body_that_stops_after_a_fast_start_is_refused() {
    let served = Served::with(|config| config.pace_span = Duration::from_millis(50));
    let mut client = served.connect();
    client.send("PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n");
    client.send("Content-Length: 9000000\r\n\r\n");
    // On average it would be fast enough for two hours.
    client.send(vec![7; 8_000_000]);
    client.reply(false).is_problem(408, "too-slow", &["1024 bytes a second"]);
    client.rest();
    while served.shared.limits.held_bytes() > 0 {}
}

#[test]
fn a_request_that_others_may_read_differently_is_refused() {
    let served = Served::start();
    let refused = |head: &str| {
        let mut client = served.connect();
        client.send(format!("PUT /v1/default/keys/a HTTP/1.1\r\n{head}\r\n"));
        client.send("1\r\na\r\n0\r\n\r\n");
        client.head().0
    };
    let chunked = "Transfer-Encoding: chunked\r\n";
    assert_eq!(refused(&format!("Host: localhost\r\nHost: localhost\r\n{chunked}")), 400);
    assert_eq!(refused(&format!("Host: localhost\r\n{chunked}{chunked}")), 400);
    assert_eq!(refused("Host: localhost\r\nTransfer-Encoding: gzip, chunked\r\n"), 400);
    assert_eq!(refused("Host: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n"), 400);
    served.get("/v1/default/keys/a").is_problem(404, "not-found", &[]);
    assert_eq!(refused(&format!("Host: localhost\r\n{chunked}")), 204);
}

#[test]
fn a_target_that_is_not_encoded_is_refused() {
    let served = Served::start();
    for target in ["keys/100%", "keys/%zz", "keys/a%2", "range?gte=%", "range?%z=a"] {
        let refused = served.get(&format!("/v1/default/{target}"));
        refused.is_problem(400, "malformed-request", &["for example: 100%25"]);
    }
    served.put("/v1/default/keys/100%25", "1");
    assert_eq!(
        served.get("/v1/default/range").text(),
        "{\"key\":\"100%\",\"value\":\"1\"}\n{\"end\":true}\n"
    );
}

#[test]
fn a_body_that_is_cut_writes_nothing() {
    let served = Served::start();
    let mut client = served.connect();
    client.send("PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n");
    client.send("Content-Length: 10\r\n\r\nabc");
    drop(client);
    while served.shared.limits.connections() > 0 {}
    assert!(served.shared.db.default_keyspace().inner().is_empty(..).unwrap());
}

#[test]
fn a_reader_without_progress_is_closed() {
    let served = Served::with(|config| config.reader_patience = Duration::from_millis(50));
    served.put("/v1/default/keys/a", vec![7; 32 << 20]);
    let mut client = served.connect();
    client.send("GET /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.head();
    while served.shared.limits.connections() > 0 {
        std::thread::yield_now();
    }
    assert!(client.rest().len() < 32 << 20);
    while served.shared.limits.held_bytes() > 0 {}
}

#[test]
fn more_connections_than_allowed_are_refused() {
    let served = Served::with(|config| config.connections = 1);
    let mut first = served.connect();
    assert_eq!(first.request("GET /health/live", "", b"").status, 200);
    let mut second = served.connect();
    assert!(second.rest().starts_with(b"HTTP/1.1 503 "));
    assert_eq!(first.request("GET /health/live", "", b"").status, 200);
    drop(first);
    while served.shared.limits.connections() > 0 {}
    assert_eq!(served.get("/health/live").status, 200);
    assert_eq!(served.shared.metrics.connections_refused.get(), 1);
}

#[test]
fn requests_for_foreign_hosts_are_refused() {
    let served = Served::with(|config| config.allowed.hosts = vec!["db.example.org".to_owned()]);
    served.put("/v1/default/keys/a", "1");
    let get =
        |host: &str| served.request("GET /v1/default/keys/a", &format!("Host: {host}\r\n"), "");
    get("example.org").is_problem(403, "foreign-host", &["example.org", "--allow-host"]);
    assert_eq!(get("db.example.org").status, 200);
    assert_eq!(get("127.0.0.1:4540").status, 200);
    let mut absent = served.connect();
    absent.send("GET /v1/default/keys/a HTTP/1.0\r\n\r\n");
    absent.reply(false).is_problem(403, "foreign-host", &[]);
    let mut absolute = served.connect();
    let line = "GET http://example.org/v1/default/keys/a";
    absolute.request(line, "", b"").is_problem(403, "foreign-host", &["example.org"]);
}

#[test]
fn pages_of_foreign_origins_are_refused() {
    let page = "http://localhost:8080";
    let served = Served::with(|config| config.allowed.origins = vec![page.to_owned()]);
    served.put("/v1/default/keys/a", "1");
    let get = |origin: &str| {
        served.request("GET /v1/default/keys/a", &format!("Origin: {origin}\r\n"), "")
    };
    let refused = get("https://example.org");
    refused.is_problem(403, "foreign-origin", &["https://example.org", "--allow-origin"]);
    assert_eq!(refused.header("access-control-allow-origin"), None);
    let reply = get(page);
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some(page)));
    assert!(reply.header("access-control-expose-headers").unwrap().contains("etag"));
    let preflight = format!(
        "Origin: {page}\r\nAccess-Control-Request-Method: PUT\r\n\
         Access-Control-Request-Headers: if-match,authorization\r\n"
    );
    let reply = served.request("OPTIONS /v1/default/keys/a", &preflight, "");
    assert_eq!(reply.status, 200);
    assert!(reply.header("access-control-allow-methods").unwrap().contains("PUT"));
    assert!(reply.header("access-control-allow-headers").unwrap().contains("if-match"));
}

#[test]
fn health_says_whether_writes_are_expected_to_succeed() {
    let served = Served::start();
    assert_eq!(served.get("/health/live").text(), "live\n");
    assert_eq!(served.get("/health/ready").text(), "ready\n");
    served.shared.health.note(&Error::poisoned(&Error::no_space("000001.log", 512)));
    served.get("/health/ready").is_problem(503, "not-ready", &["000001.log"]);
    assert_eq!(served.get("/health/live").status, 200);
}

#[test]
fn an_address_that_others_reach_needs_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let db = terrane::Db::open(dir.path().join("db"), Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut config = terrane_edge::Config::default();
    config.http = Some(([0, 0, 0, 0], 0).into());
    let refused = runtime.block_on(terrane_edge::Server::start(db, config)).err().unwrap();
    let sentence = refused.to_string();
    assert!(sentence.contains("0.0.0.0:0 without tokens"), "{sentence}");
}

//! Ranges: streams of rows, their last line, and range deletes.

use crate::client::Reply;
use crate::served::Served;
use serde_json::{Value, json};
use terrane::{Durability, WriteBatch};

fn lines(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn with_rows(keys: &[&str]) -> Served {
    let served = Served::start();
    for key in keys {
        served.put(&format!("/v1/default/keys/{key}"), key.to_uppercase());
    }
    served
}

/// Starts a server with more rows than a page holds.
fn with_pages(rows: usize) -> Served {
    let served = Served::start();
    let mut batch = WriteBatch::new();
    let keyspace = served.shared.db.inner().default_keyspace();
    for row in 0..rows {
        batch.put(&keyspace, format!("{row:06}"), [b'v'; 100]).unwrap();
    }
    served.shared.db.inner().write(batch, Durability::Buffered).unwrap();
    served
}

#[test]
fn a_range_has_its_rows_in_order_and_an_end() {
    let served = with_rows(&["a", "b", "%ff"]);
    let all = [
        json!({"key": "a", "value": "A"}),
        json!({"key": "b", "value": "B"}),
        json!({"key_hex": "ff", "value": "%FF"}),
    ];
    let end = json!({"end": true});
    let of = |query: &str| lines(&served.get(&format!("/v1/default/range{query}")));
    let [a, b, c] = all;
    assert_eq!(of(""), [a.clone(), b.clone(), c.clone(), end.clone()]);
    assert_eq!(of("?reverse"), [c.clone(), b.clone(), a.clone(), end.clone()]);
    assert_eq!(of("?gt=a&lt=%ff"), [b.clone(), end.clone()]);
    assert_eq!(of("?gte=a&lte=b&reverse=true"), [b.clone(), a.clone(), end.clone()]);
    assert_eq!(of("?prefix=%ff"), [c, end.clone()]);
    assert_eq!(of("?prefix=b&keys-only"), [json!({"key": "b"}), end.clone()]);
    assert_eq!(of("?limit=1"), [a.clone(), json!({"next": "b"})]);
    assert_eq!(of("?gte=b&limit=1"), [b, json!({"next_hex": "ff"})]);
    assert_eq!(of("?lt=b&limit=1"), [a, end.clone()]);
    assert_eq!(of("?gte=x&lt=y"), [end]);
}

#[test]
fn a_range_of_many_pages_arrives_whole() {
    let served = with_pages(10_000);
    for query in ["", "?reverse"] {
        let found = lines(&served.get(&format!("/v1/default/range{query}")));
        assert_eq!(found.len(), 10_001);
        assert_eq!(found[10_000], json!({"end": true}));
    }
    while served.shared.limits.held_bytes() > 0 {}
}

#[test]
fn a_range_shows_one_moment_whatever_is_written_meanwhile() {
    let served = with_pages(100_000);
    let mut client = served.connect();
    client.send("GET /v1/default/range?keys-only HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.head();
    let mut text = client.chunk().unwrap();
    let deleted = served.request("DELETE /v1/default/range?gte=", "", "");
    assert_eq!(deleted.status, 204);
    while let Some(chunk) = client.chunk() {
        text.extend(chunk);
    }
    let rows = text.split(|byte| *byte == b'\n').count() - 2;
    assert_eq!(rows, 100_000);
    assert_eq!(lines(&served.get("/v1/default/range")), [json!({"end": true})]);
}

#[test]
fn a_stream_names_its_next_key_when_the_server_stops() {
    let mut served = with_pages(200_000);
    let mut client = served.connect();
    client.send("GET /v1/default/range HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.head();
    let mut text = client.chunk().unwrap();
    let drained = served.begin_shutdown();
    while !served.shared.stopping.is_cancelled() {}
    while let Some(chunk) = client.chunk() {
        text.extend(chunk);
    }
    served.wait(drained).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut rows = text.lines().rev();
    let last: Value = serde_json::from_str(rows.next().unwrap()).unwrap();
    let before: Value = serde_json::from_str(rows.next().unwrap()).unwrap();
    let number = |key: &Value| key.as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(number(&last["next"]), number(&before["key"]) + 1);
}

#[test]
fn a_client_that_disconnects_ends_its_stream() {
    let served = with_pages(200_000);
    let mut client = served.connect();
    client.send("GET /v1/default/range HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.head();
    drop(client);
    while served.shared.db.inner().stats().unwrap().oldest_snapshot.is_some() {}
    while served.shared.limits.held_bytes() > 0 {}
}

#[test]
fn malformed_ranges_are_refused() {
    let served = with_rows(&["a"]);
    for (query, words) in [
        ("gte=a&gt=b", &["gte or gt"][..]),
        ("gte=b&lt=a", &["start"]),
        ("limit=0", &["limit", "from 1 on"]),
        ("reverse=1", &["reverse", "true or false"]),
        ("from=a", &["from", "gte or gt"]),
    ] {
        let refused = served.get(&format!("/v1/default/range?{query}"));
        refused.is_problem(400, "malformed-request", words);
    }
    served.get("/v1/none/range").is_problem(404, "not-found", &["there is no keyspace", "none"]);
}

#[test]
fn a_range_delete_needs_a_bound() {
    let served = with_rows(&["a", "b", "c"]);
    let delete = |query: &str| served.request(&format!("DELETE /v1/default/range{query}"), "", "");
    delete("").is_problem(400, "malformed-request", &["for all keys: gte="]);
    for query in ["?prefix=", "?prefix", "?prefix=&gte=a"] {
        let words = ["for all keys: gte=", "an empty prefix"];
        delete(query).is_problem(400, "malformed-request", &words);
    }
    let body = r#"{"do":[{"op":"delete-range","prefix":""}]}"#;
    let refused = served.request("POST /v1/batch", "", body);
    refused.is_problem(400, "malformed-request", &["do[0]", "an empty prefix"]);
    delete("?limit=1").is_problem(400, "malformed-request", &["limit"]);
    assert_eq!(delete("?gte=b&durability=sync").status, 204);
    let found = lines(&served.get("/v1/default/range?keys-only"));
    assert_eq!(found, [json!({"key": "a"}), json!({"end": true})]);
    assert_eq!(served.request("DELETE /v1/none/range?gte=", "", "").status, 204);
    assert_eq!(served.shared.db.inner().keyspaces(), ["default"]);
}

#[test]
fn several_keys_are_read_at_one_moment() {
    let served = with_rows(&["a", "%ff"]);
    let body = r#"{"keys":["b",{"key_hex":"ff"},{"key":"a"},"a"]}"#;
    let found = lines(&served.request("POST /v1/default/get", "", body));
    assert_eq!(found[0], json!({"key": "b"}));
    assert_eq!((&found[1]["key_hex"], &found[1]["value"]), (&json!("ff"), &json!("%FF")));
    let tag = served.get("/v1/default/keys/a").header("etag").unwrap().to_owned();
    assert_eq!(format!("\"{}\"", found[2]["version"]), tag);
    assert_eq!(found[2], found[3]);
    assert_eq!(found[4], json!({"end": true}));
    let many = vec!["a"; 10_001];
    for (body, words) in [
        (r#"{"keys":[{}]}"#.to_owned(), &["keys[0]", "key or key_hex"][..]),
        (r#"{"keys":[{"key_hex":"f"}]}"#.to_owned(), &["keys[0]", "hexadecimal"]),
        (r#"{"keys":["#.to_owned(), &["the body"]),
        (r#"{"rows":[]}"#.to_owned(), &["rows", "keys"]),
        (json!({ "keys": many }).to_string(), &["10000 keys", "10001 keys"]),
    ] {
        let refused = served.request("POST /v1/default/get", "", body);
        refused.is_problem(400, "malformed-request", words);
    }
}

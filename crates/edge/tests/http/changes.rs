//! Changes: streams of batches, their forms, filters, and the cursors that are refused.

use crate::client::Client;
use crate::served::Served;
use serde_json::{Value, json};
use std::sync::Arc;
use terrane::{Db, Durability, Operand, Options, WriteBatch};

/// Starts a server whose store retains logs.
fn served() -> Served {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let options = Options::default().feed_bytes(64 << 20);
    let db = Db::open(dir.path().join("db"), options).unwrap();
    Served::of(dir, db, |_| {})
}

/// A stream of lines.
struct Lines {
    client: Client,
    text: Vec<u8>,
}

impl Lines {
    fn open(served: &Served, query: &str, headers: &str) -> Self {
        let mut client = served.connect();
        client.send(format!("GET /v1/changes{query} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"));
        assert_eq!(client.head().0, 200);
        Lines { client, text: Vec::new() }
    }

    /// Reads the next line; `None` at the end of the stream.
    fn text(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            self.text.extend(self.client.chunk()?);
        }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.text().unwrap()).unwrap()
    }
}

fn cursor(served: &Served) -> String {
    served.shared.db.inner().feed_cursor().to_string()
}

#[test]
fn a_subscriber_has_every_batch_with_its_cursor() {
    let served = served();
    let start = cursor(&served);
    let mut changes = Lines::open(&served, "", "");
    assert_eq!(changes.next(), json!({ "cursor": start, "newest": start }));
    served.put("/v1/default/keys/a", "1");
    let first = changes.next();
    let put = json!({"op": "put", "keyspace": "default", "key": "a", "value": "1"});
    assert_eq!(first, json!({"cursor": cursor(&served), "ops": [put]}));
    let db = served.shared.db.inner();
    let (rows, counts) = (db.default_keyspace(), db.create_keyspace("counts").unwrap());
    let mut batch = WriteBatch::new();
    batch.put_expiring_at(&rows, [0xff], "2", 1 << 50).unwrap();
    batch.merge(&counts, "n", Operand::Add(-2)).unwrap();
    batch.delete(&rows, "a").unwrap();
    batch.delete_range(&rows, "b"..).unwrap();
    db.write(batch, Durability::Buffered).unwrap();
    let second = changes.next();
    let ops = json!([
        {"op": "put", "keyspace": "default", "key_hex": "ff", "value": "2", "expires": 1_u64 << 50},
        {"op": "merge", "keyspace": "counts", "key": "n", "add": -2},
        {"op": "delete", "keyspace": "default", "key": "a"},
        {"op": "delete-range", "keyspace": "default", "gte": "b"},
    ]);
    assert_eq!(second["ops"], ops);
    // Another stream starts at the cursor of the first one.
    let since = first["cursor"].as_str().unwrap();
    let mut again = Lines::open(&served, &format!("?since={since}"), "");
    assert_eq!(again.next(), json!({ "cursor": since, "newest": cursor(&served) }));
    assert_eq!(again.next(), second);
}

#[test]
fn a_filter_passes_only_requested_operations() {
    let served = served();
    let query = "?keyspace=users&prefix=b";
    let mut changes = Lines::open(&served, query, "");
    changes.next();
    let batch = r#"{"do":[{"op":"put","keyspace":"users","key":"a","value":"1"},
        {"op":"put","key":"b","value":"2"}]}"#;
    assert_eq!(served.request("POST /v1/batch", "", batch).status, 200);
    let batch = r#"{"do":[{"op":"delete-range","keyspace":"users","gte":"a"},
        {"op":"put","keyspace":"users","key":"bb","value":"3"},
        {"op":"delete-range","keyspace":"users","gte":"c"}]}"#;
    assert_eq!(served.request("POST /v1/batch", "", batch).status, 200);
    let ops = json!([
        {"op": "delete-range", "keyspace": "users", "gte": "b", "lt": "c"},
        {"op": "put", "keyspace": "users", "key": "bb", "value": "3"},
    ]);
    assert_eq!(changes.next(), json!({"cursor": cursor(&served), "ops": ops}));
}

#[test]
fn an_event_stream_has_ids_and_resumes_by_them() {
    let served = served();
    let start = cursor(&served);
    let accept = "Accept: text/event-stream\r\n";
    let mut events = Lines::open(&served, "", accept);
    assert_eq!(events.text().unwrap(), format!("id: {start}"));
    assert_eq!(events.text().unwrap(), "");
    served.put("/v1/default/keys/a", "1");
    let id = events.text().unwrap();
    assert_eq!(id, format!("id: {}", cursor(&served)));
    let data = events.text().unwrap();
    assert!(data.starts_with("data: {\"cursor\":"), "{data}");
    assert_eq!(events.text().unwrap(), "");
    // The id of the last event takes precedence over `since`.
    served.put("/v1/default/keys/b", "2");
    let headers = format!("{accept}Last-Event-ID: {}\r\n", id.strip_prefix("id: ").unwrap());
    let mut again = Lines::open(&served, &format!("?since={start}"), &headers);
    assert_eq!(again.text().unwrap(), id);
    again.text().unwrap();
    assert_eq!(again.text().unwrap(), format!("id: {}", cursor(&served)));
    assert!(again.text().unwrap().contains("\"key\":\"b\""));
}

#[test]
fn a_cursor_that_the_feed_refuses_is_gone() {
    let served = served();
    served.put("/v1/default/keys/a", "1");
    served.shared.db.inner().sync().unwrap();
    let now = cursor(&served);
    let (lineage, _) = now.split_once('-').unwrap();
    let other = "0123456789abcdef-0";
    for (since, words) in [(other, "another lineage"), (&format!("{lineage}-9"), "ahead")] {
        let refused = served.get(&format!("/v1/changes?since={since}"));
        refused.is_problem(410, "cursor-gone", &[since, words]);
        assert_eq!(refused.json()["cursor"], now);
    }
    served.get("/v1/changes?since=1").is_problem(400, "malformed-request", &["for example"]);
    served.get("/v1/changes?prefix=a").is_problem(400, "malformed-request", &["keyspace"]);
    served.get("/v1/changes?limit=1").is_problem(400, "malformed-request", &["since"]);
    let long = served.get(&format!("/v1/changes?since={}", "1".repeat(50_000)));
    long.is_problem(400, "malformed-request", &["and 49960 bytes more"]);
    assert!(long.text().len() < 1000, "{}", long.text());
    // A range of a durable moment, and the changes after it, replace the lost ones.
    let range = served.get(&format!("/v1/default/range?at={now}"));
    assert_eq!((range.status, range.header("terrane-cursor")), (200, Some(now.as_str())));
    let refused = served.get(&format!("/v1/default/range?at={other}"));
    refused.is_problem(410, "cursor-gone", &["another lineage"]);
    let ahead = format!("{lineage}-9");
    let refused = served.get(&format!("/v1/default/range?at={ahead}"));
    refused.is_problem(410, "cursor-gone", &[&ahead, "ahead"]);
    assert_eq!(served.get("/v1/default/range").header("terrane-cursor"), None);
}

#[test]
fn a_name_that_no_keyspace_can_have_is_refused() {
    let served = served();
    let long = "n".repeat(1025);
    for (name, found) in [("", "0 bytes"), (&long, "1025 bytes"), ("%00replica", "U+0000")] {
        let refused = served.get(&format!("/v1/changes?keyspace={name}"));
        refused.is_problem(400, "malformed-request", &["the parameter keyspace", found]);
    }
    // A keyspace may be created later.
    Lines::open(&served, &format!("?keyspace={}", "n".repeat(1024)), "").next();
}

#[test]
fn a_stream_names_its_cursor_when_the_server_stops() {
    let mut served = served();
    served.put("/v1/default/keys/a", "1");
    served.shared.db.inner().sync().unwrap();
    let now = cursor(&served);
    let mut changes = Lines::open(&served, "", "");
    assert_eq!(changes.next(), json!({ "cursor": now, "newest": now }));
    let drained = served.begin_shutdown();
    assert_eq!(changes.next(), json!({ "next": now }));
    assert!(changes.text().is_none());
    served.wait(drained).unwrap();
}

#[test]
fn a_removed_keyspace_is_a_change_of_every_filter_on_it() {
    let served = served();
    served.put("/v1/users/keys/a", "1");
    served.put("/v1/other/keys/a", "1");
    let db = served.shared.db.inner();
    db.sync().unwrap();
    let queries = ["", "?keyspace=users", "?keyspace=users&prefix=b", "?keyspace=other"];
    let mut all = queries.map(|query| Lines::open(&served, query, ""));
    all.iter_mut().for_each(|changes| drop(changes.next()));
    assert!(db.drop_keyspace("users").unwrap());
    let dropped = db.feed_cursor().to_string();
    // The keyspace is created again.
    served.put("/v1/users/keys/b1", "2");
    served.put("/v1/other/keys/b", "2");
    let removal =
        json!({ "cursor": dropped, "ops": [{"op": "drop-keyspace", "keyspace": "users"}] });
    for changes in &mut all[..3] {
        assert_eq!(changes.next(), removal);
        assert_eq!(changes.next()["ops"][0]["key"], "b1");
    }
    assert_eq!(all[3].next()["ops"][0]["key"], "b");
}

#[test]
fn a_stream_from_before_a_removal_has_the_rows_of_then() {
    let served = served();
    let start = cursor(&served);
    served.put("/v1/users/keys/a", "1");
    let db = served.shared.db.inner();
    assert!(db.drop_keyspace("users").unwrap());
    let mut changes = Lines::open(&served, &format!("?keyspace=users&since={start}"), "");
    changes.next();
    assert_eq!(changes.next()["ops"][0]["key"], "a");
    assert_eq!(changes.next()["ops"][0]["op"], "drop-keyspace");
}

#[test]
fn a_hundred_subscribers_have_all_batches_in_order() {
    let served = served();
    let mut all: Vec<_> = (0..100).map(|_| Lines::open(&served, "", "")).collect();
    for n in 0..50 {
        served.put(&format!("/v1/default/keys/{n:02}"), "1");
        if n % 20 == 0 {
            served.shared.db.inner().flush().unwrap();
        }
    }
    for changes in &mut all {
        changes.next();
        for n in 0..50 {
            assert_eq!(changes.next()["ops"][0]["key"], format!("{n:02}"));
        }
    }
}

#[test]
fn a_snapshot_has_all_keyspaces_of_a_durable_moment() {
    let served = served();
    served.put("/v1/users/keys/a", "1");
    served.put("/v1/default/keys/%ff", "2");
    let db = served.shared.db.inner();
    let rows = db.default_keyspace();
    let mut batch = WriteBatch::new();
    batch.put_expiring_at(&rows, "b", "3", 1 << 50).unwrap();
    db.write(batch, Durability::Buffered).unwrap();
    let reply = served.get("/v1/snapshot");
    assert_eq!(reply.status, 200);
    let lines: Vec<Value> =
        reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = [
        json!({ "cursor": cursor(&served) }),
        json!({"keyspace": "default"}),
        json!({"key": "b", "value": "3", "expires": 1_u64 << 50}),
        json!({"key_hex": "ff", "value": "2"}),
        json!({"keyspace": "users"}),
        json!({"key": "a", "value": "1"}),
        json!({"end": true}),
    ];
    assert_eq!(lines, expected);
    assert!(cursor(&served).ends_with("-3"));
}

//! Statistics, metrics, checkpoints and events.

use crate::client::Client;
use crate::served::Served;
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, iter, thread};
use terrane::{Db, Options};

#[test]
fn statistics_are_those_of_the_store() {
    let served = Served::start();
    served.put("/v1/users/keys/a", "1");
    let stats = served.get("/v1/stats").json();
    assert_eq!(stats["last_sequence"], served.shared.db.inner().stats().unwrap().last_sequence);
    let names: Vec<_> = stats["keyspaces"].as_array().unwrap().iter().map(|k| &k["name"]).collect();
    assert_eq!(names, ["default", "users"]);
}

#[test]
fn metrics_have_the_doors_and_every_level() {
    let served = Served::start();
    served.put("/v1/users/keys/a", "1");
    served.shared.db.inner().flush().unwrap();
    served.get("/none");
    served.request("BREW /none", "", "");
    let reply = served.get("/metrics");
    assert!(reply.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = reply.text();
    for line in [
        "# TYPE terrane_connections gauge",
        "terrane_connections_max 10000",
        "# TYPE terrane_http_requests_total counter",
        "terrane_http_requests_total{method=\"PUT\",status=\"204\"} 1",
        "terrane_http_requests_total{method=\"other\",status=\"404\"} 1",
        "terrane_level_tables{keyspace=\"users\",level=\"0\"} 1",
        "terrane_jobs_total{kind=\"flush\"} 1",
        "terrane_ready 1",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line:?} in {text}");
    }
    check_with_promtool(text);
}

/// Checks metrics as Prometheus does, where its tool is on `PATH` or `TERRANE_PROMTOOL` names it.
fn check_with_promtool(text: &str) {
    let named = std::env::var_os("TERRANE_PROMTOOL");
    let tool = Command::new(named.clone().unwrap_or("promtool".into()))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut tool = match tool {
        Ok(tool) => tool,
        Err(e) => return assert!(named.is_none(), "{named:?} does not run: {e}"),
    };
    tool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = tool.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_checkpoint_is_a_store_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let served = Served::with(|config| config.checkpoints = Some(dir.path().to_owned()));
    served.put("/v1/default/keys/a", "1");
    let post = |name: &str| served.request(&format!("POST /v1/checkpoint?name={name}"), "", "");
    let reply = post("monday");
    assert_eq!(reply.status, 201, "{}", reply.text());
    served.put("/v1/default/keys/a", "2");
    assert_eq!(reply.json(), json!({"path": dir.path().join("monday")}));
    let copy = Db::open(dir.path().join("monday"), Options::default().create(false)).unwrap();
    assert_eq!(copy.default_keyspace().get("a").unwrap().unwrap(), b"1");
    post("monday").is_problem(409, "checkpoint-exists", &["monday"]);
    post("..%2Fup").is_problem(400, "malformed-request", &["../up"]);
    post("").is_problem(400, "malformed-request", &["letters"]);
    fs::create_dir(dir.path().join("left.unfinished")).unwrap();
    post("left").is_problem(409, "checkpoint-exists", &["left.unfinished"]);
    let mut names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["left.unfinished", "monday"]);
}

#[test]
fn the_directory_of_checkpoints_is_created_at_start() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("a/b");
    // The same directory, relative to the current one.
    let depth = std::env::current_dir().unwrap().components().count();
    let up = "../".repeat(depth - 1);
    let relative = std::path::PathBuf::from(up).join(inner.strip_prefix("/").unwrap_or(&inner));
    let served = Served::with(|config| config.checkpoints = Some(relative));
    assert!(inner.is_dir());
    let reply = served.request("POST /v1/checkpoint?name=monday", "", "");
    assert_eq!(reply.status, 201, "{}", reply.text());
    let document = reply.json();
    let path = std::path::Path::new(document["path"].as_str().unwrap());
    assert!(path.is_absolute() && path.join("../monday").is_dir(), "{}", path.display());
}

#[test]
fn a_server_without_a_place_writes_no_checkpoint() {
    let served = Served::start();
    let refused = served.request("POST /v1/checkpoint?name=a", "", "");
    refused.is_problem(409, "no-checkpoints", &["--checkpoints"]);
    assert_eq!(served.get("/v1/checkpoint?name=a").status, 405);
}

/// Opens an event stream.
fn watch(served: &Served, path: &str) -> Client {
    let mut client = served.connect();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    let (status, head) = client.head();
    assert_eq!(status, 200, "{head}");
    assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
    client
}

/// Reads the next event; `None` after the last line of the stream. Chunks hold whole lines.
fn next(stream: &mut Client) -> Option<Value> {
    loop {
        let mut line = String::new();
        assert_ne!(stream.stream.read_line(&mut line).unwrap(), 0, "cut");
        if let Some(json) = line.strip_prefix("data: ") {
            return Some(serde_json::from_str(json).unwrap());
        }
        if line == ": the server stops\n" {
            return None;
        }
    }
}

#[test]
fn events_report_sampled_gets_and_writes() {
    let served = Served::start();
    let mut stream = watch(&served, "/events");
    let is_heard = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !is_heard.load(Ordering::Relaxed) {
                served.put("/v1/default/keys/a", "1");
                served.get("/v1/default/keys/a");
            }
        });
        let event = iter::from_fn(|| next(&mut stream)).find(|e| e["type"] == "operations");
        is_heard.store(true, Ordering::Relaxed);
        let event = event.unwrap();
        for kind in ["gets", "writes"] {
            assert!(event[kind]["count"].as_u64().unwrap() > 0, "{event}");
            assert_eq!(event[kind]["quantiles"][0], json!(b"a"), "{event}");
        }
    });
}

#[test]
fn events_have_the_tree_of_their_keyspace_and_its_changes() {
    let served = Served::start();
    served.put("/v1/users/keys/a", "1");
    let mut users = watch(&served, "/v1/users/events");
    let mut default = watch(&served, "/events");
    let id = |tree: &Value| tree["keyspace"].clone();
    let (users_tree, default_tree) = (next(&mut users).unwrap(), next(&mut default).unwrap());
    assert_eq!((&users_tree["type"], &default_tree["type"]), (&json!("shape"), &json!("shape")));
    assert_ne!(id(&users_tree), id(&default_tree));
    served.put("/v1/default/keys/a", "1");
    served.shared.db.inner().flush().unwrap();
    for (stream, tree) in [(&mut users, users_tree), (&mut default, default_tree)] {
        loop {
            let event = next(stream).unwrap();
            assert!(event["keyspace"].is_null() || id(&event) == id(&tree), "{event}");
            if event["type"] == "flushed" {
                break;
            }
        }
    }
    served.get("/v1/none/events").is_problem(404, "not-found", &["keyspace"]);
}

#[test]
fn an_event_stream_has_a_last_line_when_the_server_stops() {
    let mut served = Served::start();
    let mut stream = watch(&served, "/events");
    next(&mut stream).unwrap();
    let drained = served.begin_shutdown();
    while next(&mut stream).is_some() {}
    served.wait(drained).unwrap();
}

#[test]
fn watchers_have_a_bound_and_leave_their_places() {
    let served = Served::start();
    let mut streams: Vec<_> = (0..64).map(|_| watch(&served, "/events")).collect();
    served.get("/events").is_problem(503, "busy", &["watchers"]);
    drop(streams.pop());
    loop {
        let mut client = served.connect();
        client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        if client.head().0 == 200 {
            break;
        }
    }
}

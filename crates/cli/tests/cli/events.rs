//! `shell --events`: the event stream, as a page reads it.

use crate::place::Place;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};

/// A server, its address and its input. It ends with this.
struct Served {
    child: Child,
    input: Option<ChildStdin>,
    address: String,
}

impl Served {
    fn start(place: &Place, args: &[&str]) -> Self {
        let all = [&["shell", "db", "--events", "127.0.0.1:0"], args].concat();
        let mut child = place
            .terrane(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        messages.read_line(&mut said).unwrap();
        let (_, rest) = said.split_once("http://").expect(&said);
        let (address, _) = rest.split_once("/events").expect(&said);
        let (input, address) = (child.stdin.take(), address.to_owned());
        Served { child, input, address }
    }

    fn command(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The head of a reply, and what follows it.
    fn get(&self, path: &str, headers: &str) -> (String, BufReader<TcpStream>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = if headers.contains("Host:") { "" } else { "Host: localhost\r\n" };
        write!(stream, "GET {path} HTTP/1.1\r\n{host}{headers}\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        (head, reader)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next event of a stream. Chunks of the transfer hold whole lines.
fn next(stream: &mut impl BufRead) -> Value {
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream ended");
        if let Some(json) = line.strip_prefix("data: ") {
            return serde_json::from_str(json).unwrap();
        }
    }
}

fn ids(tables: &Value) -> BTreeSet<u64> {
    tables.as_array().unwrap().iter().map(|table| table["id"].as_u64().unwrap()).collect()
}

/// The tables of a tree, as JSON.
fn tables_in(tree: &Value) -> BTreeSet<u64> {
    let list = |value: &Value, name: &str| value[name].as_array().unwrap().clone();
    let runs = list(tree, "levels").into_iter().flat_map(|level| list(&level, "runs"));
    runs.flat_map(|run| ids(&run["tables"])).collect()
}

#[test]
fn a_stream_has_the_tree_and_then_what_changes_it() {
    let place = Place::new();
    place.run_with_input(&["load", "db", "--format", "tsv"], b"a\t1\nb\t2\n").ok();
    place.flush("db");
    let before = tables_in(&place.json(&["levels", "db", "--json"]));
    assert_eq!(before.len(), 1);

    let mut served = Served::start(&place, &[]);
    let (head, mut stream) = served.get("/events", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    let first = next(&mut stream);
    assert_eq!((&first["type"], tables_in(&first)), (&Value::from("shape"), before.clone()));
    assert_eq!(first["policy"]["policy"], "leveled");
    assert!(!first["capacities"].as_array().unwrap().is_empty());
    assert_eq!(first["name"], "default");
    assert_eq!(first["release"], env!("CARGO_PKG_VERSION"));
    assert!(first["waits"]["sync"]["count"].is_u64());

    served.command("put c 3");
    served.command("compact");
    let mut tables = before;
    let mut begun = BTreeSet::new();
    loop {
        let event = next(&mut stream);
        match event["type"].as_str().unwrap() {
            "flushed" => tables.extend(ids(&event["tables"])),
            "group-begun" => drop(begun.insert(event["inputs"].to_string())),
            "group-installed" => {
                assert!(begun.contains(&event["inputs"].to_string()));
                for input in event["inputs"].as_array().unwrap() {
                    assert!(tables.remove(&input.as_u64().unwrap()));
                }
                tables.extend(ids(&event["outputs"]));
            }
            "compaction-ended" => break,
            _ => {}
        }
    }
    // Who comes later finds the tree as it is by then.
    let (_, mut later) = served.get("/events", "");
    assert_eq!(tables_in(&next(&mut later)), tables);
    drop(served);
    assert_eq!(tables_in(&place.json(&["levels", "db", "--json"])), tables);
}

#[test]
fn pages_of_other_origins_read_it_if_they_are_allowed() {
    let place = Place::new();
    let page = "Origin: http://localhost:8080\r\n";
    let named = ["--create", "--allow-origin", "http://localhost:8080"];
    let any = ["--allow-origin", "localhost"];
    for (args, others) in [(&named[..], "403"), (&any[..], "200")] {
        let served = Served::start(&place, args);
        let (head, _) = served.get("/events", page);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("access-control-allow-origin: http://localhost:8080\r\n"), "{head}");
        let (head, _) = served.get("/events", "Origin: http://localhost:9999\r\n");
        assert!(head.starts_with(&format!("HTTP/1.1 {others}")), "{head}");
        let (head, _) = served.get("/events", "Origin: https://example.org\r\n");
        assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    }
    let served = Served::start(&place, &[]);
    let (head, mut body) = served.get("/events", &format!("{page}Connection: close\r\n"));
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    assert!(!head.contains("access-control"), "{head}");
    let mut sentence = String::new();
    body.read_to_string(&mut sentence).unwrap();
    assert!(sentence.contains("--allow-origin"), "{sentence}");
}

#[test]
fn what_is_no_address_or_no_origin_is_refused_with_one_that_is() {
    let place = Place::new();
    let refused = |option: &str, given: &str, example: &str| {
        let mut shell = vec!["shell", "db", "--create", option, given];
        if option != "--events" {
            shell.extend(["--events", "127.0.0.1:0"]);
        }
        let run = place.run(&shell);
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert!(run.err.contains(given) && run.err.contains(example), "{}", run.err);
    };
    for listen in ["localhost:4540", "127.0.0.1", "127.0.0.1:99999"] {
        refused("--events", listen, "for example: 127.0.0.1:4540");
    }
    for origin in ["example.org", "http://localhost:8080/", "http://", "*"] {
        refused("--allow-origin", origin, "for example: http://localhost:8080");
    }
}

#[test]
fn a_stream_reports_waits_that_are_no_events() {
    let place = Place::new();
    let mut served = Served::start(&place, &["--create"]);
    let (_, mut stream) = served.get("/events", "");
    let counted = |event: &Value| -> u64 {
        let waits = event["waits"].as_object().unwrap().values();
        waits.map(|wait| wait["count"].as_u64().unwrap()).sum()
    };
    let before = counted(&next(&mut stream));
    served.command("put key value");
    loop {
        let event = next(&mut stream);
        if event["type"] == "waits" && counted(&event) > before {
            break;
        }
    }
}

#[test]
fn other_names_paths_and_methods_are_refused() {
    let place = Place::new();
    let served = Served::start(&place, &["--create"]);
    let (head, _) = served.get("/events", "Host: example.org\r\n");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let (head, _) = served.get("/", "");
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    place.run(&["shell", "db", "--events", &served.address]).fails(5, &["in use"]);
    place.run(&["shell", "gone", "--events", "127.0.0.1:0"]).fails(4, &["gone"]);
    let taken = ["shell", "other", "--create", "--events", &served.address];
    place.run(&taken).fails(7, &["could not listen on", &served.address]);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_in_order_while_it_waits_for_a_command() {
    let place = Place::new();
    let mut served = Served::start(&place, &["--create"]);
    served.command("put key value");
    let (_, mut stream) = served.get("/events", "");
    next(&mut stream);
    served.command("compact");
    while next(&mut stream)["type"] != "flushed" {}
    let id = served.child.id().to_string();
    std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert_eq!(place.run(&["get", "db", "key"]).ok(), b"value");
}

//! Continuous backup to an S3 server: as the README shows it, and over outages.

use crate::place::{Place, Run};
use crate::s3::{S3, SECRET};
use crate::serve::Served;
use crate::serve_backup::last_sequence;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use terrane::{Db, Durability, Options};

const README: &str = include_str!("../../../../README.md");
pub const URL: &str = "s3://bucket/db";
pub const DOORS: [&str; 4] = ["--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"];

/// The rows of a store: values with the sequence numbers of their writes.
pub type Rows = BTreeMap<Vec<u8>, (Vec<u8>, u64)>;

fn run(place: &Place, s3: &S3, args: &[&str]) -> Run {
    Run::of(s3.reached_by(place.terrane(args)))
}

fn serve(place: &Place, s3: &S3, dir: &str, args: &[&str]) -> Served {
    let backup = ["serve", dir, "--backup", URL, "--backup-interval", "10ms"];
    Served::run(s3.reached_by(place.terrane(&[&backup[..], &DOORS, args].concat())))
}

/// Writes a value, and returns its sequence number once it is backed up.
pub fn put_replicated(served: &Served, key: &str, value: &str) -> u64 {
    let reply =
        served.request(&format!("PUT /v1/default/keys/{key}?durability=replicated"), "", value);
    assert!(reply.starts_with("HTTP/1.1 204"), "{reply}");
    let tag = reply.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    tag.trim_matches('"').parse().unwrap()
}

/// Returns the rows of a store that no process has open.
pub fn rows(dir: &Path) -> (u64, Rows) {
    let db = Db::open(dir, Options::default()).unwrap();
    let keyspace = db.default_keyspace();
    let row = |row: terrane::Result<(Vec<u8>, Vec<u8>)>| {
        let (key, value) = row.unwrap();
        let seq = keyspace.get_versioned(&key).unwrap().unwrap().seq;
        (key, (value, seq))
    };
    let rows = keyspace.scan(..).unwrap().map(row).collect();
    let sequence = db.latest_sequence();
    db.close().unwrap();
    (sequence, rows)
}

/// Writes a table of some megabytes, which is uploaded in parts.
pub fn fill(dir: &Path) {
    let db = Db::open(dir, Options::default()).unwrap();
    let mut random = 1_u64;
    for n in 0..12_u64 {
        let words = std::iter::repeat_with(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            random.to_be_bytes()
        });
        let value: Vec<u8> = words.take(1 << 17).flatten().collect();
        db.default_keyspace().put(format!("long-{n}"), value, Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
}

/// Returns the README's commands of a backup and a restore, without `terrane`.
fn readme_commands() -> Vec<Vec<String>> {
    let (_, rest) = README.split_once("A continuous backup, and a store from it").unwrap();
    let (_, rest) = rest.split_once("```sh\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    block.lines().map(|line| shlex::split(line).unwrap().split_off(1)).collect()
}

#[test]
fn the_readme_restores_a_store_whose_machine_is_gone() {
    let place = Place::new();
    let s3 = S3::start(&place.path("s3"));
    fill(&place.path("db"));
    let commands = readme_commands();
    let expected = ["serve db", "backups", "restore", "check restored", "serve restored"];
    assert_eq!(commands.len(), expected.len());
    for (command, start) in commands.iter().zip(expected) {
        assert!(command.join(" ").starts_with(start), "{command:?}");
    }
    let command = |n: usize| commands[n].iter().map(String::as_str).collect::<Vec<_>>();
    let serve = |n| Served::run(s3.reached_by(place.terrane(&[&command(n)[..], &DOORS].concat())));
    let mut served = serve(0);
    for n in 0..20 {
        put_replicated(&served, &format!("key-{n}"), "value");
    }
    served.kill();
    let before = rows(&place.path("db"));
    fs::remove_dir_all(place.path("db")).unwrap();
    let listed = run(&place, &s3, &command(1)).text();
    assert_eq!(last_sequence(&listed), before.0.to_string(), "{listed}");
    run(&place, &s3, &command(2)).ok();
    run(&place, &s3, &command(3)).ok();
    let mut restored = serve(4);
    let last = put_replicated(&restored, "after", "value");
    restored.kill();
    // Two batches are the store's record of the place.
    assert_eq!(last, before.0 + 3);
    let (sequence, mut after) = rows(&place.path("restored"));
    assert_eq!((sequence, after.remove(&b"after"[..])), (last, Some((b"value".to_vec(), last))));
    assert_eq!(after, before.1);
}

#[test]
fn a_second_server_on_s3_fences_the_first() {
    let place = Place::new();
    let s3 = S3::start(&place.path("s3"));
    let first = serve(&place, &s3, "first", &[]);
    put_replicated(&first, "a", "1");
    run(&place, &s3, &["restore", URL, "second"]).ok();
    let second = serve(&place, &s3, "second", &[]);
    let lost = first.request("PUT /v1/default/keys/a?durability=replicated", "", "2");
    assert!(lost.starts_with("HTTP/1.1 503") && lost.contains("not-replicated"), "{lost}");
    let refused = first.request("PUT /v1/default/keys/a", "", "3");
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("problem:fenced"), "{refused}");
    put_replicated(&second, "a", "4");
    run(&place, &s3, &["restore", URL, "third"]).ok();
    let (_, third) = rows(&place.path("third"));
    assert_eq!(third[&b"a"[..]].0, b"4");
}

#[test]
fn a_server_that_s3_refuses_does_not_start() {
    let place = Place::new();
    let s3 = S3::start(&place.path("s3"));
    let mut command = s3.reached_by(place.terrane(&["serve", "db", "--backup", URL]));
    command.env("AWS_SECRET_ACCESS_KEY", "wrong");
    let refused = Run::of(command);
    refused.fails(7, &["the backup: could not", "403"]);
    assert!(!refused.err.contains("wrong"), "{}", refused.err);
    let none = run(&place, &s3, &["serve", "db", "--backup", "s3://none/db"]);
    none.fails(7, &["the backup: could not", "404"]);
    s3.be_careless();
    let careless = run(&place, &s3, &["serve", "db", "--backup", URL]);
    careless.fails(3, &["expected one that refuses to create an object twice"]);
    s3.set_away(true);
    let away = run(&place, &s3, &["serve", "db", "--backup", URL]);
    away.fails(7, &["the backup: could not", "503"]);
    for run in [none, careless, away] {
        assert!(!run.err.contains(SECRET), "{}", run.err);
    }
}

#[test]
fn an_outage_of_s3_delays_the_backup_and_loses_nothing() {
    let place = Place::new();
    let s3 = S3::start(&place.path("s3"));
    let mut served = serve(&place, &s3, "db", &[]);
    put_replicated(&served, "a", "1");
    s3.set_away(true);
    for n in 0..50 {
        let reply = served.request(&format!("PUT /v1/default/keys/b-{n}"), "", "2");
        assert!(reply.starts_with("HTTP/1.1 204"), "{reply}");
    }
    let metrics = served.request("GET /metrics", "", "");
    assert!(metrics.contains("\nterrane_backup_lag_batches 50"), "{metrics}");
    assert!(served.request("GET /health/ready", "", "").starts_with("HTTP/1.1 200"));
    s3.set_away(false);
    put_replicated(&served, "c", "3");
    served.kill();
    run(&place, &s3, &["restore", URL, "restored"]).ok();
    assert_eq!(rows(&place.path("restored")), rows(&place.path("db")));
    // A flipped byte, a missing object.
    let log = s3.objects("log").pop().unwrap();
    let name = log.file_name().unwrap().to_str().unwrap();
    let mut bytes = fs::read(&log).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&log, bytes).unwrap();
    run(&place, &s3, &["restore", URL, "to"]).fails(6, &[name, "checksum"]);
    fs::remove_file(&log).unwrap();
    run(&place, &s3, &["restore", URL, "to"]).fails(6, &[name, "found no object"]);
    assert!(!place.path("to").exists());
    s3.set_away(true);
    run(&place, &s3, &["restore", URL, "to"]).fails(7, &["could not", "503"]);
    assert!(!place.path("to").exists());
}

//! A continuous backup as the README shows it: a server, its machine's directory gone, a store from the backup.

use crate::place::Place;
use crate::serve::Served;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Writes of a server before it is killed.
const WRITES: usize = 50;

fn serve(place: &Place, dir: &str, url: &str, args: &[&str]) -> Served {
    let doors = ["--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"];
    let backup = ["serve", dir, "--backup", url, "--backup-interval", "10ms"];
    Served::run(place.terrane(&[&backup[..], &doors, args].concat()))
}

fn rows(served: &Served) -> String {
    let reply = served.request("GET /v1/default/range", "", "");
    reply.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn metric(served: &Served, name: &str) -> f64 {
    let reply = served.request("GET /metrics", "", "");
    let line = reply.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

/// Returns the last sequence number that `backups` lists.
pub fn last_sequence(listed: &str) -> &str {
    let mut lines = listed.lines().skip_while(|line| !line.starts_with("lineage "));
    lines.nth(1).unwrap().split_whitespace().nth(3).unwrap()
}

#[test]
fn a_store_is_restored_once_its_machine_is_gone() {
    let place = Place::new();
    let url = format!("file://{}", place.path("backups/db").display());
    let mut served = serve(&place, "db", &url, &["--durability", "replicated"]);
    for write in 0..WRITES {
        let put = format!("PUT /v1/default/keys/key-{write}");
        let reply = served.request(&put, "", "value");
        assert!(reply.starts_with("HTTP/1.1 204"), "{reply}");
    }
    let expected = rows(&served);
    assert!(metric(&served, "terrane_backup_uploads_total") > WRITES as f64);
    assert_eq!(metric(&served, "terrane_backup_lag_batches"), 0.0);
    served.kill();
    fs::remove_dir_all(place.path("db")).unwrap();

    let listed = String::from_utf8(place.run(&["backups", &url]).ok()).unwrap();
    // Two batches are the store's record of the place.
    assert_eq!(last_sequence(&listed), (WRITES + 2).to_string(), "{listed}");
    place.run(&["restore", &url, "restored"]).ok();
    place.run(&["check", "restored"]).ok();
    let restored = serve(&place, "restored", &url, &[]);
    assert_eq!(rows(&restored), expected);
    place.run(&["restore", &url, "half", "--at", "27"]).ok();
    let half = place.run(&["count", "half"]).ok();
    assert_eq!(String::from_utf8(half).unwrap().trim(), "25");
}

#[test]
fn a_second_server_fences_the_first() {
    let place = Place::new();
    let url = format!("file://{}", place.path("backups").display());
    let mut first = serve(&place, "first", &url, &[]);
    let put = "PUT /v1/default/keys/a?durability=replicated";
    assert!(first.request(put, "", "1").starts_with("HTTP/1.1 204"));
    let empty = place.run(&["serve", "empty", "--backup", &url, "--http", "127.0.0.1:0"]);
    empty.fails(3, &["found writer 1 since", "--backup-take-over"]);
    assert_eq!(place.run(&["restore", &url, "second"]).code, Some(0));
    let second = serve(&place, "second", &url, &[]);
    let lost = first.request(put, "", "2");
    assert!(lost.starts_with("HTTP/1.1 503") && lost.contains("not-replicated"), "{lost}");
    let refused = first.request("PUT /v1/default/keys/a", "", "3");
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("problem:fenced"), "{refused}");
    let mut redis = TcpStream::connect(&first.resp).unwrap();
    redis.write_all(b"SET a 3\r\nQUIT\r\n").unwrap();
    let mut reply = String::new();
    redis.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("-READONLY another server continues the backup"), "{reply}");
    let ready = first.request("GET /health/ready", "", "");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("another writer"), "{ready}");
    assert_eq!(metric(&first, "terrane_backup_fenced"), 1.0);
    assert!(second.request("GET /health/ready", "", "").starts_with("HTTP/1.1 200"));
    assert!(second.request(put, "", "4").starts_with("HTTP/1.1 204"));
    first
        .says("the backup has ended, and writes are refused: another writer continues this backup");
    first.kill();
    let again = place.run(&["serve", "first", "--backup", &url, "--http", "127.0.0.1:0"]);
    again.fails(3, &["found writer 2 since", "--backup-take-over"]);
    assert!(second.request(put, "", "5").starts_with("HTTP/1.1 204"));
    let listed = String::from_utf8(place.run(&["backups", &url]).ok()).unwrap();
    let rows: Vec<_> = listed.lines().skip_while(|line| !line.starts_with("lineage ")).collect();
    let [_, later, former] = rows[..] else { panic!("{listed}") };
    assert!(listed.starts_with("writer 2 since 2"), "{listed}");
    assert!(former.ends_with(&format!("  complete, continued by {}", &later[..16])), "{listed}");
    assert!(later.ends_with("  complete"), "{listed}");
    let third = serve(&place, "first", &url, &["--backup-take-over"]);
    assert!(third.request(put, "", "6").starts_with("HTTP/1.1 204"));
    assert!(second.request(put, "", "7").starts_with("HTTP/1.1 503"));
}

#[test]
fn an_unmounted_place_is_refused() {
    let place = Place::new();
    let url = format!("file://{}", place.path("disk/backups").display());
    let mut served = serve(&place, "db", &url, &[]);
    let put = "PUT /v1/default/keys/a?durability=replicated";
    assert!(served.request(put, "", "1").starts_with("HTTP/1.1 204"));
    served.kill();
    fs::rename(place.path("disk"), place.path("elsewhere")).unwrap();
    let again = place.run(&["serve", "db", "--backup", &url, "--http", "127.0.0.1:0"]);
    again.fails(3, &["as if a disk is not mounted", "--backup-take-over"]);
    assert!(!place.path("disk").exists());
    fs::rename(place.path("elsewhere"), place.path("disk")).unwrap();
    let again = serve(&place, "db", &url, &[]);
    assert!(again.request(put, "", "2").starts_with("HTTP/1.1 204"));
}

#[test]
fn malformed_places_and_moments_are_refused() {
    let place = Place::new();
    for url in ["db", "ftp://host/db", "s3://key:secret@bucket/db"] {
        let run = place.run(&["serve", "db", "--backup", url]);
        assert!(!run.err.contains("secret"), "{}", run.err);
        run.fails(3, &["URL of a backup", "s3://BUCKET/FOLDER"]);
    }
    let alone = place.run(&["serve", "db", "--durability", "replicated"]);
    alone.fails(2, &["expected --backup with --durability replicated"]);
    let both = place.run(&["serve", "db", "--backup", "file:///x", "--follow", "http://db:1"]);
    assert_eq!(both.code, Some(2), "{}", both.err);
    let fragment = place.run(&["serve", "db", "--backup", "file:///backups#1"]);
    fragment.fails(3, &["a fragment"]);
    let own = format!("file://{}", place.path("db/backups").display());
    place.run(&["serve", "db", "--backup", &own]).fails(2, &["outside of the store's directory"]);
    for interval in ["0s", "2h"] {
        let options = ["serve", "db", "--backup", "file:///x", "--backup-interval", interval];
        place.run(&options).fails(2, &["interval of uploads: expected 1ms to 1h"]);
    }
    assert!(!place.path("db").exists());

    let url = format!("file://{}", place.path("backups").display());
    place.run(&["backups", &url]).fails(4, &["expected a backup, found none"]);
    place.run(&["restore", &url, "to"]).fails(3, &["expected one with a base, found none"]);
    assert_eq!(place.run(&["restore", &url, "to", "--at", "soon"]).code, Some(2));
    place.file("file", "");
    let below = format!("file://{}", place.path("file/backups").display());
    place.run(&["serve", "db", "--backup", &below]).fails(7, &["the backup: could not"]);
}

#[test]
fn a_damaged_backup_is_named_and_salvaged() {
    let place = Place::new();
    let url = format!("file://{}", place.path("backups").display());
    let mut served = serve(&place, "db", &url, &[]);
    for write in 0..WRITES {
        let put = format!("PUT /v1/default/keys/key-{write}?durability=replicated");
        assert!(served.request(&put, "", "value").starts_with("HTTP/1.1 204"));
    }
    served.kill();
    let folders = fs::read_dir(place.path("backups")).unwrap().map(|entry| entry.unwrap());
    let lineage = folders.into_iter().find(|entry| entry.file_name() != "claim").unwrap().path();
    let mut logs: Vec<_> =
        fs::read_dir(lineage.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    let last = logs.last().unwrap();
    let name = last.file_name().unwrap().to_str().unwrap().to_owned();
    fs::remove_file(last).unwrap();
    let listed = place.run(&["backups", &url]);
    let text = String::from_utf8(listed.out.clone()).unwrap();
    assert!(text.contains("  1 object damaged\n") && text.contains(&name), "{text}");
    listed.fails(6, &["1 range is damaged", "--salvage"]);
    let document = place.run(&["backups", &url, "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&document.out).unwrap();
    assert_eq!(listed["writer"]["number"], 1);
    assert_eq!(listed["damage"], serde_json::json!([]));
    assert!(listed["ranges"][0]["damage"][0].as_str().unwrap().contains(&name), "{listed}");
    place.run(&["restore", &url, "to"]).fails(6, &[&name, "found no object", "--salvage"]);
    assert!(!place.path("to").exists());
    let salvaged = place.run(&["restore", &url, "to", "--salvage"]);
    salvaged.fails(6, &["1 object is missing"]);
    assert!(salvaged.err.contains(&name), "{}", salvaged.err);
    let count = place.run(&["count", "to"]).ok();
    let count: usize = String::from_utf8(count).unwrap().trim().parse().unwrap();
    assert!((1..WRITES).contains(&count), "{count}");
}

#[test]
fn a_place_without_a_base_or_with_damaged_names_is_described() {
    let place = Place::new();
    let url = format!("file://{}", place.path("backups").display());
    let mut served = serve(&place, "db", &url, &[]);
    let put = "PUT /v1/default/keys/a?durability=replicated";
    assert!(served.request(put, "", "1").starts_with("HTTP/1.1 204"));
    served.kill();
    let in_folder = |folder: std::path::PathBuf| {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    };
    let claim = in_folder(place.path("backups/claim")).pop().unwrap();
    let lineages = in_folder(place.path("backups"));
    let lineage = lineages.iter().find(|folder| !folder.ends_with("claim")).unwrap();
    let manifests = in_folder(lineage.join("manifest"));
    let manifest = manifests.last().unwrap();

    let (sound, sound_claim) = (fs::read(manifest).unwrap(), fs::read(&claim).unwrap());
    fs::write(&claim, "nothing").unwrap();
    let listed = place.run(&["backups", &url]);
    assert!(listed.out.starts_with(b"claim/00000000000000000001: expected"));
    listed.fails(6, &["the newest claim is damaged", "--backup-take-over"]);
    fs::write(&claim, sound_claim).unwrap();
    fs::write(manifest, "nothing").unwrap();
    place.run(&["backups", &url]).fails(6, &["1 manifest is damaged", "--salvage"]);
    let again = place.run(&["serve", "db", "--backup", &url, "--http", "127.0.0.1:0"]);
    again.fails(3, &["a sound newest manifest", "--backup-take-over"]);
    fs::write(manifest, sound).unwrap();

    fs::remove_dir_all(lineage).unwrap();
    let listed = place.run(&["backups", &url]);
    assert!(listed.out.starts_with(b"writer 1 since 2"));
    listed.fails(4, &["no base is complete yet"]);
}

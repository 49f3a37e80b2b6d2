//! Loads: whole batches, whatever ends them, and rows that return as they were.

use crate::place::{Place, names, rows_loaded};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[test]
fn single_columns_are_loaded_with_their_positions() {
    let place = Place::new();
    place.file("names.tsv", "zebra\nant\n@scope/bee\n");
    let load = place.run(&["load", "db", "names.tsv"]);
    assert_eq!(rows_loaded(&load.err), 3);
    for unit in ["rows/s", "MB/s", " s"] {
        assert!(load.err.contains(unit), "{}", load.err);
    }
    assert_eq!(load.ok(), b"");
    assert_eq!(place.run(&["scan", "db"]).text(), "@scope/bee\t2\nant\t1\nzebra\t0\n");
}

#[test]
fn a_later_row_replaces_an_earlier_one() {
    let place = Place::new();
    let load = ["load", "db", "--format", "csv", "--header", "--key", "id", "--sync"];
    place.run_with_input(&load, b"id,v\na,1\nb,2\na,3\n").ok();
    place.run_with_input(&load, b"id,v\nb,4\n").ok();
    assert_eq!(place.run(&["scan", "db"]).text(), "a\t3\nb\t4\n");
}

#[test]
fn a_summary_shows_what_writes_waited_for() {
    let place = Place::new();
    let load = ["load", "db", "--format", "tsv", "--batch", "1", "--sync"];
    let load = place.run_with_input(&load, b"a\nb\nc\n");
    assert_eq!(rows_loaded(&load.err), 3);
    let (_, waits) = load.err.split_once("; waited for ").expect(&load.err);
    assert!(waits.contains("sync 3 ("), "{waits}");
}

#[test]
fn a_malformed_row_ends_a_load_after_whole_batches() {
    let place = Place::new();
    let mut rows: String = (0..25).map(|n| format!("k{n:02}\tv\n")).collect();
    rows.push_str("k25\n");
    rows.push_str("k26\tv\n");
    place.file("rows.tsv", rows);
    let load = place.run(&["load", "db", "rows.tsv", "--batch", "10"]);
    load.fails(3, &["rows.tsv, line 26", "expected 2 columns", "found 1 column"]);
    assert_eq!(rows_loaded(&load.err), 20);
    let keys = place.run(&["scan", "db", "--keys-only"]).text();
    assert_eq!(keys, (0..20).map(|n| format!("k{n:02}\n")).collect::<String>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Random bytes through both formats, and back.
    #[test]
    fn a_scan_loaded_into_another_store_is_the_same_store(
        rows in prop::collection::btree_map(bytes(), bytes(), 1..60),
    ) {
        let place = Place::new();
        let ndjson: String = rows
            .iter()
            .map(|(key, value)| format!("{{\"key_hex\":\"{}\",\"value_hex\":\"{}\"}}\n", hex(key), hex(value)))
            .collect();
        place.run_with_input(&["load", "a", "--format", "ndjson"], ndjson.as_bytes()).ok();
        for format in ["tsv", "ndjson"] {
            let scan = place.run(&["scan", "a", "--format", format]).ok();
            prop_assert_eq!(scan.iter().filter(|b| **b == b'\n').count(), rows.len());
            place.run_with_input(&["load", format, "--format", format], &scan).ok();
            prop_assert_eq!(contents(&place, format), rows.clone());
        }
    }
}

#[test]
fn the_keys_of_a_scan_loaded_again_are_the_same() {
    let place = Place::new();
    place.run_with_input(&["load", "a", "--format", "tsv"], b"\tempty\n\\\\&\ty\n").ok();
    for format in ["tsv", "ndjson"] {
        let keys = place.run(&["scan", "a", "--keys-only", "--format", format]).ok();
        place.run_with_input(&["load", format, "--format", format], &keys).ok();
        let found = contents(&place, format).into_keys().collect::<Vec<_>>();
        assert_eq!(found, contents(&place, "a").into_keys().collect::<Vec<_>>());
    }
    assert_eq!(place.run(&["scan", "a", "--keys-only"]).text(), "\\&\n\\\\&\n");
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        any::<String>().prop_map(String::into_bytes),
        "[\\t\\n\\r\\\\xa\u{feff}]{0,6}".prop_map(String::into_bytes),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Returns the contents of a store, read without the command.
fn contents(place: &Place, dir: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let db = terrane::Db::open(place.path(dir), terrane::Options::default()).unwrap();
    db.default_keyspace().scan(..).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Keys in an order that is not theirs: the position's decimal digits, reversed.
fn key(position: usize) -> String {
    format!("{position:09}").chars().rev().collect()
}

/// A load of keys without end, in batches of 100.
fn endless_load(place: &Place) -> Child {
    let mut child = place
        .terrane(&["load", "db", "--format", "tsv", "--batch", "100"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = std::io::BufWriter::new(child.stdin.take().unwrap());
    std::thread::spawn(move || {
        let mut position = 0;
        while writeln!(stdin, "{}", key(position)).is_ok() {
            position += 1;
        }
    });
    child
}

/// Waits until the store is there and its first log is written beyond `bytes` bytes, or full and gone.
fn wait_until_written(place: &Place, load: &mut Child, bytes: u64) {
    let written = || {
        let Ok(mut log) = std::fs::File::open(place.path("db/00000001.log")) else {
            return Some(());
        };
        log.seek(std::io::SeekFrom::Start(bytes)).ok()?;
        // Whatever is written there, not all of this many bytes are zeros.
        let mut part = [0; 4096];
        let read = log.read(&mut part).ok()?;
        part[..read].iter().any(|b| *b != 0).then_some(())
    };
    while !place.path("db/CURRENT").exists() || written().is_none() {
        assert!(load.try_wait().unwrap().is_none(), "the load ended");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The store is sound and holds the first rows of the load, whole batches; returns how many.
fn first_rows(place: &Place) -> usize {
    place.run(&["check", "db"]).ok();
    let found = place.run(&["scan", "db"]).text();
    let count = found.lines().count();
    assert_eq!(count % 100, 0, "whole batches");
    let mut rows: Vec<_> = (0..count).map(|n| format!("{}\t{n}\n", key(n))).collect();
    rows.sort();
    assert!(rows.concat() == found, "{count} rows that are not the first ones");
    count
}

#[test]
fn a_killed_load_leaves_whole_batches() {
    // A batch has some kilobytes.
    for bytes in [0, 10_000, 100_000, 300_000, 500_000] {
        let place = Place::new();
        let mut load = endless_load(&place);
        wait_until_written(&place, &mut load, bytes);
        load.kill().unwrap();
        load.wait().unwrap();
        assert!(first_rows(&place) > 0 || bytes == 0, "none of {bytes} bytes");
    }
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let done = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

#[test]
#[cfg(unix)]
fn an_interrupted_load_reports_the_rows_it_wrote() {
    let place = Place::new();
    let mut load = endless_load(&place);
    wait_until_written(&place, &mut load, 0);
    interrupt(&load);
    let output = load.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert_eq!(err.lines().last(), Some("terrane: interrupted"));
    assert_eq!(first_rows(&place), rows_loaded(&err));
}

#[test]
#[cfg(unix)]
fn an_interrupt_works_while_the_input_is_silent() {
    let place = Place::new();
    let mut load = place
        .terrane(&["load", "db", "--format", "tsv", "--batch", "1"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = load.stdin.take().unwrap();
    stdin.write_all(b"a\nb\nnot a whole li").unwrap();
    wait_until_written(&place, &mut load, 0);
    interrupt(&load);
    let err: Vec<_> =
        BufReader::new(load.stderr.take().unwrap()).lines().map(Result::unwrap).collect();
    assert_eq!(load.wait().unwrap().code(), Some(130));
    let keys = place.run(&["scan", "db", "--keys-only"]).text();
    assert_eq!(keys.lines().count(), rows_loaded(&err.join("\n")));
    assert!("a\nb\n".starts_with(&keys), "{keys:?}");
    drop(stdin);
}

#[test]
#[cfg(target_os = "linux")]
fn a_load_that_fills_the_disk_keeps_its_rows() {
    let place = Place::new();
    // Values that do not compress, in all more than the disk takes.
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    let rows: String = (0..40_000)
        .map(|n| {
            let mut row = format!("{n:06}\t");
            for _ in 0..64 {
                word ^= word << 13;
                word ^= word >> 7;
                word ^= word << 17;
                row.push_str(&format!("{word:016x}"));
            }
            row + "\n"
        })
        .collect();
    place.file("rows.tsv", rows);
    let script = "
        mkdir small && mount -t tmpfs -o size=40m tmpfs small 2>/dev/null || exit 99
        $0 load small/db rows.tsv; echo $?
        mount -o remount,size=200m small
        $0 check small/db >&2; echo $?
        $0 scan small/db --keys-only > keys";
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_terrane")])
        .current_dir(place.path("."))
        .output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        _ => {
            println!("no small disk can be mounted here: nothing to see");
            return;
        }
    };
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.stdout, b"7\n0\n", "{err}");
    assert!(err.contains("terrane: no space left for "), "{err}");
    let loaded = rows_loaded(&err);
    let keys = std::fs::read_to_string(place.path("keys")).unwrap();
    let count = keys.lines().count();
    // The batch that met the end of the disk was not acknowledged, and may be there as a whole.
    assert!(count == loaded || count == loaded + 1000, "{count} rows, {loaded} acknowledged");
    assert_eq!(keys, (0..count).map(|n| format!("{n:06}\n")).collect::<String>());
}

#[test]
fn a_load_malformed_from_the_start_creates_no_store() {
    let place = Place::new();
    place.file("rows.tsv", "a\t1\nb\n");
    for args in [&["load", "db", "rows.tsv"][..], &["load", "db", "rows.tsv", "--batch", "2"]] {
        let load = place.run(args);
        load.fails(3, &["line 2"]);
        assert_eq!(rows_loaded(&load.err), 0);
    }
    let long = "k".repeat(70_000);
    place.run_with_input(&["load", "db", "--format", "tsv"], long.as_bytes()).fails(3, &["line 1"]);
    assert_eq!(names(&place.path(".")), ["rows.tsv"]);
    place.run(&["load", "db", "rows.tsv", "--batch", "1"]).fails(3, &["line 2"]);
    assert_eq!(place.run(&["scan", "db"]).text(), "a\t1\n");
}

#[test]
fn an_empty_input_creates_an_empty_store() {
    let place = Place::new();
    place.file("empty.tsv", "");
    for args in [
        &["load", "a", "empty.tsv"][..],
        &["load", "b", "--format", "csv"],
        &["load", "c", "-", "--format", "ndjson"],
    ] {
        let load = place.run(args);
        assert_eq!(rows_loaded(&load.err), 0);
        load.ok();
        assert_eq!(place.run(&["count", args[1]]).text(), "0\n");
    }
}

#[test]
fn a_summary_is_printed_as_json() {
    let place = Place::new();
    let load =
        place.run_with_input(&["load", "db", "-", "--format", "tsv", "--json"], b"a\t1\nb\t2\n");
    let summary: serde_json::Value = serde_json::from_slice(&load.ok()).unwrap();
    assert_eq!((&summary["rows"], &summary["bytes"]), (&2.into(), &4.into()));
    assert!(summary["seconds"].is_number() && summary["waits"]["sync"]["count"].is_number());
}

#[test]
fn a_malformed_row_shows_one_that_loads() {
    let place = Place::new();
    for (args, input) in [
        ("tsv", "a\t1\nb\n"),
        ("tsv --key 3", "a\tb\tc\td\nb\n"),
        ("tsv --value 4", "a\n"),
        ("csv", "a,1\n\"b\n"),
        ("csv --header --key b", "a,b\n1,2\n3\n"),
        ("ndjson", "{\"key\":\"a\",\"value\":1}\n[]\n"),
        ("ndjson --key id", "{\"id\":\"a\"}\n{}\n"),
    ] {
        let load = [&["load", "db", "--format"], &args.split(' ').collect::<Vec<_>>()[..]].concat();
        let malformed = place.run_with_input(&load, input.as_bytes());
        malformed.fails(3, &["; for example: "]);
        let (_, example) = malformed.err.trim_end().split_once("; for example: ").unwrap();
        let rows = match args.contains("--header") {
            true => format!("a,b\n{example}\n"),
            false => format!("{}\n", example.replace("<TAB>", "\t")),
        };
        assert_eq!(rows_loaded(&place.run_with_input(&load, rows.as_bytes()).err), 1, "{rows}");
    }
}

#[test]
fn a_directory_of_other_files_is_left_as_it_is() {
    let place = Place::new();
    std::fs::create_dir(place.path("photos")).unwrap();
    place.file("photos/a.jpg", "");
    place.file("rows.tsv", "a\t1\n");
    place.run(&["load", "photos", "rows.tsv"]).fails(4, &["photos", "a.jpg"]);
    place.run(&["put", "photos", "a", "1"]).fails(4, &["photos", "a.jpg"]);
    assert_eq!(names(&place.path("photos")), ["a.jpg"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_row_larger_than_memory_is_an_error() {
    let place = Place::new();
    let script = "ulimit -v 262144; head -c 300000000 /dev/zero | tr '\\0' a |
        $0 load db --format tsv 2>&1; echo $?";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_terrane")])
        .current_dir(place.path("."))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("terrane: out of memory") && text.ends_with("\n7\n"), "{text}");
}

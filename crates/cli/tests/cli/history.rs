//! Histories of stores of other engines, and advice on them.

use crate::place::Place;
use serde_json::Value;

/// A MANIFEST of RocksDB with three column families (crates/foreign/src/tests.rs).
const MANIFEST: &[u8] = include_bytes!("../../../foreign/data/rocksdb-leveled");
const OPTIONS: &str = "[CFOptions \"default\"]\n  compaction_style=kCompactionStyleLevel\n  \
    max_bytes_for_level_base=131072\n  max_bytes_for_level_multiplier=4.000000\n  \
    target_file_size_base=32768\n  level0_file_num_compaction_trigger=4\n  \
    level_compaction_dynamic_level_bytes=false\n";

/// Writes the files of a store of RocksDB.
fn rocksdb(place: &Place) {
    place.file("MANIFEST-000005", MANIFEST);
    place.file("OPTIONS-000007", OPTIONS);
    // Older: by number, not by name.
    place.file("OPTIONS-0000006", OPTIONS.replace("multiplier=4", "multiplier=6"));
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_history_is_a_trace_under_the_policy_of_its_options() {
    let place = Place::new();
    rocksdb(&place);
    let run = place.run(&["history", "MANIFEST-000005"]);
    assert!(run.err.contains("column family default; --keyspace picks another: users"));
    let trace = lines(&run.text());
    let header = &trace[0];
    assert_eq!((&header["type"], &header["engine"]), (&"header".into(), &"RocksDB".into()));
    assert_eq!(header["keyspace"], "default");
    assert_eq!(header["policy"]["policy"], "leveled");
    assert_eq!(header["policy"]["size-ratio"], 4);
    assert!(trace.is_sorted_by_key(|line| line["micros"].as_u64().unwrap()));
    let has = |kind: &str| trace.iter().any(|line| line["type"] == kind);
    assert!(
        ["memtable-sealed", "flushed", "compaction-begun", "group-installed"].map(has) == [true; 4]
    );
    let users = place.run(&["history", "MANIFEST-000005", "--keyspace", "users"]).text();
    let users = lines(&users);
    assert_eq!((&users[0]["keyspace"], users[0].get("policy")), (&"users".into(), None));
}

#[test]
fn a_file_that_is_no_manifest_is_refused() {
    let place = Place::new();
    rocksdb(&place);
    place.file("rows.tsv", "a\tb\n");
    let history = |args: &[&str]| place.run(&[&["history"], args].concat());
    history(&["rows.tsv"]).fails(3, &["expected a MANIFEST of RocksDB", "rows.tsv"]);
    history(&["none"]).fails(7, &["none"]);
    let other = history(&["MANIFEST-000005", "--keyspace", "nobody"]);
    other.fails(4, &["nobody", "default, users, old"]);
}

#[test]
fn a_history_that_ends_early_says_where() {
    let place = Place::new();
    let mut cut = MANIFEST.to_vec();
    let middle = cut.len() / 2;
    cut[middle] ^= 1;
    place.file("MANIFEST-000005", cut);
    let run = place.run(&["history", "MANIFEST-000005"]);
    assert!(run.err.contains("the history ends where the file is not readable: at byte"));
    assert!(run.err.contains("no OPTIONS file"), "{}", run.err);
    let trace = lines(&run.text());
    assert!(trace.len() > 1 && trace[0].get("policy").is_none());
}

#[test]
fn a_store_of_rocksdb_is_advised_by_its_history() {
    let place = Place::new();
    rocksdb(&place);
    let quick = ["--json", "--operations", "3000"];
    let advice = place.json(&[&["advise", "MANIFEST-000005"], &quick[..]].concat());
    let recorded = &advice["recorded"];
    assert_eq!(recorded["policy"]["size-ratio"], 4);
    assert_eq!(recorded["key-bytes"], 7, "keys are k and six digits");
    let buffer = recorded["buffer-bytes"].as_u64().unwrap();
    assert!((20_000..=64 << 10).contains(&buffer), "{buffer}");
    assert!(advice["assumed"].to_string().contains("half are gets; --mix names others"));
    assert!(!advice["assumed"].to_string().contains("RocksDB's default"));
    // Its trace is advised alike.
    place.file("t.jsonl", place.run(&["history", "MANIFEST-000005"]).text());
    let traced = place.json(&[&["advise", "t.jsonl"], &quick[..]].concat());
    assert_eq!((&traced["recorded"], &traced["pick"]), (recorded, &advice["pick"]));
    let users = ["advise", "MANIFEST-000005", "--keyspace", "users"];
    let users = place.json(&[&users[..], &quick].concat());
    assert!(users["assumed"].to_string().contains("RocksDB's default"), "no options of its own");
    let apply = place.run(&["advise", "MANIFEST-000005", "--apply"]);
    apply.fails(2, &["expected a store for --apply", "the MANIFEST"]);
}

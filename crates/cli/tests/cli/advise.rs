//! Advice on stores and traces: what was recorded, what is picked, and what --apply changes.

use crate::place::Place;
use serde_json::Value;

/// Few operations, so that every policy is simulated in a moment.
const QUICK: [&str; 3] = ["--json", "--operations", "3000"];

fn advice(place: &Place, of: &str, args: &[&str]) -> Value {
    let text = place.run(&[&["advise", of], &QUICK[..], args].concat()).text();
    serde_json::from_str(&text).unwrap()
}

/// Writes a trace of a simulation under tiered compaction.
fn trace(place: &Place) {
    let policy = r#"{"policy":"tiered","level-base-bytes":60000,"target-file-bytes":30000}"#;
    let args = ["simulate", "--policy", policy, "--buffer-bytes", "65536", "--entries", "3000"];
    let workload = ["--workload", "updates-50", "--rate", "5000", "--trace", "t.jsonl"];
    place.run(&[&args[..], &workload].concat()).ok();
}

/// A store of 2,000 keys in tables.
fn store(place: &Place) {
    let rows: String = (0..2000).map(|n| format!("key{n:05}\t{}\n", "v".repeat(90))).collect();
    place.file("rows.tsv", rows);
    place.run(&["load", "db", "rows.tsv"]).ok();
    place.flush("db");
}

#[test]
fn a_simulated_trace_is_advised_by_its_own_configuration() {
    let place = Place::new();
    trace(&place);
    let advice = advice(&place, "t.jsonl", &[]);
    let recorded = &advice["recorded"];
    assert_eq!(recorded["policy"]["policy"], "tiered");
    assert_eq!(recorded["workload"]["load"], 3000);
    assert_eq!(recorded["workload"]["phases"][0]["clients"][0]["rate"], 5000.0);
    assert_eq!(advice["assumed"], Value::Array(vec![]));
    let policies = advice["policies"].as_array().unwrap();
    let present: Vec<_> = policies.iter().filter(|one| one["present"] == true).collect();
    assert_eq!(present.len(), 1);
    assert_eq!(present[0]["policy"], recorded["policy"]);
    for preset in ["leveled", "tiered", "lazy-leveled", "spooky", "ptier", "bucket"] {
        assert!(policies.iter().any(|one| one["policy"]["policy"] == preset), "{preset}");
    }
    // The pick has the least time of the device of those that keep to the limits.
    let micros = |one: &Value| {
        let of = |name: &str| one["costs"][name].as_f64().unwrap();
        of("compaction_micros") + of("read_micros")
    };
    assert!(policies.is_sorted_by(|a, b| micros(a) <= micros(b)));
    let allowed = |one: &&Value| {
        let of = |name: &str| one["costs"][name].as_f64().unwrap();
        of("space") <= 2.5 && of("waited") <= 0.01
    };
    assert_eq!(advice["pick"], policies.iter().find(allowed).unwrap()["policy"]);
    assert!(advice["reasons"][0].as_str().unwrap().contains("µs of the device"));
}

#[test]
fn a_trace_without_a_configuration_is_advised_by_its_events() {
    let place = Place::new();
    trace(&place);
    let text = std::fs::read_to_string(place.path("t.jsonl")).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let simulation = lines[0]["simulation"].take();
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    place.file("events.jsonl", lines);
    let advice = advice(&place, "events.jsonl", &[]);
    let (recorded, named) = (&advice["recorded"], &simulation);
    assert_eq!(recorded["policy"], named["policy"]);
    assert_eq!(recorded["key-bytes"], 8, "keys are numbers of 8 bytes");
    let entry = |config: &Value| {
        config["key-bytes"].as_u64().unwrap() + config["value-bytes"].as_u64().unwrap()
    };
    assert_eq!(entry(recorded), entry(named));
    // The largest run has at most the keys that there are, and most of them.
    let keys = recorded["workload"]["load"].as_u64().unwrap();
    assert!((1000..=3000).contains(&keys), "{keys}");
    let clients = &recorded["workload"]["phases"][0]["clients"][0];
    let share = |kind: &str| clients["mix"][kind].as_f64().unwrap();
    assert!(share("update") > 0.0 && share("read") > 0.0 && share("scan") == 0.0, "{clients}");
    assert!(clients["rate"].as_f64().unwrap() > 0.0);
    assert_eq!(advice["assumed"].as_array().unwrap().len(), 2);
}

#[test]
fn a_store_gets_the_picked_policy_by_apply_alone() {
    let place = Place::new();
    store(&place);
    let before = place.run(&["policy", "db", "--json"]).text();
    let mix = ["--mix", r#"{"update":1}"#];
    let first = advice(&place, "db", &mix);
    assert_eq!(first["applied"], false);
    assert_eq!(first["recorded"]["workload"]["load"], 2000);
    assert_eq!(first["recorded"]["key-bytes"], 8);
    assert!(!first["assumed"].to_string().contains("--mix"));
    assert_eq!(place.run(&["policy", "db", "--json"]).text(), before);
    let second = advice(&place, "db", &[&mix[..], &["--apply"]].concat());
    assert_eq!(second["applied"], true);
    assert_eq!(second["pick"], first["pick"]);
    let after: Value =
        serde_json::from_str(&place.run(&["policy", "db", "--json"]).text()).unwrap();
    assert_eq!(after, first["pick"]);
    assert_eq!(place.run(&["count", "db"]).text(), "2000\n");
}

#[test]
fn advice_in_words_marks_the_pick_and_what_it_assumed() {
    let place = Place::new();
    store(&place);
    let text = place.run(&["advise", "db", "--operations", "3000"]).text();
    for part in ["2,000 keys", "assumed", "--mix", "(present)", "advice", "are beaten", "\n* "] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_place_or_option_without_advice_is_refused() {
    let place = Place::new();
    store(&place);
    trace(&place);
    let advise = |args: &[&str]| place.run(&[&["advise"], args].concat());
    advise(&["none"]).fails(4, &["no such directory or file"]);
    advise(&["t.jsonl", "--apply"]).fails(2, &["expected a store for --apply", "t.jsonl"]);
    let keyspace = ["t.jsonl", "--keyspace", "users"];
    advise(&keyspace).fails(2, &["expected a store for --keyspace", "t.jsonl"]);
    place.file("bad.jsonl", "{\"type\":\"policy-changed\",\"micros\":0}\n");
    advise(&["bad.jsonl"]).fails(3, &["bad.jsonl", "line 1", "policy"]);
    place.file("empty.jsonl", "{\"type\":\"later\",\"micros\":0}\n");
    advise(&["empty.jsonl"]).fails(3, &["expected a trace with a policy"]);
    let tight = |space: &str| advise(&["db", "--space", space, "--operations", "3000"]);
    let refused = tight("0.5");
    assert_eq!(refused.code, Some(2));
    let (_, least) = refused.err.split_once("--space of at least ").unwrap();
    tight(least.split(',').next().unwrap()).ok();
    let malformed = advise(&["db", "--mix", "half"]);
    assert_eq!(malformed.code, Some(2));
    assert!(malformed.err.contains("for example: {\"update\""), "{}", malformed.err);
    place.run(&["put", "fresh", "a", "1"]).ok();
    advise(&["fresh"]).fails(3, &["expected a store with tables"]);
}

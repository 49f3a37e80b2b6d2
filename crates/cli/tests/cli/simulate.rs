//! Simulations: the report and the trace are what was asked for, and the same each time.

use crate::place::Place;
use serde_json::Value;

const SMALL: [&str; 9] = [
    "simulate",
    "--json",
    "--buffer-bytes",
    "65536",
    "--entries",
    "4000",
    "--policy",
    "leveled",
    "--workload",
];

fn simulate(place: &Place, args: &[&str]) -> String {
    place.run(&[&SMALL, args].concat()).text()
}

#[test]
fn a_report_has_every_figure_and_a_seed_gives_it_again() {
    let place = Place::new();
    let flash = r#"{"capacity-bytes":8000000,"page-bytes":4096,"unit-pages":64}"#;
    let args = ["ycsb-e", "--flash", flash, "--seed", "5"];
    let text = simulate(&place, &args);
    assert_eq!(text, simulate(&place, &args));
    assert_ne!(text, simulate(&place, &["ycsb-e", "--flash", flash, "--seed", "6"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    for figure in "flushes write_amp write_amp_device space_amp_peak space_amp_mean runs_mean \
                   runs_max tables_mean tables_max files_open_max read_ios_per_get \
                   read_ios_per_scan compactions trivial_moves moved_bytes groups_per_compaction \
                   throughput_mean throughput_worst_window worker_utilisation"
        .split_whitespace()
    {
        assert!(report[figure].is_number(), "{figure} in {report}");
    }
    assert!(report["stall_seconds"]["level0"].is_number());
    assert_eq!(report["operations"], 8000);
    assert_eq!(report["phases"][1]["name"], "operations");
    assert!(report["phases"][1]["scans"].as_u64().unwrap() > 3700);
}

#[test]
fn a_trace_tells_every_flush_and_compaction_in_the_order_of_time() {
    let place = Place::new();
    let report = simulate(&place, &["uniform", "--trace", "t.jsonl"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let trace = std::fs::read_to_string(place.path("t.jsonl")).unwrap();
    let lines: Vec<Value> = trace.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(lines.is_sorted_by_key(|line| line["seconds"].as_f64().unwrap()));
    let count = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!(report["flushes"], count("flushed"));
    assert_eq!(report["compactions"], count("compaction-begun"));
    assert_eq!(count("compaction-begun"), count("compaction-ended"));
}

#[test]
fn a_configuration_comes_from_a_file_and_mistakes_are_named() {
    let place = Place::new();
    let config = r#"{"buffer-bytes": 65536, "workload": {"load": 3000}, "policy": {"policy":
                    "tiered", "base-bytes": 65536}}"#;
    place.file("c.json", config);
    let report = place.run(&["simulate", "--config", "c.json", "--json"]).text();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["policy"], &report["operations"]), (&"tiered".into(), &3000.into()));
    let table = place.run(&["simulate", "--config", "c.json"]).text();
    assert!(table.contains("tiered") && table.contains("write amp"), "{table}");

    let wrong = place.run(&["simulate", "--workload", "ycsb-g"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("ycsb-f"), "{}", wrong.err);
    place.file("d.json", r#"{"bufer-bytes": 1}"#);
    place.run(&["simulate", "--config", "d.json"]).fails(3, &["d.json", "bufer-bytes"]);
    place.run(&["simulate", "--workers", "0"]).fails(3, &["workers is 0"]);
    let flash = r#"{"capacity-bytes":1000000,"page-bytes":4096,"unit-pages":8}"#;
    let full = [&SMALL[..], &["unique-random", "--flash", flash]].concat();
    place.run(&full).fails(3, &["flash device is full"]);
}

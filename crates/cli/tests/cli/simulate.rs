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
fn a_report_has_every_figure_and_a_seed_reproduces_it() {
    let place = Place::new();
    let flash = r#"{"capacity-bytes":8000000,"page-bytes":4096,"unit-pages":64}"#;
    let args = ["ycsb-e", "--flash", flash, "--seed", "5"];
    let text = simulate(&place, &args);
    assert_eq!(text, simulate(&place, &args));
    assert_ne!(text, simulate(&place, &["ycsb-e", "--flash", flash, "--seed", "6"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    for figure in "flushes write_amp write_amp_total space_amp_peak space_amp_mean runs_mean \
                   runs_max tables_mean tables_max files_max read_ios_per_get \
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
    let scans = &report["latencies"]["scan"];
    for figure in ["mean", "p50", "p99", "p999", "max"] {
        assert!(scans[figure].as_f64().unwrap() > 0.0, "{figure} in {scans}");
    }
    assert_eq!(scans["count"], report["scans"]);
}

#[test]
fn a_trace_has_every_flush_and_compaction_in_time_order() {
    let place = Place::new();
    let report = simulate(&place, &["uniform", "--trace", "t.jsonl"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let trace = std::fs::read_to_string(place.path("t.jsonl")).unwrap();
    let lines: Vec<Value> = trace.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(lines.is_sorted_by_key(|line| line["micros"].as_u64().unwrap()));
    let count = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!(report["flushes"], count("flushed"));
    assert_eq!(report["compactions"], count("compaction-begun"));
    assert_eq!(count("compaction-begun"), count("compaction-ended"));
    assert!(count("live-bytes") > 0);

    // The header says what is simulated, and repeats it.
    let header = &lines[0];
    assert_eq!((&header["type"], &header["keyspace"]), (&"header".into(), &"default".into()));
    assert_eq!(header["release"], env!("CARGO_PKG_VERSION"));
    assert_eq!(header["policy"], header["simulation"]["policy"]);
    place.file("c.json", &header["simulation"].to_string());
    let again = place.run(&["simulate", "--config", "c.json", "--json"]).text();
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), report);
}

#[test]
fn a_configuration_comes_from_a_file() {
    let place = Place::new();
    let config = r#"{"buffer-bytes": 65536, "workload": {"load": 3000}, "policy": {"policy":
                    "tiered", "level-base-bytes": 65536}}"#;
    place.file("c.json", config);
    let report = place.run(&["simulate", "--config", "c.json", "--json"]).text();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["policy"], &report["operations"]), (&"tiered".into(), &3000.into()));
    let table = place.run(&["simulate", "--config", "c.json"]).text();
    assert!(table.contains("tiered") && table.contains("write amp"), "{table}");

    assert!(table.contains("insert, mean, us"), "{table}");

    // Other options go over it.
    let over = |args: &[&str]| {
        let args = [&["simulate", "--config", "c.json", "--json"], args].concat();
        let report: Value = serde_json::from_str(&place.run(&args).text()).unwrap();
        let phases = report["phases"].as_array().unwrap().clone();
        let phase = |name: &str| {
            let phase = phases.iter().find(|phase| phase["name"] == name);
            phase.map_or(0, |phase| phase["operations"].as_u64().unwrap())
        };
        (phase("load"), phase("operations"))
    };
    assert_eq!(over(&["--entries", "2000"]), (2000, 0));
    assert_eq!(over(&["--operations", "500"]), (3000, 500));
    assert_eq!(over(&["--workload", "ycsb-a"]), (3000, 3000));
    let all = ["--workload", "uniform", "--entries", "1000", "--operations", "700"];
    assert_eq!(over(&all), (1000, 700));
    let clients =
        ["--workload", "ycsb-a", "--clients", "3", "--cores", "2", "--subcompactions", "4"];
    let clients = [&clients[..], &["--wait-until-idle", "--window", "50"]].concat();
    assert_eq!(over(&clients), (3000, 3000));
    let args = [&["simulate", "--config", "c.json", "--json"], &clients[..]].concat();
    let report_of: Value = serde_json::from_str(&place.run(&args).text()).unwrap();
    assert_eq!(report_of["phases"][1]["name"], "wait-until-idle");
    let written = |table: &str| {
        let line = table.lines().find(|line| line.starts_with("write amp")).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let [_, _, load, after, whole] = &written(&table)[..] else { panic!("{table}") };
    assert!(load != "-" && after == "-" && whole != "-", "{table}");
    for phase in report["phases"].as_array().unwrap() {
        let wrote = phase["user_bytes"] != 0;
        assert_eq!(wrote, phase["name"] != "wait-until-idle");
        for figure in ["write_amp", "write_amp_compaction"] {
            assert_eq!(phase[figure].is_number(), wrote, "{phase}");
            assert_eq!(phase[figure].is_null(), !wrote, "{phase}");
        }
    }

    let wrong = place.run(&["simulate", "--workload", "ycsb-g"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("ycsb-f"), "{}", wrong.err);
    place.file("d.json", r#"{"bufer-bytes": 1}"#);
    place.run(&["simulate", "--config", "d.json"]).fails(3, &["d.json", "bufer-bytes"]);
    place.file("d.json", "[]");
    place.run(&["simulate", "--config", "d.json"]).fails(3, &["d.json: expected a JSON object"]);
    for (config, expected) in [
        (r#"{"guards": true}"#, "expected an object with parameters of guards"),
        (r#"{"device": "spooky"}"#, "expected an object with parameters of a device"),
        (r#"{"workload": {"prefixes": 4}}"#, "expected an object with a count and an exponent"),
    ] {
        place.file("d.json", config);
        place.run(&["simulate", "--config", "d.json"]).fails(3, &[expected]);
    }
    for (option, what) in [
        ("--workers=0", "workers"),
        ("--rate=-1", "rate"),
        ("--window=0", "window"),
        ("--key-bytes=0", "key-bytes"),
        ("--value-compression=NaN", "value-compression"),
        ("--prefixes=0", "prefixes"),
    ] {
        place.run(&["simulate", option]).fails(2, &[what]);
    }
    place.file("e.json", r#"{"workers": 0}"#);
    place.run(&["simulate", "--config", "e.json"]).fails(3, &["workers is 0"]);
    place.file("e.json", "{}");
    place.run(&["simulate", "--config", "e.json", "--workers", "0"]).fails(2, &["workers is 0"]);
    // The default workload is a load alone.
    for option in ["--operations", "--clients"] {
        let args = ["simulate", "--entries", "1000", option, "5"];
        place.run(&args).fails(2, &[option, "a load alone", "--workload uniform"]);
    }
    let flash = r#"{"capacity-bytes":1000000,"page-bytes":4096,"unit-pages":8}"#;
    let full = [&SMALL[..], &["unique-random", "--flash", flash]].concat();
    place.run(&full).fails(3, &["flash device is full"]);
}

#[test]
fn cases_of_a_file_are_simulated_one_after_another() {
    let place = Place::new();
    let case = |name: &str, load: u64| {
        format!(
            r#"{{"name":"{name}","config":{{"buffer-bytes":65536,"workload":{{"load":{load}}}}}}}"#
        )
    };
    let cases = [case("half, leveled", 1000), case("whole, leveled", 2000)];
    place.file("c.json", &format!(r#"{{"cases":[{}]}}"#, cases.join(",")));
    let run = |args: &[&str]| place.run(&[&["simulate", "--config", "c.json"], args].concat());
    let reports: Value = serde_json::from_str(&run(&["--json"]).text()).unwrap();
    let of = |at: usize| (reports[at]["name"].clone(), reports[at]["report"]["operations"].clone());
    assert_eq!(of(0), ("half, leveled".into(), 1000.into()));
    assert_eq!(of(1), ("whole, leveled".into(), 2000.into()));
    let whole = run(&["--case", "whole", "--trace", "t.jsonl"]).text();
    assert!(whole.starts_with("whole, leveled\n") && !whole.contains("half"), "{whole}");
    let overridden = run(&["--case", "half", "--entries", "300", "--json"]).text();
    let overridden: Value = serde_json::from_str(&overridden).unwrap();
    assert_eq!(overridden[0]["report"]["operations"], 300);

    run(&["--case", "third"]).fails(2, &["half, leveled", "third"]);
    run(&["--trace", "t.jsonl"]).fails(2, &["expected one case for --trace, found 2"]);
    let alone = place.run(&["simulate", "--case", "half"]);
    assert_eq!(alone.code, Some(2));
    assert!(alone.err.contains("--config"), "{}", alone.err);
    place.file("c.json", r#"{"cases":[]}"#);
    run(&[]).fails(3, &["c.json: expected a case, found none"]);
    place.file("c.json", r#"{"cases":[{"name":"a","config":{"bufer-bytes":1}}]}"#);
    run(&[]).fails(3, &["c.json", "bufer-bytes"]);
}

#[test]
fn ranges_that_shift_are_refused_unless_keys_ascend() {
    let place = Place::new();
    let ranges = r#"{"by":"shifting-ranges","from":2,"to":4,"step":1}"#;
    let with = |order: &str| {
        let phases = format!(r#"[{{"operations":10,"clients":[{{"choice":{ranges}}}]}}]"#);
        format!(r#"{{"load":10,{order}"phases":{phases}}}"#)
    };
    let expected = ["workload.order is scattered", "expected ascending", "zipf"];
    place.run(&["simulate", "--workload", &with("")]).fails(2, &expected);
    place.run(&["simulate", "--workload", &with(r#""order":"ascending","#)]).text();
}

#[test]
fn a_design_that_is_no_policy_points_to_the_configuration() {
    let place = Place::new();
    for name in ["guards", "silk", "options.json"] {
        let unknown = place.run(&["simulate", "--policy", name]);
        assert_eq!(unknown.code, Some(2));
        for words in ["files are for --config", r#"{"guards":{}}"#, "pause-deeper-merges"] {
            assert!(unknown.err.contains(words), "{}", unknown.err);
        }
    }
    place.file("guards.json", r#"{"guards":{},"workload":{"load":100}}"#);
    place.run(&["simulate", "--config", "guards.json"]).text();
    let malformed = place.run(&["simulate", "--policy", "{"]);
    assert!(!malformed.err.contains("--config"), "{}", malformed.err);
}

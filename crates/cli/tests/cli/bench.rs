//! Measurements: what was done is what was asked for. How long it took is nobody's business here.

use crate::place::{Place, names};
use serde_json::Value;

fn bench(place: &Place, args: &[&str]) -> Vec<Value> {
    let small = ["bench", "--json", "--num", "3000", "--memtable-mib", "1"];
    let json = place.run(&[&small, args].concat()).ok();
    let series: Value = serde_json::from_slice(&json).unwrap();
    series["results"].as_array().unwrap().clone()
}

#[test]
fn each_policy_runs_each_benchmark() {
    let place = Place::new();
    let names = "fillseq,fillrandom,overwrite,readrandom,readmissing,seekrandom,deleterandom";
    let results = bench(&place, &["--policy", "all", "--benchmarks", names, "--reads", "500"]);
    let presets: Value = serde_json::from_slice(&place.run(&["policies", "--json"]).ok()).unwrap();
    let expected: Vec<_> = presets
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|p| names.split(',').map(|n| (p["name"].clone(), Value::from(n))))
        .collect();
    let ran: Vec<_> =
        results.iter().map(|r| (r["policy"].clone(), r["benchmark"].clone())).collect();
    assert_eq!(ran, expected);
    for result in &results {
        let figure = |name: &str| result[name].as_u64().unwrap();
        let found = result["found"].as_u64();
        match result["benchmark"].as_str().unwrap() {
            "readrandom" => {
                assert!((300..500).contains(&found.unwrap()), "{result}");
                let blocks = result["reads"]["blocks"].as_u64().unwrap();
                assert_eq!(result["read_amplification"], blocks as f64 / 500.0);
            }
            "readmissing" => assert_eq!(found, Some(0)),
            "seekrandom" => {
                assert!((40_000..=50_000).contains(&found.unwrap()), "{result}");
                assert_eq!(result["reads"]["rows"], found.unwrap());
            }
            _ => {
                assert_eq!((figure("operations"), found), (3000, None));
                // Each put is in the log, with its record's head, and in a table.
                let with = |name: &str| result[name].as_f64().unwrap();
                let wal = with("write_amplification_with_wal") - with("write_amplification");
                assert!(wal > 1.0, "{result}");
            }
        }
        assert!(figure("taken_bytes_peak") >= figure("taken_bytes"));
    }
}

#[test]
fn keys_of_a_file_are_written_once_each() {
    let place = Place::new();
    let lines: String = (0..3000).map(|n| format!("https://example.org/{n:05}\n")).collect();
    std::fs::write(place.path("urls"), format!("{lines}{lines}\n")).unwrap();
    let policy = r#"{"policy": "universal", "partitioner": "global-range", "run-trigger": 2,
        "target-file-bytes": 65536, "flush-floor-bytes": 32768}"#;
    let args = ["bench", "d", "--json", "--keys", "urls", "--value-bytes", "1000"];
    let rest = [
        "--debt-mib",
        "0",
        "--memtable-mib",
        "1",
        "--policy",
        policy,
        "--benchmarks",
        "fillseq,readmissing",
    ];
    let series = place.json(&[&args[..], &rest, &["--workers", "2"]].concat());
    assert_eq!((&series["num"], &series["workers"]), (&3000.into(), &2.into()));
    assert_eq!(series["hard_pending_compaction_bytes"], 0);
    let [fill, missing] = &series["results"].as_array().unwrap()[..] else { panic!("two") };
    assert_eq!((&fill["operations"], &missing["found"]), (&3000.into(), &0.into()));
    // A worker for flushes and one for removals, besides those for merges.
    let flushes = |result: &Value| {
        let background = &result["background"];
        assert_eq!(background["busy_micros"].as_array().unwrap().len(), 4, "{background}");
        background["flushes"]["written_bytes"].as_u64().unwrap()
    };
    assert!(flushes(fill) > 0);
    assert_eq!(flushes(missing), 0, "what the fill did is not counted again");
    // Keys in order, cut flushes: all that compactions did was to move tables.
    assert!(fill["tables"].as_u64().unwrap() > 10, "{fill}");
    assert!(fill["compactions"].as_u64().unwrap() > 0, "{fill}");
    assert_eq!(fill["compaction_groups"], fill["compaction_moves"]);
    assert_eq!(fill["merge_seconds"], Value::Null);
    let keys = place.run(&["scan", "d", "--keys-only"]).text();
    assert_eq!(keys, lines);
    let differ =
        r#"{"load":9,"phases":[{"name":"both","operations":9,"clients":[{},{"count":2}]}]}"#;
    let cases: [(&[&str], &str); 6] = [
        (&["--keys", "none"], "none"),
        (&["--keys", "urls", "--num", "5"], "--num"),
        (&["--keys", "urls", "--drain"], "--drain"),
        (&["--workload", r#"{"load":9}"#, "--num", "5"], "found --num beside its JSON"),
        (&["--workload", r#"{"load":9}"#, "--operations", "5"], "found --operations beside"),
        (&["--workload", differ], "found 2 kinds in \"both\""),
    ];
    for (args, found) in cases {
        let refused = place.run(&[&["bench"], args].concat());
        assert!(refused.code == Some(2) && refused.err.contains(found), "{}", refused.err);
    }
}

#[test]
fn a_bench_keeps_its_directory_and_reuses_it() {
    let place = Place::new();
    bench(&place, &["d", "--benchmarks", "fillseq,fillseq", "--policy", "tiered"]);
    let rows = place.run(&["scan", "d"]).ok();
    assert_eq!(rows.iter().filter(|b| **b == b'\n').count(), 3000);
    let read = bench(&place, &["d", "--benchmarks", "readrandom"]);
    assert_eq!((&read[0]["found"], &read[0]["policy"]), (&3000.into(), &"tiered".into()));
    let fill = place.run(&["bench", "d", "--num", "10", "--benchmarks", "fillseq"]);
    fill.fails(3, &["found d", "there already"]);
    assert_eq!(place.run(&["scan", "d"]).ok(), rows);
    place.run(&["bench", "none", "--benchmarks", "readrandom"]).fails(4, &["no Terrane store"]);
    place.run(&["bench", "--benchmarks", "readrandom"]).fails(2, &["expected a fill first", "DIR"]);
    assert_eq!(names(&place.path(".")), ["d"]);
}

#[test]
fn a_store_that_it_did_not_make_is_left_alone() {
    let place = Place::new();
    place.run(&["put", "mine", "a", "1", "--policy", "tiered"]).ok();
    place.run(&["export", "mine", "file"]).ok();
    for store in ["mine", "file"] {
        for benchmark in ["overwrite", "deleterandom", "readrandom"] {
            let args = ["bench", store, "--num", "10", "--policy", "leveled"];
            let bench = place.run(&[&args[..], &["--benchmarks", benchmark]].concat());
            bench.fails(3, &["a store that bench made", store]);
        }
        assert_eq!(place.run(&["scan", store]).text(), "a\t1\n");
        assert!(place.run(&["policy", store]).text().contains("tiered"));
    }
}

#[test]
#[cfg(unix)]
fn an_interrupted_bench_removes_its_temporary_store() {
    for signals in 1..=2 {
        let place = Place::new();
        let mut child = place
            .terrane(&["bench", "--num", "1000000000", "--benchmarks", "fillseq"])
            .env("TMPDIR", place.path("."))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let store = || names(&place.path(".")).pop().map(|dir| place.path(&dir).join("store/LOCK"));
        while !store().is_some_and(|lock| lock.exists()) {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        for _ in 0..signals {
            let id = child.id().to_string();
            std::process::Command::new("kill").args(["-s", "TERM", &id]).status().unwrap();
        }
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(names(&place.path(".")), [""; 0]);
    }
}

#[test]
fn a_table_names_every_benchmark() {
    let place = Place::new();
    let table = place.run(&["bench", "--num", "1000", "--seek-nexts", "1"]).text();
    for name in ["fillseq", "fillrandom", "overwrite", "readrandom", "readmissing", "seekrandom"] {
        assert_eq!(table.lines().filter(|line| line.contains(name)).count(), 1, "{table}");
    }
    let widths: Vec<_> = table.lines().map(str::len).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
}

#[test]
fn a_workload_does_in_a_store_what_it_does_in_the_simulator() {
    let place = Place::new();
    let small = ["bench", "--json", "--num", "3000", "--operations", "2000", "--window", "500"];
    let scale = ["--memtable-mib", "1", "--value-bytes", "1000", "--simulate"];
    for (workload, policy) in [("updates-50", "all"), ("ycsb-e", "tiered"), ("ycsb-f", "leveled")] {
        let which = ["--workload", workload, "--policy", policy];
        let series = place.json(&[&small[..], &scale, &which].concat());
        let results = series["results"].as_array().unwrap();
        assert_eq!(results.len() > 5, policy == "all");
        for result in results {
            let phases = result["phases"].as_array().unwrap();
            let names: Vec<_> =
                phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["load", "operations", "whole"]);
            let (whole, simulated) = (&phases[2], &result["simulated"]);
            assert_eq!(whole["operations"], 5000);
            let tables = whole["tables"].as_u64().unwrap();
            let mean = whole["table_bytes"]["mean"].as_f64().unwrap();
            let max = whole["table_bytes"]["max"].as_f64().unwrap();
            assert!(tables > 0 && mean <= max, "{whole}");
            let compactions = whole["compactions"].as_u64().unwrap();
            let groups = whole["compaction_groups"]["mean"].as_f64().unwrap();
            assert_eq!(compactions > 0, groups >= 1.0, "{whole}");
            let counted: u64 = whole["latencies"]
                .as_object()
                .unwrap()
                .values()
                .map(|latency| latency["count"].as_u64().unwrap())
                .sum();
            assert_eq!(counted, 5000);
            assert_eq!(phases[0]["latencies"]["insert"]["count"], 3000);
            let of_kind = |latencies: &Value| {
                let counts = latencies.as_object().unwrap().iter();
                counts.map(|(kind, l)| (kind.clone(), l["count"].clone())).collect::<Vec<_>>()
            };
            assert_eq!(of_kind(&whole["latencies"]), of_kind(&simulated["latencies"]));
            for figure in ["operations", "user_bytes", "logical_bytes"] {
                assert_eq!(whole[figure], simulated[figure], "{workload} {figure}: {result}");
            }
            assert_eq!(phases[0]["user_bytes"], simulated["phases"][0]["user_bytes"]);
            let figure = |name: &str| whole[name].as_f64().unwrap();
            // All has been flushed: an overwritten row may have been left out.
            assert!(figure("write_amp") > 0.7, "{whole}");
            assert!(figure("space_amp_peak") >= 1.0, "{whole}");
            assert!(figure("throughput_worst_window") > 0.0);
            for (name, kind) in [("read_ios_per_get", "read"), ("read_ios_per_scan", "scan")] {
                let read = whole["latencies"][kind].is_object();
                assert_eq!(
                    whole[name].as_f64().is_some_and(|blocks| blocks >= 0.0),
                    read,
                    "{whole}"
                );
            }
            for level in whole["by_level"].as_array().unwrap() {
                let count = |name: &str| level[name].as_u64().unwrap();
                assert!(count("false_positives") <= count("filter_positives"), "{level}");
                assert!(count("filter_positives") <= count("lookups"), "{level}");
            }
        }
    }
}

#[test]
fn workload_figures_have_a_column_a_phase_and_the_simulators() {
    let place = Place::new();
    let args = ["bench", "--num", "2000", "--workload", "updates-90-zipf", "--simulate"];
    let table = place.run(&[&args[..], &["--memtable-mib", "1"]].concat()).text();
    let head: Vec<_> =
        table.lines().next().unwrap().split("  ").filter(|s| !s.is_empty()).collect();
    let head: Vec<_> = head.iter().map(|name| name.trim()).collect();
    assert_eq!(
        head[1..],
        ["load", "operations", "whole", "load, sim.", "operations, sim.", "whole, sim."]
    );
    for name in ["operations per second", "in the slowest window", "write amp", "space amp, peak"] {
        assert!(table.lines().any(|line| line.trim_start().starts_with(name)), "{table}");
    }
    for (args, word) in [
        (&["--workload", "updates"][..], "updates-90-zipf"),
        (&["--workload", "ycsb-a", "--reads", "1"][..], "--reads"),
        (&["--simulate"][..], "--workload"),
    ] {
        let refused = place.run(&[&["bench"], args].concat());
        assert!(refused.code == Some(2) && refused.err.contains(word), "{}", refused.err);
    }
}

#[test]
fn a_full_level_0_is_drained_by_each_design_at_any_threads() {
    let place = Place::new();
    let json = place.run(&["bench", "--drain", "--rounds", "2", "--json", "--num", "20000"]).ok();
    let report: Value = serde_json::from_slice(&json).unwrap();
    let results = report["results"].as_array().unwrap();
    let designs: Vec<_> = results.iter().map(|case| case["design"].as_str().unwrap()).collect();
    let designs_of =
        [("one task", 1), ("subcompaction", 1), ("bucket", 8), ("global-range", 8), ("none", 1)];
    for (design, buckets) in designs_of {
        assert!(designs.iter().filter(|of| **of == design).count() >= 2, "{designs:?}");
        for case in results.iter().filter(|case| case["design"] == design) {
            let number = |name: &str| case[name].as_u64().unwrap();
            assert!(number("runs") >= 4, "{case}");
            assert!(number("tables") >= (number("runs") - 2) * buckets, "{case}");
            assert!(number("written_bytes") * 3 > number("bytes"), "{case}");
            let [least, median, most] = ["seconds_least", "seconds", "seconds_most"]
                .map(|name| case[name].as_f64().unwrap());
            assert!(0.0 < least && least <= median && median <= most, "{case}");
            assert!(case["simulated_seconds"].as_f64().unwrap() > 0.0, "{case}");
        }
        // A merge this small is shared by nobody: two simulated threads are faster where there are several merges.
        let simulated = |threads| {
            let is_it = |case: &&Value| case["design"] == design && case["threads"] == threads;
            results.iter().find(is_it).unwrap()["simulated_seconds"].as_f64().unwrap()
        };
        let faster = simulated(1) / simulated(2);
        assert!(if buckets > 1 { faster > 1.7 } else { faster < 1.1 }, "{design}: {faster}");
    }
}

//! Sweeps: every point of a grid has the figures that `simulate` reports of it, in the grid's order.

use crate::place::Place;
use serde_json::Value;

const SMALL: &str = r#"{"buffer-bytes":65536,"policy":{"policy":"leveled","level-base-bytes":65536,
    "target-file-bytes":65536},"workload":{"load":2000}}"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_point_has_the_report_that_simulate_prints() {
    let place = Place::new();
    place.file("c.json", SMALL);
    let sweep = |threads: &str| {
        let vary = ["--vary", "size_ratio=2,4", "--vary", "entries=1000,2000"];
        let args = ["sweep", "--config", "c.json", "--json", "--threads", threads];
        place.run(&[&args[..], &vary].concat()).text()
    };
    let text = sweep("1");
    assert_eq!(text, sweep("3"));
    let points = json(&text);
    let of = |at: usize, name: &str| points[at]["parameters"][name].as_u64().unwrap();
    let grid: Vec<_> = (0..4).map(|at| (of(at, "size-ratio"), of(at, "entries"))).collect();
    assert_eq!(grid, [(2, 1000), (2, 2000), (4, 1000), (4, 2000)]);
    for (at, (ratio, entries)) in grid.into_iter().enumerate() {
        let sizes = r#""level-base-bytes":65536,"target-file-bytes":65536"#;
        let policy = format!(r#"{{"policy":"leveled","size-ratio":{ratio},{sizes}}}"#);
        let args = ["simulate", "--config", "c.json", "--json", "--policy", &policy];
        let entries = entries.to_string();
        let alone = place.run(&[&args[..], &["--entries", &entries]].concat()).text();
        assert_eq!(points[at]["report"], json(&alone), "{ratio}, {entries}");
    }
    assert_ne!(points[0]["report"]["write_amp"], points[2]["report"]["write_amp"]);
}

#[test]
fn figures_are_columns_of_a_table_and_of_csv() {
    let place = Place::new();
    place.file("c.json", SMALL);
    let vary =
        ["sweep", "--config", "c.json", "--vary", "workload=ycsb-a", "--vary", "workers=1,2"];
    let table = place.run(&vary).text();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    let head: Vec<_> = lines[0].split_whitespace().collect();
    assert_eq!(head[..3], ["workload", "workers", "write_amp"]);
    assert!(head.contains(&"read_ios_per_get"), "{table}");
    assert!(lines[2].starts_with("ycsb-a    2"), "{table}");

    let csv = ["--csv", "--measure", "operations,latencies.read.p99", "--phase", "load"];
    let csv = place.run(&[&vary[..], &csv].concat()).text();
    assert_eq!(
        csv,
        "workload,workers,operations,latencies.read.p99\nycsb-a,1,2000,\nycsb-a,2,2000,\n"
    );
}

#[test]
fn cases_of_a_file_are_all_varied() {
    let place = Place::new();
    let cases = ["a, first", "b"].map(|name| format!(r#"{{"name":"{name}","config":{SMALL}}}"#));
    place.file("c.json", &format!(r#"{{"cases":[{}]}}"#, cases.join(",")));
    let vary = ["sweep", "--config", "c.json", "--vary", "seed=1,2", "--measure", "operations"];
    let csv = place.run(&[&vary[..], &["--csv"]].concat()).text();
    let lines = ["case,seed,operations", "\"a, first\",1,2000", "\"a, first\",2,2000"];
    assert_eq!(csv.lines().collect::<Vec<_>>(), [&lines[..], &["b,1,2000", "b,2,2000"]].concat());
    let one = json(&place.run(&[&vary[..], &["--case", "b", "--json"]].concat()).text());
    assert_eq!((one.as_array().unwrap().len(), &one[0]["case"]), (2, &"b".into()));
}

#[test]
fn a_store_that_overfills_its_device_leaves_the_other_rows() {
    let place = Place::new();
    place.file("c.json", SMALL);
    let vary = ["sweep", "--config", "c.json", "--vary", "flash.page-bytes=4096", "--vary"];
    let with = |capacity: &str| {
        let capacity = format!("flash.capacity-bytes={capacity}");
        let rest = [capacity.as_str(), "--vary", "flash.unit-pages=8", "--csv"];
        place.run(&[&vary[..], &rest].concat())
    };
    let run = with("500000,8000000");
    let csv = String::from_utf8(run.out.clone()).unwrap();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(lines[0].ends_with(",error") && lines[1].contains("flash device is full"), "{csv}");
    assert!(lines[2].ends_with(',') && lines[2].contains("8000000"), "{csv}");
    assert!(run.err.contains("flash.capacity-bytes=500000"), "{}", run.err);
    with("500000").fails(3, &["expected a simulation that ends"]);
}

#[test]
fn a_grid_with_a_mistake_is_refused_as_a_whole() {
    let place = Place::new();
    for (args, words) in [
        (&["--vary", "bufer-bytes=1"][..], "bufer-bytes"),
        (&["--vary", "size-ratio=2,1"], "size-ratio=1"),
        (&["--vary", "workers"], "--vary size-ratio=2,4,8"),
        (&["--vary", "seed=1", "--vary", "seed=2"], "seed twice"),
        (&["--vary", "seed=1", "--measure", "write-amp"], "write_amp"),
        (&["--vary", "seed=1", "--phase", "operations"], "wait-until-idle"),
        (&[], "--vary"),
    ] {
        let run = place.run(&[&["sweep"], args].concat());
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.err.contains(words) && run.out.is_empty(), "{args:?}: {}", run.err);
    }
}

//! Keyspaces and their trees: what is where, by which policy, and compacted.

use crate::place::Place;

impl Place {
    /// Loads rows numbered from 0 into a keyspace, and has them in tables.
    fn rows(&self, keyspace: &str, count: usize) {
        let rows: String = (0..count).map(|n| format!("{n:06}\t{n}\n")).collect();
        let load = ["load", "db", "--format", "tsv", "--keyspace", keyspace];
        self.run_with_input(&load, rows.as_bytes()).ok();
        self.flush("db");
    }
}

#[test]
fn keyspaces_hold_rows_of_their_own() {
    let place = Place::new();
    let load = ["load", "db", "--format", "tsv", "--keyspace", "a"];
    place.run_with_input(&load, b"k\t1\nl\t2\n").ok();
    place.run(&["put", "db", "k", "3", "--keyspace", "b"]).ok();
    place.run(&["delete", "db", "l", "--keyspace", "a"]).ok();
    assert_eq!(place.run(&["get", "db", "k", "--keyspace", "a"]).ok(), b"1");
    assert_eq!(place.run(&["scan", "db", "--keyspace", "a"]).text(), "k\t1\n");
    assert_eq!(place.run(&["scan", "db", "--keyspace", "b"]).text(), "k\t3\n");
    assert_eq!(place.run(&["scan", "db"]).text(), "");
    place.run(&["get", "db", "k"]).fails(1, &["no key"]);
}

#[test]
fn only_load_and_put_create_a_keyspace() {
    let place = Place::new();
    place.run(&["put", "db", "k", "v"]).ok();
    let commands: [&[&str]; 6] = [
        &["get", "db", "k"],
        &["delete", "db", "k"],
        &["scan", "db"],
        &["levels", "db"],
        &["policy", "db"],
        &["compact", "db"],
    ];
    for command in commands {
        let asked = [command, &["--keyspace", "other"]].concat();
        place.run(&asked).fails(4, &["db has no keyspace \"other\"", "\"default\""]);
    }
    let names = |db| {
        let rows = place.json(&["keyspaces", db, "--json"]);
        let names = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names("db"), ["default"]);
    place.run(&["put", "db", "k", "v", "--keyspace", "other"]).ok();
    assert_eq!(names("db"), ["default", "other"]);
}

#[test]
fn keyspaces_are_listed_with_sizes_and_dropped_with_files() {
    let place = Place::new();
    place.rows("default", 10);
    place.rows("wide", 20_000);
    let listed = place.json(&["keyspaces", "db", "--json"]);
    assert_eq!(listed[0]["entries"], 10);
    assert_eq!(listed[1]["entries"], 20_000);
    let bytes = listed[1]["bytes"].as_u64().unwrap();
    let table = place.run(&["keyspaces", "db"]).text();
    assert!(table.lines().any(|l| l.starts_with("wide ") && l.contains(" 20,000 ")), "{table}");

    place.run(&["keyspaces", "db", "--drop", "none"]).fails(4, &["\"none\"", "\"wide\""]);
    place.run(&["keyspaces", "db", "--drop", "default"]).fails(3, &["default"]);
    let taken = || place.json(&["stats", "db", "--json"])["space"]["taken"].as_u64().unwrap();
    let before = taken();
    place.run(&["keyspaces", "db", "--drop", "wide"]).ok();
    assert!(before - taken() >= bytes);
    assert_eq!(place.json(&["keyspaces", "db", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_reverse_scan_is_the_scan_backward() {
    let place = Place::new();
    place.run_with_input(&["load", "db", "--format", "tsv"], b"a\nb1\nb2\nb3\nc\n").ok();
    for bounds in [&[][..], &["--from", "b1", "--to", "b3"], &["--prefix", "b"], &["--from", "x"]] {
        let scan = [&["scan", "db"], bounds].concat();
        let forward = place.run(&scan).text();
        let backward = place.run(&[&scan[..], &["--reverse"]].concat()).text();
        let turned: Vec<_> = backward.lines().rev().collect();
        assert_eq!(turned, forward.lines().collect::<Vec<_>>(), "{bounds:?}");
    }
    let last = place.run(&["scan", "db", "--reverse", "--limit", "2", "--keys-only"]).text();
    assert_eq!(last, "c\nb3\n");
}

#[test]
fn levels_are_drawn_and_given_as_json() {
    let place = Place::new();
    place.run(&["put", "db", "--hex", "00ff", "00"]).ok();
    place.flush("db");
    assert!(place.run(&["levels", "db", "--keyspace", "default"]).text().contains("level 0"));
    place.rows("default", 30_000);
    let shape = place.json(&["levels", "db", "--json"]);
    let runs =
        shape["levels"].as_array().unwrap().iter().flat_map(|l| l["runs"].as_array().unwrap());
    let tables = runs.clone().flat_map(|r| r["tables"].as_array().unwrap());
    assert_eq!(tables.map(|t| t["entries"].as_u64().unwrap()).sum::<u64>(), 30_001);
    let picture = place.run(&["levels", "db", "--width", "80"]).text();
    assert_eq!(picture.lines().filter(|l| l.ends_with('│')).count(), runs.count(), "{picture}");
    assert!(picture.lines().all(|l| l.chars().count() <= 80), "{picture}");
    assert!(picture.contains("from \"\\x00\\xff\" to \"029999\""), "{picture}");
}

#[test]
fn policies_are_listed_and_their_json_is_accepted() {
    let place = Place::new();
    let listed = place.run(&["policies"]).text();
    let presets = place.json(&["policies", "--json"]);
    for preset in presets.as_array().unwrap() {
        let name = preset["name"].as_str().unwrap();
        let sentence = format!("{name}: {}", preset["summary"].as_str().unwrap());
        assert!(listed.lines().any(|line| line == sentence), "{sentence}");
        for parameter in preset["parameters"].as_array().unwrap() {
            assert!(listed.contains(parameter["meaning"].as_str().unwrap()));
        }
        place.run(&["put", "db", "k", "v", "--keyspace", name, "--policy", name]).ok();
        let json = place.run(&["policy", "db", "--keyspace", name, "--json"]).text();
        place.run(&["policy", "db", json.trim_end()]).ok();
        assert_eq!(place.run(&["policy", "db", "--json"]).text(), json);
    }
}

#[test]
fn a_policy_is_chosen_with_a_write_and_changed_later() {
    let place = Place::new();
    let load = ["load", "db", "--format", "tsv", "--policy", "tiered"];
    place.run_with_input(&load, b"a\nb\n").ok();
    let policy = |args: &[&str]| place.json(&[&["policy", "db", "--json"], args].concat());
    assert_eq!(policy(&[])["policy"], "tiered");
    place.run(&["put", "db", "k", "v"]).ok();
    assert_eq!(policy(&[])["policy"], "tiered", "it stays");
    let json = r#"{"policy":"leveled","size-ratio":4}"#;
    place.run(&["put", "db", "k", "v", "--policy", json]).ok();
    assert_eq!(policy(&[])["size-ratio"], 4);
    place.run(&["policy", "db", "universal"]).ok();
    let shown = place.run(&["policy", "db"]).text();
    assert!(shown.starts_with("universal: "), "{shown}");
    assert_eq!(place.run(&["scan", "db", "--keys-only"]).text(), "a\nb\nk\n");

    let refused = place.run(&["policy", "db", r#"{"policy":"leveled","size-ratio":1}"#]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("`size-ratio` is 1"), "{}", refused.err);
    assert_eq!(policy(&[])["policy"], "universal");
}

#[test]
fn a_compaction_leaves_one_run_without_garbage() {
    let place = Place::new();
    for _ in 0..3 {
        place.rows("default", 5_000);
    }
    place.run(&["delete", "db", "000001"]).ok();
    let before = place.run(&["scan", "db"]).text();
    let compacted = place.run(&["compact", "db"]);
    assert!(compacted.err.contains("compacted"), "{}", compacted.err);
    assert_eq!(compacted.ok(), b"");
    let shape = place.json(&["levels", "db", "--json"]);
    let runs: Vec<_> = shape["levels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|l| l["runs"].as_array().unwrap())
        .collect();
    assert_eq!(runs.len(), 1);
    let sum = |field: &str| {
        runs[0]["tables"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t[field].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!((sum("entries"), sum("tombstones")), (4_999, 0));
    assert_eq!(place.run(&["scan", "db"]).text(), before);

    // A range without a key needs nothing.
    place.run(&["compact", "db", "--from", "x", "--to", "y"]).ok();
    place.run(&["check", "db"]).ok();
}

#[test]
fn an_unknown_keyspace_suggests_similar_names() {
    let place = Place::new();
    for n in 0..40 {
        place.run(&["put", "db", "a", "1", "--keyspace", &format!("users-{n}")]).ok();
    }
    let scan = place.run(&["scan", "db", "--keyspace", "user-17"]);
    scan.fails(4, &["no keyspace \"user-17\"", "\"users-17\"", "38 more", "terrane keyspaces db"]);
    assert!(!scan.err.contains("users-2\""), "{}", scan.err);
}

#[test]
fn declared_data_whose_filters_exceed_the_memory_is_refused() {
    let place = Place::new();
    place.rows("default", 1000);
    let before = place.run(&["policy", "db"]).text();
    let set = |bytes: u64| {
        let json = format!(
            r#"{{"policy": "horizontal-tiering", "filters": "monkey", "data-bytes": {bytes}}}"#
        );
        place.run(&["policy", "db", &json])
    };
    set(1 << 50)
        .fails(3, &["expected at most", "monkey filters", "`data-bytes` is 1125899906842624"]);
    assert_eq!(place.run(&["policy", "db"]).text(), before);
    set(1 << 28).ok();
}

#[test]
fn a_partitioner_that_cannot_be_is_refused_by_name() {
    let place = Place::new();
    place.run(&["put", "db", "k", "v"]).ok();
    let before = place.run(&["policy", "db"]).text();
    for (given, why) in [
        (
            r#""universal", "partitioner": "halves""#,
            "`partitioner` is \"halves\", expected default or none",
        ),
        (r#""binomial", "target-file-bytes": 0"#, "`target-file-bytes` is 0, expected 1024 to"),
        (
            r#""tiered", "partitioner": "global-range", "domain-least": "6b", "domain-greatest": "61""#,
            "`domain-greatest` is 61, expected a key after `domain-least`: 6b",
        ),
        (
            r#""minlatency", "partitioner": "size", "target-file-bytes": 2048, "flush-floor-bytes": 2049"#,
            "`flush-floor-bytes` is 2049, expected at most `target-file-bytes`: 2048",
        ),
        (
            r#""spooky", "partitioner": "size""#,
            "unknown parameter `partitioner`, expected `size-ratio`",
        ),
    ] {
        let json = format!(r#"{{"policy": {given}}}"#);
        for command in [["policy", "db", &json].as_slice(), &["bench", "--policy", &json]] {
            let refused = place.run(command);
            assert!(refused.code == Some(2) && refused.err.contains(why), "{}", refused.err);
        }
    }
    assert_eq!(place.run(&["policy", "db"]).text(), before);
}

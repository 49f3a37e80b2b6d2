//! Commands that take a range of keys: count, delete, compact, and what is wrong with a range.

use crate::place::Place;

impl Place {
    /// A store with `count` keys, numbered from 0.
    fn numbered(&self, count: usize) {
        let rows: String = (0..count).map(|n| format!("k{n:06}\t{n}\n")).collect();
        self.run_with_input(&["load", "db", "--format", "tsv"], rows.as_bytes()).ok();
    }

    fn count(&self, args: &[&str]) -> String {
        self.run(&[&["count", "db"], args].concat()).text()
    }
}

#[test]
fn count_counts_the_live_keys_of_a_range() {
    let place = Place::new();
    place.numbered(100);
    place.run(&["put", "db", "k000001", "again"]).ok();
    place.run(&["delete", "db", "k000002"]).ok();
    assert_eq!(place.count(&[]), "99\n");
    assert_eq!(place.count(&["--prefix", "k00001"]), "10\n");
    assert_eq!(place.count(&["--range", "k000090.."]), "10\n");
    assert_eq!(place.count(&["--from", "k000000", "--to", "k000003", "--json"]), "{\"count\":2}\n");
    assert_eq!(place.count(&["--hex", "--prefix", "6b3030303031"]), "10\n");
}

#[test]
fn a_range_is_deleted_by_one_write() {
    let place = Place::new();
    place.numbered(3500);
    let deleted = place.run(&["delete", "db", "--from", "k000100", "--to", "k003400"]);
    assert_eq!((deleted.err.as_str(), deleted.code), ("", Some(0)));
    assert_eq!(place.count(&[]), "200\n");
    // One write, as the next put shows.
    place.run(&["put", "db", "k000000", "v"]).ok();
    let put = place.run(&["get", "db", "k000000", "--sequence"]);
    assert!(put.err.is_empty(), "{}", put.err);
    place.run(&["delete", "db", "--prefix", "k0000"]).ok();
    assert_eq!(place.count(&[]), "100\n");
    place.run(&["delete", "db", "--range", ".."]).ok();
    assert_eq!(place.count(&[]), "0\n");
    assert_eq!(place.run(&["check", "db"]).code, Some(0));
}

#[test]
fn a_delete_names_a_key_or_a_range() {
    let place = Place::new();
    place.numbered(3);
    for args in [&["delete", "db"][..], &["delete", "db", "k000000", "--prefix", "k"]] {
        let run = place.run(args);
        assert_eq!(run.code, Some(2));
        assert!(run.err.contains("--prefix <KEY>"), "{}", run.err);
    }
    for empty in [&["--prefix", ""][..], &["--from", ""], &["--hex", "--prefix", ""]] {
        let run = place.run(&[&["delete", "db"], empty].concat());
        run.fails(2, &["that is not empty", "--range .. for every key"]);
    }
    assert_eq!(place.run(&["delete", "db", "--to", ""]).ok(), b"");
    assert_eq!(place.count(&[]), "3\n");
}

#[test]
fn an_inverted_range_is_a_usage_error_everywhere() {
    let place = Place::new();
    place.numbered(3);
    for command in ["scan", "count", "delete", "compact"] {
        for args in [&["--from", "b", "--to", "a"][..], &["--range", "b..a"]] {
            let run = place.run(&[&[command, "db"], args].concat());
            run.fails(2, &["\"b\" to \"a\"", "for example: --from a --to b"]);
        }
    }
    assert_eq!(place.count(&[]), "3\n");
}

#[test]
fn a_malformed_range_shows_an_example() {
    let place = Place::new();
    place.numbered(3);
    for range in ["a", "a..b..c", "a-b"] {
        let scan = place.run(&["scan", "db", "--range", range]);
        scan.fails(2, &["FROM..TO", range, "for example: --range a..b"]);
    }
    let hex = place.run(&["scan", "db", "--hex", "--range", "6b..x"]);
    hex.fails(2, &["hexadecimal", "\"x\"", "for example: 00ff2a"]);
}

#[test]
fn compacting_a_range_reports_the_size_of_that_range() {
    let place = Place::new();
    place.numbered(20_000);
    let sizes = |args: &[&str]| {
        let json = place.run(&[&["compact", "db", "--json"], args].concat()).ok();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        ["bytes_before", "bytes_after"].map(|name| json[name].as_u64().unwrap())
    };
    let [_, whole] = sizes(&[]);
    let [before, after] = sizes(&["--prefix", "k0001"]);
    assert!(before < whole / 20 && after < whole / 20, "{before} and {after} of {whole}");
    assert_eq!(sizes(&["--from", "x"]), [0, 0]);
}

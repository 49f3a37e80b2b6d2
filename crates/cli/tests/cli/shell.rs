//! The shell without a terminal: lines of standard input.

use crate::place::{Place, Run};

impl Place {
    fn shell(&self, args: &[&str], lines: &str) -> Run {
        self.run_with_input(&[&["shell", "db"], args].concat(), lines.as_bytes())
    }
}

#[test]
fn lines_run_the_subcommands_on_one_open_store() {
    let place = Place::new();
    let lines = "put a 1\nput b 'two words'\n\n# a comment\nget b\nscan\ncount --prefix a\n";
    let expected = "two words\na\t1\nb\ttwo words\n1\n";
    assert_eq!(place.shell(&["--create"], lines).text(), expected);
    place.shell(&[], "delete --prefix a").ok();
    assert_eq!(place.shell(&["--read-only"], "scan").text(), "b\ttwo words\n");
}

#[test]
fn every_command_of_the_shell_runs() {
    let place = Place::new();
    place.run(&["put", "db", "k", "v"]).ok();
    for command in [
        "stats",
        "levels",
        "check",
        "keyspaces",
        "policies",
        "policy",
        "policy tiered",
        "compact",
        "get k --trace",
        "help",
        "help scan",
        "scan --help",
    ] {
        let shell = place.shell(&[], command);
        assert!(
            !shell.out.is_empty() || shell.err.contains("compacted") || command == "policy tiered"
        );
        shell.ok();
    }
    assert_eq!(place.json(&["policy", "db", "--json"])["policy"], "tiered");
}

#[test]
fn rows_of_a_file_are_loaded_into_the_open_keyspace() {
    let place = Place::new();
    place.file("rows.tsv", "a\t1\nb\t2\n");
    let loaded = place.shell(&["--create"], "use other --create\nload rows.tsv\nscan\n");
    assert!(loaded.err.contains("loaded 2 rows"), "{}", loaded.err);
    assert_eq!(loaded.text(), "a\t1\nb\t2\n");
    assert_eq!(place.run(&["get", "db", "a", "--keyspace", "other"]).ok(), b"1");
    place.shell(&[], "load").fails(2, &["expected a file", "for example"]);
}

#[test]
fn the_first_error_ends_a_script_with_its_exit_code() {
    let place = Place::new();
    place.shell(&["--create"], "put a 1\nget b\nput c 3\n").fails(1, &["line 2", "no key \"b\""]);
    let usage = place.shell(&[], "count\nfrobnicate\n");
    assert_eq!((usage.code, &usage.out[..]), (Some(2), &b"1\n"[..]));
    usage.fails(2, &["line 2: unrecognized subcommand 'frobnicate'", "`help`"]);
    place.shell(&[], "put a 'x").fails(2, &["line 1", "quotes", "put key 'two words'"]);
    place.shell(&[], "put a -").fails(2, &["line 1", "put --hex KEY 2d"]);
    place.shell(&["--read-only"], "put a 2").fails(7, &["line 1", "read"]);
    assert_eq!(place.run(&["scan", "db"]).text(), "a\t1\n");
}

#[test]
fn a_line_that_is_too_long_ends_a_script_before_memory_does() {
    let place = Place::new();
    let long = format!("put a 1\nput b {}\nput c 3\n", "x".repeat(16 << 20));
    place.shell(&["--create"], &long).fails(3, &["line 2", "at most 16777216 bytes", "load"]);
    assert_eq!(place.run(&["scan", "db"]).text(), "a\t1\n");
}

#[test]
fn exit_ends_a_script_before_its_last_line() {
    let place = Place::new();
    for word in ["exit", "quit"] {
        let shell = place.shell(&["--create"], &format!("count\n{word}\ncount\n"));
        assert_eq!(shell.text(), "0\n");
    }
}

#[test]
fn use_switches_keyspaces() {
    let place = Place::new();
    place.shell(&["--create"], "put a 1\nuse --create other\nput b 2\n").ok();
    assert_eq!(place.run(&["scan", "db", "--keyspace", "other"]).text(), "b\t2\n");
    assert_eq!(
        place.shell(&["--keyspace", "other"], "scan\nuse default\nscan").text(),
        "b\t2\na\t1\n"
    );
    place.shell(&[], "use othre").fails(4, &["line 1", "\"othre\"", "\"other\""]);
}

#[test]
fn a_shell_creates_no_store_without_create() {
    let place = Place::new();
    place.shell(&[], "count").fails(4, &["db holds no Terrane store"]);
    assert!(!place.path("db").exists());
}

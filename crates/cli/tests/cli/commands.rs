//! The commands, and their failures.

use crate::place::{Place, names, rows_loaded};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

#[test]
fn put_get_scan_and_delete_agree() {
    let place = Place::new();
    assert_eq!(place.run(&["put", "db", "b", "two words"]).ok(), b"");
    place.run(&["put", "db", "a", "1"]).ok();
    place.run(&["put", "db", "c", ""]).ok();
    assert_eq!(place.run(&["get", "db", "b"]).ok(), b"two words");
    assert_eq!(place.run(&["get", "db", "c"]).ok(), b"");
    assert_eq!(place.run(&["scan", "db"]).text(), "a\t1\nb\ttwo words\nc\t\n");
    place.run(&["delete", "db", "b"]).ok();
    place.run(&["delete", "db", "b"]).ok();
    place.run(&["get", "db", "b"]).fails(1, &["no key \"b\""]);
    assert_eq!(place.run(&["scan", "db"]).text(), "a\t1\nc\t\n");
}

#[test]
fn a_key_is_written_if_its_condition_holds() {
    let place = Place::new();
    place.run(&["put", "db", "lock", "me", "--if-absent"]).ok();
    place.run(&["put", "db", "lock", "you", "--if-absent"]).fails(1, &["\"me\"", "sequence 1"]);
    place.run(&["put", "db", "other", "x", "--if-exists"]).fails(1, &["found no value"]);
    place.run(&["put", "db", "lock", "us", "--if-value", "me"]).ok();
    assert_eq!(place.run(&["get", "db", "lock", "--sequence"]).text(), "2\n");
    let json = place.run(&["get", "db", "lock", "--sequence", "--json"]).text();
    assert_eq!(json, "{\"sequence\":2}\n");
    place.run(&["get", "db", "none", "--sequence"]).fails(1, &["no key \"none\""]);
    place.run(&["delete", "db", "lock", "--if-sequence", "1"]).fails(1, &["\"us\""]);
    place.run(&["delete", "db", "--hex", "6c6f636b", "--if-value", "7573"]).ok();
    assert_eq!(place.run(&["scan", "db"]).text(), "");
}

#[test]
fn a_value_is_kept_until_its_time_also_in_copies() {
    let place = Place::new();
    place.run(&["put", "db", "short", "x", "--ttl", "0s"]).ok();
    place.run(&["get", "db", "short"]).fails(1, &["no key \"short\""]);
    place.run(&["put", "db", "long", "y", "--expires-at", "2286-11-20T17:46:40Z"]).ok();
    place.run(&["put", "db", "lasting", "z"]).ok();
    place.run(&["put", "db", "day", "y", "--ttl", "1day 12h", "--if-absent"]).ok();
    assert_eq!(place.run(&["scan", "db", "--keys-only"]).text(), "day\nlasting\nlong\n");
    place.run(&["export", "db", "copy"]).ok();
    place.run(&["import", "copy", "again"]).ok();
    for db in ["db", "again"] {
        let expires_at = |key| place.run(&["get", db, key, "--expires-at"]).text();
        assert_eq!(expires_at("long"), "2286-11-20T17:46:40.000Z\n");
        assert_eq!(expires_at("lasting"), "never\n");
        let json = place.run(&["get", db, "long", "--sequence", "--json"]).text();
        assert_eq!(json, "{\"sequence\":2,\"expiresAt\":10000000000000}\n");
    }
    place.run(&["put", "db", "short", "x", "--expires-at", "1971-01-01 00:00:00"]).ok();
    let told = place.run(&["get", "db", "short", "--trace"]);
    let steps = String::from_utf8(told.out.clone()).unwrap();
    assert!(steps.contains("expired at 1971-01-01T00:00:00.000Z"), "{steps}");
    told.fails(1, &["no key"]);
    let time = "2030-01-01T00:00:00Z";
    for (wrong, words) in [
        (&["--ttl", "soon"][..], "expected a duration, for example 90s"),
        (&["--ttl", "-5s"], "invalid value '-5s' for '--ttl"),
        (&["--expires-at", "soon"], "expected a time in UTC since 1970, for example 2030"),
        (&["--ttl", "1s", "--expires-at", time], "cannot be used with"),
    ] {
        let refused = place.run(&[&["put", "db", "k", "v"], wrong].concat());
        assert!(refused.code == Some(2) && refused.err.contains(words), "{}", refused.err);
    }
}

#[test]
fn merges_add_and_keep_the_lesser_or_the_greater() {
    let place = Place::new();
    for operand in ["--add=5", "--add=-7", "--max=3", "--min=9"] {
        place.run(&["merge", "db", "n", operand]).ok();
    }
    assert_eq!(place.run(&["get", "db", "n"]).text(), "3");
    place.run(&["merge", "db", "n", "--add", "1", "--if-value", "4"]).fails(1, &["\"3\""]);
    place.run(&["merge", "db", "n", "--add", "1", "--if-value", "3"]).ok();
    let commands = "merge n --add 6\nput m text\nmerge m --add 2\nscan\n";
    let shell = place.run_with_input(&["shell", "db"], commands.as_bytes()).text();
    assert!(shell.contains("m\t2\nn\t10\n"), "{shell}");
    let steps = place.run(&["get", "db", "n", "--trace"]);
    assert!(String::from_utf8(steps.out).unwrap().contains("operand"), "{}", steps.err);
    place.run(&["put", "db", "n", "x", "--ttl", "1h"]).fails(3, &["merges", "values that expire"]);
    for (wrong, words) in [
        (&["n"][..], "--add <NUMBER>"),
        (&["n", "--add", "1", "--min", "2"], "cannot be used with"),
        (&["n", "--add", "1.5"], "'1.5' for '--add <NUMBER>': expected an integer of 64 bits"),
        (&["n", "--max", "9223372036854775808"], "to 9223372036854775807, for example 41 or -3"),
    ] {
        let refused = place.run(&[&["merge", "other"], wrong].concat());
        assert!(refused.code == Some(2) && refused.err.contains(words), "{}", refused.err);
    }
    assert!(!place.path("other").exists());
}

#[test]
fn values_of_a_keyspace_are_listed_by_kind() {
    let place = Place::new();
    place.run(&["put", "db", "k", "v"]).ok();
    place.run(&["put", "db", "k", "v", "--keyspace", "a", "--ttl", "1h"]).ok();
    place.run(&["merge", "db", "k", "--keyspace", "b", "--add", "1"]).ok();
    let kinds: Vec<_> = place.json(&["keyspaces", "db", "--json"]).as_array().unwrap().clone();
    let kinds: Vec<_> = kinds.iter().map(|row| row["values"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["plain", "expiring", "counters"]);
    let table = place.run(&["keyspaces", "db"]).text();
    assert!(table.lines().any(|l| l.starts_with("b ") && l.contains(" counters ")), "{table}");
    assert!(place.run(&["stats", "db"]).text().contains("values: expiring"));
    let refused = ["no values that expire in \"b\"", "use another keyspace"];
    place.run(&["put", "db", "k", "v", "--keyspace", "b", "--ttl", "1h"]).fails(3, &refused);
}

#[test]
fn a_store_with_an_application_s_operator_is_only_salvaged() {
    let place = Place::new();
    let append: terrane::MergeOperator = std::sync::Arc::new(|a, b| [a, b].concat());
    let options = terrane::Options::default().merge_operator(append);
    let db = terrane::Db::open(place.path("db"), options).unwrap();
    let texts = db.default_keyspace();
    texts.merge("k", terrane::Operand::Custom(b"a"), terrane::Durability::Buffered).unwrap();
    drop(texts);
    db.close().unwrap();
    let words = ["db", "Options::merge_operator", "`check`"];
    for command in [&["get", "db", "k"][..], &["stats", "db"], &["put", "db", "k", "v"]] {
        place.run(command).fails(3, &words);
    }
    place.run(&["check", "db"]).ok();
    place.run(&["repair", "db", "new"]).ok();
}

#[test]
fn conditions_are_for_one_key_and_one_at_a_time() {
    let place = Place::new();
    let both = place.run(&["put", "db", "k", "v", "--if-absent", "--if-exists"]);
    assert!(both.code == Some(2) && both.err.contains("cannot be used with"), "{}", both.err);
    place.run(&["put", "db", "--hex", "00", "00", "--if-value", "x"]).fails(2, &["hexadecimal"]);
    let range = place.run(&["delete", "db", "--range", "..", "--if-exists"]);
    range.fails(2, &["expected a key", "found a range"]);
    assert!(!place.path("db").exists());
}

#[test]
fn values_come_from_standard_input_and_hexadecimal_digits() {
    let place = Place::new();
    place.run_with_input(&["put", "db", "k", "-"], b"\x00\xff\n").ok();
    assert_eq!(place.run(&["get", "db", "k"]).ok(), b"\x00\xff\n");
    assert_eq!(place.run(&["get", "db", "--hex", "6b"]).text(), "00ff0a\n");
    place.run(&["put", "db", "--hex", "FF00", "2d"]).ok();
    assert_eq!(place.run(&["get", "db", "--hex", "ff00"]).text(), "2d\n");
    place.run(&["get", "db", "--hex", "f"]).fails(2, &["hexadecimal digits", "\"f\""]);
}

#[test]
fn a_trace_shows_how_a_value_is_found() {
    let place = Place::new();
    for (key, value) in [("a", "one"), ("b", "two")] {
        place.run(&["put", "db", key, value]).ok();
        place.flush("db");
    }
    let told = place.run(&["get", "db", "a", "--trace"]).text();
    for words in ["active memtable", "no table spans the key", "from the file", "3 bytes"] {
        assert!(told.contains(words), "expected {words:?} in {told}");
    }
    let json = place.run(&["get", "db", "a", "--trace", "--json"]).ok();
    let trace: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let steps = trace["steps"].as_array().unwrap();
    let names: Vec<_> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    let way = ["memtable", "absent", "run", "run", "filter", "block", "value"];
    assert_eq!(names, way);
    assert_eq!(trace["counts"]["blocks"], 1);
    let missing = place.run(&["get", "db", "c", "--trace"]);
    missing.fails(1, &["no key \"c\""]);
    assert!(String::from_utf8(missing.out).unwrap().contains("0 blocks"));
    assert_eq!(
        place.run(&["get", "db", "a", "--json"]).text(),
        "{\"key\":\"a\",\"value\":\"one\"}\n"
    );
}

#[test]
fn a_scan_keeps_to_its_bounds_and_limit() {
    let place = Place::new();
    place.run_with_input(&["load", "db", "--format", "tsv"], b"a\nb1\nb2\nb3\nc\n").ok();
    let keys = |args: &[&str]| {
        let scan = [&["scan", "db", "--keys-only"], args].concat();
        place.run(&scan).text().lines().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(&[]), "a b1 b2 b3 c");
    assert_eq!(keys(&["--from", "b1", "--to", "b3"]), "b1 b2");
    assert_eq!(keys(&["--prefix", "b"]), "b1 b2 b3");
    assert_eq!(keys(&["--prefix", "b", "--from", "b2", "--limit", "1"]), "b2");
    assert_eq!(keys(&["--range", "b1..b3"]), "b1 b2");
    assert_eq!(keys(&["--from", "b1", "--to", "b1"]), "");
    assert_eq!(keys(&["--hex", "--from", "6233"]), "b3 c");
    assert_eq!(keys(&["--limit", "0"]), "");
}

#[test]
fn a_scan_whose_reader_leaves_ends_quietly() {
    let place = Place::new();
    let rows: String = (0..100_000).map(|n| format!("key-{n:08}\n")).collect();
    place.run_with_input(&["load", "db", "--format", "tsv"], rows.as_bytes()).ok();
    let mut scan = place
        .terrane(&["scan", "db"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(scan.stdout.take());
    let output = scan.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn stats_show_the_levels_as_a_table_and_as_json() {
    let place = Place::new();
    place.run_with_input(&["load", "db", "--format", "tsv"], b"a\nb\nc\n").ok();
    place.flush("db");
    place.run(&["delete", "db", "a"]).ok();
    place.flush("db");
    let json = place.run(&["stats", "db", "--json"]).text();
    let stats: serde_json::Value = serde_json::from_str(&json).unwrap();
    let levels = stats["keyspaces"][0]["levels"].as_array().unwrap();
    let sum = |field: &str| levels.iter().map(|l| l[field].as_u64().unwrap()).sum::<u64>();
    // Three puts and a delete.
    assert_eq!((sum("entries"), sum("tombstones")), (4, 1));
    assert_eq!(
        (&stats["totals"]["entries"], &stats["totals"]["tombstones"]),
        (&4.into(), &1.into())
    );
    // What lasts is at the top, what was counted since this command opened the store below it.
    assert_eq!(stats["quarantine_bytes"], 0);
    assert!(stats["since_open"]["quarantine_bytes"].is_null(), "{stats}");
    // Nothing was written since then, and it says so.
    assert_eq!(stats["since_open"]["entries"], 0);
    assert!(stats["entries"].is_null());
    let space = |of: &str| stats["space"][of].as_u64().unwrap();
    let tables = stats["totals"]["bytes"].as_u64().unwrap();
    assert!(space("live") > tables && space("live") < space("taken"), "{stats}");
    let table = place.run(&["stats", "db"]).text();
    let all = table.lines().find(|l| l.trim_start().starts_with("all ")).expect(&table);
    let cells: Vec<_> = all.split_whitespace().collect();
    // The memory of filters, two cells, ends the row.
    assert_eq!(cells[cells.len() - 4..cells.len() - 2], ["4", "1"], "{table}");
}

#[test]
fn stats_of_an_open_store_show_its_background_work() {
    let place = Place::new();
    let stats = |show: &str| {
        let lines = format!("put a 1\ncompact\nput a 2\ncompact\n{show}\n");
        let shell = ["shell", "db", "--create", "--workers", "2", "--debt-mib", "0"];
        place.run_with_input(&shell, lines.as_bytes()).text()
    };
    let shown: serde_json::Value = serde_json::from_str(&stats("stats --json")).unwrap();
    let background = &shown["since_open"]["background"];
    assert_eq!(background["flushes"]["ended"], 2, "{background}");
    let bytes = |name: &str| background["merges"][name].as_u64().unwrap();
    assert!(bytes("written_bytes") > 0 && bytes("bytes_per_second") > 0, "{background}");
    assert_eq!(background["busy_micros"].as_array().unwrap().len(), 4, "{background}");
    let table = stats("stats");
    let flushes =
        table.lines().find(|line| line.trim_start().starts_with("flushes")).expect(&table);
    let cells: Vec<_> = flushes.split_whitespace().take(4).collect();
    assert_eq!(cells, ["flushes", "0", "0", "2"], "{table}");
    // A command that only reads has none to show.
    assert!(!place.run(&["stats", "db"]).text().contains("flushes"));
}

#[test]
fn check_reports_all_damage_and_changes_nothing() {
    let place = Place::new();
    let load = ["load", "db", "--format", "tsv"];
    for part in 0..3 {
        let rows: String = (0..20_000).map(|n| format!("{n:08}\t{part}-{n}\n")).collect();
        place.run_with_input(&load, rows.as_bytes()).ok();
        place.flush("db");
    }
    let before = names(&place.path("db"));
    let sound = place.run(&["check", "db"]).text();
    assert!(sound.starts_with("read "), "{sound}");
    assert_eq!(names(&place.path("db")), before);

    let tables: Vec<_> = before.iter().filter(|n| n.ends_with(".sst")).collect();
    for table in &tables {
        let path = place.path("db").join(table);
        let mut bytes = std::fs::read(&path).unwrap();
        // The footer: no such table can be opened.
        let at = bytes.len() - 1;
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let check = place.run(&["check", "db"]);
    check.fails(6, &["db is damaged in"]);
    let out = String::from_utf8(check.out).unwrap();
    for table in &tables {
        assert!(out.contains(*table), "expected {table} in {out}");
    }
    let json = place.run(&["check", "db", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.out).unwrap();
    assert_eq!(report["damage"].as_array().unwrap().len(), tables.len());
    place.run(&["get", "db", "00000001"]).fails(6, &["is damaged at byte", "expected", "found"]);
}

#[test]
fn only_load_put_and_a_creating_shell_create_a_store() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    std::fs::create_dir(place.path("other")).unwrap();
    place.file("other/notes.txt", "hello");
    place.file("file", "hello");
    let commands: [&[&str]; 5] = [&["get"], &["delete"], &["scan"], &["stats"], &["check"]];
    for command in commands {
        for dir in ["missing", "empty", "other", "file"] {
            let key: &[&str] = if ["get", "delete"].contains(&command[0]) { &["k"] } else { &[] };
            place.run(&[command, &[dir], key].concat()).fails(4, &[dir, "holds no Terrane store"]);
        }
    }
    assert!(!place.path("missing").exists());
    assert!(names(&place.path("empty")).is_empty());
    assert_eq!(names(&place.path("other")), ["notes.txt"]);
    place.run(&["put", "other", "k", "v"]).fails(4, &["other", "notes.txt"]);
}

#[test]
fn a_store_of_a_later_release_is_not_damage() {
    let place = Place::new();
    place.run(&["put", "db", "k", "v"]).ok();
    let manifest =
        names(&place.path("db")).into_iter().find(|n| n.starts_with("MANIFEST")).unwrap();
    later_release(&place.path("db").join(manifest));
    place.run(&["get", "db", "k"]).fails(4, &["written by a later release", "this release knows"]);
    place.run(&["check", "db"]).fails(4, &["later release"]);
}

#[test]
fn a_second_opener_learns_which_process_has_the_store() {
    let place = Place::new();
    let mut load = place
        .terrane(&["load", "db", "--format", "tsv", "--batch", "1"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The store is opened for the first batch.
    let mut stdin = load.stdin.take().unwrap();
    stdin.write_all(b"a\t1\n").unwrap();
    // The lock's file names its holder once it is held.
    let lock = place.path("db/LOCK");
    let holder = format!("process {} (terrane)", load.id());
    while std::fs::read_to_string(&lock).ok().as_ref() != Some(&holder) {
        assert!(load.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    while !place.path("db/CURRENT").exists() {
        assert!(load.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    for args in [["get", "db", "k"].as_slice(), &["check", "db"], &["put", "db", "k", "v"]] {
        place.run(args).fails(5, &["db is in use by", &holder]);
    }
    drop(stdin);
    assert_eq!(load.wait().unwrap().code(), Some(0));
    assert_eq!(place.run(&["scan", "db"]).ok(), b"a\t1\n");
}

#[test]
#[cfg(unix)]
fn operating_system_errors_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.run(&["load", "db", "missing.tsv"]).fails(7, &["missing.tsv", "No such file"]);
    assert!(!place.path("db").exists());
    place.run(&["load", "db", ".", "--format", "tsv"]).fails(7, &["could not read ."]);

    // A full disk, as a device plays it.
    if Path::new("/dev/full").exists() {
        place.run(&["put", "db", "k", "v"]).ok();
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let scan = place.terrane(&["scan", "db"]).stdout(full).output().unwrap();
        assert_eq!(scan.status.code(), Some(7));
    }

    place.run(&["put", "locked", "k", "v"]).ok();
    let set =
        |mode| std::fs::set_permissions(place.path("locked"), PermissionsExt::from_mode(mode));
    set(0o000).unwrap();
    if std::fs::read_dir(place.path("locked")).is_ok() {
        println!("permissions do not bind this user: nothing to see");
    } else {
        place.run(&["get", "locked", "k"]).fails(7, &["locked", "denied"]);
    }
    set(0o700).unwrap();
}

#[test]
fn malformed_arguments_are_a_usage_error() {
    let place = Place::new();
    place.file("rows.txt", "a\n");
    assert_eq!(place.run(&["frobnicate"]).code, Some(2));
    assert_eq!(
        place.run(&["load", "db", "rows.txt", "--format", "tsv", "--batch", "0"]).code,
        Some(2)
    );
    place.run(&["load", "db", "rows.txt"]).fails(2, &["--format", "rows.txt"]);
    place.run(&["load", "db"]).fails(2, &["--format", "standard input"]);
    let named = ["load", "db", "rows.txt", "--format", "tsv", "--key", "name"];
    place.run(&named).fails(2, &["--key", "--header", "\"name\""]);
    assert!(!place.path("db").exists());
    let help = place.run(&["--help"]).text();
    assert!(help.contains("Exit codes:"), "{help}");
}

#[test]
fn a_key_or_value_over_its_limit_creates_no_store() {
    let place = Place::new();
    let long = "k".repeat(65_536);
    place.run(&["put", "db", &long, "v"]).fails(3, &["key", "65535", "65536"]);
    let value = vec![b'v'; (64 << 20) + 1];
    place.run_with_input(&["put", "db", "k", "-"], &value).fails(3, &["value", "67108864"]);
    assert!(!place.path("db").exists());

    let rows = format!("a\nb\n{long}\nc\n");
    let load =
        place.run_with_input(&["load", "db", "--format", "tsv", "--batch", "2"], rows.as_bytes());
    load.fails(3, &["standard input, line 3", "at most 65535 bytes", "found 65536 bytes"]);
    assert_eq!(rows_loaded(&load.err), 2);
    assert_eq!(place.run(&["scan", "db", "--keys-only"]).text(), "a\nb\n");
}

/// Raises the version that the manifest says by one, in both copies of its first record, whose head
/// is: checksum u64, payload length u32, 0 u32, generation u64, index u64, then the version u32,
/// features, and from byte 44 on the store's id, which salts the checksum.
fn later_release(manifest: &Path) {
    let mut bytes = std::fs::read(manifest).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let end = 32 + usize::try_from(word(8)).unwrap();
    let salt = terrane::coding::checksum(&bytes[44..60], 0);
    let seed = salt ^ word(16).rotate_left(32) ^ word(24);
    for copy in [0, bytes.len() / 2] {
        bytes[copy + 32] += 1;
        let sum = terrane::coding::checksum(&bytes[copy + 8..copy + end], seed);
        bytes[copy..copy + 8].copy_from_slice(&sum.to_le_bytes());
    }
    std::fs::write(manifest, bytes).unwrap();
}

#[test]
fn keyspace_names_are_bounded_and_printed_escaped() {
    let place = Place::new();
    let put = |name: &str| place.run(&["put", "db", "k", "v", "--keyspace", name]);
    let odd = "ev\u{1b}[31mil\nkeyspace fake";
    put(odd).ok();
    for command in [&["stats", "db"][..], &["keyspaces", "db"]] {
        let text = place.run(command).text();
        assert!(
            text.contains(r"ev\x1b[31mil\nkeyspace fake") && !text.contains('\u{1b}'),
            "{text}"
        );
    }
    let unknown = place.run(&["get", "db", "k", "--keyspace", "\u{1b}c"]);
    assert!(unknown.err.contains(r#"no keyspace "\x1bc"; it has "#), "{}", unknown.err);
    for name in ["", &"n".repeat(1025)] {
        assert!(put(name).err.contains("1 to 1024 bytes"));
    }
    put(&"n".repeat(1024)).ok();
    place.run(&["keyspaces", "db"]).ok();
}

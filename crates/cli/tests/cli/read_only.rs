//! Commands that only read: they change nothing, and so need neither room nor permission to write.

use crate::place::Place;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

/// The commands that only read, with the store at `db`. Copies go to `made`.
fn readers(db: &str) -> Vec<Vec<&str>> {
    let commands: [&[&str]; 14] = [
        &["get", db, "000001"],
        &["get", db, "000001", "--trace"],
        &["scan", db],
        &["count", db],
        &["quarantine", db],
        &["shell", db, "--read-only"],
        &["stats", db],
        &["levels", db],
        &["keyspaces", db],
        &["policy", db],
        &["check", db],
        &["check", db, "--json"],
        &["checkpoint", db, "made"],
        &["export", db, "made"],
    ];
    commands.map(<[&str]>::to_vec).into()
}

fn rows(numbers: std::ops::Range<u32>) -> Vec<u8> {
    numbers.flat_map(|n| format!("{n:06}\t{n}\n").into_bytes()).collect()
}

/// A store with tables that policies would merge, more in the log, and the traces of a crash: a file
/// that nothing names, and a damaged copy of the manifest.
fn store(place: &Place) {
    for part in 0..5 {
        let load = ["load", "db", "--format", "tsv"];
        place.run_with_input(&load, &rows(part * 1000..part * 1000 + 2000)).ok();
        if part < 4 {
            place.flush("db");
        }
    }
}

impl Place {
    fn remove(&self, name: &str) {
        let path = self.path(name);
        // Where there is none, there is nothing to remove.
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

fn leave_traces_of_a_crash(place: &Place) {
    place.file("db/00999999.sst", "a stray");
    let names = crate::place::names(&place.path("db"));
    let manifest = names.iter().find(|name| name.starts_with("MANIFEST")).unwrap();
    let path = place.path("db").join(manifest);
    let mut bytes = fs::read(&path).unwrap();
    bytes[40] ^= 1;
    fs::write(path, bytes).unwrap();
    fs::remove_file(place.path("db/LOCK")).unwrap();
}

/// All files below a folder, with their bytes and when they were changed.
fn files(dir: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let (path, changed) = (entry.path(), entry.metadata().unwrap().modified().unwrap());
        if path.is_dir() {
            found.extend(files(&path));
            found.insert(path.display().to_string(), (Vec::new(), changed));
        } else {
            found.insert(path.display().to_string(), (fs::read(&path).unwrap(), changed));
        }
    }
    found
}

#[test]
fn commands_that_only_read_change_no_byte() {
    let place = Place::new();
    store(&place);
    place.run(&["export", "db", "file"]).ok();
    leave_traces_of_a_crash(&place);
    let before = files(&place.path("."));
    for command in [readers("db"), readers("file")].concat() {
        place.run(&command).ok();
        if place.path("made").exists() {
            assert!(place.run(&["scan", "made"]).ok() == rows(0..6000), "{command:?}");
            place.remove("made");
        }
        assert!(files(&place.path(".")) == before, "{command:?} changed something");
    }
    assert!(place.run(&["scan", "db"]).ok() == rows(0..6000));
}

#[test]
fn stores_have_several_readers_but_none_beside_a_writer() {
    let place = Place::new();
    store(&place);
    let open = |read_only| {
        let options = terrane::Options::default().read_only(read_only);
        terrane::Db::open(place.path("db"), options).unwrap()
    };
    let reader = open(true);
    for command in readers("db") {
        place.run(&command).ok();
        place.remove("made");
    }
    for change in [&["put", "db", "k", "v"][..], &["delete", "db", "k"], &["compact", "db"]] {
        place.run(change).fails(5, &["db is in use by another process"]);
    }
    drop(reader);
    let _writer = open(false);
    for command in readers("db") {
        place.run(&command).fails(5, &["db is in use by process"]);
    }
}

/// Runs a script where it may mount things, with the command as `$0`; none where that is refused.
#[cfg(target_os = "linux")]
pub fn with_mounts(place: &Place, script: &str) -> Option<(String, String)> {
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_terrane")])
        .current_dir(place.path("."))
        .output()
        .ok()
        .filter(|output| output.status.success());
    if output.is_none() {
        println!("nothing can be mounted here: nothing to see");
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    output.map(|output| (text(output.stdout), text(output.stderr)))
}

#[test]
#[cfg(target_os = "linux")]
fn a_store_on_a_read_only_file_system_is_read() {
    let place = Place::new();
    store(&place);
    leave_traces_of_a_crash(&place);
    let mut script = "mount --bind db db 2>/dev/null && mount -o remount,ro,bind db || exit 99
        exec 3>&1 >/dev/null\n"
        .to_owned();
    for command in readers("db") {
        script += &format!("$0 {}; echo $? >&3; rm -rf made\n", command.join(" "));
    }
    script += "$0 put db k v; echo $? >&3";
    let Some((out, err)) = with_mounts(&place, &script) else { return };
    assert_eq!(out, "0\n".repeat(readers("db").len()) + "7\n", "{err}");
    assert!(err.contains("ead-only file system"), "{err}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_store_on_a_full_disk_is_read_and_takes_deletes() {
    let place = Place::new();
    place.file("rows.tsv", rows(0..2000));
    let mut script = "mkdir small && mount -t tmpfs -o size=40m tmpfs small 2>/dev/null || exit 99
        exec 3>&1 >/dev/null
        $0 load small/db rows.tsv 2>&1 && $0 compact small/db 2>&1
        $0 load small/db rows.tsv 2>&1
        cat /dev/zero > small/zeros 2>/dev/null\n"
        .to_owned();
    for command in readers("small/db") {
        script += &format!("$0 {}; echo $? >&3; rm -rf made\n", command.join(" "));
    }
    script += "$0 delete small/db 000001; echo $? >&3
        $0 get small/db 000001; echo $? >&3";
    let Some((out, err)) = with_mounts(&place, &script) else { return };
    assert_eq!(out, "0\n".repeat(readers("").len() + 1) + "1\n", "{err}");
    let quarantine = "terrane: 0 bytes in quarantine\n";
    assert_eq!(err, format!("{quarantine}terrane: small/db has no key \"000001\"\n"));
}

#[test]
#[cfg(unix)]
fn a_store_with_more_tables_than_open_files_works() {
    let place = Place::new();
    let policy = r#"{"policy":"leveled","target-file-bytes":1024,"level-base-bytes":1024}"#;
    let load = ["load", "db", "--format", "tsv", "--policy", policy];
    for _ in 0..2 {
        place.run_with_input(&load, &rows(0..40_000)).ok();
        place.run(&["compact", "db"]).ok();
    }
    let json = place.run(&["stats", "db", "--json"]).ok();
    let stats: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let tables = stats["totals"]["tables"].as_u64().unwrap();
    assert!(tables > 400, "{tables} tables");
    let limited = |args: &[&str]| {
        let output = Command::new("sh")
            .args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_terrane")])
            .args(args)
            .current_dir(place.path("."))
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{args:?}: {err}");
        output.stdout
    };
    assert!(limited(&["scan", "db"]) == rows(0..40_000));
    limited(&["check", "db"]);
    limited(&["put", "db", "k", "v"]);
    limited(&["compact", "db"]);
    limited(&["export", "db", "file"]);
    limited(&["checkpoint", "db", "copy"]);
    assert_eq!(limited(&["get", "copy", "k"]), b"v");
}

//! Damaged stores: what their files still hold returns in a new one, and what does not is named.

use crate::place::{Place, Run, names};
#[cfg(target_os = "linux")]
use crate::read_only::with_mounts;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

const ROWS: usize = 6000;

/// A store of two keyspaces, with overwritten and deleted rows, in tables and in a log.
fn store() -> Place {
    let place = Place::new();
    load(&place, &[("default", "old"), ("default", "new"), ("other", "other")]);
    place.run(&["delete", "db", "000007"]).ok();
    place.run(&["put", "db", "last", "in the log"]).ok();
    place
}

/// Loads rows into keyspaces, and turns them into tables each time. The first two loads fit one log.
fn load(place: &Place, parts: &[(&str, &str)]) {
    for (keyspace, value) in parts {
        let rows: String = (0..ROWS).map(|n| format!("{n:06}\t{value}{n}\n")).collect();
        let load = ["load", "db", "--format", "tsv", "--keyspace", keyspace];
        place.run_with_input(&load, rows.as_bytes()).ok();
        place.flush("db");
    }
}

fn rows(place: &Place, store: &str, keyspace: &str) -> BTreeMap<String, String> {
    let scan = place.run(&["scan", store, "--keyspace", keyspace]).text();
    scan.lines().map(|l| l.split_once('\t').map(|(k, v)| (k.into(), v.into())).unwrap()).collect()
}

fn both(place: &Place, store: &str) -> [BTreeMap<String, String>; 2] {
    ["default", "other"].map(|keyspace| rows(place, store, keyspace))
}

fn files(place: &Place, ends: &str) -> Vec<PathBuf> {
    let all = names(&place.path("db")).into_iter().filter(|n| n.contains(ends));
    all.map(|name| place.path("db").join(name)).collect()
}

/// Every file of the store with its bytes, but for the lock's.
fn bytes(place: &Place) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| (name.clone(), std::fs::read(place.path("db").join(&name)).unwrap());
    names(&place.path("db")).into_iter().filter(|n| n != "LOCK").map(read).collect()
}

fn repair(place: &Place) -> Run {
    let before = bytes(place);
    let run = place.run(&["repair", "db", "new"]);
    assert_eq!(bytes(place), before, "the damaged store was changed");
    if run.code == Some(0) || run.code == Some(6) {
        place.run(&["check", "new"]).ok();
    }
    run
}

fn change(path: &PathBuf, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    how(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_sound_store_is_repaired_to_itself() {
    let place = store();
    let before = both(&place, "db");
    let policy = place.run(&["policy", "db", "--json"]).text();
    repair(&place).ok();
    assert_eq!(both(&place, "new"), before);
    assert_eq!(place.run(&["policy", "new", "--json"]).text(), policy);
    place.run(&["repair", "db", "new"]).fails(3, &["new", "there already"]);
    place.run(&["export", "db", "file"]).ok();
    place.run(&["repair", "file", "again"]).ok();
    assert_eq!(both(&place, "again"), before);
}

#[test]
fn a_store_without_current_is_repaired_whole() {
    let place = store();
    let before = both(&place, "db");
    std::fs::remove_file(place.path("db/CURRENT")).unwrap();
    place.run(&["scan", "db"]).fails(6, &["terrane repair"]);
    repair(&place).ok();
    assert_eq!(both(&place, "new"), before);
}

#[test]
fn all_rows_come_back_without_a_manifest_with_a_warning() {
    let place = Place::new();
    let rows_in: String = (0..ROWS).map(|n| format!("{n:06}\t{n}\n")).collect();
    place.run_with_input(&["load", "db", "--format", "tsv"], rows_in.as_bytes()).ok();
    place.flush("db");
    place.run(&["delete", "db", "000007"]).ok();
    place.run(&["put", "db", "last", "in the log"]).ok();
    let before = rows(&place, "db", "default");
    for manifest in files(&place, "MANIFEST") {
        change(&manifest, |bytes| bytes.fill(0));
    }
    place.run(&["scan", "db"]).fails(6, &["terrane repair"]);
    let run = repair(&place);
    run.fails(6, &["new holds what could be read of db"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(report.contains("no manifest") && report.contains("may be back"), "{report}");
    assert_eq!(rows(&place, "new", "default"), before);
}

#[test]
fn rows_return_to_named_keyspaces_without_a_manifest() {
    let place = store();
    let before = both(&place, "db");
    // One more row of each keyspace, in the log.
    for keyspace in ["default", "other"] {
        place.run(&["put", "db", "logged", keyspace, "--keyspace", keyspace]).ok();
    }
    for manifest in files(&place, "MANIFEST") {
        std::fs::remove_file(manifest).unwrap();
    }
    place.run(&["scan", "db"]).fails(6, &["terrane repair"]);
    let answer = repair(&place);
    answer.fails(6, &["new holds what could be read of db"]);
    assert_eq!(place.run(&["keyspaces", "new"]).text().lines().count(), 3);
    for ((keyspace, mut before), after) in
        ["default", "other"].into_iter().zip(before).zip(both(&place, "new"))
    {
        before.insert("logged".into(), keyspace.into());
        assert!(after == before, "{keyspace}");
    }
}

#[test]
fn a_recreated_keyspace_is_not_mixed_with_the_dropped_one() {
    let place = Place::new();
    place.run(&["put", "db", "k", "old", "--keyspace", "again"]).ok();
    place.run(&["compact", "db"]).ok();
    let dropped = files(&place, ".sst");
    let kept: Vec<_> = dropped.iter().map(|path| std::fs::read(path).unwrap()).collect();
    place.run(&["keyspaces", "db", "--drop", "again"]).ok();
    place.run(&["put", "db", "k", "new", "--keyspace", "again"]).ok();
    place.run(&["compact", "db"]).ok();
    for (path, bytes) in dropped.iter().zip(kept) {
        std::fs::write(path, bytes).unwrap();
    }
    for manifest in files(&place, "MANIFEST") {
        std::fs::remove_file(manifest).unwrap();
    }
    repair(&place);
    assert_eq!(rows(&place, "new", "again")["k"], "new");
}

#[test]
fn what_the_manifest_says_before_its_damage_is_kept() {
    let place = Place::new();
    for value in ["old", "new"] {
        let rows: String = (0..ROWS).map(|n| format!("{n:06}\t{value}{n}\n")).collect();
        let load = ["load", "db", "--format", "tsv"];
        place.run_with_input(&load, rows.as_bytes()).ok();
        place.flush("db");
    }
    let before = rows(&place, "db", "default");
    for manifest in files(&place, "MANIFEST") {
        // Both copies of the record after the snapshot.
        change(&manifest, |bytes| {
            let snapshot = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
            let second = 2 * (32 + snapshot).next_multiple_of(512);
            bytes[second..second + 8192].fill(0);
        });
    }
    let run = repair(&place);
    assert!([Some(0), Some(6)].contains(&run.code), "{}", run.err);
    assert_eq!(rows(&place, "new", "default"), before);
}

#[test]
fn tables_without_their_ends_or_names_are_no_loss() {
    let place = store();
    let before = both(&place, "db");
    let tables = files(&place, ".sst");
    change(&tables[0], |bytes| bytes.truncate(bytes.len() - 1));
    let renamed = tables[1].with_file_name("00000099.sst");
    fs::rename(&tables[1], renamed).unwrap();
    let check = place.run(&["check", "db"]);
    check.fails(6, &["is damaged in 2 places"]);
    let report = String::from_utf8(check.out).unwrap();
    let orphan = "00000099.sst: no commit names this file; opening the store removes it, unless the \
                  damage keeps it from being opened";
    assert!(report.contains(orphan), "{report}");
    let report = String::from_utf8(repair(&place).ok()).unwrap();
    assert!(report.contains("00000099.sst is table"), "{report}");
    assert_eq!(both(&place, "new"), before);
}

#[test]
fn a_flipped_bit_costs_one_block_and_its_keys_are_named() {
    let place = Place::new();
    load(&place, &[("default", "new"), ("other", "other")]);
    let before = both(&place, "db");
    for table in files(&place, ".sst") {
        change(&table, |bytes| bytes[100] ^= 1);
    }
    place.run(&["scan", "db"]).fails(6, &["terrane repair"]);
    let run = repair(&place);
    run.fails(6, &["not all of it"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(report.contains("entries from the first key through"), "{report}");
    assert_eq!(both(&place, "new"), before, "the log still holds them: {report}");

    for log in files(&place, ".log") {
        fs::remove_file(log).unwrap();
    }
    fs::remove_dir_all(place.path("new")).unwrap();
    let run = repair(&place);
    let report = String::from_utf8(run.out).unwrap();
    let after = both(&place, "new");
    for (before, after) in before.iter().zip(&after) {
        assert!(after.iter().all(|(key, value)| before.get(key) == Some(value)));
        assert!(after.len() < before.len() && after.len() + 1000 > before.len(), "{report}");
    }
}

#[test]
fn doubtful_rows_are_named_and_kept_apart_on_request() {
    let place = Place::new();
    let options = terrane::Options::default().wal_file_bytes(64 << 10);
    let db = terrane::Db::open(place.path("db"), options).unwrap();
    let (keyspace, other) = (db.default_keyspace(), db.create_keyspace("other").unwrap());
    for n in 0..10 {
        keyspace.put(format!("{n:06}"), n.to_string(), terrane::Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    let tables = files(&place, ".sst");
    for key in ["000003", "000005"] {
        keyspace.delete(key, terrane::Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    let later = files(&place, ".sst").into_iter().find(|table| !tables.contains(table)).unwrap();
    // More than a log holds, so that no log has the deletes.
    for n in 0..6 {
        let value = vec![b'v'; 40_000];
        other.put(n.to_string(), value, terrane::Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    std::fs::remove_file(&later).unwrap();
    let report = |run: Run| {
        run.fails(6, &["not all of it"]);
        String::from_utf8(run.out).unwrap()
    };
    let together = report(repair(&place));
    let range = "doubtful: 3 rows of keyspace default from \"000003\" through \"000005\"";
    assert!(together.contains(range), "{together}");
    assert_eq!(rows(&place, "new", "default").len(), 10);
    let apart = report(place.run(&["repair", "db", "two", "--doubtful-apart"]));
    assert!(apart.contains("keyspace default.doubtful: 3 rows"), "{apart}");
    let doubtful = rows(&place, "two", "default.doubtful");
    assert!(doubtful.keys().eq(["000003", "000004", "000005"]), "{doubtful:?}");
    assert_eq!(rows(&place, "two", "default").len(), 7);
}

#[test]
fn records_beyond_a_damaged_one_of_a_log_come_back() {
    let place = Place::new();
    let input: String = (0..1000).map(|n| format!("{n:06}\t{n}\n")).collect();
    let load = ["load", "db", "--format", "tsv", "--batch", "10"];
    place.run_with_input(&load, input.as_bytes()).ok();
    let log = files(&place, ".log").remove(0);
    change(&log, |bytes| bytes[40] ^= 1);
    let run = repair(&place);
    let report = String::from_utf8(run.out.clone()).unwrap();
    run.fails(6, &["not all of it"]);
    assert!(report.contains("before the next record"), "{report}");
    let name = log.file_name().unwrap().to_str().unwrap();
    assert_eq!(report.matches(&format!("{name}: ")).count(), 1, "{report}");
    let after = rows(&place, "new", "default");
    assert_eq!(after.len(), 990, "{report}");
    assert!(!after.contains_key("000009") && after["000010"] == "10");
}

#[test]
fn a_single_file_is_repaired_without_superblocks_or_manifest() {
    let place = Place::new();
    let input: String = (0..ROWS).map(|n| format!("{n:06}\t{n}\n")).collect();
    place.run_with_input(&["load", "db", "--format", "tsv"], input.as_bytes()).ok();
    place.run(&["compact", "db"]).ok();
    let before = rows(&place, "db", "default");
    place.run(&["export", "db", "file"]).ok();
    change(&place.path("file"), |bytes| bytes[..8192].fill(0));
    place.run(&["repair", "file", "a"]);
    assert_eq!(rows(&place, "a", "default"), before);
    // The first records of every manifest.
    change(&place.path("file"), |bytes| {
        for unit in bytes.chunks_mut(4096).skip(2) {
            let generation = u64::from_le_bytes(unit[16..24].try_into().unwrap());
            let index = u64::from_le_bytes(unit[24..32].try_into().unwrap());
            if generation == 1 && index == 0 {
                unit.fill(0);
            }
        }
    });
    let run = place.run(&["repair", "file", "b"]);
    run.fails(6, &["not all of it"]);
    assert_eq!(rows(&place, "b", "default"), before);
}

#[test]
fn a_log_that_is_gone_is_reported_as_lost() {
    let place = Place::new();
    place.run(&["put", "db", "a", "1"]).ok();
    place.run(&["put", "db", "b", "2"]).ok();
    for log in files(&place, ".log") {
        std::fs::remove_file(log).unwrap();
    }
    let run = repair(&place);
    run.fails(6, &["not all of it"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(report.contains("all of it: there is no such file"), "{report}");
}

#[test]
fn a_truncated_log_is_reported_and_the_rest_is_salvaged() {
    let place = Place::new();
    let input: String = (0..20_000).map(|n| format!("{n:06}\t{n}\n")).collect();
    let load = ["load", "db", "--format", "tsv", "--batch", "10"];
    place.run_with_input(&load, input.as_bytes()).ok();
    let log = files(&place, ".log").remove(0);
    let cut = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    cut.set_len(100_000).unwrap();
    let run = repair(&place);
    run.fails(6, &["not all of it"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(report.contains("bytes from 100000 on: the file is cut short"), "{report}");
    let after = rows(&place, "new", "default");
    assert!(after.len() > 1000 && after["000009"] == "9", "{report}");
}

#[test]
fn synced_records_missing_from_a_logs_end_are_reported() {
    let place = Place::new();
    place.run(&["put", "db", "a", "1"]).ok();
    // All but the claim, which closing leaves behind the record.
    let log = files(&place, ".log").remove(0);
    change(&log, |bytes| bytes[32] ^= 1);
    place.run(&["get", "db", "a"]).fails(6, &["terrane repair"]);
    let run = repair(&place);
    run.fails(6, &["not all of it"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(report.contains("the record with sequence"), "{report}");
}

#[test]
fn what_opening_leaves_out_of_a_log_is_a_note() {
    let place = Place::new();
    place.run(&["put", "db", "a", "1"]).ok();
    let log = files(&place, ".log").remove(0);
    // Behind the record and the claim the front of another record, as a crash leaves it.
    change(&log, |bytes| {
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        let end = end.next_multiple_of(8);
        bytes[end..end + 32].fill(7);
    });
    assert_eq!(place.run(&["get", "db", "a"]).ok(), b"1");
    let run = repair(&place);
    let report = String::from_utf8(run.ok()).unwrap();
    assert!(report.contains("note: 00000001.log: 32 bytes"), "{report}");
    assert_eq!(rows(&place, "new", "default").len(), 1);
}

#[test]
fn records_of_a_recycled_log_survive_a_damaged_manifest() {
    let place = Place::new();
    let options = || terrane::Options::default().wal_file_bytes(1 << 20);
    let db = terrane::Db::open(place.path("db"), options()).unwrap();
    let keyspace = db.create_keyspace("default").unwrap();
    for n in 0..ROWS {
        keyspace
            .put(format!("{n:06}").as_bytes(), &[b'v'; 1000], terrane::Durability::Buffered)
            .unwrap();
        if n % 2000 == 1999 && n < 4000 {
            db.flush().unwrap();
        }
    }
    keyspace.put(b"last", b"in the log", terrane::Durability::Buffered).unwrap();
    db.close().unwrap();
    let before = rows(&place, "db", "default");
    assert!(before.contains_key("last"));
    let manifest = files(&place, "MANIFEST").remove(0);
    change(&manifest, |bytes| {
        // One bit of either copy of the record after the snapshot.
        for mirror in [0, bytes.len() / 2] {
            bytes[mirror + 16384 + 20] ^= 1;
        }
    });
    place.run(&["scan", "db"]).fails(6, &["terrane repair"]);
    let run = repair(&place);
    run.fails(6, &["not all of it"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(!report.contains("lost:"), "{report}");
    assert!(rows(&place, "new", "default") == before, "{report}");
}

#[test]
fn logs_that_a_lost_commit_opened_come_back() {
    let place = Place::new();
    place.run(&["put", "db", "first", "1"]).ok();
    let manifest = files(&place, "MANIFEST").remove(0);
    let old = std::fs::read(&manifest).unwrap();
    let db = terrane::Db::open(place.path("db"), terrane::Options::default()).unwrap();
    let keyspace = db.default_keyspace();
    for n in 0..200 {
        let value = vec![b'v'; 200_000];
        keyspace.put(format!("{n:06}"), &value, terrane::Durability::Buffered).unwrap();
    }
    // Without the flush that a close has time for.
    db.close_within(std::time::Duration::ZERO).unwrap();
    let before = rows(&place, "db", "default");
    for table in files(&place, ".sst") {
        std::fs::remove_file(table).unwrap();
    }
    std::fs::write(manifest, old).unwrap();
    let run = repair(&place);
    run.fails(6, &["not all of it"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(report.contains("the commit that opened it is lost"), "{report}");
    let after = rows(&place, "new", "default");
    // How many more the logs had is a matter of how far flushes were.
    assert!(after.keys().any(|key| key.contains("000199")), "{report}");
    assert!(after.iter().all(|(k, v)| before.get(k) == Some(v)), "{report}");
}

#[test]
fn unnamed_tables_are_no_loss_of_a_sound_store() {
    let place = store();
    let before = both(&place, "db");
    place.file("db/00999998.sst", "the front of a table");
    let table = files(&place, ".sst").remove(0);
    std::fs::copy(table, place.path("db/00999999.sst")).unwrap();
    let report = String::from_utf8(repair(&place).ok()).unwrap();
    assert!(report.contains("note: 2 tables that no commit names were left out"), "{report}");
    assert_eq!(both(&place, "new"), before);
}

#[test]
fn a_volume_that_is_cut_short_is_reported() {
    let place = Place::new();
    let input: String = (0..ROWS).map(|n| format!("{n:06}\t{n}\n")).collect();
    place.run_with_input(&["load", "db", "--format", "tsv"], input.as_bytes()).ok();
    place.run(&["compact", "db"]).ok();
    place.run(&["export", "db", "file"]).ok();
    let file = std::fs::OpenOptions::new().write(true).open(place.path("file")).unwrap();
    let len = file.metadata().unwrap().len();
    for (n, len) in [len / 2, 100_000, 10_000, 4096].into_iter().enumerate() {
        file.set_len(len).unwrap();
        place.run(&["repair", "file", &format!("new{n}")]).fails(6, &["not all of it"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_store_on_a_read_only_file_system_is_repaired() {
    let place = store();
    place.run(&["export", "db", "file"]).ok();
    let before = both(&place, "db");
    let script = "mount --bind db db 2>/dev/null && mount -o remount,ro,bind db || exit 99
        mount --bind file file && mount -o remount,ro,bind file || exit 99
        $0 repair db a >&2; $0 repair file b >&2";
    let Some((_, err)) = with_mounts(&place, script) else { return };
    for new in ["a", "b"] {
        assert_eq!(both(&place, new), before, "{err}");
    }
}

#[test]
fn what_is_no_store_is_not_repaired() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    place.file("text", "hello");
    for source in ["empty", "text"] {
        place.run(&["repair", source, "new"]).fails(4, &[source, "nothing of a Terrane store"]);
    }
    place.run(&["repair", "none", "new"]).fails(4, &["none", "no such directory or file"]);
    assert_eq!(names(&place.path(".")), ["empty", "text"]);
    assert_eq!(names(&place.path("empty")), [""; 0]);
}

#[test]
fn a_manifest_of_another_store_is_ignored() {
    let place = store();
    let before = both(&place, "db");
    place.run(&["put", "other", "key", "value"]).ok();
    place.flush("other");
    let (manifest, foreign) = (&files(&place, "MANIFEST")[0], place.path("other"));
    let theirs = names(&foreign).into_iter().find(|name| name.starts_with("MANIFEST")).unwrap();
    // As often as not under its own name.
    fs::copy(foreign.join(theirs), manifest).unwrap();
    for current in ["sound", "lost"] {
        if current == "lost" {
            fs::remove_file(place.path("db/CURRENT")).unwrap();
            fs::remove_dir_all(place.path("new")).unwrap();
        }
        let run = repair(&place);
        run.fails(6, &["new"]);
        let report = String::from_utf8(run.out).unwrap();
        assert!(report.contains("is ignored: it is another store's"), "{report}");
        let after = both(&place, "new");
        for (found, expected) in after.iter().zip(&before) {
            let lacks: Vec<_> =
                expected.iter().filter(|row| found.get(row.0) != Some(row.1)).collect();
            assert!(lacks.is_empty(), "{current}: {lacks:?}");
        }
    }
}

#[test]
fn a_log_whose_store_is_unknown_is_said_to_be_so() {
    let place = Place::new();
    place.run(&["put", "db", "key", "value"]).ok();
    for name in names(&place.path("db")) {
        if !name.ends_with(".log") {
            fs::remove_file(place.path("db").join(name)).unwrap();
        }
    }
    let run = repair(&place);
    run.fails(6, &["new"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(report.contains("to tell the store's id"), "{report}");
    assert!(!report.contains("first record"), "{report}");
}

#[test]
fn a_file_that_lost_both_superblocks_is_damaged_and_repaired() {
    let place = store();
    let before = both(&place, "db");
    place.run(&["export", "db", "file"]).ok();
    change(&place.path("file"), |bytes| bytes[..32 << 10].fill(0));
    for command in ["check", "scan"] {
        place.run(&[command, "file"]).fails(6, &["terrane repair"]);
    }
    place.run(&["repair", "file", "new"]).ok();
    assert_eq!(both(&place, "new"), before);
    place.file("zeros", vec![0; 100_000]);
    place.run(&["check", "zeros"]).fails(4, &["zeros"]);
}

#[test]
#[cfg(unix)]
fn a_fifo_under_a_tables_name_is_damage_and_not_waited_for() {
    let place = store();
    let table = files(&place, ".sst").remove(0);
    fs::remove_file(&table).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&table).status().unwrap().success());
    let name = table.file_name().unwrap().to_str().unwrap();
    let run = place.run(&["check", "db"]);
    run.fails(6, &["db is damaged"]);
    let report = String::from_utf8(run.out).unwrap();
    assert!(report.contains(name), "{report}");
    place.run(&["count", "db"]).fails(6, &[name]);
    place.run(&["put", "db", "key", "value"]).fails(6, &[name]);
    place.run(&["repair", "db", "new"]).fails(6, &["new"]);
}

//! A process is killed while it writes, again and again: every acknowledged write survives, synced or
//! not, because the operating system had it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use terrane::{Db, Durability, Options};
#[cfg(target_os = "linux")]
use terrane_tests::directory_in_memory;
use terrane_workload::Random;

/// In the process started by this test: the directory to write to, the round, and the first number to write.
const PLACE: &str = "TERRANE_TEST_PLACE";
const ROUND: &str = "TERRANE_TEST_ROUND";
const FIRST: &str = "TERRANE_TEST_FIRST";

/// So small that logs fill, memtables are flushed and tables merged all the time, with one file open, a
/// few, or all of them, and files that are mapped or not. Logs of every other round are written through memory; one in
/// three has several windows.
fn options(round: u64) -> Options {
    let max_open_files = [1, 3, 1000][(round % 3) as usize];
    Options::small()
        .memtable_bytes(32 << 10)
        .wal_file_bytes([16 << 10, 16 << 10, 200 << 10][(round % 3) as usize])
        .max_open_files(max_open_files)
        .allow_mmap_writes(round.is_multiple_of(2))
        .allow_mmap_reads(round.is_multiple_of(3))
}

fn key(n: u64) -> [u8; 8] {
    // Out of order, so that merges have work.
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes()
}

fn value(n: u64) -> Vec<u8> {
    n.to_le_bytes().repeat(1 + n as usize % 20)
}

fn writer(place: &Path, round: u64, first: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed_process::write_until_killed", "--nocapture"])
        .env(PLACE, place)
        .env(ROUND, round.to_string())
        .env(FIRST, first.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The number that a line reports as written; other lines come from the test harness.
fn written(line: &str) -> Option<u64> {
    line.strip_prefix("written ")?.parse().ok()
}

#[test]
fn a_killed_process_loses_no_acknowledged_write() {
    kill_and_reopen(&tempfile::tempdir().unwrap());
}

/// Runs on a file system whose logs are mapped, wherever temporary files are.
#[test]
#[cfg(target_os = "linux")]
fn a_process_killed_on_tmpfs_loses_no_acknowledged_write() {
    kill_and_reopen(&directory_in_memory());
}

fn kill_and_reopen(dir: &TempDir) {
    let mut random = Random(7);
    let mut next = 0;
    for round in 0..6 {
        let mut child = writer(dir.path(), round, next);
        let until = next + 1 + random.below(3000);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let reported = lines.by_ref().filter_map(|line| written(&line)).find(|n| *n >= until);
        assert!(reported.is_some(), "round {round}: the writer ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        // The last number it reported, and the one it may have written without reporting it.
        let reported = lines.filter_map(|line| written(&line)).last().or(reported).unwrap();
        // A log written through memory is continued by calls, and vice versa.
        let db = Db::open(dir.path(), options(round + 1)).unwrap();
        assert_eq!(db.check().unwrap().damage, []);
        let rows = db.default_keyspace();
        let found = count(&rows);
        assert!(found > reported, "round {round}: {found} rows, but {reported} was reported");
        for n in 0..found {
            assert_eq!(rows.get(&key(n)).unwrap(), Some(value(n)), "round {round}: row {n}");
        }
        next = found;
        drop(db);
    }
}

fn count(rows: &terrane::Keyspace) -> u64 {
    rows.scan(..).unwrap().try_fold(0, |count, row| row.map(|_| count + 1)).unwrap()
}

/// The other process: writes, buffered, reports each row, and never ends.
#[test]
fn write_until_killed() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let [round, first] = [ROUND, FIRST].map(|name| std::env::var(name).unwrap().parse().unwrap());
    let db = Db::open(Path::new(&place), options(round)).unwrap();
    let rows = db.default_keyspace();
    let mut out = std::io::stdout().lock();
    for n in first.. {
        rows.put(&key(n), &value(n), Durability::Buffered).unwrap();
        // Nobody reads: the test has failed.
        if writeln!(out, "written {n}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

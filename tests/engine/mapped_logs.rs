//! Logs that are written through memory: which are, and what a full disk does to them.

use std::path::Path;
use std::process::Command;
use terrane::{Db, Durability::Buffered, ErrorKind, Options};
use terrane_workload::Random;

/// In the process started by the test of a full disk: the disk, and whether logs are mapped.
const DISK: &str = "TERRANE_TEST_DISK";
const MAPS: &str = "TERRANE_TEST_MAPS";

/// Bytes of each value.
const VALUE_BYTES: usize = 1000;

/// The bytes of files in `dir` that this process has mapped to write them.
fn mapped_in(dir: &Path) -> Vec<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let dir = dir.display().to_string();
    let writable = |line: &&str| line.contains(" rw-s ") && line.contains(&dir);
    let bytes = |line: &str| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        Some(u64::from_str_radix(to, 16).ok()? - u64::from_str_radix(from, 16).ok()?)
    };
    maps.lines().filter(writable).filter_map(bytes).collect()
}

#[test]
fn a_log_is_written_through_one_window_unless_that_is_off() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    for (options, expected) in [
        (Options::default(), vec![64 << 10]),
        (Options::default().allow_mmap_writes(false), vec![]),
    ] {
        let db = Db::open(dir.path(), options).unwrap();
        let rows = db.default_keyspace();
        // Several windows, in several logs.
        for n in 0..2000u64 {
            rows.put(n.to_be_bytes(), [n as u8; VALUE_BYTES], Buffered).unwrap();
        }
        assert_eq!(mapped_in(dir.path()), expected);
        db.close().unwrap();
        assert_eq!(mapped_in(dir.path()), []);
    }
}

#[test]
fn a_full_disk_is_an_error_that_loses_no_write() {
    for maps in ["mapped", "unmapped"] {
        let script = "mkdir \"$1/small\" && mount -t tmpfs -o size=5m tmpfs \"$1/small\" || exit 99
            TERRANE_TEST_DISK=\"$1/small\" \"$0\" --exact mapped_logs::fill_a_disk --nocapture";
        let place = tempfile::tempdir().unwrap();
        let ended = Command::new("unshare")
            .args(["-rm", "sh", "-c", script])
            .arg(std::env::current_exe().unwrap())
            .arg(place.path())
            .env(MAPS, maps)
            .output();
        match ended {
            Ok(ended) if ended.stdout.windows(5).any(|part| part == b"full\n") => {
                assert!(ended.status.success(), "{ended:?}");
            }
            Ok(ended) if ![Some(1), Some(99)].contains(&ended.status.code()) => panic!("{ended:?}"),
            _ => println!("no small disk can be mounted here: nothing to see"),
        }
    }
}

/// The other process: fills the disk twice, and finds all that was written.
#[test]
fn fill_a_disk() {
    let Some(disk) = std::env::var_os(DISK) else { return };
    let store = Path::new(&disk).join("store");
    let maps = std::env::var(MAPS).unwrap() == "mapped";
    let options = Options::default().allow_mmap_writes(maps);
    let mut written: u64 = 0;
    for round in 0..2 {
        let db = Db::open(&store, options.clone()).unwrap();
        let rows = db.default_keyspace();
        for n in 0..written {
            assert_eq!(rows.get(n.to_be_bytes()).unwrap(), Some(value(n)), "round {round}");
        }
        assert_eq!(mapped_in(&store).len(), usize::from(maps));
        let refused = loop {
            match rows.put(written.to_be_bytes(), value(written), Buffered) {
                Ok(_) => written += 1,
                Err(e) => break e,
            }
        };
        assert!(refused.is_no_space(), "{refused}");
        assert!(!matches!(refused.kind(), ErrorKind::Poisoned(_)), "{refused}");
        db.sync().unwrap();
    }
    assert!(written > 1000, "{written} rows");
    println!("full");
}

/// A value that does not compress.
fn value(n: u64) -> Vec<u8> {
    let mut random = Random(n);
    (0..VALUE_BYTES).map(|_| random.below(256) as u8).collect()
}

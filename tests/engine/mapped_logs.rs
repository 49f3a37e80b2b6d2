//! Logs that are written through memory: the mapped bytes, reads of a log in use, and full disks.
//!
//! Mappings depend on the system ([`can_map`]), and on the memory that other stores of the process lock. So each test
//! runs in a process of its own.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane::storage::Directory;
use terrane::storage::vfs::NativeVfs;
use terrane::{Db, Durability, Durability::Buffered, ErrorKind, Options, WriteBatch};
use terrane_tests::directory_in_memory;
use terrane_workload::Random;

/// In a process started by a test: its directory, and whether logs may be mapped.
const PLACE: &str = "TERRANE_TEST_PLACE";
const MAPS: &str = "TERRANE_TEST_MAPS";

/// Bytes of a window.
const WINDOW_BYTES: usize = 64 << 10;

/// Bytes of each value.
const VALUE_BYTES: usize = 1000;

/// Returns the size of each writable mapping of a file in `dir` in this process.
fn mapped_in(dir: &Path) -> Vec<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let dir = dir.display().to_string();
    let writable = |line: &&str| line.contains(" rw-s ") && line.contains(&dir);
    let bytes = |line: &str| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        let [from, to] = [from, to].map(|at| usize::from_str_radix(at, 16));
        Some(to.ok()? - from.ok()?)
    };
    maps.lines().filter(writable).filter_map(bytes).collect()
}

/// Whether this process can map logs in `dir`: on ext4 or tmpfs, with memory to lock, since Linux 5.14.
fn can_map(dir: &Path) -> bool {
    const POPULATE_WRITE: i32 = 23;
    let path = dir.join("probe");
    let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
    file.set_len(WINDOW_BYTES as u64).unwrap();
    std::fs::remove_file(path).unwrap();
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_LOCKED);
    // SAFETY: `statfs` is a place for the answer; the mapping is new, and unmapped before anybody refers to it.
    unsafe {
        let mut statfs: libc::statfs = std::mem::zeroed();
        assert_eq!(libc::fstatfs(file.as_raw_fd(), &raw mut statfs), 0);
        let start =
            libc::mmap(std::ptr::null_mut(), WINDOW_BYTES, access, flags, file.as_raw_fd(), 0);
        if start == libc::MAP_FAILED {
            return false;
        }
        let populated = libc::madvise(start, WINDOW_BYTES, POPULATE_WRITE) == 0;
        assert_eq!(libc::munmap(start, WINDOW_BYTES), 0);
        populated && [0xef53, 0x0102_1994].contains(&statfs.f_type)
    }
}

/// Returns the expected mappings of a store in `dir`, where `maps` allows logs to be mapped.
fn expected(dir: &Path, maps: bool) -> Vec<usize> {
    if maps && can_map(dir) { vec![WINDOW_BYTES] } else { vec![] }
}

/// Returns the directory of a process that a test started, and whether it may map logs; `None` in other processes.
fn place() -> Option<(PathBuf, bool)> {
    let maps = std::env::var(MAPS).is_ok_and(|maps| maps == "true");
    Some((std::env::var_os(PLACE)?.into(), maps))
}

/// Runs one test in a process of its own, with logs that may be mapped and that may not.
fn run_alone(test: &str) {
    for maps in [true, false] {
        let dir = directory_in_memory();
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(PLACE, dir.path())
            .env(MAPS, maps.to_string())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && printed.contains("1 passed"), "{ended:?}");
    }
}

#[test]
fn each_log_is_written_through_one_window_unless_that_is_off() {
    run_alone("mapped_logs::write_logs");
}

/// The other process: fills several logs of several windows.
#[test]
fn write_logs() {
    let Some((dir, maps)) = place() else { return };
    let expected = expected(&dir, maps);
    let options = Options::default().allow_mmap_writes(maps).wal_file_bytes(192 << 10);
    let db = Db::open(&dir, options).unwrap();
    let rows = db.default_keyspace();
    rows.put(b"synced", b"", Durability::Sync).unwrap();
    assert_eq!(mapped_in(&dir), [], "a log of synced records");
    for n in 0..2000u64 {
        rows.put(n.to_be_bytes(), [n as u8; VALUE_BYTES], Buffered).unwrap();
        // One window, even where no second may be locked, and right after a log was continued in the next one.
        if n % 10 == 9 {
            assert_eq!(mapped_in(&dir), expected, "row {n}");
        }
    }
    assert!(db.stats().unwrap().wal_bytes > 5 * (192 << 10));
    db.close().unwrap();
    assert_eq!(mapped_in(&dir), []);
}

#[test]
fn copies_and_the_feed_have_whole_batches_of_a_log_in_memory() {
    run_alone("mapped_logs::copy_and_follow");
}

/// The other process: makes checkpoints and follows the feed while another thread writes.
#[test]
fn copy_and_follow() {
    const BATCHES: u64 = 3000;
    let bytes = |n: u64| vec![n as u8; n as usize % VALUE_BYTES];
    let Some((dir, maps)) = place() else { return };
    let expected = expected(&dir, maps);
    let options = Options::default().allow_mmap_writes(maps).feed_bytes(64 << 20);
    let db = Db::open(&dir.join("store"), options).unwrap();
    let (rows, cursor, is_done) = (db.default_keyspace(), db.feed_cursor(), AtomicBool::new(false));
    let write = || {
        for n in 0..BATCHES {
            let mut batch = WriteBatch::new();
            for part in 0..3u64 {
                let key = [n.to_be_bytes(), part.to_be_bytes()].concat();
                batch.put(rows.id(), &key, &bytes(n)).unwrap();
            }
            db.write(batch, Buffered).unwrap();
            if n % 100 == 99 {
                db.sync().unwrap();
            }
        }
        is_done.store(true, Ordering::Release);
    };
    let copy = || {
        for round in 0.. {
            let last = is_done.load(Ordering::Acquire);
            let path = dir.join(round.to_string());
            let vfs = NativeVfs::open(&path, true).unwrap();
            let target = Directory::open(Arc::new(vfs)).unwrap();
            // Without a flush before, so that all rows are in logs.
            let mut checkpoint = db.begin_checkpoint(&target).unwrap();
            while checkpoint.step(&target).unwrap() {}
            drop(target);
            let copy = Db::open(&path, Options::default().allow_mmap_writes(maps)).unwrap();
            assert_eq!(copy.check().unwrap().damage, []);
            let found = copy.default_keyspace().scan(..).unwrap().map(|row| row.unwrap());
            let mut count = 0;
            for (n, (key, found)) in found.enumerate() {
                let n = n as u64;
                assert_eq!(key, [(n / 3).to_be_bytes(), (n % 3).to_be_bytes()].concat());
                assert!(found == bytes(n / 3), "row {n}");
                count += 1;
            }
            assert_eq!(count % 3, 0, "a batch in part");
            copy.close().unwrap();
            std::fs::remove_dir_all(path).unwrap();
            if last {
                assert_eq!(count, 3 * BATCHES);
                break;
            }
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(write);
        threads.spawn(copy);
        let batches = db.changes(cursor).unwrap().take(BATCHES as usize);
        for (n, batch) in batches.enumerate() {
            assert_eq!(batch.unwrap().changes().count(), 3, "batch {n}");
        }
    });
    assert_eq!(mapped_in(&dir), expected);
}

#[test]
fn a_full_disk_is_an_error_that_loses_no_write() {
    for maps in ["true", "false"] {
        let script = "mkdir \"$1/small\" && mount -t tmpfs -o size=5m tmpfs \"$1/small\" || exit 99
            TERRANE_TEST_PLACE=\"$1/small\" \"$0\" --exact mapped_logs::fill_a_disk --nocapture";
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
            _ => println!("no small disk can be mounted here: the test is skipped"),
        }
    }
}

/// The other process: fills the disk twice, and finds all that was written.
#[test]
fn fill_a_disk() {
    let Some((disk, maps)) = place() else { return };
    let expected = expected(&disk, maps);
    let store = disk.join("store");
    let options = Options::default().allow_mmap_writes(maps);
    let mut written: u64 = 0;
    for round in 0..2 {
        let db = Db::open(&store, options.clone()).unwrap();
        let rows = db.default_keyspace();
        for n in 0..written {
            assert_eq!(rows.get(n.to_be_bytes()).unwrap(), Some(value(n)), "round {round}");
        }
        let before = written;
        let refused = loop {
            match rows.put(written.to_be_bytes(), value(written), Buffered) {
                Ok(_) => written += 1,
                Err(e) => break e,
            }
            assert_eq!(mapped_in(&store), expected, "row {written}");
        };
        assert!(written > before || round > 0);
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

//! Replaces sectors of cleanly closed stores: no loss of written data goes unreported.
//!
//! 1. A workload is played to its end and the store closed, so that everything is durable. Some of it is
//!    in tables, the rest in the log: the last records may be in one sector with the claim behind them.
//! 2. One sector of one file is replaced, by zeros, by noise, or by the sector before it, as a disk that
//!    writes in the wrong place does. Sectors that hold only zeros are skipped.
//! 3. The store is refused as damaged, or a read reports the damage, or it shows everything.

use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::write_all_at;
use terrane::wal::record::HEADER_BYTES;
use terrane::{Durability, ErrorKind, inspect};
use terrane_tests::crash::run;
use terrane_tests::fixtures::{Kind, Rig, tiny};
use terrane_tests::full;
use terrane_tests::history::{History, State, shown};
use terrane_tests::image::{Image, Structure};
use terrane_workload::Random;

const KINDS: [Kind; 3] = [Kind::MemoryDirectory, Kind::MemoryVolume, Kind::NativeVolume];
const SECTORS: [usize; 2] = [512, 4096];

/// The files of a closed store, and what it shows.
fn closed(kind: Kind, seed: u64, steps: usize) -> (Image, State) {
    let rig = Rig::over(kind, Arc::new(MemoryVfs::new()));
    let mut history = History::default();
    run(&rig, seed, steps, &mut history).expect("nothing fails");
    (Image::of(&rig.vfs), history.last().clone())
}

/// Returns the bytes that may replace a sector.
fn replacements(bytes: &[u8], at: usize, len: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let noise = (0..len).map(|_| random.word() as u8).collect();
    let before = at.checked_sub(len).map(|before| bytes[before..at].to_vec());
    [vec![0; len], noise].into_iter().chain(before).collect()
}

/// Checks that a store over these files reports damage, or shows everything.
fn judge(kind: Kind, files: Arc<dyn Vfs>, whole: &State) -> Result<(), String> {
    let rig = Rig::over(kind, files.clone());
    let db = match rig.open_with(tiny(), Arc::new(SliceExecutor::default())) {
        Ok(db) => db,
        Err(e) if matches!(e.kind(), ErrorKind::Corrupt(_) | ErrorKind::NoStore(_)) => {
            return Ok(());
        }
        Err(e) => return Err(format!("an error that names no damage: {e}")),
    };
    match shown(&db) {
        Ok(state) if &state == whole => Ok(()),
        Ok(_) => Err("rows are missing, and nothing is said".to_owned()),
        Err(e) if matches!(e.kind(), ErrorKind::Corrupt(_)) => Ok(()),
        Err(e) => Err(format!("a read fails without naming damage: {e}")),
    }
}

#[test]
fn a_lost_sector_of_a_closed_store_is_never_silent() {
    for seed in 0..if full() { 40 } else { 2 } {
        // Few steps leave everything in the log, many leave most in tables.
        for (kind, steps) in KINDS.into_iter().flat_map(|kind| [(kind, 4), (kind, 30)]) {
            let (image, whole) = closed(kind, seed, steps);
            let mut random = Random(seed);
            let mut tried = 0;
            for (name, bytes) in &image.files {
                for len in SECTORS {
                    for (at, sector) in (0..).step_by(len).zip(bytes.chunks_exact(len)) {
                        if sector.iter().all(|byte| *byte == 0) {
                            continue;
                        }
                        for with in replacements(bytes, at, len, &mut random) {
                            let vfs = image.vfs();
                            let file = vfs.open(name).expect("a file of the image");
                            write_all_at(&*file, &with, at as u64).expect("room in memory");
                            judge(kind, Arc::new(vfs), &whole).unwrap_or_else(|why| {
                                panic!(
                                    "{kind:?}, seed {seed}: {len} bytes of {name} at {at}: {why}"
                                )
                            });
                            tried += 1;
                        }
                    }
                }
            }
            assert!(tried > 30, "{kind:?}: {tried} damages");
        }
    }
}

#[test]
fn a_closed_log_whose_end_is_lost_is_damaged() {
    for kind in KINDS {
        let rig = Rig::over(kind, Arc::new(MemoryVfs::new()));
        let db = rig.open_with(tiny(), Arc::new(SliceExecutor::default())).expect("a new store");
        for n in 0..60u32 {
            let rows = db.default_keyspace();
            rows.put(n.to_be_bytes(), [7; 40], Durability::Sync).expect("nothing fails");
        }
        drop(db);
        let image = Image::of(&rig.vfs);
        let parts = image.parts(kind);
        let record = parts.iter().rfind(|part| part.of == Structure::Proven).expect("a record");
        // The claim that the close left in the log is behind it.
        let end = record.range.end.next_multiple_of(8) + HEADER_BYTES as u64;
        for lost in [512, 2048] {
            let vfs = image.vfs();
            let file = vfs.open(&record.file).expect("the log");
            let from = end.saturating_sub(lost);
            let zeros = vec![0; (end - from) as usize];
            write_all_at(&*file, &zeros, from).expect("room in memory");
            let rig = Rig::over(kind, Arc::new(vfs));
            let report = inspect(&*rig.storage().expect("files")).expect("a report");
            assert!(!report.damage.is_empty(), "{kind:?}: {lost} bytes of {}", record.file);
        }
    }
}

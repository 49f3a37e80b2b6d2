//! Each of the five durability rules is necessary: with the rule broken, some experiment loses what was
//! promised; with it kept, the same experiment does not.
//!
//! * Rules 1 and 3: crashes of seeded workloads.
//! * Rule 2: two flushes, of which the newer finishes first.
//! * Rule 4: the tables of a reader, and those that a torn commit was to drop, keep their bytes.
//! * Rule 5: a record lost in a crash stays lost when its log file is recycled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use terrane::executor::JobFilter;
use terrane::executor::Progress;
use terrane::executor::SliceExecutor;
use terrane::rules::Rule;
use terrane::storage::vfs::fault::{SECTOR, SECTORS, Survivors};
use terrane::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use terrane::storage::volume::VolumeOptions;
use terrane::storage::{Commit, Directory, FileId, Storage, Volume, read_exact_at};
use terrane::wal::record::HEADER_BYTES;
use terrane::wal::record_bytes;
use terrane::{Db, Durability, KeyspaceId, WriteBatch};
use terrane_tests::crash::Crash;
use terrane_tests::fixtures::{Kind, tiny};
use terrane_tests::full;
use terrane_workload::Random;

type Verdict = Result<(), String>;

/// With the rule broken, some experiment finds a violation; with it kept, none of the experiments up
/// to that one does.
fn is_needed<E>(rule: Rule, experiments: impl Iterator<Item = E>, run: impl Fn(&E) -> Verdict) {
    // A store with a broken rule may make the harness itself panic: that counts.
    let noticed = |experiment: &E| {
        let verdict = rule.broken(|| catch_unwind(AssertUnwindSafe(|| run(experiment))));
        !matches!(verdict, Ok(Ok(())))
    };
    for experiment in experiments {
        let found = noticed(&experiment);
        if let Err(why) = run(&experiment) {
            panic!("with {rule:?} kept: {why}");
        }
        if found {
            return;
        }
    }
    panic!("nothing notices that {rule:?} is broken");
}

/// A seeded workload, cut at many operations.
fn crashes(kind: Kind, seed: u64) -> impl Iterator<Item = Crash> {
    let sector = SECTORS[(seed % 3) as usize];
    let whole = Crash { kind, seed, threads: false, steps: 80, cut: 0, sector };
    let stride = if full() { 1 } else { 11 };
    (0..whole.operations()).step_by(stride).map(move |cut| Crash { cut, ..whole })
}

fn some_crash_needs(rule: Rule) {
    let seeds = if full() { 0..40 } else { 0..8 };
    let run = |crash: &Crash| {
        crash.run(&[Survivors::Synced, Survivors::All, Survivors::Random(crash.cut)])
    };
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        is_needed(rule, seeds.clone().flat_map(|seed| crashes(kind, seed)), run);
    }
}

#[test]
fn a_flush_waits_until_the_log_is_synced_through_it() {
    some_crash_needs(Rule::LogBeforeInstall);
}

#[test]
fn flushes_of_a_keyspace_install_in_order() {
    is_needed(Rule::FlushOrder, std::iter::once(()), |()| flush_newest_first());
}

/// Two memtables hold versions of one key, and the table of the newer one is written first.
fn flush_newest_first() -> Verdict {
    let failed = |e: terrane::Error| e.to_string();
    let vfs: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
    let open = || {
        let storage = Arc::new(Directory::open(vfs.clone())?);
        // Every write fills its memtable, and none comes close enough to a stall to run a flush.
        let options = tiny().memtable_bytes(1).max_immutable_memtables(8);
        Db::open_storage(storage, options, Arc::new(SliceExecutor::default()))
    };
    let db = open().map_err(failed)?;
    let keyspace = db.default_keyspace();
    keyspace.put(b"key", b"old", Durability::Sync).map_err(failed)?;
    keyspace.put(b"key", b"new", Durability::Sync).map_err(failed)?;
    let mut flushes = [(); 2].map(|()| db.next_job(JobFilter::Flush).expect("a flush waits"));
    for flush in flushes.iter_mut().rev() {
        while flush.run_for(1 << 20).map_err(failed)? == Progress::More {}
    }
    drop(flushes);
    let shown = keyspace.get(b"key").map_err(failed)?;
    db.close().map_err(failed)?;
    let reopened = open().map_err(failed)?.default_keyspace().get(b"key").map_err(failed)?;
    match (shown.as_deref(), reopened.as_deref()) {
        (Some(b"new"), Some(b"new")) => Ok(()),
        other => Err(format!("the key shows {other:?}")),
    }
}

#[test]
fn an_edit_waits_until_its_tables_are_synced() {
    some_crash_needs(Rule::DataBeforeEdit);
}

/// A volume in one backing file, so that tables and the manifest share its space.
fn volume(vfs: &FaultVfs) -> terrane::Result<Arc<Volume>> {
    let name = "volume";
    let present = vfs.list()?.iter().any(|n| n == name);
    let backing = if present { vfs.open(name)? } else { vfs.create(name)? };
    vfs.sync_names()?;
    let new_id = vfs.draw_id()?;
    let options = VolumeOptions { new_id, min_growth: 64 << 10, ..VolumeOptions::default() };
    Ok(Arc::new(Volume::open(vec![backing], options)?))
}

#[test]
fn space_that_a_reader_pins_is_not_reused() {
    // How many entries the reader has seen when its tables are merged away.
    is_needed(Rule::ReuseAfterEdit, [0, 50, 150].into_iter(), |&seen| read_while_merging(seen));
}

/// A scan has returned `seen` entries when all its tables are merged away and others are written.
fn read_while_merging(seen: usize) -> Verdict {
    let failed = |e: terrane::Error| e.to_string();
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).map_err(failed)?;
    // Tables of 400 KiB: new tables are not placed first in holes smaller than that.
    let memtable_bytes = 1 << 20;
    let options = tiny().cache_bytes(0).memtable_bytes(memtable_bytes).wal_file_bytes(64 << 10);
    let storage = volume(&vfs).map_err(failed)?;
    let db =
        Db::open_storage(storage, options, Arc::new(SliceExecutor::default())).map_err(failed)?;
    let keyspace = db.default_keyspace();
    let key = |n: usize| format!("{n:05}").into_bytes();
    let value = |generation: u64, n: usize| -> Vec<u8> {
        let mut random = Random(generation * 1000 + n as u64);
        (0..2000).map(|_| random.word() as u8).collect()
    };
    let write = |generation: u64| -> terrane::Result<()> {
        for n in 0..200 {
            keyspace.put(&key(n), &value(generation, n), Durability::Buffered)?;
        }
        db.flush()?;
        db.wait_until_idle()
    };
    write(0).map_err(failed)?;
    let mut cursor = keyspace.cursor(..).map_err(failed)?;
    for n in 0..200 {
        if n == seen {
            (1..6).try_for_each(write).map_err(failed)?;
        }
        match cursor.next().map_err(failed)? {
            Some((k, v)) if k == key(n) && v == value(0, n) => {}
            other => return Err(format!("entry {n} is {:?}", other.map(|(k, _)| k))),
        }
    }
    Ok(())
}

#[test]
fn space_an_edit_frees_is_not_reused_before_the_edit_is_synced() {
    // A record takes two sectors, so some number of edits fills the manifest: then the edit that drops
    // the table starts a new manifest, which needs space.
    let fillers = 30..55;
    let cuts = fillers.flat_map(|fillers| (0..12).map(move |cut| (fillers, cut)));
    is_needed(Rule::ReuseAfterEdit, cuts, |&(fillers, cut)| drop_torn(fillers, cut));
}

/// Names a table, commits `fillers` edits, and cuts power `cut` operations into the edit that drops
/// the table. If the table is still named afterwards, it must be intact.
fn drop_torn(fillers: usize, cut: u64) -> Verdict {
    let inner = Arc::new(MemoryVfs::new());
    let vfs = FaultVfs::new(inner.clone()).map_err(|e| e.to_string())?;
    let id = FileId::table(1);
    let bytes = vec![7; 768 << 10];
    let snapshot = || b"snapshot".to_vec();
    let nothing = Commit { edit: b"edit", added: &[], dropped: &[], snapshot: &snapshot };
    let write = || -> terrane::Result<()> {
        let volume = volume(&vfs)?;
        volume.recover()?;
        volume.resume()?;
        let table = volume.create(id, 0)?;
        terrane::storage::write_all_at(&*table, &bytes, 0)?;
        table.sync()?;
        volume.commit(&Commit { added: &[id], ..nothing })?;
        (0..fillers).try_for_each(|_| volume.commit(&nothing))?;
        vfs.cut_at(vfs.operations() + cut);
        volume.commit(&Commit { dropped: &[id], ..nothing })
    };
    let _ = write();
    vfs.crash(Survivors::All).map_err(|e| e.to_string())?;
    let read = || -> terrane::Result<Option<Vec<u8>>> {
        let volume = volume(&FaultVfs::new(inner.clone())?)?;
        volume.recover()?;
        volume.resume()?;
        if !volume.files()?.contains(&id) {
            return Ok(None);
        }
        let mut found = vec![0; bytes.len()];
        read_exact_at(&*volume.open(id)?, &mut found, 0)?;
        Ok(Some(found))
    };
    match read() {
        Ok(None) => Ok(()),
        Ok(Some(found)) if found == bytes => Ok(()),
        Ok(Some(_)) => Err("a table that is named has lost its bytes".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

#[test]
fn a_record_of_an_earlier_log_in_the_file_is_not_replayed() {
    is_needed(Rule::NumberedChecksums, 0..64, |&seed| reuse_a_log(seed));
}

/// A crash takes some of a log's unsynced records and leaves the last, the stale one. Their sequences
/// are assigned again, in the next log and then in this one's recycled file, so that a record with the
/// sequence before the stale one's ends where the stale one starts. Then another crash takes the zeros
/// after it.
fn reuse_a_log(seed: u64) -> Verdict {
    // The stale record starts on a sector boundary, so that a crash can separate it from the others.
    let (room, small) = (2 * SECTOR, 64);
    let stale = room / small + 1;
    let inner = Arc::new(MemoryVfs::new());
    let open = |vfs: &FaultVfs| {
        let storage = Arc::new(Directory::open(Arc::new(vfs.clone()))?);
        let options = tiny().memtable_bytes(1 << 20);
        Db::open_storage(storage, options, Arc::new(SliceExecutor::default()))
    };
    let before = || -> terrane::Result<()> {
        let vfs = FaultVfs::new(inner.clone())?;
        let db = open(&vfs)?;
        db.write(filling(b"first", small), Durability::Sync)?;
        for _ in 2..stale {
            db.write(filling(b"lost", small), Durability::Buffered)?;
        }
        assert_eq!(db.write(filling(b"stale", small), Durability::Buffered)?, stale);
        vfs.crash(Survivors::Random(seed))
    };
    before().map_err(|e| e.to_string())?;
    let after = || -> terrane::Result<[bool; 3]> {
        let vfs = FaultVfs::new(inner.clone())?;
        let db = open(&vfs)?;
        let next = db.snapshot().sequence() + 1;
        if db.stats()?.discarded_bytes == 0 || next + 2 > stale {
            return Ok([true; 3]);
        }
        // The log's file is recycled once everything in it is in tables.
        db.flush()?;
        db.wait_until_idle()?;
        let filler = tiny().wal_file_bytes - HEADER_BYTES as u64;
        db.write(filling(b"filler", filler), Durability::Buffered)?;
        for _ in next + 1..stale - 1 {
            db.write(filling(b"other", small), Durability::Buffered)?;
        }
        let operation = vfs.operations();
        let left = room - (stale - 2 - next) * small;
        db.write(filling(b"new", left), Durability::Buffered)?;
        let sectors = room.div_ceil(SECTOR) - (room - left) / SECTOR;
        vfs.crash(Survivors::Prefix { operation, sectors })?;
        let keyspace = open(&FaultVfs::new(inner.clone())?)?.default_keyspace();
        let there = |key: &[u8]| keyspace.get(key).map(|value| value.is_some());
        Ok([there(b"first")?, there(b"new")?, !there(b"stale")?])
    };
    match after() {
        Ok([true, true, true]) => Ok(()),
        Ok(found) => Err(format!("first, new and no stale entry: {found:?}")),
        Err(e) => Err(e.to_string()),
    }
}

/// A batch of one put whose record takes exactly `bytes`.
fn filling(key: &[u8], bytes: u64) -> WriteBatch {
    let put = |value: usize| {
        let mut batch = WriteBatch::new();
        batch.put(KeyspaceId(0), key, &vec![1; value]).expect("within the limits");
        batch
    };
    let fits = |batch: &WriteBatch| record_bytes(batch.bytes().len()) == bytes;
    (0..bytes as usize).map(put).find(fits).expect("room for the key")
}

//! Logs found by opening.

use super::{directory, entries, faulty, fill, open, slices, volume};
use crate::batch::Operation;
use crate::storage::vfs::fault::{Fault, Survivors};
use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use crate::storage::{Directory, FileId, read_exact_at, write_all_at};
use crate::{Db, Durability, Durability::Buffered, Error, ErrorKind, Options};
use std::sync::Arc;

fn put(db: &Db, key: u8) {
    db.default_keyspace().put(&[key], &[key; 40], Buffered).unwrap();
}

fn keys(db: &Db) -> Vec<u8> {
    entries(db).into_iter().map(|(key, _)| key[0]).collect()
}

#[test]
fn a_reopened_store_continues_its_log_and_writes_no_edit() {
    let vfs = faulty();
    for session in 0..20 {
        let db = open(directory(&vfs), slices()).unwrap();
        assert_eq!(keys(&db), (0..session).collect::<Vec<_>>());
        put(&db, session);
        let stats = db.stats().unwrap();
        assert_eq!((stats.wal_files, stats.discarded_bytes), (1, 0));
        assert!(session == 0 || stats.manifest_bytes == 0, "{stats:?}");
        // Every other session ends as a process that is killed does.
        match session % 2 {
            0 => db.close().unwrap(),
            _ => std::mem::forget(db),
        }
    }
}

#[test]
fn replayed_logs_retire_once_their_entries_are_in_tables() {
    let vfs = faulty();
    let options =
        || Options { memtable_bytes: 1 << 20, wal_file_bytes: 16 << 10, ..Options::small() };
    let reopen = || Db::open_storage(directory(&vfs), options(), slices()).unwrap();
    let db = reopen();
    super::fill(&db, 300, 7);
    let (before, logs) = (entries(&db), db.stats().unwrap().wal_files);
    assert!(logs > 3, "{logs} logs");
    drop(db);
    let db = reopen();
    assert_eq!(db.stats().unwrap().wal_files, logs);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    assert!(db.stats().unwrap().wal_files <= 3, "a log, and spares");
    db.close().unwrap();
    assert!(entries(&reopen()) == before);
}

#[test]
fn a_store_that_is_opened_in_spite_of_an_io_error_takes_writes() {
    for at in 0..100 {
        let vfs = faulty();
        let db = open(directory(&vfs), slices()).unwrap();
        put(&db, 1);
        // As a process that is killed.
        std::mem::forget(db);
        let before = vfs.operations();
        vfs.fail_at(before + at, Fault::Io);
        let opened = open(directory(&vfs), slices()).map_err(Error::into_kind);
        let ended = vfs.operations() <= before + at;
        vfs.heal();
        match opened {
            Ok(db) => {
                put(&db, 2);
                assert_eq!(keys(&db), [1, 2]);
            }
            Err(ErrorKind::Io(_)) => {
                assert_eq!(keys(&open(directory(&vfs), slices()).unwrap()), [1])
            }
            Err(e) => panic!("{e:?}"),
        }
        if ended {
            assert!(at > 0);
            return;
        }
    }
    panic!("opening takes more operations");
}

/// A log of three records, of which the last is damaged and no claim is behind it.
fn torn() -> FaultVfs {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    (0..3).for_each(|key| put(&db, key));
    // As a process that is killed: a close would leave a claim.
    std::mem::forget(db);
    let name = vfs.list().unwrap().into_iter().find(|n| n.ends_with(".log")).unwrap();
    let log = vfs.open(&name).unwrap();
    let mut bytes = vec![0; 1024];
    read_exact_at(&*log, &mut bytes, 0).unwrap();
    // The value of the second record.
    let at = bytes.windows(40).position(|value| value == [1; 40]).unwrap();
    write_all_at(&*log, &[9], at as u64).unwrap();
    vfs
}

#[test]
fn discarded_records_are_reported_once_and_kept_until_removed() {
    let vfs = torn();
    let db = open(directory(&vfs), slices()).unwrap();
    assert_eq!(keys(&db), [0]);
    let told = db.stats().unwrap();
    assert!(told.discarded_bytes > 80, "{told:?}");
    assert_eq!(told.quarantine_bytes, told.discarded_bytes);
    put(&db, 50);
    drop(db);

    let db = open(directory(&vfs), slices()).unwrap();
    assert_eq!(keys(&db), [0, 50]);
    let again = db.stats().unwrap();
    assert_eq!((again.discarded_bytes, again.quarantine_bytes), (0, told.discarded_bytes));
    let report = db.check().unwrap();
    assert_eq!((report.damage, report.quarantine_bytes), (vec![], told.discarded_bytes));

    // The third record is sound, and can still be read.
    let kept = db.quarantine();
    let batches = db.read_quarantine(&kept[0]).unwrap();
    let [(3, batch)] = &batches[..] else { panic!("{batches:?}") };
    let (_, operation) = batch.iter().next().unwrap().unwrap();
    assert_eq!(operation, Operation::Put(&[2], &[2; 40]));

    // A copy has none of it, and this store none when the owner says so.
    let to = MemoryVfs::new().create("to").unwrap();
    db.checkpoint(&volume(&to)).unwrap();
    let copy = open(Arc::new(volume(&to)), slices()).unwrap();
    assert_eq!((copy.quarantine(), keys(&copy)), (vec![], vec![0, 50]));
    let files = || vfs.list().unwrap().len();
    let before = files();
    assert_eq!(db.drop_quarantine().unwrap(), told.discarded_bytes);
    db.wait_until_idle().unwrap();
    assert!(files() < before);
    db.close().unwrap();
    let db = open(directory(&vfs), slices()).unwrap();
    assert_eq!((db.quarantine(), keys(&db)), (vec![], vec![0, 50]));
}

#[test]
fn discarded_records_never_return_though_their_vfs_recovers() {
    let vfs = torn();
    let db = open(directory(&vfs), slices()).unwrap();
    db.default_keyspace().put(&[60], &[60; 40], Durability::Sync).unwrap();
    drop(db);
    // The damage was one of the reading: the record is sound again.
    let name = vfs.list().unwrap().into_iter().find(|n| n.ends_with(".log")).unwrap();
    let log = vfs.open(&name).unwrap();
    let mut bytes = vec![0; 1024];
    read_exact_at(&*log, &mut bytes, 0).unwrap();
    let at = bytes.windows(40).position(|value| value[0] == 9 && value[1..] == [1; 39]).unwrap();
    write_all_at(&*log, &[1], at as u64).unwrap();
    let db = open(directory(&vfs), slices()).unwrap();
    assert_eq!(keys(&db), [0, 60]);
    assert_eq!(db.check().unwrap().damage, []);
}

/// The tables and logs that are there.
fn files(vfs: &FaultVfs) -> Vec<String> {
    let names = vfs.list().unwrap().into_iter();
    names.filter(|name| FileId::parse(name).is_some()).collect()
}

#[test]
fn without_room_for_discarded_records_a_store_keeps_its_logs() {
    // Of the operations that opening takes one finds no room.
    let mut refused = 0;
    for operation in 0..20 {
        let vfs = torn();
        vfs.fail_at(vfs.operations() + operation, Fault::NoSpace);
        let Ok(db) = open(directory(&vfs), slices()) else { continue };
        assert_eq!(keys(&db), [0]);
        if db.default_keyspace().put(&[50], &[50], Buffered).is_ok() {
            continue;
        }
        refused += 1;
        let version_set = db.engine().state.lock().version_set.clone();
        let logs = version_set.logs.iter().map(|log| log.file);
        let named = logs.chain(version_set.quarantine.iter().map(|kept| kept.file));
        let named: Vec<_> = named.map(|file| FileId::log(file).to_string()).collect();
        // A file that a failed edit may have named stays.
        assert!(db.engine().state.in_doubt() || files(&vfs) == named, "operation {operation}");
        let report = db.check().unwrap();
        assert_eq!((report.wal_records, report.damage), (1, vec![]));
        assert!(db.flush().is_err(), "operation {operation}");
        assert_eq!(keys(&db), [0]);
        drop(db);
        let db = open(directory(&vfs), slices()).unwrap();
        assert_eq!(keys(&db), [0]);
        assert!(db.stats().unwrap().quarantine_bytes > 80, "operation {operation}");
        put(&db, 51);
        db.flush().unwrap();
        assert_eq!(db.check().unwrap().damage, []);
    }
    assert!(refused > 3, "{refused} openings had no room");
}

#[test]
fn a_store_without_room_for_a_new_manifest_is_shown() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    db.create_keyspace("other").unwrap();
    (0..3).for_each(|key| put(&db, key));
    db.close().unwrap();
    // One copy of the manifest's first record is lost.
    let name = vfs.list().unwrap().into_iter().find(|n| n.starts_with("MANIFEST")).unwrap();
    write_all_at(&*vfs.open(&name).unwrap(), &[0; 4096], 16 << 10).unwrap();
    vfs.set_capacity(0, Fault::NoSpace);
    let db = open(directory(&vfs), slices()).unwrap();
    assert_eq!(keys(&db), [0, 1, 2]);
    let refused = db.default_keyspace().put(&[9], b"", Buffered).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Poisoned(cause) if cause.is_no_space()));
    assert!(db.flush().is_err());
    drop(db);
    vfs.heal();
    let db = open(directory(&vfs), slices()).unwrap();
    put(&db, 3);
    db.flush().unwrap();
    assert_eq!(keys(&db), [0, 1, 2, 3]);
}

/// The bytes of a file.
fn bytes(vfs: &FaultVfs, name: &str) -> Vec<u8> {
    let file = vfs.open(name).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

/// Leaves behind the manifest's last record what a power cut in the middle of a commit may leave there.
fn tear_manifest(vfs: &FaultVfs, torn: &[u8]) {
    let name = vfs.list().unwrap().into_iter().find(|n| n.starts_with("MANIFEST")).unwrap();
    let record = 16 << 10;
    let free = |slot: &[u8]| slot.iter().all(|byte| *byte == 0);
    let slot = bytes(vfs, &name).chunks(record).position(free).unwrap();
    write_all_at(&*vfs.open(&name).unwrap(), torn, (slot * record) as u64).unwrap();
}

#[test]
fn discards_of_the_manifest_and_the_logs_are_reported_once() {
    let discarded = |vfs: &FaultVfs| {
        let db = open(directory(vfs), slices()).unwrap();
        db.stats().unwrap().discarded_bytes
    };
    let of_log = discarded(&torn());
    assert!(of_log > 0);
    let sound = faulty();
    assert_eq!(discarded(&sound), 0);
    for (vfs, of_log) in [(torn(), of_log), (sound, 0)] {
        tear_manifest(&vfs, &[9; 500]);
        assert_eq!(discarded(&vfs), of_log + 500);
        assert_eq!(discarded(&vfs), 0);
    }
}

#[test]
fn what_recovery_has_shown_outlives_a_power_cut() {
    let stored = MemoryVfs::default();
    let vfs = FaultVfs::new(Arc::new(stored.clone())).unwrap();
    let db = open(directory(&vfs), slices()).unwrap();
    (0..3).for_each(|key| put(&db, key));
    // The process is killed, and nothing was synced.
    std::mem::forget(db);
    let db = open(directory(&vfs), slices()).unwrap();
    assert_eq!(keys(&db), [0, 1, 2]);
    std::mem::forget(db);
    vfs.crash(Survivors::Synced).unwrap();
    let storage = Directory::open(Arc::new(stored)).unwrap();
    assert_eq!(keys(&open(Arc::new(storage), slices()).unwrap()), [0, 1, 2]);
}

#[test]
fn a_reopened_store_reports_its_last_sequence() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    (0..7).for_each(|key| put(&db, key));
    let last = db.stats().unwrap().last_sequence;
    db.close().unwrap();
    let storage = Arc::new(Directory::read_only(Arc::new(vfs.clone())).unwrap());
    let options = Options { read_only: true, ..Options::small() };
    let read_only = Db::open_storage(storage, options, slices()).unwrap();
    assert_eq!((read_only.stats().unwrap().last_sequence, last), (7, 7));
    assert_eq!(read_only.engine().log.syncs.synced(), 7, "nothing is left to sync");
    drop(read_only);
    let db = open(directory(&vfs), slices()).unwrap();
    assert_eq!(db.stats().unwrap().last_sequence, 7);
    put(&db, 7);
    assert_eq!(db.stats().unwrap().last_sequence, 8);
}

#[test]
fn a_log_with_a_damaged_first_record_is_kept_byte_by_byte() {
    let vfs = faulty();
    let options = || Options { wal_file_bytes: 1 << 20, ..Options::small() };
    let db = Db::open_storage(directory(&vfs), options(), slices()).unwrap();
    fill(&db, 2000, 1);
    std::mem::forget(db);
    let name = vfs.list().unwrap().into_iter().find(|n| n.ends_with(".log")).unwrap();
    write_all_at(&*vfs.open(&name).unwrap(), b"!", 100).unwrap();
    let log = bytes(&vfs, &name);

    let db = Db::open_storage(directory(&vfs), options(), slices()).unwrap();
    assert_eq!(entries(&db), []);
    let kept = db.quarantine();
    assert_eq!((kept.len(), kept[0].offset), (1, 0));
    assert!(kept[0].bytes > 256 << 10, "more than is copied at a time");
    let copy = bytes(&vfs, &FileId::log(kept[0].file).to_string());
    let (mark, copied) = copy.split_at(crate::recovery::MARK.len());
    assert_eq!(mark, crate::recovery::MARK);
    assert!(copied == &log[..kept[0].bytes as usize]);
    // All but the first can be read.
    assert_eq!(db.read_quarantine(&kept[0]).unwrap().len(), 1999);
    db.close().unwrap();
}

#[test]
fn logs_that_are_spare_are_spare_again_when_the_store_is_opened() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    for round in 0..3 {
        fill(&db, 300, round);
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
    }
    put(&db, 1);
    let logs = |db: &Db| {
        let state = db.engine().state.lock();
        (
            state.logs.sealed().len(),
            state.logs.spares().iter().map(|l| l.number).collect::<Vec<_>>(),
        )
    };
    let before = logs(&db);
    assert!(!before.1.is_empty(), "{before:?}");
    db.close().unwrap();
    let db = open(directory(&vfs), slices()).unwrap();
    assert_eq!(logs(&db), before);
    fill(&db, 300, 9);
    assert_eq!(db.check().unwrap().damage, []);
    db.close().unwrap();
}

#[test]
fn a_new_store_may_be_asked_for_and_is_refused_where_one_is() {
    let vfs = faulty();
    let open = || {
        let options = Options { error_if_exists: true, ..Options::small() };
        Db::open_storage(directory(&vfs), options, slices())
    };
    open().unwrap().close().unwrap();
    assert!(matches!(open().map_err(Error::into_kind), Err(ErrorKind::InvalidArgument(_))));
}

//! A checkpoint is the store at one moment, copied into any kind of storage.

use terrane::storage::vfs::Vfs;
use terrane::storage::vfs::fault::{Fault, Survivors};
use terrane::{Db, Durability, ErrorKind, Options, WriteBatch};
use terrane_tests::fixtures::{KINDS, Kind, Rig, tiny};
use terrane_tests::history::shown;

fn filled(kind: Kind) -> (Rig, terrane::Db) {
    let rig = Rig::new(kind);
    let db = rig.open(tiny(), 1).unwrap();
    let ids =
        [db.create_keyspace("default").unwrap().id(), db.create_keyspace("other").unwrap().id()];
    for number in 0..500u32 {
        let mut batch = WriteBatch::new();
        for id in ids {
            batch.put(id, &(number % 200).to_be_bytes(), &number.to_le_bytes()).unwrap();
        }
        db.write(batch, Durability::Buffered).unwrap();
    }
    (rig, db)
}

#[test]
fn a_checkpoint_equals_its_store_in_every_kind_of_storage() {
    for from in KINDS {
        let (_rig, db) = filled(from);
        let expected = shown(&db).unwrap();
        for to in KINDS {
            let target = Rig::new(to);
            db.checkpoint(&*target.storage().unwrap()).unwrap();
            let copy = target.open(tiny(), 2).unwrap();
            assert_eq!(copy.check().unwrap().damage, [], "{from:?} to {to:?}");
            assert!(shown(&copy).unwrap() == expected, "{from:?} to {to:?}");
            // Neither sees the writes of the other.
            let keyspace = copy.default_keyspace();
            keyspace.put(b"new", b"here", Durability::Sync).unwrap();
            copy.create_keyspace("default").unwrap().compact_range(..).unwrap();
            assert!(shown(&db).unwrap() == expected, "{from:?} to {to:?}");
        }
    }
}

#[test]
fn a_checkpoint_over_an_existing_store_is_refused() {
    let (_rig, db) = filled(Kind::MemoryDirectory);
    let (other, held) = filled(Kind::MemoryVolume);
    held.close().unwrap();
    let refused = db.checkpoint(&*other.storage().unwrap()).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::InvalidArgument(_)), "{refused}");
}

#[test]
fn a_cut_checkpoint_leaves_no_store_or_all_of_it() {
    let (_rig, db) = filled(Kind::MemoryDirectory);
    let expected = shown(&db).unwrap();
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        for cut in 0.. {
            let mut target = Rig::new(kind);
            target.vfs.cut_at(cut);
            let done = target.storage().and_then(|storage| db.checkpoint(&*storage)).is_ok();
            let survivors = Survivors::Random(cut);
            target.vfs.crash(survivors).unwrap();
            target.restore_power();
            let copy = target.open(tiny(), 2).unwrap();
            let state = shown(&copy).unwrap();
            let empty = state.iter().all(|s| s.is_empty());
            assert!(state == expected || (empty && !done), "{kind:?} cut at {cut}");
            if done {
                break;
            }
        }
    }
}

#[test]
fn a_checkpoint_stops_after_a_failed_step() {
    for from in [Kind::MemoryDirectory, Kind::NativeDirectory] {
        let (_rig, db) = filled(from);
        db.flush().unwrap();
        db.default_keyspace().put(b"last", b"in the log", Durability::Sync).unwrap();
        let expected = shown(&db).unwrap();
        for to in [Kind::NativeDirectory, Kind::MemoryDirectory, Kind::MemoryVolume] {
            for failing in 0.. {
                let mut target = Rig::new(to);
                let Ok(storage) = target.storage() else { continue };
                target.vfs.fail_at(failing, Fault::Io);
                let Ok(mut checkpoint) = db.begin_checkpoint(&*storage) else { continue };
                // As a caller that retries a failed step would.
                let mut failed = 0;
                let whole = loop {
                    match checkpoint.step(&*storage) {
                        Ok(true) if failed > 0 => panic!("{to:?}: a step after a failed one"),
                        Ok(more) if !more => break true,
                        Ok(_) => {}
                        Err(_) if failed == 3 => break false,
                        Err(_) => failed += 1,
                    }
                };
                let reached = target.vfs.operations() > failing;
                assert!(!(whole && failed > 0), "{to:?}: complete after a failure at {failing}");
                drop((checkpoint, storage));
                target.vfs.heal();
                target.vfs.crash(Survivors::All).unwrap();
                target.restore_power();
                let copy = shown(&target.open(tiny(), 2).unwrap()).unwrap();
                let empty = copy.iter().all(|keyspace| keyspace.is_empty());
                assert!(copy == expected || (!whole && empty), "{to:?}, failing at {failing}");
                if whole && !reached {
                    break;
                }
            }
        }
    }
}

/// Flips a bit in the middle of a file of the open store.
fn damage(rig: &Rig, name: &str) {
    let len = rig.vfs.open(name).unwrap().len().unwrap();
    rig.vfs.flip(name, len / 3 * 8).unwrap();
}

#[test]
fn a_checkpoint_of_a_damaged_table_fails_and_names_it() {
    for (from, to) in [
        (Kind::MemoryDirectory, Kind::MemoryVolume),
        (Kind::MemoryDirectory, Kind::MemoryDirectory),
    ] {
        let (rig, db) = filled(from);
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
        let name = rig.vfs.list().unwrap().into_iter().rfind(|n| n.ends_with(".sst")).unwrap();
        damage(&rig, &name);
        let target = Rig::new(to);
        let refused = db.checkpoint(&*target.storage().unwrap()).unwrap_err();
        let damage = refused.into_corruption().unwrap();
        assert_eq!(damage.file, name);
        assert!(target.open(tiny().create(false), 1).is_err());
    }
}

#[test]
fn a_checkpoint_of_a_damaged_log_fails_and_names_it() {
    let (rig, db) = filled(Kind::MemoryDirectory);
    db.flush().unwrap();
    let log = |rig: &Rig| {
        let mut logs = rig.vfs.list().unwrap();
        logs.retain(|name| name.ends_with(".log"));
        let before: Vec<_> = logs.iter().map(|name| contents(rig, name)).collect();
        (logs, before)
    };
    let (logs, before) = log(&rig);
    db.default_keyspace().put(b"last", b"in the log", Durability::Sync).unwrap();
    let (_, after) = log(&rig);
    let changed = (0..logs.len()).find(|at| before[*at] != after[*at]).unwrap();
    let at = (0..after[changed].len()).find(|at| before[changed][*at] != after[changed][*at]);
    rig.vfs.flip(&logs[changed], at.unwrap() as u64 * 8).unwrap();
    let target = Rig::new(Kind::MemoryVolume);
    let storage = target.storage().unwrap();
    let mut checkpoint = db.begin_checkpoint(&*storage).unwrap();
    let refused = loop {
        match checkpoint.step(&*storage) {
            Ok(more) => assert!(more, "a damaged log was copied"),
            Err(refused) => break refused,
        }
    };
    let damage = refused.into_corruption().unwrap();
    assert_eq!(damage.file, logs[changed]);
}

fn contents(rig: &Rig, name: &str) -> Vec<u8> {
    let file = rig.vfs.open(name).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    terrane::storage::read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

/// A store with one log of ten records.
fn logged(kind: Kind) -> (Rig, terrane::Db) {
    let rig = Rig::new(kind);
    let db = rig.open(Options::default(), 1).unwrap();
    for number in 0..10u8 {
        db.default_keyspace().put(b"foreign", &[number; 40], Durability::Sync).unwrap();
    }
    (rig, db)
}

/// The keys visible where a checkpoint of `db` was aborted after `steps` steps, a new store was opened
/// and `then` ran on it. With `cut`, power is lost afterwards.
fn after_an_abort(db: &Db, steps: usize, cut: bool, then: impl Fn(&Db)) -> Vec<Vec<u8>> {
    let mut target = Rig::new(Kind::MemoryVolume);
    let storage = target.storage().unwrap();
    let mut checkpoint = db.begin_checkpoint(&*storage).unwrap();
    for _ in 0..steps {
        checkpoint.step(&*storage).unwrap();
    }
    drop((checkpoint, storage));
    let new = target.open(Options::default(), 2).unwrap();
    then(&new);
    if cut {
        target.vfs.crash(Survivors::Synced).unwrap();
        target.restore_power();
        drop(new);
    } else {
        new.close().unwrap();
    }
    let again = target.open(Options::default(), 3).unwrap();
    again.default_keyspace().scan(..).unwrap().map(|row| row.unwrap().0).collect()
}

#[test]
fn a_store_made_over_an_aborted_checkpoint_is_empty() {
    let (_rig, db) = logged(Kind::MemoryVolume);
    for steps in 0..5 {
        let put = |db: &Db| {
            db.default_keyspace().put(b"own", b"1", Durability::Sync).unwrap();
        };
        assert_eq!(after_an_abort(&db, steps, false, put), [b"own"], "{steps} steps");
        assert_eq!(after_an_abort(&db, steps, true, |_| ()), [b""; 0], "{steps} steps, cut");
        assert_eq!(after_an_abort(&db, steps, true, put), [b"own"], "{steps} steps, put, cut");
    }
}

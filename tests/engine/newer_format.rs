//! Whatever a later release wrote is refused by name, and nothing of it is changed or discarded; what it
//! marked as optional is skipped.

use std::sync::Arc;
use terrane::coding::checksum;
use terrane::entry::Tag;
use terrane::inspect;
use terrane::storage::{Commit, FileId, Storage};
use terrane::table::{TableOptions, TableWriter};
use terrane::version::{Change, Edit, VersionSet};
use terrane::wal::LogWriter;
use terrane::{Db, Durability, Error, ErrorKind, KeyspaceId, Result};
use terrane_policy::{RunId, TableId};
use terrane_tests::fixtures::{KINDS, Kind, Rig, tiny};
use terrane_tests::image::{Image, Structure};

/// A store of one row.
fn store(kind: Kind) -> Rig {
    let rig = Rig::new(kind);
    let db = open(&rig).unwrap();
    db.default_keyspace().put(b"key", b"value", Durability::Sync).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    rig
}

fn open(rig: &Rig) -> Result<Db> {
    rig.open(tiny(), 0)
}

/// The storage of a closed store, and the state of its manifest.
fn storage(rig: &Rig) -> (Arc<dyn Storage>, VersionSet) {
    let storage = rig.storage().unwrap();
    let recovered = storage.recover().unwrap().unwrap();
    (storage, VersionSet::replay(&recovered.edits).unwrap())
}

fn commit(storage: &dyn Storage, edit: &[u8], added: &[FileId]) {
    let snapshot = || panic!("the manifest has room");
    storage.commit(&Commit { edit, added, dropped: &[], snapshot: &snapshot }).unwrap();
}

/// Returns the message of the refusal.
fn refused<T>(result: Result<T>) -> String {
    match result.map_err(Error::into_kind) {
        Err(ErrorKind::NewerFormat(newer)) => newer.found,
        Err(e) => panic!("{e}"),
        Ok(_) => panic!("what a later release wrote is taken"),
    }
}

/// Opening and checking refuse the store every time, and leave it unchanged.
fn stays_refused(rig: &Rig, name: &str) {
    let before = Image::of(&rig.vfs).files;
    for _ in 0..2 {
        assert_eq!(refused(open(rig)), name, "{:?}", rig.kind);
        assert_eq!(refused(inspect(&*rig.storage().unwrap())), name, "{:?}", rig.kind);
    }
    assert!(Image::of(&rig.vfs).files == before, "{:?}: {name}", rig.kind);
}

#[test]
fn edits_of_a_later_release_are_refused_by_name_or_skipped() {
    let edits: [(&[u8], Option<&str>); 7] = [
        (&[100, 0], Some("a change of kind 100")),
        (&[1, 3, 1, 5, 0], Some("field 5 in a change of kind 1")),
        (&[14, 2, 0x20, 0], Some("required feature bit 5 in a change of kind 14")),
        (&[200, 1, 7], None),
        (&[1, 4, 1, 6, 1, 9], None),
        // Known: batches may delete ranges.
        (&[14, 2, 1, 0], None),
        (&[14, 2, 0, 0x20], None),
    ];
    for kind in KINDS {
        for (edit, name) in edits {
            let rig = store(kind);
            commit(&*storage(&rig).0, edit, &[]);
            match name {
                Some(name) => stays_refused(&rig, name),
                None => {
                    let db = open(&rig).unwrap();
                    assert_eq!(db.default_keyspace().get(b"key").unwrap().unwrap(), b"value");
                    assert_eq!(db.check().unwrap().damage, []);
                }
            }
        }
    }
}

#[test]
fn optional_features_outlive_the_manifest_that_added_them() {
    for kind in KINDS {
        let rig = store(kind);
        commit(&*storage(&rig).0, &[14, 2, 0, 0x20], &[]);
        let edits = |rig: &Rig| rig.storage().unwrap().recover().unwrap().unwrap().edits.len();
        let (mut before, mut begun) = (edits(&rig), 0);
        while begun < 2 {
            let db = open(&rig).unwrap();
            db.create_keyspace("more").unwrap();
            db.drop_keyspace("more").unwrap();
            db.close().unwrap();
            let after = edits(&rig);
            begun += u32::from(after < before);
            before = after;
        }
        assert_eq!(storage(&rig).1.features.optional, 0x20, "{kind:?}");
    }
}

#[test]
fn a_log_with_an_entry_of_a_later_kind_is_refused_and_kept() {
    for kind in KINDS {
        let rig = store(kind);
        let (storage, version_set) = storage(&rig);
        let log = version_set.logs[0];
        let file = storage.open(FileId::log(log.file)).unwrap();
        let mut writer = LogWriter::begin(file.clone(), log.id(), file.len().unwrap()).unwrap();
        // A row, followed in the same batch by an entry that this release does not know.
        let batch = [1, 0, 1, b'k', 1, b'v', 5, 0, 1, b'a', 1, b'z'];
        writer.append(version_set.log_start, 0, &[&batch]).unwrap();
        file.sync().unwrap();
        drop(storage);
        stays_refused(&rig, "a separated value");
    }
}

#[test]
fn a_table_entry_of_a_later_kind_is_refused_everywhere() {
    for kind in KINDS {
        let rig = store(kind);
        let (storage, version_set) = storage(&rig);
        let number = version_set.next_id;
        let (id, salt) = (FileId::table(number), storage.id().salt());
        let file = storage.create(id, 0).unwrap();
        let mut writer = TableWriter::new(file.clone(), TableId(number), &TableOptions::default())
            .of_store(salt, storage.commits());
        writer.add(b"key", Tag(version_set.log_start << 8 | 5), b"a place").unwrap();
        let info = writer.finish().unwrap();
        file.sync().unwrap();
        let (keyspace, run) = (KeyspaceId(0), RunId(number + 1));
        let through = version_set.log_start;
        let changes = vec![
            Change::NextId(number + 2),
            Change::AddTable { keyspace, level: 0, run, info },
            Change::Flushed { keyspace, through },
            Change::RetireLogs { below: 0, next: through + 1 },
        ];
        commit(&*storage, &Edit { changes }.encode(), &[id]);
        drop((storage, file));
        assert_eq!(refused(inspect(&*rig.storage().unwrap())), "a separated value", "{kind:?}");

        let db = open(&rig).unwrap();
        let rows = db.default_keyspace();
        assert_eq!(refused(rows.get(b"key")), "a separated value");
        assert_eq!(refused(rows.cursor(..).unwrap().next()), "a separated value");
        assert_eq!(refused(rows.cursor(..).unwrap().prev()), "a separated value");
        assert_eq!(refused(db.check()), "a separated value");
        assert_eq!(refused(rows.compact_range(..)), "a separated value");
        let copy = Rig::new(kind);
        assert_eq!(refused(db.checkpoint(&*copy.storage().unwrap())), "a separated value");
        // The merge left nothing behind.
        assert_eq!(refused(rows.get(b"key")), "a separated value");
    }
}

#[test]
fn a_file_of_a_later_kind_is_refused_by_name() {
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        let mut image = Image::of(&store(kind).vfs);
        let snapshot = image.parts(kind).into_iter().filter(|part| part.of == Structure::Manifest);
        for part in snapshot.take(2) {
            let bytes = image.files.get_mut(&part.file).unwrap();
            let frame = &mut bytes[part.range.start as usize..part.range.end as usize];
            // After the headers of the frame and the region: the number of files, and the kind of the first.
            frame[32 + 44 + 1] = 7;
            let generation = u64::from_le_bytes(frame[16..24].try_into().unwrap());
            let seed = checksum(&frame[44..60], 0) ^ generation.rotate_left(32);
            let sum = checksum(&frame[8..], seed);
            frame[..8].copy_from_slice(&sum.to_le_bytes());
        }
        stays_refused(&Rig::over(kind, Arc::new(image.vfs())), "a file of kind 7");
    }
}

#[test]
fn files_with_names_of_no_file_of_this_release_are_left_alone() {
    for kind in [Kind::MemoryDirectory, Kind::NativeDirectory] {
        let rig = store(kind);
        let names = ["00000003.blob", "00000900.sst.tmp", "OPTIONS-000001", "7.log"];
        for name in names {
            rig.inner.create(name).unwrap().write_at(b"of a later release", 0).unwrap();
        }
        for _ in 0..2 {
            let db = open(&rig).unwrap();
            db.default_keyspace().put(b"key", b"again", Durability::Sync).unwrap();
            db.default_keyspace().compact_range(..).unwrap();
            db.wait_until_idle().unwrap();
            db.close().unwrap();
        }
        let left = rig.inner.list().unwrap();
        assert!(names.iter().all(|name| left.iter().any(|n| n == name)), "{left:?}");
    }
}

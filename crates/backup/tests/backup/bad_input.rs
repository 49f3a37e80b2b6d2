//! Damaged backups, directories in use, and moments that a backup does not have.

use crate::faulty::Faulty;
use crate::stores::{folder, prefix, restore, rows, small, start, write, write_all};
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use std::fs;
use std::sync::Arc;
use terrane::Db;
use terrane_backup::{At, Error, list, salvage};

/// Returns a backup, and the store that it is of.
async fn backed_up() -> (tempfile::TempDir, Db, Faulty) {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    write_all(&db, 1..100);
    db.flush().unwrap();
    let backup = start(&db, &objects).await.unwrap();
    for n in 100..110 {
        backup.wait(write(&db, n)).await.unwrap();
    }
    backup.stop().await;
    (dir, db, objects)
}

/// Returns the objects in a folder that the newest range needs.
async fn objects_in(objects: &Faulty, folder: &str) -> Vec<Path> {
    let all: Vec<_> = objects.inner.list(None).try_collect().await.unwrap();
    let paths = all.into_iter().map(|meta| meta.location);
    let mut paths: Vec<_> =
        paths.filter(|path| path.parts().any(|part| part.as_ref() == folder)).collect();
    paths.sort();
    paths
}

async fn bytes_of(objects: &Faulty, path: &Path) -> Vec<u8> {
    objects.inner.get(path).await.unwrap().bytes().await.unwrap().to_vec()
}

async fn replace(objects: &Faulty, path: &Path, bytes: Vec<u8>) {
    objects.inner.put(path, PutPayload::from(bytes)).await.unwrap();
}

/// Expects a restore to name `path` and to write nothing.
async fn refused(objects: &Faulty, path: &Path) -> String {
    let (_dir, to) = folder();
    let error = restore(objects, &to, At::Newest).await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    let name = path.filename().unwrap();
    assert!(error.to_string().contains(name), "{error} does not name {name}");
    assert!(!to.exists());
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_names_a_damaged_object_and_writes_nothing() {
    let (_dir, db, objects) = backed_up().await;
    for folder in ["table", "log", "base"] {
        for path in objects_in(&objects, folder).await {
            let sound = bytes_of(&objects, &path).await;
            let mut flipped = sound.clone();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 4;
            for damaged in [flipped, sound[..middle].to_vec()] {
                replace(&objects, &path, damaged).await;
                refused(&objects, &path).await;
            }
            objects.inner.delete(&path).await.unwrap();
            let missing = refused(&objects, &path).await;
            assert!(missing.contains("found no object"), "{missing}");
            let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap();
            assert!(!ranges[0].damage.is_empty(), "{path}");
            replace(&objects, &path, sound).await;
        }
    }
    let manifest = objects_in(&objects, "manifest").await.pop().unwrap();
    let sound = bytes_of(&objects, &manifest).await;
    replace(&objects, &manifest, sound[..sound.len() - 1].to_vec()).await;
    refused(&objects, &manifest).await;
    replace(&objects, &manifest, sound).await;
    assert_eq!(crate::stores::restored(&objects, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_another_lineage_is_refused() {
    let (_dir, _db, objects) = backed_up().await;
    let log = objects_in(&objects, "log").await.pop().unwrap();
    let mut bytes = bytes_of(&objects, &log).await;
    bytes[12] ^= 1;
    replace(&objects, &log, bytes).await;
    refused(&objects, &log).await;
    let manifest = objects_in(&objects, "manifest").await.pop().unwrap();
    let mut bytes = bytes_of(&objects, &manifest).await;
    bytes[12] ^= 1;
    replace(&objects, &manifest, bytes).await;
    assert!(refused(&objects, &manifest).await.contains("expected lineage"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_a_later_release_is_refused_by_its_format() {
    let (_dir, _db, objects) = backed_up().await;
    let manifest = objects_in(&objects, "manifest").await.pop().unwrap();
    let mut bytes = bytes_of(&objects, &manifest).await;
    bytes[8] = 9;
    replace(&objects, &manifest, bytes).await;
    let (_dir, to) = folder();
    let refused = restore(&objects, &to, At::Newest).await.unwrap_err();
    assert!(matches!(refused, Error::Newer { found: 9, .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_restores_what_is_there() {
    let (_dir, db, objects) = backed_up().await;
    let expected = rows(&db);
    let to = |objects: &Faulty| (Arc::new(objects.clone()), folder());
    let (sound, (_dir, dir)) = to(&objects);
    let salvaged = salvage(sound, prefix(), &dir, At::Newest).await.unwrap();
    assert!(salvaged.repaired.is_none() && salvaged.damage.is_empty());
    assert_eq!(rows(&Db::open(&dir, small()).unwrap()), expected);

    let table = objects_in(&objects, "table").await.remove(0);
    objects.inner.delete(&table).await.unwrap();
    let log = objects_in(&objects, "log").await.pop().unwrap();
    objects.inner.delete(&log).await.unwrap();
    let (damaged, (_dir, dir)) = to(&objects);
    let salvaged = salvage(damaged, prefix(), &dir, At::Newest).await.unwrap();
    assert_eq!(salvaged.damage.len(), 2, "{:?}", salvaged.damage);
    let report = salvaged.repaired.unwrap();
    assert!(!report.complete);
    let found = rows(&Db::open(&dir, small()).unwrap());
    assert!(!found.is_empty() && found.len() < expected.len());
    assert!(found.keys().all(|row| expected.contains_key(row)) || report.doubtful_rows > 0);
    assert!(!dir.with_file_name("store.salvage").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_with_files_is_refused() {
    let (_dir, _db, objects) = backed_up().await;
    let (_dir, to) = folder();
    fs::create_dir(&to).unwrap();
    fs::write(to.join("notes.txt"), "mine").unwrap();
    let refused = restore(&objects, &to, At::Newest).await.unwrap_err().to_string();
    assert!(refused.contains("expected an empty directory"), "{refused}");
    assert_eq!(fs::read(to.join("notes.txt")).unwrap(), b"mine");
    fs::remove_file(to.join("notes.txt")).unwrap();
    restore(&objects, &to, At::Newest).await.unwrap();
    let again = restore(&objects, &to, At::Newest).await.unwrap_err();
    assert!(matches!(again, Error::Invalid { .. }), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_outside_of_the_backup_is_refused_with_its_bounds() {
    let (_dir, _db, objects) = backed_up().await;
    let range = list(Arc::new(objects.clone()), prefix()).await.unwrap().remove(0);
    let bounds = format!("{} to {}", range.first.sequence, range.last.sequence);
    for at in [At::Sequence(range.last.sequence + 1), At::Sequence(range.first.sequence - 1)] {
        let (_dir, to) = folder();
        let refused = restore(&objects, &to, at).await.unwrap_err().to_string();
        assert!(refused.contains(&bounds), "{refused}");
    }
    for at in [At::Time(0), At::Time(u64::MAX)] {
        let (_dir, to) = folder();
        let refused = restore(&objects, &to, at).await.unwrap_err().to_string();
        assert!(refused.contains("moment to restore: expected 2") && !to.exists(), "{refused}");
    }
    let (_dir, to) = folder();
    let none = restore(&Faulty::new(), &to, At::Newest).await.unwrap_err().to_string();
    assert_eq!(none, "backup: expected one with a base, found none");
}

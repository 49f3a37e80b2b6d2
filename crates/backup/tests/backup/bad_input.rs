//! Damaged backups, directories in use, and moments that a backup does not have.

use crate::faulty::Faulty;
use crate::stores::{folder, prefix, restore, rows, small, start, write, write_all};
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use std::fs;
use std::sync::Arc;
use terrane::storage::Directory;
use terrane::{Db, Durability, ErrorKind};
use terrane_backup::format::Manifest;
use terrane_backup::{At, Error, Options, list, salvage};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

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
            let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges;
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
async fn a_claim_of_a_later_release_is_named_by_its_format() {
    let (_dir, db, objects) = backed_up().await;
    let claim = Path::from(format!("{}/claim/{:020}", prefix(), 1));
    let mut bytes = bytes_of(&objects, &claim).await;
    bytes[8] = 9;
    replace(&objects, &claim, bytes).await;
    let listed = list(Arc::new(objects.clone()), prefix()).await.map(drop);
    let started = start(&db, &objects).await.map(drop);
    for refused in [listed, started] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Newer { found: 9, .. }), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lengths_that_no_object_has_are_listed() {
    let (_dir, db, objects) = backed_up().await;
    let lineage = db.feed_cursor().lineage.0;
    let path = objects_in(&objects, "manifest").await.pop().unwrap();
    let number = path.filename().unwrap().parse().unwrap();
    let bytes = bytes_of(&objects, &path).await;
    let mut manifest = Manifest::decode(&bytes, "manifest", lineage, number).unwrap();
    let logs = &mut manifest.content.as_mut().unwrap().logs;
    assert!(logs.len() > 1);
    logs.iter_mut().for_each(|log| log.bytes = u64::MAX);
    replace(&objects, &path, manifest.encode()).await;
    let listed = list(Arc::new(objects.clone()), prefix()).await.unwrap();
    assert_eq!(listed.ranges[0].log_bytes, u64::MAX);
    assert!(!listed.ranges[0].damage.is_empty());
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
    let through = db.latest_sequence();
    assert!(salvaged.restored.sequence < through && salvaged.lost_through == Some(through));
    let report = salvaged.repaired.unwrap();
    assert!(!report.complete);
    let found = rows(&Db::open(&dir, small()).unwrap());
    assert!(!found.is_empty() && found.len() < expected.len());
    assert!(found.keys().all(|row| expected.contains_key(row)) || report.doubtful_rows > 0);
    assert!(found.keys().all(|row| expected.contains_key(row)) || salvaged.doubtful_rows > 0);
    assert_eq!(fs::read_dir(dir.parent().unwrap()).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_leaves_the_directories_beside_it_alone() {
    let (_dir, _db, objects) = backed_up().await;
    let table = objects_in(&objects, "table").await.remove(0);
    for is_damaged in [false, true] {
        if is_damaged {
            objects.inner.delete(&table).await.unwrap();
        }
        let (to, dir) = folder();
        let others = ["store.salvage", "store.repaired"].map(|name| dir.with_file_name(name));
        for other in &others {
            fs::create_dir(other).unwrap();
            fs::write(other.join("notes.txt"), "mine").unwrap();
        }
        let salvaged = salvage(Arc::new(objects.clone()), prefix(), &dir, At::Newest).await;
        assert_eq!(salvaged.unwrap().repaired.is_some(), is_damaged);
        for other in &others {
            assert_eq!(fs::read(other.join("notes.txt")).unwrap(), b"mine");
        }
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 3);
    }
}

/// Restores once no other restore has the directory.
async fn restore_in_turn(objects: &Faulty, dir: &std::path::Path) -> Result<(), Error> {
    loop {
        match restore(objects, dir, At::Newest).await {
            Err(Error::Store(e)) if matches!(e.kind(), ErrorKind::Busy(_)) => {}
            restored => return restored.map(drop),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_restores_into_one_directory_one_makes_the_store() {
    let (_dir, db, objects) = backed_up().await;
    for _ in 0..5 {
        let (_to, dir) = folder();
        let start = || {
            let (runtime, objects, dir) = (Handle::current(), objects.clone(), dir.clone());
            spawn_blocking(move || runtime.block_on(restore_in_turn(&objects, &dir)))
        };
        let restores = [start(), start()];
        let mut refused = 0;
        for restore in restores {
            match restore.await.unwrap() {
                Ok(()) => {}
                Err(Error::Invalid { .. }) => refused += 1,
                Err(e) => panic!("{e}"),
            }
        }
        assert_eq!(refused, 1);
        assert_eq!(rows(&Db::open(&dir, small()).unwrap()), rows(&db));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_manifest_leaves_the_other_moments() {
    let (_dir, _db, objects) = backed_up().await;
    let last = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges[0].last.sequence;
    let manifest = objects_in(&objects, "manifest").await.pop().unwrap();
    replace(&objects, &manifest, b"nothing".to_vec()).await;
    let listed = list(Arc::new(objects.clone()), prefix()).await.unwrap();
    assert!(listed.damage[0].contains(manifest.filename().unwrap()) && listed.damage.len() == 1);
    let range = &listed.ranges[0];
    assert!(range.damage.is_empty() && range.last.sequence < last, "{range:?}");
    refused(&objects, &manifest).await;
    let at = At::Sequence(range.last.sequence);
    let (_, expected) = crate::stores::restored(&objects, at).await;
    let (_to, dir) = folder();
    let salvaged = salvage(Arc::new(objects.clone()), prefix(), &dir, At::Newest).await.unwrap();
    assert_eq!(salvaged.restored.sequence, range.last.sequence);
    assert!(salvaged.damage.len() == 1 && salvaged.repaired.is_none(), "{salvaged:?}");
    assert_eq!(rows(&Db::open(&dir, small()).unwrap()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_takes_the_base_before_a_damaged_one() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let options = crate::stores::often().base_bytes(4 << 10);
    let backup =
        terrane_backup::Backup::start(&db, Arc::new(objects.clone()), prefix(), options).await;
    let (backup, mut n) = (backup.unwrap(), 0);
    while backup.status().bases < 2 {
        n += 1;
        backup.wait(write(&db, n)).await.unwrap();
    }
    backup.stop().await;
    // Another writer makes a base, and no range but that one's has this batch.
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, n + 1)).await.unwrap();
    backup.stop().await;
    // The last object may be that of a base that was not complete when the writer stopped.
    let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges;
    let newest = format!("{:020}-", ranges[0].first.sequence);
    let mut bases = objects_in(&objects, "base").await.into_iter();
    let base = bases.find(|base| base.filename().unwrap().starts_with(&newest)).unwrap();
    objects.inner.delete(&base).await.unwrap();
    refused(&objects, &base).await;
    let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges;
    let before = ranges.iter().find(|range| range.damage.is_empty()).unwrap().last.sequence;
    let (_, expected) = crate::stores::restored(&objects, At::Sequence(before)).await;
    let (_to, dir) = folder();
    let salvaged = salvage(Arc::new(objects.clone()), prefix(), &dir, At::Newest).await.unwrap();
    assert_eq!(salvaged.restored.sequence, before);
    assert_eq!(salvaged.damage.len(), 1, "{:?}", salvaged.damage);
    assert_eq!(rows(&Db::open(&dir, small()).unwrap()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sequence_number_of_two_lineages_is_refused_with_both() {
    let (_dir, db, objects) = backed_up().await;
    let cursor = db.feed_cursor();
    let expected = rows(&db);
    let (_other_dir, path) = folder();
    let other = Db::open(&path, small()).unwrap();
    let options = crate::stores::often().take_over(true);
    let backup =
        terrane_backup::Backup::start(&other, Arc::new(objects.clone()), prefix(), options).await;
    let backup = backup.unwrap();
    // Its base has the first batches.
    backup.wait(write(&other, 1)).await.unwrap();
    while other.latest_sequence() <= cursor.sequence {
        write(&other, 2);
    }
    backup.stop().await;
    let second = other.feed_cursor();
    let (_to, dir) = folder();
    let refused = restore(&objects, &dir, At::Sequence(cursor.sequence)).await.unwrap_err();
    let refused = refused.to_string();
    for of in [cursor, second] {
        let newest = format!("to {of} (");
        assert!(refused.contains(&newest), "{refused} does not contain {newest}");
    }
    assert!(!dir.exists());
    assert_eq!(crate::stores::restored(&objects, At::Cursor(cursor)).await.1, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_restore_is_opened_by_nobody() {
    let (_dir, db, objects) = backed_up().await;
    let (_to, dir) = folder();
    restore(&objects, &dir, At::Newest).await.unwrap();
    // Killed before its end: the files are there, and so is the mark.
    fs::write(dir.join(Directory::RESTORING), "").unwrap();
    for create in [true, false] {
        let mut options = small();
        options.create = create;
        let refused = Db::open(&dir, options).err().unwrap().to_string();
        assert!(refused.contains("an unfinished restore"), "{refused}");
    }
    restore(&objects, &dir, At::Newest).await.unwrap();
    assert_eq!(rows(&Db::open(&dir, small()).unwrap()), rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_restore_leaves_nothing() {
    let (_dir, _db, objects) = backed_up().await;
    let (_to, dir) = folder();
    // Each restore is dropped after one more of its turns.
    for turns in 0.. {
        let mut polls = 0;
        let mut restoring = Box::pin(restore(&objects, &dir, At::Newest));
        let ended = std::future::poll_fn(|cx| {
            if polls > turns {
                return std::task::Poll::Ready(None);
            }
            polls += 1;
            restoring.as_mut().poll(cx).map(Some)
        });
        if let Some(restored) = ended.await {
            restored.unwrap();
            break;
        }
        drop(restoring);
        assert!(!dir.exists(), "after {turns} turns");
    }
    Db::open(&dir, small()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interval_out_of_bounds_is_refused() {
    let (_dir, path) = folder();
    let db = Db::open(&path, small()).unwrap();
    for seconds in [0, 3601, u64::MAX] {
        let options = Options::default().interval(std::time::Duration::from_secs(seconds));
        let objects = Arc::new(Faulty::new());
        let started = terrane_backup::Backup::start(&db, objects, prefix(), options).await;
        let refused = started.err().unwrap().to_string();
        assert!(refused.starts_with("interval of uploads: expected 1ms to 1h"), "{refused}");
    }
    db.default_keyspace().put("a", "1", Durability::Buffered).unwrap();
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
    let range = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges.remove(0);
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

//! Take-overs beside writers that run, of places that were emptied, and of places with damaged manifests.

use crate::faulty::Faulty;
use crate::fencing::{copy, objects_with, refused, take_over};
use crate::stores::{folder, restored, rows, small, start, write, write_all};
use object_store::ObjectStoreExt;
use terrane::Db;
use terrane_backup::{At, Error, State};

#[tokio::test(flavor = "multi_thread")]
async fn a_take_over_shares_no_lineage_with_a_copy() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    write(&db, 1);
    db.close().unwrap();
    let copied = dir.path().join("copy");
    copy(&path, &copied);
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&copied, small()).unwrap());
    write_all(&other, 2..30);
    // The store has claimed the place and has no manifest yet while the copy prepares its claim. The store uploads
    // before that claim is there.
    let (first, second) = (objects.holding("/manifest/"), objects.holding("/claim/"));
    let starting = tokio::spawn({
        let (db, first) = (db.clone(), first.clone());
        async move { start(&db, &first).await }
    });
    first.held().await;
    let taking = tokio::spawn({
        let (other, second) = (other.clone(), second.clone());
        async move { take_over(&other, &second).await }
    });
    second.held().await;
    first.release();
    let former = starting.await.unwrap().unwrap();
    former.wait(write(&db, 50)).await.unwrap();
    let (expected, cursor) = (rows(&db), db.feed_cursor());
    second.release();
    let later = taking.await.unwrap().unwrap();
    later.wait(write(&other, 30)).await.unwrap();
    let lost = former.wait(write(&db, 51)).await.unwrap_err();
    assert!(matches!(lost, Error::Fenced { .. }), "{lost}");
    // A subscriber of the former writer must not continue with batches of the copy.
    assert_ne!(other.feed_cursor().lineage, cursor.lineage);
    assert_eq!(restored(&objects, At::Cursor(cursor)).await.1, expected);
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&other));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_emptied_under_its_writer_is_taken_over() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    for n in 1..4 {
        start(&db, &objects).await.unwrap().stop().await;
        write(&db, n);
    }
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 4)).await.unwrap();
    for path in objects_with(&objects, "").await {
        objects.inner.delete(&path).await.unwrap();
    }
    // The manifest that the writer creates before it notices has the number of its claim.
    let mut state = backup.state();
    write(&db, 5);
    state.wait_for(|state| matches!(state, State::Failing(_))).await.unwrap();
    drop(backup);
    assert!(!objects_with(&objects, "/manifest/").await.is_empty());
    let backup = take_over(&db, &objects).await.unwrap();
    backup.wait(write(&db, 6)).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_without_a_claim_are_not_continued_unasked() {
    let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    backup.stop().await;
    for claim in objects_with(&objects, "/claim/").await {
        objects.inner.delete(&claim).await.unwrap();
    }
    assert!(refused(&other, &objects).await.contains("found backups without a claim"));
    assert!(refused(&db, &objects).await.contains("as if a disk is not mounted"));
    let backup = take_over(&other, &objects).await.unwrap();
    backup.wait(write(&other, 2)).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&other));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_take_over_that_failed_elsewhere_hides_no_older_copy() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    db.wait_until_idle().unwrap();
    let old = dir.path().join("old");
    copy(&path, &old);
    backup.wait(write(&db, 2)).await.unwrap();
    // The disk with the backup is not mounted, and the copy dies before its claim is there.
    let (old, empty) = (Db::open(old, small()).unwrap(), Faulty::new().holding("/claim/"));
    let taking = tokio::spawn({
        let (old, empty) = (old.clone(), empty.clone());
        async move { take_over(&old, &empty).await.map(drop) }
    });
    empty.held().await;
    taking.abort();
    assert!(taking.await.is_err());
    assert!(refused(&old, &objects).await.contains("found writer 1 since"));
    backup.wait(write(&db, 3)).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_newest_manifest_hides_no_older_copy() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    db.wait_until_idle().unwrap();
    let old = dir.path().join("old");
    copy(&path, &old);
    for n in 2..6 {
        backup.wait(write(&db, n)).await.unwrap();
    }
    db.wait_until_idle().unwrap();
    let nearly = dir.path().join("nearly");
    copy(&path, &nearly);
    backup.wait(write(&db, 6)).await.unwrap();
    backup.stop().await;
    let cursor = db.feed_cursor();
    let manifests = objects_with(&objects, "/manifest/").await;
    let newest = manifests.last().unwrap();
    let sound = objects.inner.get(newest).await.unwrap().bytes().await.unwrap();
    objects.inner.put(newest, "nothing".into()).await.unwrap();
    // The manifest before shows that one copy is older. Nothing shows whether the other is, or the store.
    let [old, nearly] = [old, nearly].map(|copy| Db::open(copy, small()).unwrap());
    assert!(refused(&old, &objects).await.contains("an older copy"));
    refused(&nearly, &objects).await;
    let name = newest.filename().unwrap();
    let refusal = refused(&db, &objects).await;
    assert!(refusal.contains("a sound newest manifest") && refusal.contains(name), "{refusal}");
    objects.inner.put(newest, sound.clone().into()).await.unwrap();
    start(&db, &objects).await.unwrap().stop().await;

    let newest = objects_with(&objects, "/manifest/").await.pop().unwrap();
    objects.inner.put(&newest, "nothing".into()).await.unwrap();
    let backup = take_over(&db, &objects).await.unwrap();
    let expected = rows(&db);
    assert_ne!(db.feed_cursor().lineage, cursor.lineage);
    backup.wait(write(&db, 7)).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
    assert_eq!(restored(&objects, At::Cursor(cursor)).await.1, expected);
}

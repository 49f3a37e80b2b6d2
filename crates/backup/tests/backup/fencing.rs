//! One writer continues a backup; all others end.

use crate::faulty::{Fault, Faulty};
use crate::stores::{
    folder, often, prefix, restore, restored, rows, small, start, write, write_all,
};
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::fs;
use std::sync::Arc;
use terrane::{Db, Durability};
use terrane_backup::format::Manifest;
use terrane_backup::{At, Backup, Error, State, list};

/// Copies the files of a store that nobody writes to.
pub fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Starts a backup as an operator does who wants to continue the backup of another store.
pub async fn take_over(db: &Db, objects: &Faulty) -> Result<Backup, Error> {
    Backup::start(db, Arc::new(objects.clone()), prefix(), often().take_over(true)).await
}

/// Expects a start to be refused; returns the message.
pub async fn refused(db: &Db, objects: &Faulty) -> String {
    let refused = start(db, objects).await.err().unwrap();
    assert!(matches!(refused, Error::NotOwner { .. }), "{refused}");
    refused.to_string()
}

/// Returns the objects whose paths contain a text, in their order.
pub async fn objects_with(objects: &Faulty, text: &str) -> Vec<Path> {
    let all: Vec<_> = objects.inner.list(None).try_collect().await.unwrap();
    let paths = all.into_iter().map(|meta| meta.location);
    let mut paths: Vec<_> = paths.filter(|path| path.as_ref().contains(text)).collect();
    paths.sort();
    paths
}

/// Takes a place over with the requests cut off from each one on before the claim. Each time an operator must ask
/// again.
async fn cut_off(db: &Db, objects: &Faulty) {
    let claims = objects_with(objects, "/claim/").await;
    for from in 1.. {
        let cut = objects.sound();
        cut.plan.fail(from, u64::MAX, Fault::Refused);
        let failed = take_over(db, &cut).await.err().unwrap();
        if objects_with(objects, "/claim/").await != claims {
            break;
        }
        assert!(matches!(failed, Error::Objects { .. }), "{failed}");
        refused(db, objects).await;
    }
    // The claim is there.
    start(db, objects).await.unwrap().stop().await;
    assert_eq!(restored(objects, At::Newest).await.1, rows(db));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_store_fences_the_former_writer() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    write_all(&db, 1..20);
    start(&db, &objects).await.unwrap().stop().await;
    db.close().unwrap();
    let other = dir.path().join("other");
    copy(&path, &other);
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other, small()).unwrap());
    let former = start(&db, &objects).await.unwrap();
    let acknowledged = write(&db, 20);
    former.wait(acknowledged).await.unwrap();
    write_all(&other, 50..60);
    assert!(refused(&other, &objects).await.contains("found writer 2 since"));
    let later = take_over(&other, &objects).await.unwrap();
    let refused = former.wait(write(&db, 21)).await.unwrap_err();
    assert!(matches!(refused, Error::Fenced { last, .. } if last == acknowledged), "{refused}");
    let status = former.status();
    assert!(status.fenced.unwrap().contains("another writer") && status.sequence == acknowledged);
    assert!(matches!(&*former.state().borrow(), State::Fenced(_)));
    later.wait(write(&other, 60)).await.unwrap();
    later.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&other));
    for range in list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges {
        assert!(range.damage.is_empty(), "{range:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_store_in_the_same_place_is_refused() {
    let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let former = start(&db, &objects).await.unwrap();
    former.wait(write(&db, 1)).await.unwrap();
    assert!(refused(&other, &objects).await.contains("found writer 1 since"));
    write(&other, 1);
    assert!(refused(&other, &objects).await.contains("found writer 1 since"));
    former.wait(write(&db, 2)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_that_takes_over_has_the_newest_moment() {
    let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let former = start(&db, &objects).await.unwrap();
    former.wait(write(&db, 1)).await.unwrap();
    former.stop().await;
    // The former writer's clock was a day ahead.
    let newest = objects_with(&objects, "/manifest/").await.pop().unwrap();
    let bytes = objects.inner.get(&newest).await.unwrap().bytes().await.unwrap();
    let lineage = u64::from_str_radix(newest.parts().nth(2).unwrap().as_ref(), 16).unwrap();
    let number = newest.filename().unwrap().parse().unwrap();
    let mut manifest = Manifest::decode(&bytes, "manifest", lineage, number).unwrap();
    manifest.time += 24 * 3600 * 1000;
    objects.inner.put(&newest, manifest.encode().into()).await.unwrap();

    write(&other, 1);
    let later = take_over(&other, &objects).await.unwrap();
    later.wait(write(&other, 3)).await.unwrap();
    later.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&other));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_writer_does_not_return_by_another_lineage() {
    let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let former = start(&db, &objects).await.unwrap();
    former.wait(write(&db, 1)).await.unwrap();
    write(&other, 1);
    let later = take_over(&other, &objects).await.unwrap();
    db.begin_lineage().unwrap();
    let written = db.default_keyspace().put("a", "1", Durability::Buffered).unwrap();
    let refused = former.wait(written).await.unwrap_err();
    assert!(matches!(refused, Error::Fenced { .. }), "{refused}");
    later.wait(write(&other, 2)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_store_starts_again_only_if_an_operator_asks() {
    let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let former = start(&db, &objects).await.unwrap();
    former.wait(write(&db, 1)).await.unwrap();
    // Killed before it can notice.
    drop(former);
    let later = take_over(&other, &objects).await.unwrap();
    later.wait(write(&other, 1)).await.unwrap();
    for _ in 0..2 {
        assert!(refused(&db, &objects).await.contains("found writer 2 since"));
    }
    later.wait(write(&other, 2)).await.unwrap();
    let again = take_over(&db, &objects).await.unwrap();
    let fenced = later.wait(write(&other, 3)).await.unwrap_err();
    assert!(matches!(fenced, Error::Fenced { .. }), "{fenced}");
    again.wait(write(&db, 2)).await.unwrap();
    again.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_store_takes_over_from_the_store_it_is_of() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let former = start(&db, &objects).await.unwrap();
    former.wait(write(&db, 1)).await.unwrap();
    drop(former);
    let copies = ["first", "second"].map(|name| dir.path().join(name));
    for copy in &copies {
        restore(&objects, copy, At::Newest).await.unwrap();
    }
    let [first, second] = copies.map(|copy| Db::open(copy, small()).unwrap());
    let later = start(&first, &objects).await.unwrap();
    later.wait(write(&first, 2)).await.unwrap();
    // The first one to start is the only one.
    for other in [&db, &second] {
        assert!(refused(other, &objects).await.contains("found writer 2 since"));
    }
    later.stop().await;
    start(&first, &objects).await.unwrap().stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&first));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_writers_that_start_at_once_one_stays() {
    for round in 0..16 {
        let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
        let (db, other) =
            (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
        let run = async |db: Db, objects: Faulty| {
            let backup = if round % 2 == 0 {
                start(&db, &objects).await?
            } else {
                take_over(&db, &objects).await?
            };
            backup.wait(write(&db, 1)).await?;
            Ok::<_, Error>(backup)
        };
        let (of_db, of_other) = (objects.clone(), objects.clone());
        let (one, two) = tokio::join!(run(db.clone(), of_db), run(other.clone(), of_other));
        // A writer that was faster may have been fenced since.
        let mut stays = Vec::new();
        for (backup, db) in [(one, &db), (two, &other)] {
            match backup {
                Ok(backup) => match backup.wait(write(db, 2)).await {
                    Ok(()) => stays.push((backup, db)),
                    Err(e) => assert!(matches!(e, Error::Fenced { .. }), "{e}"),
                },
                Err(e) => {
                    let is_refused = matches!(e, Error::Fenced { .. } | Error::NotOwner { .. });
                    assert!(is_refused, "{e}");
                }
            }
        }
        let [(backup, db)] = &stays[..] else { panic!("{} writers stay", stays.len()) };
        backup.stop().await;
        assert_eq!(restored(&objects, At::Newest).await.1, rows(db));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_store_continues_in_its_own_lineage() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    for n in 1..20 {
        backup.wait(write(&db, n)).await.unwrap();
    }
    // As a snapshot of the disk does, while nothing is removed.
    db.wait_until_idle().unwrap();
    let old = dir.path().join("old");
    copy(&path, &old);
    let last = write(&db, 20);
    backup.wait(last).await.unwrap();
    backup.stop().await;
    let (expected, cursor) = (rows(&db), db.feed_cursor());
    let old = Db::open(&old, small()).unwrap();
    assert!(refused(&old, &objects).await.contains("an older copy"));
    let backup = take_over(&old, &objects).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&old));
    assert_eq!(cursor.sequence, last);
    assert_eq!(restored(&objects, At::Cursor(cursor)).await.1, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_without_the_backups_of_the_store_is_refused() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    backup.stop().await;
    let empty = Faulty::new();
    assert!(refused(&db, &empty).await.contains("as if a disk is not mounted"));
    assert!(objects_with(&empty, "").await.is_empty());
    // The place is mounted again.
    start(&db, &objects).await.unwrap().stop().await;
    take_over(&db, &empty).await.unwrap().stop().await;
    assert_eq!(restored(&empty, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_acknowledged_while_the_place_is_another() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    let mut state = backup.state();
    assert_eq!(*state.borrow_and_update(), State::Uploading);
    let claim = objects_with(&objects, "/claim/").await.pop().unwrap();
    let bytes = objects.inner.get(&claim).await.unwrap().bytes().await.unwrap();
    objects.inner.delete(&claim).await.unwrap();
    let written = write(&db, 2);
    tokio::select! {
        waited = backup.wait(written) => panic!("{waited:?}"),
        changed = state.changed() => changed.unwrap(),
    }
    let State::Failing(reason) = state.borrow_and_update().clone() else { panic!("{state:?}") };
    assert!(reason.contains("no longer mounted"), "{reason}");
    objects.inner.put(&claim, bytes.into()).await.unwrap();
    backup.wait(written).await.unwrap();
    state.wait_for(|state| *state == State::Uploading).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_take_over_that_failed_must_be_asked_for_again() {
    let ((dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    start(&db, &objects).await.unwrap().stop().await;
    db.close().unwrap();
    let old = dir.path().join("old");
    copy(&path, &old);
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    backup.stop().await;
    // Another store, a copy from before the newest claim, and a place that was emptied.
    cut_off(&other, &objects).await;
    cut_off(&Db::open(&old, small()).unwrap(), &objects).await;
    cut_off(&db, &Faulty::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_whose_take_over_failed_is_refused_again() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    db.wait_until_idle().unwrap();
    let old = dir.path().join("old");
    copy(&path, &old);
    backup.wait(write(&db, 2)).await.unwrap();
    backup.stop().await;
    cut_off(&Db::open(&old, small()).unwrap(), &objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_claim_of_its_own_does_not_refuse_a_store() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    start(&db, &objects).await.unwrap().stop().await;
    let former = objects_with(&objects, "/claim/").await;
    // Killed after it has sent its claim, which arrives after that of the next start was lost.
    let cut = objects.sound();
    let claim = cut_at_claim(&db, &cut, &former, Fault::Unanswered).await;
    let bytes = objects.inner.get(&claim).await.unwrap().bytes().await.unwrap();
    objects.inner.delete(&claim).await.unwrap();
    let next = cut.plan.from.load(std::sync::atomic::Ordering::SeqCst);
    cut.plan.requests.store(0, std::sync::atomic::Ordering::SeqCst);
    cut.plan.fail(next, u64::MAX, Fault::Refused);
    start(&db, &cut).await.err().unwrap();
    objects.inner.put(&claim, bytes.into()).await.unwrap();
    start(&db, &objects).await.unwrap().stop().await;
}

/// Starts with all replies lost from each request on until a claim is there; returns it.
async fn cut_at_claim(db: &Db, cut: &Faulty, former: &[Path], fault: Fault) -> Path {
    for from in 1.. {
        cut.plan.requests.store(0, std::sync::atomic::Ordering::SeqCst);
        cut.plan.fail(from, u64::MAX, fault);
        start(db, cut).await.err().unwrap();
        let claims = objects_with(cut, "/claim/").await;
        if claims != former {
            return claims.last().unwrap().clone();
        }
    }
    unreachable!()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_is_fenced_by_another_claim_of_its_number() {
    let ((_dir, path), (_other_dir, other_path)) = (folder(), folder());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let (objects, another) = (Faulty::new(), Faulty::new());
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    start(&other, &another).await.unwrap().stop().await;
    // As if another disk were mounted there.
    let claim = objects_with(&objects, "/claim/").await.pop().unwrap();
    let bytes = another.inner.get(&claim).await.unwrap().bytes().await.unwrap();
    objects.inner.put(&claim, bytes.into()).await.unwrap();
    let refused = backup.wait(write(&db, 2)).await.unwrap_err();
    assert!(matches!(refused, Error::Fenced { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_no_writer_gives_are_no_claims() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let other = "other/00000000000000000007";
    for name in ["+5", "5", "+0000000000000000005", other] {
        let path = Path::from(format!("{}/claim/{name}", prefix()));
        objects.inner.put(&path, "".into()).await.unwrap();
    }
    start(&db, &objects).await.unwrap().stop().await;
    let last = Path::from(format!("{}/claim/{}", prefix(), u64::MAX));
    objects.inner.put(&last, "".into()).await.unwrap();
    let refused = take_over(&db, &objects).await.err().unwrap();
    assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_of_the_last_number_is_refused_by_name() {
    let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    backup.stop().await;
    let newest = objects_with(&objects, "/manifest/").await.pop().unwrap();
    let bytes = objects.inner.get(&newest).await.unwrap().bytes().await.unwrap();
    let lineage = u64::from_str_radix(newest.parts().nth(2).unwrap().as_ref(), 16).unwrap();
    let number = newest.filename().unwrap().parse().unwrap();
    let mut manifest = Manifest::decode(&bytes, "manifest", lineage, number).unwrap();
    manifest.number = u64::MAX;
    let (folder, _) = newest.as_ref().rsplit_once('/').unwrap();
    let last = Path::from(format!("{folder}/{}", u64::MAX));
    objects.inner.put(&last, manifest.encode().into()).await.unwrap();
    for refused in [start(&db, &objects).await, take_over(&other, &objects).await] {
        let refused = refused.err().unwrap().to_string();
        let name = format!("manifest/{}: expected a manifest with a number after it", u64::MAX);
        assert!(refused.contains(&name), "{refused}");
    }
    objects.inner.delete(&last).await.unwrap();
    start(&other, &objects).await.unwrap().stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&other));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_died_after_its_first_claim_continues() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    write(&db, 1);
    cut_at_claim(&db, &objects.sound(), &[], Fault::Unanswered).await;
    assert_eq!(objects_with(&objects, "/claim/").await.len(), 1);
    db.close().unwrap();
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 2)).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_claim_on_an_absent_disk_needs_a_take_over() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    cut_at_claim(&db, &objects.sound(), &[], Fault::Unanswered).await;
    // The disk is not mounted at the next start. Nothing was backed up, so that the store starts there.
    let beneath = Faulty::new();
    let backup = start(&db, &beneath).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    backup.stop().await;
    // It is mounted again, with the first claim alone.
    assert!(refused(&db, &objects).await.contains("found writer 1 since"));
    take_over(&db, &objects).await.unwrap().stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

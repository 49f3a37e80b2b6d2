//! Old objects are removed, and nothing that a kept manifest names.

use crate::faulty::Faulty;
use crate::stores::{folder, often, prefix, restored, rows, small, write};
use futures_util::TryStreamExt;
use object_store::ObjectStore;
use std::sync::Arc;
use std::time::Duration;
use terrane::Db;
use terrane_backup::{At, Backup, Options, list};

async fn objects_of(objects: &Faulty) -> usize {
    objects.inner.list(None).try_collect::<Vec<_>>().await.unwrap().len()
}

/// Backs up a store with many bases.
async fn back_up(objects: &Faulty, options: Options) -> (tempfile::TempDir, Db) {
    let (dir, path) = folder();
    let db = Db::open(&path, small()).unwrap();
    let options = options.base_bytes(4 << 10);
    let backup = Backup::start(&db, Arc::new(objects.clone()), prefix(), options).await.unwrap();
    for n in 1..200 {
        backup.wait(write(&db, n)).await.unwrap();
    }
    backup.stop().await;
    (dir, db)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_retention_the_newest_range_alone_is_kept() {
    let objects = Faulty::new();
    let mut options = often().retention(Duration::ZERO);
    options.removal_age = Duration::ZERO;
    let (_dir, db) = back_up(&objects, options).await;
    let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap();
    assert!(ranges.len() <= 3 && ranges[0].damage.is_empty(), "{ranges:?}");
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn within_the_retention_every_range_is_kept() {
    let objects = Faulty::new();
    let mut options = often().retention(Duration::from_secs(3600));
    let (_dir, _db) = back_up(&objects, options).await;
    let all = objects_of(&objects).await;
    let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap().len();
    let objects = Faulty::new();
    // Manifests whose base a later one has are removed, with nothing that is needed.
    options.removal_age = Duration::ZERO;
    let (_dir, db) = back_up(&objects, options).await;
    assert!(objects_of(&objects).await < all);
    let kept = list(Arc::new(objects.clone()), prefix()).await.unwrap();
    assert!(kept.iter().all(|range| range.damage.is_empty()), "{kept:?}");
    assert!(kept.len() * 2 > ranges, "{} of about {ranges}", kept.len());
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
    let first = kept.last().unwrap().first.sequence;
    restored(&objects, At::Sequence(first)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn young_objects_that_nothing_names_are_kept() {
    let objects = Faulty::new();
    let (_dir, _db) = back_up(&objects, often().retention(Duration::ZERO)).await;
    let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap();
    assert!(ranges.len() > 3 && ranges.iter().all(|range| range.damage.is_empty()));
}

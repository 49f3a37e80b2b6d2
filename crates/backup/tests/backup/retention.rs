//! Old objects are removed, and nothing that a kept manifest names.

use crate::faulty::Faulty;
use crate::stores::{folder, often, prefix, restored, rows, small, write};
use futures_util::TryStreamExt;
use object_store::ObjectStore;
use std::sync::Arc;
use std::time::Duration;
use terrane::Db;
use terrane_backup::{At, Backup, Options, list};

/// Batches of a test, at least.
const BATCHES: u64 = 200;
/// Bases of a test, at least.
const BASES: u64 = 5;

async fn manifests(objects: &Faulty) -> u64 {
    let all: Vec<_> = objects.inner.list(None).try_collect().await.unwrap();
    all.iter().filter(|meta| meta.location.as_ref().contains("/manifest/")).count() as u64
}

/// Backs up a store with several bases, and waits for each batch, until enough manifests are removed.
async fn back_up(
    objects: &Faulty,
    options: Options,
    is_enough: impl Fn(u64, u64) -> bool,
) -> (tempfile::TempDir, Db) {
    let (dir, path) = folder();
    let db = Db::open(&path, small()).unwrap();
    let options = options.base_bytes(4 << 10);
    let backup = Backup::start(&db, Arc::new(objects.clone()), prefix(), options).await.unwrap();
    let mut n = 0;
    while n < BATCHES || backup.status().bases < BASES || !is_enough(manifests(objects).await, n) {
        n += 1;
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
    let (_dir, db) = back_up(&objects, options, |_, _| true).await;
    let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges;
    assert!(ranges.len() <= 3 && ranges[0].damage.is_empty(), "{ranges:?}");
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn within_the_retention_every_range_is_kept() {
    let objects = Faulty::new();
    let mut options = often().retention(Duration::from_secs(1 << 30));
    options.removal_age = Duration::ZERO;
    // Of the manifests with one base all but the last are removed, with nothing that is needed.
    let (_dir, db) = back_up(&objects, options, |manifests, batches| manifests < batches / 2).await;
    let kept = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges;
    assert!(kept.iter().all(|range| range.damage.is_empty()), "{kept:?}");
    // The first base may have the two batches of the record, and the first other one.
    let first = kept.last().unwrap().first.sequence;
    assert!(kept.len() as u64 >= BASES && first <= 3, "{kept:?}");
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
    restored(&objects, At::Sequence(first)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn young_objects_that_nothing_names_are_kept() {
    let objects = Faulty::new();
    let (_dir, _db) = back_up(&objects, often().retention(Duration::ZERO), |_, _| true).await;
    let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges;
    assert!(ranges.len() as u64 >= BASES && ranges.iter().all(|range| range.damage.is_empty()));
}

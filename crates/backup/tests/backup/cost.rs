//! Cost of a month: requests and bytes of an hour, counted.
//!
//! `cargo test --release -p terrane-backup --test backup cost -- --ignored --nocapture` prints the figures of
//! docs/server.md.

use crate::faulty::Faulty;
use crate::stores::{folder, prefix};
use futures_util::TryStreamExt;
use object_store::ObjectStore;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use terrane::{Db, Durability, Options, WriteBatch};
use terrane_backup::{Backup, list};

/// Rows of 16 and 984 bytes: 1 GB.
const ROWS: u64 = 1_000_000;
/// Seconds that are counted, each with an upload.
const SECONDS: u64 = 3600;
/// Writes of a second.
const WRITES: u64 = 100;
/// Hours of a month, and of the retention.
const MONTH: f64 = 730.0;
const RETENTION: f64 = 168.0;

fn value(random: &mut u64) -> Vec<u8> {
    let words = std::iter::repeat_with(|| {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random.to_be_bytes()
    });
    words.take(123).flatten().collect()
}

fn put(batch: &mut WriteBatch, db: &Db, row: u64, random: &mut u64) {
    batch.put(&db.default_keyspace(), format!("{row:016}"), value(random)).unwrap();
}

async fn stored(objects: &Faulty) -> (f64, f64) {
    let all: Vec<_> = objects.inner.list(None).try_collect().await.unwrap();
    (all.len() as f64, all.iter().map(|meta| meta.size as f64).sum())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures, in some minutes"]
async fn an_hour_of_a_store_of_one_gigabyte() {
    let ((_dir, path), objects, mut random) = (folder(), Faulty::new(), 1);
    let db = Db::open(&path, Options::default().feed_bytes(256 << 20)).unwrap();
    for from in (0..ROWS).step_by(1000) {
        let mut batch = WriteBatch::new();
        (from..from + 1000).for_each(|row| put(&mut batch, &db, row, &mut random));
        db.write(batch, Durability::Buffered).unwrap();
    }
    db.wait_until_idle().unwrap();
    let options = terrane_backup::Options::default();
    let backup = Backup::start(&db, Arc::new(objects.clone()), prefix(), options).await.unwrap();
    backup.wait(db.latest_sequence()).await.unwrap();
    let (count, bytes) = stored(&objects).await;
    let (requests, status) = (objects.plan.requests.load(SeqCst), backup.status());
    println!("at first: {count} objects, {:.2} GB, {} uploads", bytes / 1e9, status.uploads);
    for second in 0..SECONDS {
        for write in 0..WRITES {
            let mut batch = WriteBatch::new();
            let row = (second * WRITES + write).wrapping_mul(0x9e37_79b9_7f4a_7c15) % ROWS;
            put(&mut batch, &db, row, &mut random);
            db.write(batch, Durability::Buffered).unwrap();
        }
        backup.wait(db.latest_sequence()).await.unwrap();
    }
    backup.stop().await;
    let after = backup.status();
    let (uploads, uploaded) = (after.uploads - status.uploads, after.bytes - status.bytes);
    let others = objects.plan.requests.load(SeqCst) - requests - uploads;
    let (_, now) = stored(&objects).await;
    let grown = now - bytes;
    let bases = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges.len();
    println!("an hour: {uploads} uploads, {others} other requests, {bases} bases");
    println!("uploaded: {:.2} GB; more is stored: {:.2} GB", uploaded as f64 / 1e9, grown / 1e9);
    let puts = uploads as f64 * MONTH;
    // Manifests are kept for an hour, but for the last of each base.
    let space = (bytes + grown * RETENTION) / 1e9;
    println!("a month: {puts:.0} uploads, ${:.2}", puts / 1000.0 * 0.005);
    println!("stored after a week: {space:.1} GB, ${:.2} a month", space * 0.023);
}

//! Every moment that a backup has is restored as it was.

use crate::faulty::Faulty;
use crate::stores::{Rows, folder, often, prefix, restored, rows, small, start, write, write_all};
use std::collections::BTreeMap;
use std::sync::Arc;
use terrane::entry::Seq;
use terrane::{Db, Durability};
use terrane_backup::{At, Backup, list};

/// Batches of a test.
const BATCHES: u64 = 240;

/// Writes batches, and waits for the backup of each. Returns the rows after each.
async fn history(db: &Db, backup: &Backup, from: u64, count: u64) -> BTreeMap<Seq, Rows> {
    let mut history = BTreeMap::new();
    for n in from..from + count {
        let last = write(db, n);
        if n % 50 == 0 {
            db.flush().unwrap();
        }
        backup.wait(last).await.unwrap();
        history.insert(last, rows(db));
    }
    history
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sequence_number_is_restored_as_it_was() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    write_all(&db, 1..30);
    let backup = start(&db, &objects).await.unwrap();
    let history = history(&db, &backup, 30, BATCHES).await;
    backup.stop().await;
    for (sequence, expected) in history.iter().step_by(7) {
        let (found, rows) = restored(&objects, At::Sequence(*sequence)).await;
        assert_eq!((found.sequence, &rows), (*sequence, expected));
    }
    let (_, newest) = restored(&objects, At::Newest).await;
    assert_eq!(newest, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn fresh_bases_leave_no_gap_between_their_ranges() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let options = often().base_bytes(8 << 10);
    let backup = Backup::start(&db, Arc::new(objects.clone()), prefix(), options).await.unwrap();
    let mut history = history(&db, &backup, 1, BATCHES).await;
    let mut n = BATCHES;
    while backup.status().bases < 5 {
        n += 1;
        let last = write(&db, n);
        backup.wait(last).await.unwrap();
        history.insert(last, rows(&db));
    }
    backup.stop().await;
    let ranges = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges;
    assert!(ranges.len() >= 5, "{}", ranges.len());
    for two in ranges.windows(2) {
        assert!(two[1].last.sequence + 1 >= two[0].first.sequence, "{two:?}");
        assert!(two[1].damage.is_empty() && two[1].first.time <= two[0].last.time);
    }
    let oldest = ranges.last().unwrap().first.sequence;
    for (sequence, expected) in history.range(oldest.max(1)..).step_by(11) {
        let (_, rows) = restored(&objects, At::Sequence(*sequence)).await;
        assert_eq!(&rows, expected, "at {sequence}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_is_the_newest_state_before_it() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    let first = write(&db, 1);
    backup.wait(first).await.unwrap();
    let expected = rows(&db);
    let range = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges.remove(0);
    // The next log has a later time.
    while range.last.time >= now() {}
    let time = now() - 1;
    while time >= now() {}
    backup.wait(write(&db, 2)).await.unwrap();
    backup.stop().await;
    let (found, rows) = restored(&objects, At::Time(time)).await;
    assert_eq!((found.sequence, rows), (first, expected));
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_store_uploads_no_table_again() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    write_all(&db, 1..100);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.stop().await;
    db.close().unwrap();
    let db = Db::open(&path, small()).unwrap();
    let again = objects.sound();
    let backup = start(&db, &again).await.unwrap();
    backup.stop().await;
    let tables = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges[0].tables;
    let uploaded = again.plan.tables.load(std::sync::atomic::Ordering::SeqCst);
    assert!(tables > 3, "{tables} tables");
    assert_eq!(uploaded, 0);
    assert_eq!(restored(&again, At::Newest).await.1, rows(&db));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_lineage_starts_one_in_the_backup() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    let before = write(&db, 1);
    backup.wait(before).await.unwrap();
    let (expected, cursor) = (rows(&db), db.feed_cursor());
    db.begin_lineage().unwrap();
    let after = db.default_keyspace().put("a", "1", Durability::Buffered).unwrap();
    backup.wait(after).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
    assert_eq!(cursor.sequence, before);
    assert_eq!(restored(&objects, At::Cursor(cursor)).await.1, expected);
    assert_eq!(list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn moments_before_and_after_a_removal_are_restored() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.wait(write(&db, 1)).await.unwrap();
    let mut moments = Vec::new();
    let put = |keyspace: &str, key: &str| {
        let keyspace = db.create_keyspace(keyspace).unwrap();
        keyspace.put(key, "1", Durability::Buffered).unwrap();
    };
    for step in 0..6 {
        match step {
            0 | 3 => put("fleeting", "a"),
            1 => put("keyspace-0", "before"),
            2 => assert!(db.drop_keyspace("fleeting").unwrap()),
            4 => assert!(db.drop_keyspace("keyspace-0").unwrap()),
            _ => put("keyspace-0", "after"),
        }
        moments.push((db.latest_sequence(), rows(&db)));
    }
    backup.wait(db.latest_sequence()).await.unwrap();
    backup.stop().await;
    for (sequence, expected) in moments {
        let (_, found) = restored(&objects, At::Sequence(sequence)).await;
        assert_eq!(found, expected, "at {sequence}");
    }
    assert_eq!(list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_table_is_uploaded_in_parts() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let mut options = small();
    options.memtable_bytes = 64 << 20;
    options.wal_file_bytes = 64 << 20;
    options.memory_bytes = None;
    let db = Db::open(&path, options).unwrap();
    let mut word = 1u64;
    for n in 0..24u64 {
        // Bytes that no compression shortens.
        let bytes = std::iter::repeat_with(|| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (word >> 33) as u8
        });
        let value: Vec<u8> = bytes.take(1 << 20).collect();
        db.default_keyspace().put(n.to_be_bytes(), value, Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    let backup = start(&db, &objects).await.unwrap();
    backup.stop().await;
    let range = list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges.remove(0);
    assert!(range.table_bytes > 20 << 20, "{range:?}");
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
}

//! An object store that is away for long.

use crate::faulty::Faulty;
use crate::stores::{folder, prefix, restored, rows, small, start, write};
use std::sync::Arc;
use terrane::Db;
use terrane_backup::{At, list};

#[tokio::test(flavor = "multi_thread")]
async fn past_the_retained_logs_a_fresh_base_is_made() {
    let ((_dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small().feed_bytes(64 << 10)).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    let before = write(&db, 1);
    backup.wait(before).await.unwrap();
    let expected = rows(&db);
    objects.plan.cut();
    let mut n = 2;
    // Serving continues until the feed no longer has the next batch.
    while db.oldest_feed_cursor().sequence <= before + 10 {
        write(&db, n);
        n += 1;
        db.flush().unwrap();
    }
    while backup.status().failures == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let status = backup.status();
    assert!(status.failure.unwrap().contains("the request failed") && status.fenced.is_none());
    assert!(status.lag_batches >= 10 && !status.lag.is_zero());
    objects.plan.repair();
    backup.wait(write(&db, n)).await.unwrap();
    assert_eq!((backup.status().lag_batches, backup.status().failure), (0, None));
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&db));
    assert_eq!(restored(&objects, At::Sequence(before)).await.1, expected);
    assert!(list(Arc::new(objects.clone()), prefix()).await.unwrap().ranges.len() > 1);
}

//! A process that dies at any request, and one whose requests fail, lose nothing that they have acknowledged.

use crate::faulty::{Fault, Faulty};
use crate::stores::{Rows, folder, often, prefix, restored, rows, small, start, write};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use terrane::Db;
use terrane::entry::Seq;
use terrane_backup::{At, Backup, Error};

/// Batches before the crash, and after it.
const BATCHES: u64 = 30;

/// Writes batches until the backup of one fails. Returns the last sequence number that was backed up, and adds the rows
/// after each batch.
async fn play(
    db: &Db,
    objects: &Faulty,
    from: u64,
    history: &mut BTreeMap<Seq, Rows>,
) -> Result<Seq, Seq> {
    let mut last = 0;
    // A fresh base every few batches.
    let options = often().base_bytes(2 << 10);
    let started = Backup::start(db, Arc::new(objects.clone()), prefix(), options).await;
    let Ok(backup) = started else { return Err(0) };
    for n in from..from + BATCHES {
        let written = write(db, n);
        history.insert(written, rows(db));
        tokio::select! {
            waited = backup.wait(written) => waited.unwrap(),
            () = failed(&backup) => return Err(last),
        }
        last = written;
    }
    backup.stop().await;
    Ok(last)
}

/// Waits until a request has failed.
async fn failed(backup: &Backup) {
    while backup.status().failures == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

/// Restores the newest moment, if there is one, and compares it with the rows of that moment.
async fn check(objects: &Faulty, least: Seq, history: &BTreeMap<Seq, Rows>) {
    let (_dir, path) = folder();
    match crate::stores::restore(objects, &path, At::Newest).await {
        Ok(found) => {
            assert!(found.sequence >= least, "{found:?}, but {least} was acknowledged");
            let expected = history.get(&found.sequence).cloned().unwrap_or_default();
            assert_eq!(restored(objects, At::Newest).await.1, expected);
        }
        Err(Error::Invalid { what, .. }) if what == "backup" => assert_eq!(least, 0),
        Err(e) => panic!("{e}"),
    }
}

/// Lets a process die at request `n`, and another continue; returns whether there was such a request.
async fn crash_at(n: u64, fault: Fault) -> bool {
    let ((_dir, path), dying) = (folder(), Faulty::new());
    let mut history = BTreeMap::new();
    dying.plan.fail(n, u64::MAX, fault);
    let db = Db::open(&path, small()).unwrap();
    let played = play(&db, &dying, 1, &mut history).await;
    let objects = dying.sound();
    check(&objects, played.unwrap_or_else(|last| last), &history).await;
    let db = {
        // Whatever the former process still holds ends with it.
        drop(db.close());
        Db::open(&path, small()).unwrap()
    };
    let last = play(&db, &objects, 100, &mut history).await.unwrap();
    check(&objects, last, &history).await;
    assert_eq!(last, db.latest_sequence());
    played.is_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_any_request_loses_nothing_acknowledged() {
    let mut n = 1;
    // The number of requests differs a little from run to run.
    while crash_at(n, Fault::Refused).await {
        n += if n < 20 { 1 } else { 7 };
    }
    assert!(n > 40, "{n}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_after_any_request_loses_nothing_acknowledged() {
    let mut n = 1;
    while crash_at(n, Fault::Unanswered).await {
        n += if n < 20 { 1 } else { 7 };
    }
    assert!(n > 40, "{n}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_fail_are_made_again() {
    for fault in [Fault::Refused, Fault::Unanswered] {
        let ((_dir, path), objects) = (folder(), Faulty::new());
        let db = Db::open(&path, small()).unwrap();
        let backup = start(&db, &objects).await.unwrap();
        for n in 1..20 {
            let next = objects.plan.requests.load(SeqCst) + 1;
            objects.plan.fail(next + n % 3, 1, fault);
            backup.wait(write(&db, n)).await.unwrap();
        }
        assert!(backup.status().failures > 0);
        backup.stop().await;
        assert_eq!(restored(&objects.sound(), At::Newest).await.1, rows(&db));
    }
}

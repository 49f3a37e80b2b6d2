//! The store on a runtime of one thread: a call that blocked it would hang its test.

#![allow(clippy::unwrap_used, reason = "a failure is a panic in tests, also in their helpers")]

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Waker};
use terrane::{
    Closed, Durability, Error, ErrorKind, KeyRange, Operand, Options, Outcome, WriteBatch,
};
use terrane_tokio::{Condition, Db, Keyspace};

const SYNC: Durability = Durability::Sync;
const BUFFERED: Durability = Durability::Buffered;

async fn open(place: &tempfile::TempDir) -> Db {
    Db::open(place.path().join("db"), Options::small()).await.unwrap()
}

fn put(keyspace: &Keyspace, key: &str) -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.put(keyspace, key, format!("of {key}")).unwrap();
    batch
}

/// Occupies the committer until something is sent or the sender is dropped. Returns once it is occupied.
async fn occupy(db: &Db) -> Sender<()> {
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    let (began, begins) = tokio::sync::oneshot::channel();
    let mut began = Some(began);
    let db = db.clone();
    tokio::spawn(async move {
        let held = move |_: &mut terrane::Transaction| -> terrane::Result<()> {
            if let Some(began) = began.take() {
                began.send(()).unwrap();
            }
            let _ = gate.recv();
            Ok(())
        };
        db.update(BUFFERED, held).await.unwrap();
    });
    begins.await.unwrap();
    open
}

/// Polls a future once.
fn is_ready<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[tokio::test]
async fn what_is_written_is_read_now_in_pages_and_after_a_reopen() {
    let place = tempfile::tempdir().unwrap();
    let db = open(&place).await;
    let keyspace = db.create_keyspace("names").await.unwrap();
    let value = vec![7; 1000];
    for n in 0..300u16 {
        let durability = if n % 100 == 0 { SYNC } else { BUFFERED };
        keyspace.put(n.to_be_bytes(), &value, durability).await.unwrap();
    }
    keyspace.delete(9u16.to_be_bytes(), SYNC).await.unwrap();
    let snapshot = db.snapshot();
    keyspace.put("later", "", BUFFERED).await.unwrap();
    assert_eq!(snapshot.get(&keyspace, "later").await.unwrap(), None);
    assert_eq!(keyspace.get("later").await.unwrap(), Some(Vec::new()));
    db.close().await.unwrap();

    let db = open(&place).await;
    assert_eq!(db.open_keyspace("none").await.unwrap().map(|k| k.inner().id()), None);
    let keyspace = db.open_keyspace("names").await.unwrap().unwrap();
    db.flush().await.unwrap();
    // From files: nothing is cached yet.
    let many = [8u16, 9, 10].map(u16::to_be_bytes);
    let found = keyspace.get_many(&many).await.unwrap();
    assert_eq!(found, [Some(value.clone()), None, Some(value.clone())]);
    assert_eq!(keyspace.get(299u16.to_be_bytes()).await.unwrap(), Some(value));
    let versioned = keyspace.get_versioned(8u16.to_be_bytes()).await.unwrap().unwrap();
    assert_eq!(versioned.seq, 9);
    let (mut pages, mut rows) = (0, 0);
    let mut scan = keyspace.scan(..[1, 0, 0]);
    while let Some(page) = scan.next_page().await.unwrap() {
        assert!(page.is_sorted());
        (pages, rows) = (pages + 1, rows + page.len());
    }
    assert!(pages > 1 && scan.next_page().await.unwrap().is_none());
    assert_eq!(rows, 256);
    assert!(db.drop_keyspace("names").await.unwrap());
    let refused = keyspace.get("key").await.unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Closed(Closed::Keyspace)), "{refused}");
}

#[tokio::test]
async fn durable_writes_that_wait_together_share_a_sync() {
    let place = tempfile::tempdir().unwrap();
    let db = open(&place).await;
    let keyspace = db.default_keyspace();
    let gate = occupy(&db).await;
    let mut writes: Vec<_> =
        (0..100).map(|n| Box::pin(db.write(put(&keyspace, &n.to_string()), SYNC))).collect();
    // Each runs up to its wait.
    assert!(writes.iter_mut().all(|write| !is_ready(write.as_mut())));
    let syncs = || db.inner().stats().unwrap().waits.sync.count;
    let before = syncs();
    gate.send(()).unwrap();
    let mut written = Vec::new();
    for write in writes {
        written.push(write.await.unwrap());
    }
    assert_eq!(written, (1..=100).collect::<Vec<u64>>());
    assert_eq!(syncs(), before + 1);
}

#[tokio::test]
async fn a_write_whose_future_is_dropped_is_whole_or_absent() {
    let place = tempfile::tempdir().unwrap();
    let db = open(&place).await;
    let keyspace = db.default_keyspace();
    let gate = occupy(&db).await;
    drop(db.write(put(&keyspace, "never polled"), SYNC));
    {
        let mut queued = pin!(db.write(put(&keyspace, "queued"), SYNC));
        assert!(!is_ready(queued.as_mut()));
    }
    drop(gate);
    db.write(put(&keyspace, "after"), SYNC).await.unwrap();
    assert_eq!(keyspace.get("queued").await.unwrap(), Some(b"of queued".to_vec()));
    assert_eq!(keyspace.get("never polled").await.unwrap(), None);
}

#[tokio::test]
async fn updates_of_one_counter_never_conflict() {
    let place = tempfile::tempdir().unwrap();
    let db = open(&place).await;
    let increments: Vec<_> = (0..200)
        .map(|n| {
            let (db, counters) = (db.clone(), db.default_keyspace().inner().clone());
            tokio::spawn(async move {
                let durability = if n % 2 == 0 { SYNC } else { BUFFERED };
                db.update(durability, move |tx| -> terrane::Result<u8> {
                    let next = tx.get(&counters, "count")?.map_or(0, |bytes| bytes[0]) + 1;
                    tx.put(&counters, "count", [next])?;
                    Ok(next)
                })
                .await
            })
        })
        .collect();
    let mut counts = Vec::new();
    for increment in increments {
        counts.push(increment.await.unwrap().unwrap());
    }
    counts.sort_unstable();
    assert_eq!(counts, (1..=200).collect::<Vec<u8>>());
}

#[tokio::test]
async fn conditions_decide_in_the_order_of_the_queue() {
    let place = tempfile::tempdir().unwrap();
    let db = open(&place).await;
    let keyspace = db.default_keyspace();
    let snapshot = db.snapshot();
    let gate = occupy(&db).await;
    let tasks = (0..5).map(|_| {
        let (db, batch) = (db.clone(), put(&keyspace, "key"));
        let condition = Condition::absent(&keyspace, "key");
        tokio::spawn(async move { db.write_if(vec![condition], batch, SYNC).await })
    });
    let tasks: Vec<_> = tasks.collect();
    tokio::task::yield_now().await;
    drop(gate);
    let mut written = 0;
    for task in tasks {
        written += u32::from(matches!(task.await.unwrap().unwrap(), Outcome::Written(_)));
    }
    assert_eq!(written, 1);
    for (range, holds) in [(KeyRange::from("a".."k"), true), (KeyRange::from("k"..), false)] {
        let condition = Condition::unchanged(&snapshot, &keyspace, range);
        let outcome = db.write_if(vec![condition], put(&keyspace, "z"), BUFFERED).await.unwrap();
        assert_eq!(outcome.written().is_some(), holds);
    }
}

#[tokio::test]
async fn a_body_that_fails_or_panics_leaves_the_committer_running() {
    #[derive(Debug)]
    struct Mine;
    impl From<Error> for Mine {
        fn from(_: Error) -> Self {
            Mine
        }
    }
    let place = tempfile::tempdir().unwrap();
    let db = open(&place).await;
    let keyspace = db.default_keyspace();
    let inner = keyspace.inner().clone();
    let failed = db.update(SYNC, move |tx| -> Result<(), Mine> {
        tx.put(&inner, "lost", "")?;
        Err(Mine)
    });
    assert!(failed.await.is_err());
    let panics = |transact: bool| {
        let db = db.clone();
        let body = |_: &mut terrane::Transaction| -> terrane::Result<()> { panic!("of the body") };
        tokio::spawn(async move {
            match transact {
                true => db.transact(BUFFERED, body).await,
                false => db.update(BUFFERED, body).await,
            }
        })
    };
    for transact in [false, true] {
        assert!(panics(transact).await.unwrap_err().is_panic());
    }
    keyspace.put("kept", "", SYNC).await.unwrap();
    assert_eq!(keyspace.get("lost").await.unwrap(), None);
    let inner = keyspace.inner().clone();
    let found = db.transact(SYNC, move |tx| -> terrane::Result<_> { tx.get(&inner, "kept") });
    assert_eq!(found.await.unwrap(), Some(Vec::new()));
}

#[tokio::test]
async fn a_closed_store_refuses_calls() {
    let place = tempfile::tempdir().unwrap();
    let db = open(&place).await;
    let keyspace = db.default_keyspace();
    let gate = occupy(&db).await;
    let batch = put(&keyspace, "before");
    let (before, closed) = (db.write(batch, SYNC), db.clone().close());
    let both = async { (before.await, closed.await) };
    drop(gate);
    let (before, closed) = both.await;
    assert_eq!((before.unwrap(), closed.unwrap()), (1, ()));
    for durability in [SYNC, BUFFERED] {
        let refused = keyspace.put("after", "", durability).await.unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Closed(Closed::Store)), "{refused}");
    }
    assert!(keyspace.get("before").await.is_err());
    assert!(keyspace.scan(..).next_page().await.is_err());
    // Another may have it.
    drop(keyspace);
    open(&place).await.close().await.unwrap();
}

#[tokio::test]
async fn a_write_with_bad_conditions_fails_no_other() {
    let place = tempfile::tempdir().unwrap();
    let open = |name| Db::open(place.path().join(name), Options::small());
    let (db, foreign) = (open("a").await.unwrap(), open("b").await.unwrap());
    let rows = db.default_keyspace();
    let batch = |key: &str| {
        let mut batch = WriteBatch::new();
        batch.put(rows.inner(), key, "1").unwrap();
        batch
    };
    let gate = occupy(&db).await;
    let mut good = std::pin::pin!(db.write(batch("good"), Durability::Sync));
    assert!(!is_ready(good.as_mut()));
    let conditions = vec![Condition::unchanged(&foreign.snapshot(), &rows, ..)];
    let mut bad = std::pin::pin!(db.write_if(conditions, batch("bad"), Durability::Buffered));
    assert!(!is_ready(bad.as_mut()));
    drop(gate);
    assert!(bad.await.is_err());
    good.await.unwrap();
    assert_eq!(rows.get("good").await.unwrap().unwrap(), b"1");
}

#[tokio::test]
async fn a_write_that_was_dropped_comes_before_later_ones() {
    let place = tempfile::tempdir().unwrap();
    let db = Db::open(place.path().join("db"), Options::small()).await.unwrap();
    let rows = db.default_keyspace();
    let gate = occupy(&db).await;
    assert!(!is_ready(std::pin::pin!(rows.put("k", "old", Durability::Sync)).as_mut()));
    let mut newer = std::pin::pin!(rows.put("k", "new", Durability::Buffered));
    assert!(!is_ready(newer.as_mut()), "it waits for what was requested before");
    drop(gate);
    newer.await.unwrap();
    db.sync().await.unwrap();
    assert_eq!(rows.get("k").await.unwrap().unwrap(), b"new");
}

#[tokio::test]
async fn a_write_within_an_update_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let db = Db::open(place.path().join("db"), Options::small()).await.unwrap();
    let (rows, runtime) = (db.default_keyspace(), tokio::runtime::Handle::current());
    let body = move |_: &mut terrane::Transaction| -> terrane::Result<()> {
        runtime.block_on(rows.put("k", "v", Durability::Sync)).map(drop)
    };
    let refused = db.update(Durability::Buffered, body).await.unwrap_err();
    assert!(matches!(refused.kind(), terrane::ErrorKind::InvalidArgument(_)), "{refused}");
}

#[tokio::test]
async fn a_range_is_deleted_at_once() {
    let place = tempfile::tempdir().unwrap();
    let db = Db::open(place.path().join("db"), Options::small()).await.unwrap();
    let rows = db.default_keyspace();
    for key in ["a", "b", "c"] {
        rows.put(key, "1", Durability::Buffered).await.unwrap();
    }
    rows.delete_range("a".."c", Durability::Sync).await.unwrap();
    assert_eq!(rows.get_many(&["a", "b", "c"]).await.unwrap(), [None, None, Some(b"1".to_vec())]);
}

#[tokio::test]
async fn merges_of_many_tasks_all_count() {
    let place = tempfile::tempdir().unwrap();
    let db = open(&place).await;
    let keyspace = db.create_keyspace("counters").await.unwrap();
    let tasks: Vec<_> = (0..50)
        .map(|n| {
            let keyspace = keyspace.clone();
            let durability = if n % 2 == 0 { SYNC } else { BUFFERED };
            tokio::spawn(async move { keyspace.merge("n", Operand::Add(n), durability).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(keyspace.get("n").await.unwrap(), Some((0..50).sum::<i64>().to_string().into()));
}

#[tokio::test]
async fn submitted_writes_take_effect_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path().join("db"), Options::default()).await.unwrap();
    let keyspace = db.default_keyspace();
    let mut writes = Vec::new();
    for n in 0..10u8 {
        let mut batch = WriteBatch::new();
        batch.put(keyspace.inner(), "key", [n]).unwrap();
        writes.push(db.submit(Vec::new(), batch, Durability::Sync).await.unwrap());
    }
    let of = keyspace.inner().clone();
    let update = db.submit_update(Durability::Sync, move |tx| -> terrane::Result<_> {
        let found = tx.get(&of, "key")?;
        tx.put(&of, "key", "last")?;
        Ok(found)
    });
    let update = update.await.unwrap();
    let mut last = 0;
    for write in writes {
        let seq = write.outcome().await.unwrap().written().unwrap();
        assert!(seq > last);
        last = seq;
    }
    assert_eq!(update.outcome().await.unwrap(), Some(vec![9]));
    let found = keyspace.get_versioned("key").await.unwrap().unwrap();
    assert_eq!((found.value.as_slice(), found.seq), (b"last".as_slice(), last + 1));
    let read = db.read(|db| db.default_keyspace().get("key")).await.unwrap();
    assert_eq!(read, Some(b"last".to_vec()));
}

async fn next(changes: &mut terrane_tokio::Changes) -> terrane::Result<u64> {
    use futures_core::Stream;
    let mut changes = pin!(changes);
    let next = std::future::poll_fn(|context| changes.as_mut().poll_next(context)).await;
    next.unwrap().map(|batch| batch.cursor().sequence)
}

#[tokio::test]
async fn subscribers_are_woken_by_durable_batches_of_any_task() {
    let place = tempfile::tempdir().unwrap();
    // Nothing else syncs.
    let options = Options::small().sync_interval(std::time::Duration::from_secs(1 << 30));
    let db = Db::open(place.path().join("db"), options).await.unwrap();
    let start = db.inner().feed_cursor();
    let subscribers: Vec<_> = (0..20)
        .map(|_| {
            let mut changes = db.changes(start).unwrap();
            tokio::spawn(async move {
                for sequence in 1..=30 {
                    assert_eq!(next(&mut changes).await.unwrap(), sequence);
                }
            })
        })
        .collect();
    let rows = db.default_keyspace();
    for n in 0..30 {
        rows.put(format!("{n}"), "1", BUFFERED).await.unwrap();
    }
    for subscriber in subscribers {
        subscriber.await.unwrap();
    }
    // One that stopped waiting misses nothing.
    let mut changes = db.changes(db.inner().feed_cursor()).unwrap();
    {
        let mut waiting = pin!(changes.next_page());
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    rows.put("late", "1", BUFFERED).await.unwrap();
    assert_eq!(next(&mut changes).await.unwrap(), 31);
    db.close().await.unwrap();
    assert!(next(&mut changes).await.is_err());
}

//! Workers that look for jobs, in pools of one store and of several, and counts of their work.

use super::*;
use crate::storage::{Directory, vfs::MemoryVfs};
use crate::sync::atomic::Ordering;
use crate::write;
use crate::{Db, Durability, Event, Options};
use std::cell::Cell;
use std::sync::mpsc::{Sender, channel};

#[test]
fn workers_of_a_kind_are_queued_singly_and_the_excess_is_missed() {
    let mut state = State::default();
    let mut queues = |begins: bool| {
        let queued = KINDS.map(|kind| state.queues(kind, 2));
        let missed = KINDS.map(|kind| {
            state.of(kind).queued &= !begins;
            state.of(kind).missed
        });
        (queued, missed)
    };
    assert_eq!(queues(false), ([true; 3], [false; 3]));
    assert_eq!(queues(true), ([false; 3], [true, true, false]), "one of each is queued");
    assert_eq!(queues(true), ([false, false, true], [true, true, false]));
    assert_eq!(queues(true), ([false; 3], [true; 3]));
    assert_eq!(state.workers, 4);
    KINDS.into_iter().for_each(|kind| state.leave(kind));
    state.draining = true;
    assert_eq!(KINDS.map(|kind| state.queues(kind, 2)), [false; 3]);
}

/// Keeps all threads of a pool busy until what is returned is dropped.
fn busy(pool: &WorkerPool) -> Sender<()> {
    let (sender, receiver) = channel();
    let receiver = Arc::new(Mutex::new(receiver));
    for (kind, most) in KINDS.into_iter().zip([1, 1, pool.merges_max()]) {
        for _ in 0..most {
            let receiver = receiver.clone();
            let run = Box::new(move || {
                let _ = lock(&receiver).recv();
            });
            assert!(pool.spawn(kind, Task { owner: 0, run }));
        }
    }
    sender
}

#[test]
fn wakes_queue_one_worker_of_each_kind_and_none_after_a_stop() {
    let executor = Arc::new(ThreadExecutor::new(1));
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let db = Db::open_storage(storage, Options::small(), executor.clone()).unwrap();
    db.wait_until_idle().unwrap();
    let workers_after = |wakes| {
        let busy = busy(&executor.shared.pool);
        (0..wakes).for_each(|_| executor.shared.pump(db.engine()));
        let workers = executor.shared.state().workers;
        drop(busy);
        workers
    };
    assert_eq!(workers_after(5), KINDS.len());
    executor.stop(db.engine());
    assert_eq!(workers_after(1), 0);
}

#[test]
fn a_store_stops_at_once_in_a_pool_that_others_keep_busy() {
    let pool = WorkerPool::new(1);
    let busy = busy(&pool);
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let executor = Arc::new(ThreadExecutor::in_pool(&pool));
    let db = Db::open_storage(storage.clone(), Options::small(), executor.clone()).unwrap();
    executor.shared.pump(db.engine());
    assert_eq!(executor.shared.state().workers, KINDS.len());
    db.close().unwrap();
    // The executor's own, and the timer's until that has seen the end.
    assert!(Arc::strong_count(&executor.shared) <= 2);
    drop(busy);
}

#[test]
fn a_store_that_stops_takes_back_only_its_own_turns_in_a_pool() {
    let pool = WorkerPool::new(1);
    let busy = busy(&pool);
    let [(stops, closed), (stays, db)] = [(); 2].map(|()| {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(ThreadExecutor::in_pool(&pool));
        let db = Db::open_storage(storage, Options::small(), executor.clone()).unwrap();
        executor.shared.pump(db.engine());
        (executor, db)
    });
    stops.stop(closed.engine());
    let workers = [&stops, &stays].map(|executor| executor.shared.state().workers);
    assert_eq!(workers, [0, KINDS.len()]);
    drop(busy);
    db.default_keyspace().put("key", "value", Durability::Buffered).unwrap();
    db.flush().unwrap();
}

#[test]
fn a_worker_counts_until_it_has_ended_a_slowdown() {
    let ((reports, reported), (held, release)) = (channel(), channel::<()>());
    let release = Mutex::new(release);
    let listener = move |_, event: &Event| {
        if matches!(event, Event::SlowdownEnded { .. }) {
            reports.send(()).unwrap();
            let _ = lock(&release).recv();
        }
    };
    let options = Options { listener: Some(Arc::new(listener)), ..Options::small() };
    let executor = Arc::new(ThreadExecutor::new(1));
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let db = Db::open_storage(storage, options, executor.clone()).unwrap();
    db.wait_until_idle().unwrap();
    let (engine, pacing) = (db.engine(), &executor.shared.pacing);
    // Sealed memtables take most of their memory, for as long as a write pays for it.
    engine.memtables.set_sealed(1);
    engine.memtables.set_all(engine.options.memtables_share() / 5 * 4);
    engine.counters.user_bytes.fetch_add(1 << 20, Ordering::Relaxed);
    let pause = pacing.pay(engine, 1).unwrap();
    pacing.begin(engine, pause.reason);
    engine.memtables.set_sealed(0);
    engine.memtables.set_all(0);
    executor.shared.pump(engine);
    reported.recv().unwrap();
    while executor.shared.state().has_workers() {
        std::thread::yield_now();
    }
    let with_the_listener = executor.shared.state().workers;
    drop(held);
    assert_ne!(with_the_listener, 0);
    db.wait_until_idle().unwrap();
    assert_eq!(executor.shared.state().workers, 0);
}

#[test]
fn a_wait_returns_with_its_job_while_other_workers_go_on() {
    let pool = WorkerPool::new(1);
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let executor = Arc::new(ThreadExecutor::in_pool(&pool));
    let db = Db::open_storage(storage, Options::small(), executor.clone()).unwrap();
    db.wait_until_idle().unwrap();
    // A merge of another store has the thread for merges, and this store's worker is queued for it.
    let (release, receiver) = channel::<()>();
    let run = Box::new(move || {
        let _ = receiver.recv();
    });
    assert!(pool.spawn(JobFilter::Other, Task { owner: 0, run }));
    db.default_keyspace().put("key", "value", Durability::Buffered).unwrap();
    let ended = || executor.shared.state().ended;
    let (before, checked) = (ended(), Cell::new(false));
    // The flush finishes just after the first check.
    let is_done = |engine: &Engine| {
        if checked.replace(true) {
            return true;
        }
        write::seal_all(engine).unwrap();
        executor.shared.pump(db.engine());
        while ended() == before {
            std::thread::yield_now();
        }
        false
    };
    executor.wait_until_idle(db.engine(), &is_done).unwrap();
    // So it does just before a write that it stalled starts to wait.
    executor.wait_for_progress(db.engine()).unwrap();
    assert!(executor.shared.state().has_workers(), "one is queued all the time");
    drop(release);
}

#[test]
fn only_jobs_that_write_tables_count_as_work_for_pacing() {
    let executor = Arc::new(ThreadExecutor::new(1));
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let db = Db::open_storage(storage, Options::small(), executor.clone()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    db.wait_until_idle().unwrap();
    let worked = || executor.shared.pacing.worked();
    assert_eq!(worked(), 0);
    other.put("key", "value", Durability::Buffered).unwrap();
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let flushed = worked();
    assert!(flushed > 0 && flushed.is_multiple_of(SLICE_BYTES), "{flushed}");
    db.drop_keyspace("other").unwrap();
    db.wait_until_idle().unwrap();
    assert!(db.stats().unwrap().background.removals.ended > 0);
    assert_eq!(worked(), flushed, "a removal writes none");
}

#[test]
fn a_store_stops_while_others_queue_for_the_thread_of_its_job() {
    let pool = WorkerPool::new(1);
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let executor = Arc::new(ThreadExecutor::in_pool(&pool));
    let db = Db::open_storage(storage, Options::small(), executor.clone()).unwrap();
    let begin_flush = || {
        db.default_keyspace().put("key", "value", Durability::Buffered).unwrap();
        db.begin_flush().unwrap()
    };
    // The first flush uses up what the rate grants for years, and the second one waits.
    db.set_background_bytes_per_second(1);
    let mut first = begin_flush();
    while !first.is_done().unwrap() {
        std::thread::yield_now();
    }
    let mut held = begin_flush();
    let flushes = || executor.background().flushes;
    while flushes().ended == 0 || flushes().running == 0 {
        assert!(!held.is_done().unwrap());
    }
    let (release, receiver) = channel::<()>();
    let run = Box::new(move || {
        let _ = receiver.recv();
    });
    assert!(pool.spawn(JobFilter::Flush, Task { owner: 0, run }));
    executor.stop(db.engine());
    assert_eq!(executor.shared.state().workers, 0);
    drop(release);
}

//! A store closes, or a keyspace is dropped, while others use it.

use crate::explore::{crowded, explore, open, open_in, place, put, value};
use shuttle::sync::Mutex;
use shuttle::thread;
use std::sync::Arc;
use terrane::executor::WorkerPool;
use terrane::{Durability, Error, ErrorKind, Event};

fn is_closed(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Closed(_))
}

#[test]
fn writers_on_a_closing_store_return_and_lose_nothing() {
    explore(200, || {
        let rig = place();
        let db = open(&rig, crowded());
        let writers = [0u8, 1, 2].map(|writer| {
            let keyspace = db.default_keyspace();
            thread::spawn(move || {
                let put =
                    |n: u8| keyspace.put(&[writer, n], &value(n.into()), Durability::Buffered);
                let mut written = 0;
                while written < 4 {
                    match put(written) {
                        Ok(_) => written += 1,
                        Err(e) if is_closed(&e) => break,
                        Err(other) => panic!("{other}"),
                    }
                }
                written
            })
        });
        db.close().expect("nothing fails");
        let written = writers.map(|writer| writer.join().expect("no panic"));
        let keyspace = open(&rig, crowded()).default_keyspace();
        for (writer, written) in (0u8..).zip(written) {
            for n in 0..4 {
                let found = keyspace.get(&[writer, n]).expect("nothing fails");
                assert_eq!(found.is_some(), n < written, "write {n} of {written} by {writer}");
            }
        }
    });
}

#[test]
fn stores_that_share_a_pool_close_alone_and_lose_nothing() {
    explore(100, || {
        let pool = WorkerPool::new(1);
        let rigs = [place(), place()];
        let stores = rigs.each_ref().map(|rig| open_in(&pool, rig, crowded()));
        let writers = stores.map(|db| {
            thread::spawn(move || {
                let keyspace = db.default_keyspace();
                (0..8u8).for_each(|n| put(&keyspace, &[n], n.into()));
                db.close().expect("nothing fails");
            })
        });
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        for rig in rigs {
            let db = open_in(&pool, &rig, crowded());
            db.wait_until_idle().expect("nothing fails");
            let found = db.default_keyspace().scan(..).expect("nothing fails").count();
            assert_eq!(found, 8);
        }
    });
}

#[test]
fn dropping_a_keyspace_under_a_write_frees_its_memory_budget() {
    explore(100, || {
        // The memory budget is two memtables of 4 KiB; the batch below takes more.
        let sealed = Arc::new(Mutex::new(Vec::new()));
        let listener = {
            let sealed = sealed.clone();
            move |_, event: &Event| {
                if let Event::MemtableSealed { bytes, .. } = event {
                    sealed.lock().expect("not poisoned").push(*bytes);
                }
            }
        };
        let bounds = crowded().memtable_bytes(4 << 10).memory_bytes(0);
        let db = open(&place(), bounds.listener(Arc::new(listener)));
        let other = db.create_keyspace("other").expect("nothing fails");
        let writer =
            thread::spawn(move || match other.put(b"key", &[0; 10_000], Durability::Buffered) {
                Ok(_) => {}
                Err(e) if is_closed(&e) => {}
                Err(other) => panic!("{other}"),
            });
        db.drop_keyspace("other").expect("nothing fails");
        writer.join().expect("no panic");
        sealed.lock().expect("not poisoned").clear();
        put(&db.default_keyspace(), b"key", 1);
        let sealed = sealed.lock().expect("not poisoned");
        assert!(sealed.is_empty(), "{sealed:?} bytes sealed for lack of memory");
    });
}

//! Listeners that several threads set at the same time.

use crate::explore::{explore, open, place, put};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;
use std::sync::Arc;
use terrane_tests::fixtures::tiny;

#[test]
fn events_arrive_after_threads_race_to_set_a_listener() {
    explore(200, || {
        let rig = place();
        let db = open(&rig, tiny());
        let heard = Arc::new(AtomicU64::new(0));
        let set = || {
            let (db, heard) = (db.clone(), heard.clone());
            thread::spawn(move || {
                db.set_listener(Some(Arc::new(move |_, _| {
                    heard.fetch_add(1, Ordering::Relaxed);
                })));
            })
        };
        [set(), set()].into_iter().for_each(|setter| setter.join().expect("no panic"));
        put(&db.default_keyspace(), b"key", 1);
        db.flush().expect("nothing fails");
        assert_ne!(heard.load(Ordering::Relaxed), 0, "no event is reported");
        db.set_listener(None);
        heard.store(0, Ordering::Relaxed);
        put(&db.default_keyspace(), b"key", 2);
        db.flush().expect("nothing fails");
        assert_eq!(heard.load(Ordering::Relaxed), 0, "an event is reported");
    });
}

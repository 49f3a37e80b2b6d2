//! Handles apart from writing: names, reads, listeners, close.

use super::*;
use crate::trace::{Step, Trace};

/// Events that a listener has heard.
type Heard = Arc<std::sync::Mutex<Vec<Event>>>;

fn listener(heard: &Heard) -> Option<Listener> {
    let heard = heard.clone();
    Some(Arc::new(move |_, event: &Event| heard.lock().unwrap().push(event.clone())))
}

#[test]
fn the_listener_that_was_set_last_hears_of_events_and_no_other() {
    let [first, second] = [Heard::default(), Heard::default()];
    let options = Options { listener: listener(&first), ..Options::small() };
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let hears = |heard: &Heard| {
        let before = heard.lock().unwrap().len();
        fill(&db, 1, 1);
        db.flush().unwrap();
        heard.lock().unwrap().len() > before
    };
    assert!(hears(&first));
    db.set_listener(listener(&second));
    assert!(!hears(&first) && hears(&second));
    db.set_listener(None);
    assert!(!hears(&second));
}

#[test]
fn a_keyspace_has_its_name_and_reads_keys_in_the_given_order() {
    let db = open(directory(&faulty()), slices()).unwrap();
    assert_eq!((db.default_keyspace().name(), db.keyspaces()), ("default", vec!["default".into()]));
    let other = db.create_keyspace("other").unwrap();
    assert_eq!(other.name(), "other");
    for key in ["a", "b", "c"] {
        other.put(key, key.repeat(3), Buffered).unwrap();
    }
    let value = |key: &str| Some(key.repeat(3).into_bytes());
    let found = other.get_many(&["c", "x", "a", "c"]).unwrap();
    assert_eq!(found, [value("c"), None, value("a"), value("c")]);
    assert_eq!(other.get_many(&[""; 0]).unwrap(), Vec::<Option<Vec<u8>>>::new());
}

#[test]
fn a_store_closes_when_its_last_handle_is_dropped() {
    for durable in [false, true] {
        let inner = Arc::new(MemoryVfs::default());
        let vfs = FaultVfs::new(inner.clone()).unwrap();
        let db = open(directory(&vfs), slices()).unwrap();
        let keyspace = db.default_keyspace();
        keyspace.put("key", "value", Buffered).unwrap();
        drop(db);
        keyspace.get("key").unwrap().expect("it is open");
        if durable {
            drop(keyspace);
        }
        vfs.crash(Survivors::Synced).unwrap();
        let db = open(directory(&FaultVfs::new(inner).unwrap()), slices()).unwrap();
        assert_eq!(db.default_keyspace().get("key").unwrap().is_some(), durable);
    }
}

fn last(trace: &Trace) -> &Step {
    trace.steps.last().unwrap()
}

#[test]
fn a_snapshot_shows_keys_unchanged_by_writes_and_merges() {
    let db = open(directory(&faulty()), slices()).unwrap();
    let rows = db.default_keyspace();
    let put = |key: &str, value: &str| {
        rows.put(key, value, Buffered).unwrap();
    };
    put("1", "one");
    put("2", "two");
    let snapshot = db.snapshot();
    for merged in [false, true] {
        put("1", "other");
        put("3", "three");
        rows.delete("2", Buffered).unwrap();
        if merged {
            rows.compact_range(..).unwrap();
        }
        let then = [Some(b"one".to_vec()), Some(b"two".to_vec()), None];
        let now = [Some(b"other".to_vec()), None, Some(b"three".to_vec())];
        let keys = ["1", "2", "3"];
        assert_eq!(snapshot.get_many(&rows, &keys).unwrap(), then);
        assert_eq!(rows.get_many(&keys).unwrap(), now);
        for (key, value) in keys.iter().zip(&then) {
            assert_eq!(&snapshot.get(&rows, key).unwrap(), value);
            let (found, trace) = snapshot.trace_get(&rows, key).unwrap();
            assert_eq!((&found, trace.sequence), (value, snapshot.sequence()));
        }
        for (reverse, key) in [(false, "1"), (true, "2")] {
            let trace = snapshot.trace_seek(&rows, .., reverse).unwrap();
            assert_eq!(trace.sequence, snapshot.sequence());
            assert_eq!(last(&trace), &Step::Row { key: key.into(), bytes: 3 });
        }
        let trace = rows.trace_seek(.., true).unwrap();
        assert_eq!(last(&trace), &Step::Row { key: "3".into(), bytes: 5 });
    }
}

#[test]
fn versions_are_kept_for_a_snapshot_until_it_is_dropped() {
    for held in [true, false] {
        let db = open(directory(&faulty()), slices()).unwrap();
        fill(&db, 10, 1);
        let snapshot = db.snapshot();
        fill(&db, 10, 2);
        let snapshot = held.then_some(snapshot);
        db.default_keyspace().compact_range(..).unwrap();
        let shape = db.default_keyspace().shape().unwrap();
        let entries: u64 = shape.tables().map(|(.., table)| table.entries).sum();
        assert_eq!(entries, if held { 20 } else { 10 });
        drop(snapshot);
    }
}

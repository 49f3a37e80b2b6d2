//! Distance of writes from a stall.

use super::{directory, faulty, fill, slices};
use crate::write;
use crate::write::Backpressure;
use crate::{Db, Options};

const MEMTABLE: u64 = 64 << 10;

/// A store that stalls at 4 sealed memtables and at 8 runs, and what its memtables hold: the one that
/// fills, and all.
fn store(memory_bytes: u64) -> (Db, impl Fn(&Db) -> (u64, u64)) {
    let options = Options {
        memtable_bytes: MEMTABLE,
        max_immutable_memtables: 4,
        l0_stop_trigger: 8,
        memory_bytes: Some(memory_bytes),
        ..Options::small()
    };
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let held = |db: &Db| {
        let keyspace = db.engine().keyspaces.load().values().next().unwrap().clone();
        let active = keyspace.super_version.load().active.bytes() as u64;
        (active, db.engine().memtables.all())
    };
    (db, held)
}

fn at(filled: u64, memtables: u64) -> Backpressure {
    Backpressure { filled, room: memtables * MEMTABLE }
}

#[test]
fn backpressure_is_that_of_the_nearer_limit_memtables_or_runs() {
    let (db, held) = store(64 << 20);
    assert_eq!(write::backpressure(db.engine()), at(0, 8));
    fill(&db, 100, 1);
    assert_eq!(write::backpressure(db.engine()), at(held(&db).0, 8));
    write::seal_all(db.engine()).unwrap();
    assert_eq!(write::backpressure(db.engine()), at(MEMTABLE, 4), "1 of 4 memtables");
    fill(&db, 50, 2);
    assert_eq!(write::backpressure(db.engine()), at(MEMTABLE + held(&db).0, 4));
    db.flush().unwrap();
    assert_eq!(write::backpressure(db.engine()), at(2 * MEMTABLE, 8), "2 of 8 runs");
    fill(&db, 10, 3);
    assert_eq!(write::backpressure(db.engine()), at(2 * MEMTABLE + held(&db).0, 8));
    write::seal_all(db.engine()).unwrap();
    assert_eq!(write::backpressure(db.engine()), at(3 * MEMTABLE, 8), "3 of 8, when it is flushed");
    assert_eq!(db.engine().counters.bytes_written(), db.stats().unwrap().user_bytes);
    assert!(db.engine().counters.bytes_written() > 160 * 200);
}

#[test]
fn backpressure_counts_memory_while_a_flush_is_about_to_end() {
    // Memtables have room for two.
    let (db, held) = store(1);
    fill(&db, 130, 1);
    assert_eq!(write::backpressure(db.engine()), at(held(&db).0, 8), "nothing waits for its flush");
    write::seal_all(db.engine()).unwrap();
    fill(&db, 130, 2);
    let (active, all) = held(&db);
    assert!(active < all && all < 2 * MEMTABLE);
    assert_eq!(write::backpressure(db.engine()), at(all, 2));
    db.flush().unwrap();
    assert_eq!(write::backpressure(db.engine()), at(2 * MEMTABLE, 8));
}

#[test]
fn a_write_stalls_while_memtables_exceed_memory_and_some_wait() {
    for (seals, taken, stalls) in
        [(true, 2 * MEMTABLE, false), (true, 2 * MEMTABLE + 1, true), (false, 3 * MEMTABLE, false)]
    {
        let (db, held) = store(1);
        fill(&db, 10, 1);
        if seals {
            write::seal_all(db.engine()).unwrap();
        }
        db.engine().memtables.add(taken - held(&db).1);
        fill(&db, 1, 2);
        assert_eq!(db.stats().unwrap().stalls > 0, stalls, "{seals} {taken}");
    }
}

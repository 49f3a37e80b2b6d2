//! Order of the steps of running compactions, and policies asked before them.

use super::*;
use crate::schedule::next_job::next_job;
use crate::schedule::planning::begin;

/// Starts the merge of a table into a level, in parts between these keys.
fn begin_into(db: &Db, level: usize, table: TableId, parts: &[&[u8]]) {
    let (engine, id) = (db.engine(), db.default_keyspace().id());
    let destination = Destination { level, run: RunId(engine.ids.next()) };
    let mut group = Group::new(vec![table], destination, Action::merge(u64::MAX));
    group.parts = parts.iter().map(|key| key.to_vec()).collect();
    let plan = Compaction::parallel(vec![group], "a test");
    begin(engine, &mut engine.state.lock(), id, plan, None, Observed::default());
}

/// The levels to which groups go that no job has taken.
fn waiting(db: &Db) -> Vec<usize> {
    let state = db.engine().state.lock();
    state
        .planner
        .compactions()
        .iter()
        .flat_map(|c| &c.waiting)
        .map(|g| g.destination.level)
        .collect()
}

#[test]
fn what_goes_to_the_upper_levels_is_next_before_what_goes_deep() {
    let (db, _) = open();
    (1..=4).for_each(|key| flush(&db, key));
    let ids: Vec<_> = tables(&db).into_iter().map(|(_, table)| table).collect();
    let next = || next_job(db.engine(), JobFilter::Other).unwrap();
    begin_into(&db, 3, ids[0], &[&[1]]);
    let deep = next();
    assert_eq!(waiting(&db), [], "its first part is taken");
    for (level, table) in [(4, ids[1]), (2, ids[2]), (1, ids[3])] {
        begin_into(&db, level, table, &[]);
    }
    let jobs = [next(), next()];
    assert_eq!(waiting(&db), [4]);
    let part = next();
    assert_eq!((part.name(), waiting(&db)), (deep.name().replace("part 1", "part 2"), vec![4]));
    let last = next();
    assert_eq!(waiting(&db), []);
    drop((deep, jobs, part, last));
}

#[test]
fn a_policy_is_asked_before_deep_work_if_level_0_is_half_full() {
    for (runs, l0_stop_trigger, asked) in [(2, 4, true), (2, 5, false), (3, 6, true), (3, 7, false)]
    {
        let policy = || Box::new(EmptiesLevel0(Given::default())) as Box<dyn Policy>;
        let db = open_with_trigger(policy, l0_stop_trigger);
        (1..=2).for_each(|key| flush(&db, key));
        run(next_job(db.engine(), JobFilter::Other).unwrap());
        (3..3 + runs).for_each(|key| flush(&db, key));
        let [(1, below)] = tables(&db)[usize::from(runs)..] else { panic!("{:?}", tables(&db)) };
        begin_into(&db, 2, below, &[]);
        let job = next_job(db.engine(), JobFilter::Other).unwrap();
        assert_eq!((waiting(&db), running(&db)), if asked { (vec![2], 2) } else { (vec![], 1) });
        drop(job);
    }
}

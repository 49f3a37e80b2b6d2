//! Plans that add a level: what becomes of the reads that they were made from, and of ranges that wait; and
//! which reads a policy is given.

use super::*;
use crate::engine::PendingReshape;
use crate::schedule::next_job::next_job;
use crate::schedule::planning::ask_policy;
use crate::schedule::ranges::next_range;
use crate::schedule::ranges::take_back_range;
use crate::version::Tree;
use terrane_policy::{LevelChange, Reason, Reshape};

/// Reads of tables, as a policy was given them each time.
type TableReads = Arc<Mutex<Vec<Vec<(TableId, u64)>>>>;

/// Adds a level to any tree that has one, and watches reads; notes those of tables that it was given.
struct Deepens(TableReads);

impl Policy for Deepens {
    fn name(&self) -> &'static str {
        "deepens"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let reads = &context.observed.table_reads;
        lock(&self.0).push(reads.iter().map(|(table, reads)| (*table, *reads)).collect());
        let change = LevelChange::Add(1);
        let reason = Reason::new("a test".to_owned(), Vec::new());
        (context.shape.levels().len() > 1).then(|| Reshape { change, reason }.into())
    }

    fn watches_reads(&self) -> bool {
        true
    }
}

/// Point reads that no plan has taken.
fn point_reads(db: &Db) -> u64 {
    let keyspaces = db.engine().keyspaces.load();
    let keyspace = keyspaces.get(&db.default_keyspace().id()).unwrap();
    keyspace.reads.access_stats.observed(&Tree::default()).point_reads
}

#[test]
fn an_abandoned_change_of_levels_is_planned_from_the_same_reads() {
    let given = TableReads::default();
    let for_policy = given.clone();
    let db = open_with(move || Box::new(Deepens(for_policy.clone())));
    flush(&db, 1);
    flush(&db, 2);
    let read = tables(&db).into_iter().map(|(_, table)| table).max().unwrap();
    assert_eq!(db.default_keyspace().get([2]).unwrap(), Some(vec![2]));
    begin_other(&db);
    run(next_job(db.engine(), JobFilter::Other).unwrap());
    assert_eq!(db.default_keyspace().get([2]).unwrap(), Some(vec![2]));

    let engine = db.engine();
    for _ in 0..2 {
        let work = ask_policy(engine, ask(&db)).expect("a level is to be added");
        assert_eq!((engine.state.lock().planner.reshapes(), point_reads(&db)), (1, 0));
        drop(Job::new(engine.clone(), work));
        assert_eq!((engine.state.lock().planner.reshapes(), point_reads(&db)), (0, 2));
    }
    let given = lock(&given);
    assert_eq!(given.len(), 2);
    let [(table, 1)] = given[0][..] else { panic!("{given:?}") };
    assert!(table > read, "the reads of tables that are gone do not count: {given:?}");
}

#[test]
fn a_change_of_levels_returns_its_reads_to_a_replaced_policy() {
    for (is_replaced, left) in [(false, 0), (true, 1)] {
        let db = open_with(move || Box::new(Deepens(TableReads::default())));
        flush(&db, 1);
        begin_other(&db);
        run(next_job(db.engine(), JobFilter::Other).unwrap());
        assert_eq!(db.default_keyspace().get([1]).unwrap(), Some(vec![1]));
        let engine = db.engine();
        let work = ask_policy(engine, ask(&db)).expect("a level is to be added");
        if is_replaced {
            db.default_keyspace().set_policy(&PolicyOptions::default()).unwrap();
        }
        let levels = db.default_keyspace().shape().unwrap().levels().len();
        run(Job::new(engine.clone(), work));
        assert_eq!(db.default_keyspace().shape().unwrap().levels().len(), levels + 1);
        assert_eq!(point_reads(&db), left, "{is_replaced}");
    }
}

#[test]
fn a_range_waits_for_a_change_of_levels_and_its_own_slice() {
    let (db, _) = open();
    flush(&db, 1);
    let (engine, id) = (db.engine(), db.default_keyspace().id());
    let number = request_range(&db);
    let mut state = engine.state.lock();
    let (change, reason) = (LevelChange::Add(1), Reason::new("a test".to_owned(), Vec::new()));
    let planner = engine.keyspaces.load().get(&id).unwrap().policy.load_full();
    let reshape = Reshape { change, reason };
    let pending = PendingReshape { reshape, planner, observed: Observed::default() };
    state.planner.begin_reshape(id, pending);
    assert!(next_range(&engine.keyspaces, &mut state).is_none());
    state.planner.end_reshape(id);
    for (stage, is_next) in
        [(Stage::Running(1), false), (Stage::Blocked, false), (Stage::Ready, true)]
    {
        state.planner.ranges.all()[0].stage = stage;
        assert_eq!(next_range(&engine.keyspaces, &mut state).is_some(), is_next);
    }
    drop(state);
    take_back_range(&engine.state, &engine.background, number).unwrap();
}

#[test]
fn reads_are_counted_of_tables_that_were_read() {
    let given = TableReads::default();
    let for_policy = given.clone();
    let db = open_with(move || Box::new(Deepens(for_policy.clone())));
    flush(&db, 1);
    flush(&db, 2);
    let newest = tables(&db).into_iter().map(|(_, table)| table).max().unwrap();
    (0..3).for_each(|_| drop(db.default_keyspace().get([2]).unwrap()));
    assert!(ask_policy(db.engine(), ask(&db)).is_none());
    assert_eq!(*lock(&given), [vec![(newest, 3)]]);
}

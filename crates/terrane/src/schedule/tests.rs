//! Changes while a policy is asked or the next slice of a range is sought; changes of levels (`levels`);
//! the order of jobs (`order`).

mod levels;
mod order;

use super::next_job::next_job;
use super::planning::{PlanRequest, ask_policy, begin, next_plan_request, rename};
use super::ranges::{next_range, slice, take_back_range};
use super::{Job, JobFilter, ranges};
use crate::KeyRange;
use crate::engine::{Engine, RangeRequest, Stage};
use crate::executor::Executor;
use crate::jobs::Progress;
use crate::storage::Directory;
use crate::storage::vfs::MemoryVfs;
use crate::sync::lock;
use crate::write;
use crate::{Db, Durability, Error, ErrorKind, Options, Result};
use std::sync::{Arc, Mutex};
use terrane_policy::{
    Action, Compaction, Destination, Group, Installed, Observed, Plan, PlanContext, Policy,
    PolicyOptions, RunId, Step, TableId, TableInfo,
};

/// Leaves every job to the test.
struct Idle;

impl Executor for Idle {
    fn wake(&self, _: &Arc<Engine>) {}
    fn wait_for_progress(&self, _: &Arc<Engine>) -> Result<()> {
        Ok(())
    }
    fn wait_until_idle(&self, _: &Arc<Engine>, _: &dyn Fn(&Engine) -> bool) -> Result<()> {
        Ok(())
    }
    fn stop(&self, _: &Arc<Engine>) {}
}

/// Workers and point reads given to its policies.
type Given = Arc<Mutex<Vec<(usize, u64)>>>;

/// Merges all of level 0 into a new run of level 1.
struct EmptiesLevel0(Given);

impl Policy for EmptiesLevel0 {
    fn name(&self) -> &'static str {
        "empties-level-0"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        lock(&self.0).push((context.workers, context.observed.point_reads));
        let tables: Vec<_> = context.shape.levels().first()?.runs.iter().collect();
        let inputs: Vec<_> =
            tables.into_iter().flat_map(|run| run.tables().iter()).map(|t| t.id).collect();
        (inputs.len() > 1).then(|| into_level1(inputs, context.fresh).into())
    }
}

fn into_level1(inputs: Vec<TableId>, run: RunId) -> Compaction {
    let group = Group::new(inputs, Destination { level: 1, run }, Action::merge(u64::MAX));
    Compaction::parallel(vec![group], "a test")
}

fn open() -> (Db, Given) {
    let given = Given::default();
    let for_policies = given.clone();
    (open_with(move || Box::new(EmptiesLevel0(for_policies.clone()))), given)
}

fn open_with(policy: impl Fn() -> Box<dyn Policy> + Send + Sync + 'static) -> Db {
    open_with_trigger(policy, Options::small().l0_stop_trigger)
}

fn open_with_trigger(
    policy: impl Fn() -> Box<dyn Policy> + Send + Sync + 'static,
    l0_stop_trigger: usize,
) -> Db {
    let policy = move |_: &str| Some(policy());
    let custom_policy: Option<crate::CustomPolicy> = Some(Arc::new(policy));
    let options = Options { custom_policy, l0_stop_trigger, ..Options::small() };
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    Db::open_storage(storage, options, Arc::new(Idle)).unwrap()
}

fn run(mut job: Job) {
    while job.run_for(u64::MAX).unwrap() == Progress::More {}
}

/// Puts a key, and makes a run of level 0 of it.
fn flush(db: &Db, key: u8) {
    db.default_keyspace().put([key], [key], Durability::Buffered).unwrap();
    write::seal_all(db.engine()).unwrap();
    run(next_job(db.engine(), JobFilter::Flush).unwrap());
}

/// The tables of the default keyspace, and their levels.
fn tables(db: &Db) -> Vec<(usize, TableId)> {
    let shape = db.default_keyspace().shape().unwrap();
    shape.tables().map(|(level, _, table)| (level, table.id)).collect()
}

fn ask(db: &Db) -> PlanRequest {
    let engine = db.engine();
    next_plan_request(engine, &mut engine.state.lock(), false).expect("a policy is to be asked")
}

/// Compactions that have started and not ended.
fn running(db: &Db) -> usize {
    db.engine().state.lock().planner.compactions().len()
}

/// Starts the merge of everything into level 1, which no policy asked for.
fn begin_other(db: &Db) -> u64 {
    let (engine, id) = (db.engine(), db.default_keyspace().id());
    let inputs = tables(db).into_iter().map(|(_, table)| table).collect();
    let plan = into_level1(inputs, RunId(engine.ids.next()));
    begin(engine, &mut engine.state.lock(), id, plan, None, Observed::default())
}

#[test]
fn a_plan_starts_though_the_tree_has_changed_if_it_fits() {
    let (db, given) = open();
    db.engine().set_workers(3);
    flush(&db, 1);
    flush(&db, 2);
    assert_eq!(db.default_keyspace().get([1]).unwrap(), Some(vec![1]));
    let request = ask(&db);
    flush(&db, 3);
    assert!(ask_policy(db.engine(), request).is_none());
    assert_eq!(running(&db), 1);
    assert_eq!(lock(&given).last(), Some(&(3, 1)));
    // What the plan was made of is taken: the next is given what came since.
    ask_policy(db.engine(), ask(&db));
    assert_eq!(lock(&given).last(), Some(&(3, 0)));
}

#[test]
fn a_plan_is_dropped_if_its_tables_or_its_policy_are_replaced() {
    let (db, _) = open();
    flush(&db, 1);
    flush(&db, 2);
    let request = ask(&db);
    db.default_keyspace().set_policy(&PolicyOptions::default()).unwrap();
    assert!(ask_policy(db.engine(), request).is_none());
    assert_eq!(running(&db), 0, "its policy was replaced");
    let request = ask(&db);
    begin_other(&db);
    assert!(ask_policy(db.engine(), request).is_none());
    assert_eq!(running(&db), 1, "another compaction has its tables");
    // It is asked again.
    drop(ask(&db));
}

#[test]
fn policies_of_keyspaces_are_asked_in_turns() {
    let (db, _) = open();
    let ids: Vec<_> = ["a", "b", "c"].map(|name| db.create_keyspace(name).unwrap().id()).to_vec();
    let engine = db.engine();
    let mut asked = Vec::new();
    for _ in 0..6 {
        let mut state = engine.state.lock();
        state.planner.set_unplanned(ids.iter().copied());
        drop(next_plan_request(engine, &mut state, false));
        state.planner.stop_asking();
        asked.extend(state.planner.asked());
    }
    assert_eq!(asked, [&ids[..], &ids[..]].concat());
}

#[test]
fn a_plans_new_runs_have_names_that_no_other_run_has() {
    let group = |run| {
        let destination = Destination { level: 1, run: RunId(run) };
        Group::new(vec![TableId(run)], destination, Action::Move)
    };
    let mut plan = Compaction::parallel([4, 10, 11].map(group).to_vec(), "a test");
    rename(&mut plan, RunId(10), RunId(20));
    let runs = plan.groups.iter().map(|group| group.destination.run.0);
    assert_eq!(runs.collect::<Vec<_>>(), [4, 20, 21]);
}

#[test]
fn a_starting_compaction_has_a_number_and_is_recorded_if_long() {
    let (db, _) = open();
    let (engine, id) = (db.engine(), db.default_keyspace().id());
    let run = engine.ids.next() + 100;
    let group = |table| {
        let destination = Destination { level: 1, run: RunId(run) };
        Group::new(vec![TableId(table)], destination, Action::Move)
    };
    let mut state = engine.state.lock();
    let mut begin = |groups: &[Group]| {
        let plan = Compaction::parallel(groups.to_vec(), "a test");
        begin(engine, &mut state, id, plan, None, Observed::default())
    };
    let one = begin(&[group(1)]);
    let two = begin(&[group(2), group(3)]);
    assert!(run < one && one < two, "no other run or compaction gets these numbers");
    let recorded: Vec<_> =
        state.planner.compactions().iter().map(|c| (c.number, c.several)).collect();
    assert_eq!((recorded, state.planner.begun()), (vec![(one, false), (two, true)], 2));
}

/// Records whether it gets the histograms or prefixes of its tables that it wants.
struct Reads {
    histograms: bool,
    prefixes: bool,
    told: Arc<Mutex<Vec<bool>>>,
}

impl Policy for Reads {
    fn name(&self) -> &'static str {
        "reads"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let told = context.shape.tables().all(|(.., table)| table.histogram.is_known());
        lock(&self.told).push(told);
        None
    }

    fn reads_histograms(&self) -> bool {
        self.histograms
    }

    fn reads_prefixes(&self) -> bool {
        self.prefixes
    }
}

#[test]
fn only_policies_that_read_histograms_or_prefixes_get_them() {
    for (histograms, prefixes) in [(false, false), (true, false), (false, true), (true, true)] {
        let told = Arc::new(Mutex::new(Vec::new()));
        let by_policy = told.clone();
        let db =
            open_with(move || Box::new(Reads { histograms, prefixes, told: by_policy.clone() }));
        flush(&db, 1);
        assert!(ask_policy(db.engine(), ask(&db)).is_none());
        assert_eq!(lock(&told).last(), Some(&(histograms || prefixes)), "{histograms} {prefixes}");
    }
}

/// Requests all keys of the default keyspace, and takes the turn of the next slice.
fn request_range(db: &Db) -> u64 {
    let (engine, id) = (db.engine(), db.default_keyspace().id());
    engine.state.lock().planner.set_unplanned([]);
    ranges::request_range(engine, id, KeyRange::default(), u64::MAX).unwrap()
}

fn stage_of(db: &Db, number: u64) -> &'static str {
    let mut state = db.engine().state.lock();
    let request = state.planner.ranges.all().iter().find(|request| request.number == number);
    match request.map(|request| &request.stage) {
        None => "ended",
        Some(Stage::Ready) => "ready",
        Some(Stage::Blocked) => "blocked",
        Some(Stage::Running(_)) => "running",
        Some(_) => "another",
    }
}

#[test]
fn a_slice_is_planned_again_if_its_tables_are_gone_or_taken() {
    let (db, _) = open();
    flush(&db, 1);
    flush(&db, 2);
    let engine = db.engine();
    let number = request_range(&db);
    let seek =
        || next_range(&engine.keyspaces, &mut engine.state.lock()).expect("the range has its turn");
    let seeking = seek();
    begin_other(&db);
    slice(engine, seeking);
    assert_eq!(stage_of(&db, number), "blocked");
    run(next_job(engine, JobFilter::Other).unwrap());
    assert_eq!((running(&db), stage_of(&db, number)), (0, "ready"));

    flush(&db, 3);
    let seeking = seek();
    begin_other(&db);
    let job = next_job(engine, JobFilter::Other);
    run(job.unwrap());
    slice(engine, seeking);
    assert_eq!(stage_of(&db, number), "ready", "the tables are others by now");
    slice(engine, seek());
    assert_eq!(stage_of(&db, number), "ended", "one run is left");
    take_back_range(&engine.state, &engine.background, number).unwrap();
}

#[test]
fn a_range_that_is_refused_has_ended_and_says_why() {
    let (db, _) = open();
    let number = request_range(&db);
    let engine = db.engine();
    assert!(!engine.state.lock().planner.ranges.has_ended(number));
    let why = Error::invalid("range", "a range that can be compacted", "a test");
    let set = |request: &mut RangeRequest| request.stage = Stage::Failed(why.clone());
    engine.state.lock().planner.ranges.all().iter_mut().for_each(set);
    assert!(engine.state.lock().planner.ranges.has_ended(number));
    assert!(matches!(
        take_back_range(&engine.state, &engine.background, number).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    assert!(
        take_back_range(&engine.state, &engine.background, number).is_ok(),
        "it was taken back"
    );
}

#[test]
fn work_may_wait_until_every_kind_of_job_was_looked_for() {
    let (db, _) = open();
    let engine = db.engine();
    flush(&db, 1);
    assert!(engine.background.work_waits());
    assert!(next_job(engine, JobFilter::Flush).is_none());
    assert!(engine.background.work_waits(), "there may be other work");
    while let Some(job) = next_job(engine, JobFilter::Any) {
        assert!(engine.background.work_waits(), "there may be more");
        run(job);
        engine.background.search_begins();
    }
    assert!(!engine.background.work_waits());
    engine.retry();
    assert!(engine.background.work_waits());
}

#[test]
fn a_flush_is_distinguished_from_light_jobs_with_its_sequence() {
    let (db, _) = open();
    let (engine, rows) = (db.engine(), db.default_keyspace());
    let sealed = [1, 2].map(|key: u8| {
        rows.put([key], [key], Durability::Buffered).unwrap();
        write::seal_all(engine).unwrap()
    });
    assert!(!engine.state.lock().flushes.are_done(sealed[0]));
    let first = next_job(engine, JobFilter::Flush).unwrap();
    assert!(first.is_flush() && !first.is_light());
    run(first);
    assert_eq!(sealed.map(|through| engine.state.lock().flushes.are_done(through)), [true, false]);
    run(next_job(engine, JobFilter::Flush).unwrap());
    assert!(engine.state.lock().flushes.are_done(sealed[1]));

    begin_other(&db);
    let merge = next_job(engine, JobFilter::Other).unwrap();
    assert!(!merge.is_flush() && !merge.is_light());
    run(merge);
    let removal = next_job(engine, JobFilter::Removal).unwrap();
    assert!(!removal.is_flush() && removal.is_light());
}

/// Merges each table of level 0 into level 1 by itself; records whether a group was the last, and the
/// point reads that it was given.
struct OneByOne(Arc<Mutex<Vec<(bool, u64)>>>);

impl Policy for OneByOne {
    fn name(&self) -> &'static str {
        "one-by-one"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let runs = &context.shape.levels().first()?.runs;
        let tables: Vec<_> = runs.iter().flat_map(|run| run.tables().iter()).collect();
        let destination = Destination { level: 1, run: context.fresh };
        let group = |table: &Arc<TableInfo>| {
            Group::new(vec![table.id], destination, Action::merge(u64::MAX))
        };
        let groups = tables.into_iter().map(group).collect();
        Some(Compaction::parallel(groups, "a test").into())
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        if let Step::Group { ends, .. } = installed.step {
            lock(&self.0).push((ends, installed.observed.point_reads));
        }
        state.to_vec()
    }
}

#[test]
fn a_policy_gets_reads_once_and_learns_its_last_group() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let for_policy = told.clone();
    let db = open_with(move || Box::new(OneByOne(for_policy.clone())));
    (1..=3).for_each(|key| flush(&db, key));
    (1..=2).for_each(|key| drop(db.default_keyspace().get([key]).unwrap()));
    assert!(ask_policy(db.engine(), ask(&db)).is_none());
    assert_eq!(running(&db), 1);
    for _ in 0..3 {
        run(next_job(db.engine(), JobFilter::Other).unwrap());
    }
    assert_eq!(running(&db), 0);
    assert_eq!(lock(&told)[..], [(false, 2), (false, 0), (true, 0)]);
}

/// Plans a merge of a table that does not exist.
struct Errs;

impl Policy for Errs {
    fn name(&self) -> &'static str {
        "errs"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        Some(into_level1(vec![TableId(u64::MAX)], context.fresh).into())
    }
}

#[test]
fn refused_plans_are_counted_until_the_fallback_plans_instead() {
    let db = open_with(|| Box::new(Errs));
    flush(&db, 1);
    let id = db.default_keyspace().id();
    let refused = || db.engine().state.lock().planner.refusals(id);
    let counts = [(); 3].map(|()| {
        assert!(ask_policy(db.engine(), ask(&db)).is_none());
        refused()
    });
    assert_eq!(counts, [1, 2, 0]);
}

#[test]
fn a_policy_is_asked_when_its_store_is_opened() {
    let vfs = Arc::new(MemoryVfs::new());
    let open = || {
        let policy = |_: &str| Some(Box::new(EmptiesLevel0(Given::default())) as Box<dyn Policy>);
        let options = Options { custom_policy: Some(Arc::new(policy)), ..Options::small() };
        let storage = Arc::new(Directory::open(vfs.clone()).unwrap());
        Db::open_storage(storage, options, Arc::new(Idle)).unwrap()
    };
    let db = open();
    (1..=2).for_each(|key| flush(&db, key));
    db.close().unwrap();
    let db = open();
    run(next_job(db.engine(), JobFilter::Other).unwrap());
    assert_eq!(tables(&db).len(), 1);
}

#[test]
fn the_log_is_durable_through_a_flush_before_that_is_installed() {
    let (db, _) = open();
    let engine = db.engine();
    let rows = db.default_keyspace();
    for key in 1..4 {
        let seq = rows.put([key], [key], Durability::Buffered).unwrap();
        assert!(engine.log.syncs.synced() < seq);
        write::seal_all(engine).unwrap();
        run(next_job(engine, JobFilter::Flush).unwrap());
        assert!(engine.log.syncs.synced() >= seq);
    }
}

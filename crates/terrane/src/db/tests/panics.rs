//! A panic of background work is an error of the store: it names the job, no write is taken, and
//! what was acknowledged is there when the store is opened again.

use super::gated::{Gate, Gated, Where};
use super::{entries, eventually, fill};
use crate::executor::ThreadExecutor;
use crate::storage::Directory;
use crate::storage::vfs::{MemoryVfs, Vfs};
use crate::{CustomPolicy, Db, Durability, ErrorKind, Event, JobPanicked, Options};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use terrane_policy::{Action, Compaction, Destination, Group, Plan, PlanContext, Policy};

fn open(vfs: Arc<dyn Vfs>, options: Options) -> Db {
    let storage = Arc::new(Directory::open(vfs).unwrap());
    Db::open_storage(storage, options, Arc::new(ThreadExecutor::new(2))).unwrap()
}

/// Returns the error that refuses a write.
fn panicked(db: &Db) -> JobPanicked {
    let refused = db.default_keyspace().put("key", "value", Durability::Buffered).unwrap_err();
    match refused.into_kind() {
        ErrorKind::JobPanicked(panicked) => panicked,
        other => panic!("{other}"),
    }
}

/// Does `work` on a store while one of its threads panics. Returns the panic, and the reported events.
fn panics_where(
    operation: Where,
    policy: Option<CustomPolicy>,
    work: impl Fn(&Db),
) -> (JobPanicked, Vec<String>) {
    let (memory, gate) = (Arc::new(MemoryVfs::new()), Gate::default());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let failures = heard.clone();
    let listener = move |_, event: &Event| {
        if let Event::JobFailed { error } = event {
            failures.lock().unwrap().push(error.clone());
        }
    };
    let options = Options {
        listener: Some(Arc::new(listener)),
        custom_policy: policy,
        sync_interval: Duration::MAX,
        ..Options::small()
    };
    let db = open(Arc::new(Gated::on(memory.clone(), &gate)), options);
    for seed in 1..3 {
        fill(&db, 300, seed);
        db.flush().unwrap();
    }
    db.wait_until_idle().unwrap();
    fill(&db, 100, 3);
    let before = entries(&db);
    gate.panic_where(operation);
    work(&db);
    let panicked = panicked(&db);
    assert_eq!(entries(&db), before, "reads go on");
    assert!(db.create_keyspace("other").is_err(), "no edit is committed");
    db.close().unwrap();

    let db = open(memory, Options::small());
    assert_eq!(entries(&db), before, "nothing acknowledged is lost");
    assert_eq!(db.check().unwrap().damage, []);
    fill(&db, 300, 4);
    db.default_keyspace().compact_range(..).unwrap();
    let told = heard.lock().unwrap().clone();
    (panicked, told)
}

fn syncs_table(operation: &str) -> bool {
    operation.starts_with("sync ") && operation.ends_with(".sst")
}

/// The call fails with the panic.
fn fails(result: crate::Result<()>) {
    let error = result.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::JobPanicked(_)), "{error}");
}

#[test]
fn a_panic_in_a_flush_refuses_writes_and_loses_nothing() {
    let (panic, told) = panics_where(Box::new(syncs_table), None, |db| fails(db.flush()));
    assert_eq!(panic.job, "flush of keyspace default");
    assert!(panic.message.ends_with(".sst"), "{}", panic.message);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(&panic.job) && told[0].contains(&panic.message), "{told:?}");
}

#[test]
fn a_panic_in_a_commit_of_an_edit_refuses_writes_loses_nothing() {
    let commits = |operation: &str| operation.starts_with("sync MANIFEST");
    let (panic, _) = panics_where(Box::new(commits), None, |db| fails(db.flush()));
    assert_eq!(panic.job, "flush of keyspace default");
}

/// Merges level 0 when it has three runs; a merge is of two parts. Or panics then.
struct Thirds {
    panics: bool,
}

impl Policy for Thirds {
    fn name(&self) -> &'static str {
        "thirds"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let level0 = context.shape.levels().first().filter(|level| level.runs.len() == 3)?;
        assert!(!self.panics, "no plan");
        let inputs = level0.runs.iter().flat_map(|run| run.tables()).map(|table| table.id);
        let destination = Destination { level: 1, run: context.fresh };
        let mut group = Group::new(inputs.collect(), destination, Action::merge(u64::MAX));
        group.parts = vec![150u32.to_be_bytes().to_vec()];
        Some(Compaction::parallel(vec![group], "a test").into())
    }
}

fn thirds(panics: bool) -> Option<CustomPolicy> {
    Some(Arc::new(move |_| Some(Box::new(Thirds { panics }))))
}

/// Flushes the third run, which is merged then.
fn flush_third(db: &Db) {
    db.flush().unwrap();
    fails(db.wait_until_idle());
}

#[test]
fn a_panic_in_a_part_of_a_merge_refuses_writes_loses_nothing() {
    let mut flushed = false;
    let merges = move |operation: &str| {
        let (after, syncs) = (flushed, syncs_table(operation));
        flushed |= syncs;
        after && syncs
    };
    let (panic, _) = panics_where(Box::new(merges), thirds(false), flush_third);
    assert!(panic.job.ends_with("of 2 of a merge of keyspace default"), "{}", panic.job);
}

#[test]
fn a_panic_in_a_policy_refuses_writes_and_loses_nothing() {
    let (panic, _) = panics_where(Box::new(|_| false), thirds(true), flush_third);
    assert_eq!((&*panic.job, &*panic.message), ("search for a job", "no plan"));
}

#[test]
fn a_panic_in_the_timed_sync_refuses_writes_and_loses_nothing() {
    let (memory, gate) = (Arc::new(MemoryVfs::new()), Gate::default());
    let options = Options { sync_interval: Duration::from_millis(1), ..Options::small() };
    let db = open(Arc::new(Gated::on(memory.clone(), &gate)), options);
    db.wait_until_idle().unwrap();
    gate.panic_where(Box::new(|operation| operation.starts_with("sync ")));
    fill(&db, 1, 1);
    eventually(|| db.engine().state.failure().is_some());
    assert_eq!(panicked(&db).job, "timed sync of the log");
    gate.panic_where(Box::new(|_| false));
    db.close().unwrap();
    assert_eq!(entries(&open(memory, Options::small())).len(), 1);
}

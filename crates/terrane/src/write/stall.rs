//! Write stalls: when a write must wait for background work.
//!
//! 1. A write stalls while memtables take all of their memory, while its keyspace has as many sealed
//!    memtables as may wait for their flush, or while its level 0 has as many runs, or tables over one key, as it may;
//!    natively also while more bytes wait to be compacted than may (its compaction debt).
//!    Range deletes also stall while those of their keyspace take too much: each read searches them.
//! 2. The writer releases its lock, has background work catch up, and checks again.
//! 3. Where a job has failed the write reports that instead.
//!
//! The last reason, `Stall::Wal`, is found in `commit`: no log file has room for the record.

use super::backpressure::debt;
use crate::batch::WriteBatch;
use crate::engine::{Engine, KeyspaceInner, KeyspaceMap, StoreState};
use crate::error::{Result, Stall};
use crate::event::{Event, EventStream};
use crate::options::Options;
use crate::sync::atomic::Ordering;
use crate::version::{DELETES_BYTES_MAX, Tree};

/// Returns when background work has made progress, or with the reason why it cannot.
pub(crate) type CatchUp<'a> = dyn Fn() -> Result<()> + 'a;

/// A reported stall. Dropping it reports the end.
pub(super) struct StallGuard<'a> {
    events: &'a EventStream,
    reason: Stall,
    began: u64,
}

impl<'a> StallGuard<'a> {
    pub fn new(events: &'a EventStream, reason: Stall) -> Self {
        events.emit(|| Event::Stalled { reason });
        StallGuard { events, reason, began: events.micros() }
    }
}

impl Drop for StallGuard<'_> {
    fn drop(&mut self) {
        let StallGuard { events, reason, began } = *self;
        let lasted_micros = events.micros().saturating_sub(began);
        events.emit(|| Event::StallEnded { reason, lasted_micros });
    }
}

/// Returns the reason why these batches stall, if they do.
///
/// # Errors
/// A store that takes no writes.
pub(super) fn stall(
    engine: &Engine,
    keyspaces: &KeyspaceMap,
    batches: &[&WriteBatch],
) -> Result<Option<Stall>> {
    engine.state.lock_open()?.health.certain()?;
    if engine.memtables.is_full(engine.options.memtables_share()) {
        return Ok(Some(Stall::Memory));
    }
    let named = batches.iter().flat_map(|b| b.keyspaces().map(|id| (id, b.deletes_range())));
    for (id, deletes_range) in named {
        // Whoever commits refuses a batch that names an unknown one.
        let Some(keyspace) = keyspaces.get(&id) else { continue };
        let super_version = keyspace.super_version.load();
        if super_version.sealed.len() >= engine.options.max_immutable_memtables {
            return Ok(Some(Stall::Memtables));
        }
        let (tree, most) = (&super_version.tree, engine.options.l0_stop_trigger);
        // Of a key there is at most a table a run: most writes need not ask the policy.
        if tree.level0_runs() >= most
            && tree.level0_waiting(keyspace.policy.load().as_ref().as_ref()) >= most
        {
            return Ok(Some(Stall::Level0));
        }
        if deletes_range && tree.range_deletes().bytes() >= DELETES_BYTES_MAX {
            return Ok(Some(Stall::RangeDeletes));
        }
        if is_in_debt(&engine.options, &engine.state, keyspace, tree) {
            return Ok(Some(Stall::CompactionBytes));
        }
    }
    Ok(None)
}

/// Whether a keyspace's writes stall by its debt: not where its policy leaves the tree as it is, since
/// the wait would not end.
fn is_in_debt(
    options: &Options,
    store: &StoreState,
    keyspace: &KeyspaceInner,
    tree: &Tree,
) -> bool {
    debt(options, tree).is_some_and(|(_, debt)| debt.filled >= debt.room)
        && store.lock().planner.compacts(keyspace.id)
}

/// Counts a stall, and reports it unless `reported` has the same reason.
///
/// # Errors
/// The error of a failed job: no job can end the stall.
pub(super) fn begin_stall<'a>(
    engine: &'a Engine,
    reason: Stall,
    reported: &mut Option<StallGuard<'a>>,
) -> Result<()> {
    // Not in the condition, which would hold the lock while the listener is called.
    let failed = engine.state.lock().health.take_failure();
    if let Some(cause) = failed {
        // Others may wait for the work that failed.
        engine.background.notify_work();
        return Err(cause);
    }
    if reported.as_ref().is_none_or(|guard| guard.reason != reason) {
        // The end of one is reported before the start of the other.
        *reported = None;
        *reported = Some(StallGuard::new(&engine.jobs.events, reason));
    }
    engine.counters.stalls.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Seq;
    use crate::error::{Error, ErrorKind};
    use crate::event::Listener;
    use crate::executor::SliceExecutor;
    use crate::jobs::Progress;
    use crate::schedule;
    use crate::schedule::JobFilter;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::sync::Mutex;
    use crate::sync::lock;
    use crate::write::commit::commit;
    use crate::write::seal::seal_all;
    use crate::{Db, Durability, Options};
    use std::sync::{Arc, Weak};
    use terrane_policy::{
        Action, Capacity, Compaction, Destination, Group, Plan, PlanContext, Policy, PolicyStatus,
        Shape,
    };

    fn open(options: Options) -> Db {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        Db::open_storage(storage, options, Arc::new(SliceExecutor::default())).unwrap()
    }

    #[test]
    fn a_stall_is_reported_once_however_often_work_catches_up() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let events = told.clone();
        let options = Options {
            max_immutable_memtables: 1,
            listener: Some(Arc::new(move |_, event: &Event| match event {
                Event::Stalled { reason } => lock(&events).push(("stalled", *reason)),
                Event::StallEnded { reason, .. } => lock(&events).push(("ended", *reason)),
                _ => {}
            })),
            ..Options::small()
        };
        let db = open(options);
        let engine = db.engine();
        let mut batch = WriteBatch::new();
        batch.put(&db.default_keyspace(), "key", "value").unwrap();
        commit(engine, &[&batch], Durability::Buffered, &|| Ok(())).unwrap();
        seal_all(engine).unwrap();
        let calls = Mutex::new(0);
        let catch_up = || {
            let mut calls = lock(&calls);
            *calls += 1;
            if *calls == 3 {
                let mut flush = schedule::next_job(engine, JobFilter::Flush).unwrap();
                while flush.run_for(u64::MAX)? == Progress::More {}
            }
            Ok(())
        };
        commit(engine, &[&batch], Durability::Buffered, &catch_up).unwrap();
        assert_eq!(*lock(&calls), 3);
        let once = [("stalled", Stall::Memtables), ("ended", Stall::Memtables)];
        assert_eq!(*lock(&told), once);
    }

    /// Never compacts.
    struct Idles {
        stalls_by_depth: bool,
    }

    impl Policy for Idles {
        fn name(&self) -> &'static str {
            "idles"
        }

        fn plan(&self, _: &PlanContext) -> Option<Plan> {
            None
        }

        fn stalls_by_depth(&self) -> bool {
            self.stalls_by_depth
        }
    }

    #[test]
    fn writes_stall_by_runs_or_by_tables_over_a_key_per_policy() {
        for (stalls_by_depth, keys) in [(false, &[1, 2][..]), (true, &[1, 2, 3, 1])] {
            let policy =
                move |_: &str| Some(Box::new(Idles { stalls_by_depth }) as Box<dyn Policy>);
            let options = Options {
                l0_stop_trigger: 2,
                custom_policy: Some(Arc::new(policy)),
                ..Options::small()
            };
            let db = open(options);
            let engine = db.engine();
            let commit = |key: u8| {
                let mut batch = WriteBatch::new();
                batch.put(&db.default_keyspace(), [key], "value").unwrap();
                commit(engine, &[&batch], Durability::Buffered, &|| {
                    Err(ErrorKind::Stalled(Stall::Level0).into())
                })
            };
            for key in keys {
                commit(*key).unwrap();
                seal_all(engine).unwrap();
                let mut flush = schedule::next_job(engine, JobFilter::Flush).unwrap();
                while flush.run_for(u64::MAX).unwrap() == Progress::More {}
            }
            let refused = commit(9).map_err(Error::into_kind);
            assert!(matches!(refused, Err(ErrorKind::Stalled(Stall::Level0))), "{stalls_by_depth}");
        }
    }

    /// Moves level 0 down, whatever it holds.
    struct Owes(Arc<Asked>);

    /// The engine that a policy is of, how often the policy was asked for its capacities, and how often of
    /// these under the lock that writers take.
    #[derive(Default)]
    struct Asked(Mutex<(Weak<Engine>, usize, usize)>);

    impl Policy for Owes {
        fn name(&self) -> &'static str {
            "owes"
        }

        fn plan(&self, context: &PlanContext) -> Option<Plan> {
            let level0 = context.shape.levels().first()?.runs.iter();
            let inputs: Vec<_> =
                level0.flat_map(|run| run.tables()).map(|table| table.id).collect();
            let destination = Destination { level: 1, run: context.fresh };
            let group = Group::new(inputs, destination, Action::Move);
            Some(Compaction::parallel(vec![group], "a test").into())
        }

        fn status(&self, _: &Shape, _: &[u8]) -> PolicyStatus {
            let mut asked = lock(&self.0.0);
            let engine = asked.0.upgrade();
            asked.1 += 1;
            asked.2 += usize::from(engine.is_some_and(|engine| engine.log.try_writer().is_none()));
            PolicyStatus {
                capacities: vec![Capacity { bytes: Some(0), runs: None }],
                ..PolicyStatus::default()
            }
        }
    }

    /// A store with a run in level 0 that waits to be compacted, and with this limit of compaction debt.
    fn in_debt(limit: u64, asked: &Arc<Asked>, listener: Option<Listener>) -> Db {
        let given = asked.clone();
        let policy = move |_: &str| Some(Box::new(Owes(given.clone())) as Box<dyn Policy>);
        let db = open(Options {
            hard_pending_compaction_bytes: limit,
            custom_policy: Some(Arc::new(policy)),
            listener,
            ..Options::small()
        });
        lock(&asked.0).0 = Arc::downgrade(db.engine());
        let run = |kind| {
            let mut job = schedule::next_job(db.engine(), kind).unwrap();
            while job.run_for(u64::MAX).unwrap() == Progress::More {}
        };
        // The first run goes down: what is in the deepest level waits for nothing.
        for kinds in [&[JobFilter::Flush, JobFilter::Other][..], &[JobFilter::Flush]] {
            put(&db, &|| Ok(())).unwrap();
            seal_all(db.engine()).unwrap();
            kinds.iter().for_each(|kind| run(*kind));
        }
        db
    }

    fn put(db: &Db, catch_up: &CatchUp<'_>) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.put(&db.default_keyspace(), "key", "value").unwrap();
        commit(db.engine(), &[&batch], Durability::Buffered, catch_up)
    }

    #[test]
    fn writes_stall_by_debt_until_a_running_compaction_pays_it() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let events = told.clone();
        let listener: Listener = Arc::new(move |_, event: &Event| match event {
            Event::Stalled { reason } => lock(&events).push(("stalled", *reason)),
            Event::StallEnded { reason, .. } => lock(&events).push(("ended", *reason)),
            _ => {}
        });
        let db = in_debt(1, &Arc::default(), Some(listener));
        let stalls = || Err(ErrorKind::Stalled(Stall::CompactionBytes).into());
        put(&db, &stalls).unwrap();
        assert_eq!(*lock(&told), [], "no compaction runs, whose end would be that of the stall");
        let job = Mutex::new(schedule::next_job(db.engine(), JobFilter::Other).unwrap());
        assert!(put(&db, &stalls).is_err());
        let stalled = [("stalled", Stall::CompactionBytes), ("ended", Stall::CompactionBytes)];
        assert_eq!(*lock(&told), stalled);
        put(&db, &|| {
            while lock(&job).run_for(u64::MAX)? == Progress::More {}
            Ok(())
        })
        .unwrap();
        assert_eq!(*lock(&told), [stalled, stalled].concat());
        assert_eq!(db.stats().unwrap().waits.compaction_bytes.count, 2);
        put(&db, &stalls).unwrap();
    }

    #[test]
    fn without_a_limit_no_write_stalls_on_compaction_debt() {
        let db = in_debt(0, &Arc::default(), None);
        let compaction = schedule::next_job(db.engine(), JobFilter::Other).unwrap();
        put(&db, &|| Err(ErrorKind::Stalled(Stall::CompactionBytes).into())).unwrap();
        drop(compaction);
    }

    #[test]
    fn no_write_asks_a_policy_for_its_capacities() {
        let asked = Arc::new(Asked::default());
        let db = in_debt(1, &asked, None);
        put(&db, &|| Ok(())).unwrap();
        let (_, times, under_lock) = &*lock(&asked.0);
        assert!((*times > 0, *under_lock) == (true, 0), "{times} times, {under_lock} by writes");
    }
}

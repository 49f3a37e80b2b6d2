//! Observations that policies get, and effects of their plans on the tree.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use terrane::executor::SeededExecutor;
use terrane::{Db, Durability, Event};
use terrane_policy::{
    Action, Compaction, Destination, FilterBits, FlushPlan, Group, Installed, KeySample,
    LevelChange, Observed, Order, Plan, PlanContext, Policy, PolicyOptions, READS_BETWEEN, Run,
    RunId, Shape, Step,
};
use terrane_tests::fixtures::{Kind, Rig, adversarial, small_policies, small_policy, tiny};

type Events = Arc<Mutex<Vec<Event>>>;

/// A store that records its events.
fn watched(rig: &Rig, policy: PolicyOptions) -> (Db, Events) {
    let events = Events::default();
    let recorded = events.clone();
    let listener = Arc::new(move |_, event: &Event| recorded.lock().unwrap().push(event.clone()));
    let options = tiny().policy(policy).listener(listener);
    (rig.open(options, 1).unwrap(), events)
}

fn key(n: u32) -> [u8; 4] {
    n.wrapping_mul(0x9e37_79b9).to_be_bytes()
}

fn fill(db: &Db, from: u32, to: u32) {
    let keyspace = db.default_keyspace();
    for n in from..to {
        keyspace.put(&key(n), &[7; 50], Durability::Buffered).unwrap();
    }
}

/// Returns the policy's observations before each of its plans.
fn observations(events: &Events) -> Vec<Observed> {
    let observation = |event: &Event| match event {
        Event::CompactionBegun { observed, .. } | Event::LevelChanged { observed, .. } => {
            Some(observed.clone())
        }
        _ => None,
    };
    events.lock().unwrap().iter().filter_map(observation).collect()
}

#[test]
fn a_plan_sees_reads_and_writes_since_the_previous_plan() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, events) = watched(&rig, small_policy("leveled"));
    fill(&db, 0, 500);
    for n in 0..70 {
        db.default_keyspace().get(&key(n)).unwrap();
    }
    for _ in 0..3 {
        drop(db.default_keyspace().scan(..).unwrap());
    }
    fill(&db, 500, 1000);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let observed = observations(&events);
    assert!(observed.len() > 3);
    let sum = |of: fn(&Observed) -> u64| observed.iter().map(of).sum::<u64>();
    assert_eq!((sum(|o| o.point_reads), sum(|o| o.range_reads)), (70, 3));
    assert!((900..=1000).contains(&sum(|o| o.updates)), "{}", sum(|o| o.updates));
    assert!(observed.iter().filter(|o| o.point_reads > 0).count() == 1);
    assert!(observed.iter().all(|o| o.table_reads.is_empty()), "this policy does not watch reads");
}

#[test]
fn a_read_aware_policy_sees_reads_per_table_without_writes() {
    // The draws of one seed may leave a tree alone for good.
    let sees_reads = |seed| {
        let rig = Rig::new(Kind::MemoryDirectory);
        let (db, events) = watched(&rig, adversarial(seed));
        fill(&db, 0, 300);
        db.flush().unwrap();
        events.lock().unwrap().clear();
        for n in 0..5000 {
            db.default_keyspace().get(&key(n % 300)).unwrap();
            db.run_jobs(1 << 10).unwrap();
        }
        observations(&events).iter().any(|o| !o.table_reads.is_empty())
    };
    assert!((1..30).any(sees_reads), "no plan saw reads of tables");
}

/// Updates, point reads and range reads that a policy was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told([u64; 3]);

impl Told {
    fn plus(self, observed: &Observed) -> Told {
        let Observed { updates, point_reads, range_reads, .. } = *observed;
        Told([self.0[0] + updates, self.0[1] + point_reads, self.0[2] + range_reads])
    }
}

#[derive(Debug, Default)]
struct Ledger {
    /// Counts of installed steps.
    installed: Told,
    /// Steps that had something to tell, and all steps but flushes.
    telling: u64,
    steps: u64,
    /// Observations given to the last call of `plan`.
    pending: Observed,
    /// Whether no further plan is made.
    quiet: bool,
    /// Whether reads of tables are watched in any case.
    watches: bool,
}

/// Another policy's plans, and a ledger of its observations.
struct Bookkeeper {
    inner: Box<dyn Policy>,
    ledger: Arc<Mutex<Ledger>>,
}

impl Policy for Bookkeeper {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let mut ledger = self.ledger.lock().unwrap();
        ledger.pending = context.observed.clone();
        if ledger.quiet { None } else { self.inner.plan(context) }
    }

    fn plans_flushes(&self) -> bool {
        self.inner.plans_flushes()
    }

    fn flush(&self, context: &PlanContext, sealed: &KeySample) -> FlushPlan {
        self.inner.flush(context, sealed)
    }

    fn reads_prefixes(&self) -> bool {
        self.inner.reads_prefixes()
    }

    fn watches_reads(&self) -> bool {
        self.ledger.lock().unwrap().watches || self.inner.watches_reads()
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let mut ledger = self.ledger.lock().unwrap();
        let told = ledger.installed.plus(installed.observed);
        let tells = told != ledger.installed;
        match installed.step {
            Step::Flush { .. } => assert!(!tells, "a flush is no step of a plan"),
            Step::Group { .. } | Step::Reshape(_) => ledger.steps += 1,
        }
        ledger.installed = told;
        ledger.telling += u64::from(tells);
        drop(ledger);
        self.inner.apply(state, installed)
    }

    fn adopt(&self, shape: &Shape) -> Vec<u8> {
        self.inner.adopt(shape)
    }
}

/// A store under a policy that keeps books.
fn under_books(
    rig: &Rig,
    policy: &PolicyOptions,
    listener: &Events,
    ledger: &Arc<Mutex<Ledger>>,
) -> Db {
    let (books, options) = (ledger.clone(), policy.clone());
    let recorded = listener.clone();
    let options = tiny()
        .custom_policy(Arc::new(move |_: &str| {
            let inner = options.build().unwrap();
            Some(Box::new(Bookkeeper { inner, ledger: books.clone() }) as Box<dyn Policy>)
        }))
        .listener(Arc::new(move |_, event: &Event| recorded.lock().unwrap().push(event.clone())));
    let executor = Arc::new(SeededExecutor::new(7));
    rig.open_with(options, executor).unwrap()
}

#[test]
fn every_operation_is_reported_with_one_step_or_is_pending() {
    let policies = small_policies().into_iter().chain((0..6).map(adversarial));
    let (mut failed, mut refused, mut changed) = (0, 0, 0);
    for policy in policies {
        let rig = Rig::new(Kind::MemoryDirectory);
        let events = Events::default();
        let ledger = Arc::default();
        let db = under_books(&rig, &policy, &events, &ledger);
        let keyspace = db.default_keyspace();
        let (mut gets, mut scans) = (0, 0);
        for round in 0..60 {
            // The read that fails is one of a get, a scan or a merge.
            rig.vfs.fail_read_at(rig.vfs.reads() + round % 3 * 20);
            for n in round * 40..round * 40 + 40 {
                let put = || keyspace.put(&key(n as u32), &[7; 50], Durability::Buffered);
                // Where merges rest since one failed, a flush is a new chance.
                while put().is_err() {
                    let _ = db.flush();
                }
            }
            for n in 0..7 {
                gets += 1;
                let _ = keyspace.get(&key(n * 13));
            }
            if round % 4 == 0 {
                scans += 1;
                let _ = keyspace.scan(..).unwrap().count();
            }
            for _ in 0..20 {
                let _ = db.run_jobs(2 << 10);
            }
        }
        rig.vfs.heal();
        ledger.lock().unwrap().quiet = true;
        // After a flush the policy is asked once more, and so given what was read last.
        while keyspace.put(key(0), [7; 50], Durability::Buffered).is_err() {
            let _ = db.flush();
        }
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
        let ledger = ledger.lock().unwrap();
        let told = ledger.installed.plus(&ledger.pending);
        assert_eq!(told, Told([60 * 40 + 1, gets, scans]), "{policy:?}: {ledger:?}");
        assert!(ledger.steps > 5 && (2..=ledger.steps).contains(&ledger.telling), "{ledger:?}");
        for event in events.lock().unwrap().iter() {
            failed += u64::from(matches!(event, Event::JobFailed { .. }));
            refused += u64::from(matches!(event, Event::PlanRefused { .. }));
            changed += u64::from(matches!(event, Event::LevelChanged { .. }));
        }
    }
    assert!(failed > 10 && refused > 10 && changed > 5, "{failed} {refused} {changed}");
}

#[test]
fn reads_of_a_table_count_while_it_lives_by_scans_too() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let ledger = Arc::new(Mutex::new(Ledger { watches: true, ..Ledger::default() }));
    let db = under_books(&rig, &small_policy("leveled"), &Events::default(), &ledger);
    let keyspace = db.default_keyspace();
    fill(&db, 0, 10);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    // A policy is asked about a read-only tree after a number of reads.
    for _ in 0..READS_BETWEEN {
        keyspace.scan(..).unwrap().for_each(|row| drop(row.unwrap()));
    }
    for n in 0..3 * READS_BETWEEN as u32 {
        keyspace.get(&key(n % 10)).unwrap();
        db.wait_until_idle().unwrap();
    }
    let tables: Vec<_> = keyspace.shape().unwrap().tables().map(|(_, _, t)| t.id).collect();
    let reads = ledger.lock().unwrap().pending.table_reads.clone();
    assert_eq!(reads.keys().copied().collect::<Vec<_>>(), tables);
    assert_eq!(reads.values().sum::<u64>(), 4 * READS_BETWEEN, "{reads:?}");
}

/// Sends each run of level 0 to the level above the first one that holds anything, at first to level 5,
/// with a fraction of a filter bit more each time.
struct Stack;

impl Stack {
    fn filter_bits(level: usize) -> FilterBits {
        FilterBits::from_thousandths(10_500 - 1000 * level as u32)
    }
}

impl Policy for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let levels = context.shape.levels();
        let above = levels.iter().skip(1).position(|level| !level.runs.is_empty());
        let level = above.map_or(5, |above| above).max(1);
        if !context.running.compactions.is_empty() {
            return None;
        }
        let mut tables = context.shape.between(0, 1);
        if level == 1 {
            tables = context.shape.between(0, 2);
        }
        let inputs: Vec<_> = tables.iter().map(|t| t.id).collect();
        let from0 = levels.first().is_some_and(|level0| !level0.runs.is_empty());
        let destination = Destination { level, run: context.fresh };
        let filter_bits = Some(Stack::filter_bits(level));
        let action = Action::Merge {
            cuts: Vec::new(),
            target_file_bytes: u64::MAX,
            filter_bits,
            split: None,
        };
        let group = Group::new(inputs, destination, action);
        from0.then(|| Compaction::parallel(vec![group], "it goes down").into())
    }

    fn plans_flushes(&self) -> bool {
        true
    }

    fn flush(&self, context: &PlanContext, _: &KeySample) -> FlushPlan {
        assert_eq!(context.filter_bits, FilterBits::whole(10));
        FlushPlan { filter_bits: Some(FilterBits::from_thousandths(2_250)), ..FlushPlan::default() }
    }
}

#[test]
fn a_plan_may_write_below_the_last_level_with_any_filter_bits() {
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        let rig = Rig::new(kind);
        let options = || {
            tiny()
                .custom_policy(Arc::new(|_: &str| Some(Box::new(Stack) as Box<dyn Policy>)))
                .memtable_bytes(1 << 20)
                .max_total_wal_bytes(1 << 20)
        };
        let bits_by_level = |db: &Db| {
            let shape = db.default_keyspace().shape().unwrap();
            let bits = shape.tables().map(|(level, _, t)| (level, t.filter_bits));
            bits.collect::<Vec<_>>()
        };
        let mut db = rig.open(options(), 1).unwrap();
        for round in 0..7 {
            fill(&db, round * 50, round * 50 + 100);
            db.flush().unwrap();
            if round == 0 {
                let flushed = (0, FilterBits::from_thousandths(2_250));
                assert!(
                    matches!(bits_by_level(&db)[..], [(5, _)]) || bits_by_level(&db) == [flushed]
                );
            }
            db.wait_until_idle().unwrap();
            db.close().unwrap();
            db = rig.open(options(), 1).unwrap();
            let top = 5 - round.min(4) as usize;
            let expected: Vec<_> = (top..=5).map(|at| (at, Stack::filter_bits(at))).collect();
            assert_eq!(bits_by_level(&db), expected, "after round {round}");
        }
        for n in 0..400 {
            assert_eq!(db.default_keyspace().get(&key(n)).unwrap(), Some(vec![7; 50]));
        }
        assert_eq!(db.check().unwrap().damage, []);
    }
}

/// Sends the two oldest runs of level 0 to runs of level 1: the older one is rewritten, and the newer
/// one, which overlaps it, moves once that is installed.
struct InTurn;

impl Policy for InTurn {
    fn name(&self) -> &'static str {
        "in-turn"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let [.., newer, older] = &context.shape.levels().first()?.runs[..] else { return None };
        if !context.running.compactions.is_empty() {
            return None;
        }
        let inputs = |run: &Run| run.tables().iter().map(|t| t.id).collect::<Vec<_>>();
        let below = |above: u64| Destination { level: 1, run: RunId(context.fresh.0 + above) };
        let first = Group::new(inputs(older), below(0), Action::merge(u64::MAX));
        let follows = first.inputs.first().copied();
        let then = Group { follows, ..Group::new(inputs(newer), below(1), Action::Move) };
        Some(Compaction::parallel(vec![first, then], "one after the other").into())
    }
}

#[test]
fn a_group_starts_after_its_predecessor_also_after_a_restart() {
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        let rig = Rig::new(kind);
        let (mut followed, mut resumed, mut abandoned) = (0, 0, 0);
        let mut half = None;
        for round in 0..400u32 {
            let events = Events::default();
            let recorded = events.clone();
            let options = tiny()
                .custom_policy(Arc::new(|_: &str| Some(Box::new(InTurn) as Box<dyn Policy>)))
                .listener(Arc::new(move |_, event: &Event| {
                    recorded.lock().unwrap().push(event.clone());
                }));
            let db = rig.open(options, u64::from(round)).unwrap();
            if round % 3 == 0 {
                rig.vfs.fail_read_at(rig.vfs.reads() + u64::from(round % 11));
            }
            for n in round * 40..round * 40 + 40 + round % 30 {
                while db
                    .default_keyspace()
                    .put(&key(n % 500), &[7; 50], Durability::Buffered)
                    .is_err()
                {
                    let _ = db.flush();
                }
            }
            let _ = db.close();
            rig.vfs.heal();
            for event in events.lock().unwrap().iter() {
                match event {
                    Event::GroupInstalled { compaction, moved: false, .. } => {
                        assert_eq!(half.replace(*compaction), None, "{event:?}");
                    }
                    Event::GroupInstalled { compaction, moved: true, .. } => {
                        assert_eq!(half.take(), Some(*compaction), "{event:?}");
                        followed += 1;
                    }
                    Event::GroupAbandoned { .. } => abandoned += 1,
                    _ => {}
                }
            }
            resumed += u32::from(half.is_some());
        }
        assert!(followed > 50 && resumed > 5 && abandoned > 5, "{followed} {resumed} {abandoned}");
        let db = rig.open(tiny(), 1).unwrap();
        assert!((0..500).all(|n| db.default_keyspace().get(&key(n)).unwrap() == Some(vec![7; 50])));
        assert_eq!(db.check().unwrap().damage, []);
    }
}

#[test]
fn a_flush_is_cut_into_the_tables_of_one_run() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, events) = watched(&rig, adversarial(5));
    fill(&db, 0, 400);
    db.flush().unwrap();
    for n in 0..400 {
        assert!(db.default_keyspace().get(&key(n)).unwrap().is_some());
    }
    let events = events.lock().unwrap();
    let flushes = events.iter().filter_map(|event| match event {
        Event::Flushed { tables, .. } => Some(tables),
        _ => None,
    });
    let cut: Vec<_> = flushes.filter(|tables| tables.len() > 1).collect();
    assert!(!cut.is_empty());
    for tables in cut {
        assert!(tables.is_sorted_by(|a, b| a.largest < b.smallest), "{tables:?}");
    }
}

#[test]
fn an_added_level_survives_a_restart() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, events) = watched(&rig, small_policy("leveled"));
    fill(&db, 0, 1000);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let added = |event: &Event| {
        let Event::LevelChanged { change: LevelChange::Add(level), .. } = event else {
            return false;
        };
        *level > 0
    };
    assert!(events.lock().unwrap().iter().any(added));
    let bytes = |db: &Db| {
        let stats = db.stats().unwrap().keyspaces.remove(0);
        stats.levels.iter().map(|level| level.bytes).collect::<Vec<_>>()
    };
    let before = bytes(&db);
    assert!(before.len() > 2, "{before:?}");
    db.close().unwrap();
    let (db, _) = watched(&rig, small_policy("leveled"));
    assert_eq!(bytes(&db), before);
    assert_eq!(db.check().unwrap().damage, []);
}

#[test]
fn sequential_groups_keep_key_order_across_restarts() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (mut db, events) = watched(&rig, small_policy("spooky"));
    let mut logs = vec![events];
    // The smallest key of each group's outputs, by compaction.
    let mut installed: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut sequential, mut resumed) = (Vec::new(), 0);
    for round in 0..60u32 {
        fill(&db, round * 40, round * 40 + 40);
        let events = logs.last().unwrap().lock().unwrap().clone();
        let under_way = events.iter().rev().find_map(|event| match event {
            Event::GroupInstalled { compaction, moved: false, .. } => Some(*compaction),
            _ => None,
        });
        let ended = |number| {
            events.iter().any(
                |e| matches!(e, Event::CompactionEnded { compaction } if *compaction == number),
            )
        };
        if under_way.is_some_and(|number| !ended(number)) {
            resumed += 1;
        }
        db.close().unwrap();
        let (again, events) = watched(&rig, small_policy("spooky"));
        (db, _) = (again, logs.push(events));
    }
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    for event in logs.iter().flat_map(|events| events.lock().unwrap().clone()) {
        match event {
            Event::CompactionBegun { compaction, order: Order::Sequential, groups, .. } => {
                sequential.push((compaction, groups));
            }
            Event::GroupInstalled { compaction, moved: false, outputs, .. } => {
                let first = outputs.into_iter().map(|t| t.smallest).next();
                installed.entry(compaction).or_default().extend(first);
            }
            _ => {}
        }
    }
    assert!(sequential.iter().any(|(_, groups)| *groups > 3), "{sequential:?}");
    assert!(resumed > 5, "{resumed}");
    for (compaction, _) in sequential {
        let keys = installed.remove(&compaction).unwrap_or_default();
        assert!(keys.is_sorted(), "{keys:?}");
    }
    let keyspace = db.default_keyspace();
    assert!((0..60 * 40).all(|n| keyspace.get(&key(n)).unwrap() == Some(vec![7; 50])));
}

//! The events: what they tell is complete enough to follow each group, stall and policy.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use terrane::executor::{Executor, SeededExecutor, SliceExecutor};
use terrane::{Db, Durability, Event, Options};
use terrane_policy::event::MAX_PROGRESS;
use terrane_policy::{
    Decision, Fact, Installed, Of, Plan, PlanContext, Policy, PolicyOptions, PolicyStatus,
    Quantity, Reason, Relation, Shape, TableId, Term, Unit,
};
use terrane_tests::fixtures::{Kind, Rig, adversarial, small_policies, tiny};

type Events = Arc<Mutex<Vec<(u64, Event)>>>;

/// Options of a store that records its events.
fn recording(options: Options) -> (Options, Events) {
    let events = Events::default();
    let recorded = events.clone();
    let listener = Arc::new(move |micros, event: &Event| {
        // A test that failed has poisoned it.
        if let Ok(mut events) = recorded.lock() {
            events.push((micros, event.clone()));
        }
    });
    (options.listener(listener), events)
}

fn put(db: &Db, keys: std::ops::Range<u32>) {
    for n in keys {
        let key = n.wrapping_mul(0x9e37_79b9).to_be_bytes();
        db.default_keyspace().put(&key, &[7; 50], Durability::Buffered).unwrap();
    }
}

/// A group that has started.
struct Begun {
    inputs: Vec<TableId>,
    place: (usize, u64),
    moved: bool,
    /// The bytes read so far, and how often progress was reported.
    read: u64,
    reports: u64,
}

#[test]
fn a_group_is_announced_in_full_then_installed_or_abandoned() {
    let (mut moves, mut cuts, mut progressed) = (0, 0, 0);
    for policy in small_policies().into_iter().chain([adversarial(3)]) {
        let (options, events) = recording(tiny().policy(policy));
        let rig = Rig::new(Kind::MemoryDirectory);
        let db = rig.open(options, 1).unwrap();
        put(&db, 0..3000);
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
        db.close().unwrap();
        let mut running: BTreeMap<(u64, TableId), Begun> = BTreeMap::new();
        for (_, event) in events.lock().unwrap().iter() {
            match event {
                Event::GroupBegun { compaction, inputs, level, run, moved, cuts: at, .. } => {
                    let taken = |begun: &Begun| inputs.iter().any(|id| begun.inputs.contains(id));
                    assert!(!running.values().any(taken), "{event:?}");
                    let (inputs, place, moved) = (inputs.clone(), (*level, run.0), *moved);
                    let begun = Begun { place, moved, read: 0, reports: 0, inputs: inputs.clone() };
                    assert!(running.insert((*compaction, inputs[0]), begun).is_none());
                    moves += u64::from(moved);
                    cuts += at.len();
                }
                Event::MergeProgress { compaction, group, read_bytes, total_bytes, .. } => {
                    let begun = running.get_mut(&(*compaction, *group)).expect("it has begun");
                    assert!(begun.read < *read_bytes && read_bytes <= total_bytes, "{event:?}");
                    begun.read = *read_bytes;
                    begun.reports += 1;
                    assert!(begun.reports <= MAX_PROGRESS && !begun.moved, "{event:?}");
                    progressed += 1;
                }
                Event::GroupInstalled { compaction, inputs, level, run, moved, .. } => {
                    let begun = running.remove(&(*compaction, inputs[0])).expect("it has begun");
                    let (place, announced) = ((*level, run.0), (begun.place, begun.moved));
                    assert_eq!((inputs, (place, *moved)), (&begun.inputs, announced));
                }
                Event::GroupAbandoned { compaction, group } => {
                    assert!(running.remove(&(*compaction, *group)).is_some(), "{event:?}");
                }
                Event::CompactionEnded { compaction } => {
                    assert!(running.keys().all(|(number, _)| number != compaction));
                }
                _ => {}
            }
        }
        assert!(running.is_empty());
    }
    assert!(moves > 10 && cuts > 10 && progressed > 100, "{moves} {cuts} {progressed}");
}

#[test]
fn a_merge_that_fails_is_reported_as_abandoned() {
    let (options, events) = recording(tiny());
    let rig = Rig::new(Kind::MemoryDirectory);
    let db = rig.open(options, 1).unwrap();
    let is_abandoned = |(_, e): &(u64, Event)| matches!(e, Event::GroupAbandoned { .. });
    for n in 0..100 {
        rig.vfs.fail_read_at(rig.vfs.reads() + u64::from(n % 7));
        let keys = n * 40..n * 40 + 40;
        for key in keys.map(u32::to_be_bytes) {
            // Where merges rest since one failed, a flush is a new chance.
            while db.default_keyspace().put(&key, &[7; 50], Durability::Buffered).is_err() {
                let _ = db.flush();
            }
        }
    }
    let events = events.lock().unwrap();
    let failed = events.iter().filter(|(_, e)| matches!(e, Event::JobFailed { .. })).count();
    let abandoned = events.iter().filter(|e| is_abandoned(e)).count();
    assert!(abandoned > 0 && abandoned <= failed, "{abandoned} of {failed}");
}

#[test]
fn every_stall_ends_and_reports_its_length() {
    static NOW: AtomicU64 = AtomicU64::new(1000);
    let clock = || NOW.fetch_add(1, Ordering::Relaxed);
    let (options, events) = recording(tiny().max_immutable_memtables(1));
    let executor: Arc<dyn Executor> = Arc::new(SliceExecutor::with_clock(clock));
    let db = Rig::new(Kind::MemoryDirectory).open_with(options, executor).unwrap();
    for n in 0..60u32 {
        // Each is a memtable of its own.
        db.default_keyspace().put(&n.to_be_bytes(), &[7; 3000], Durability::Buffered).unwrap();
    }
    let (mut stalls, mut last, mut open) = (0, 0, None);
    for (micros, event) in events.lock().unwrap().iter() {
        assert!(*micros >= last, "time runs from the opening on");
        last = *micros;
        match event {
            Event::Stalled { reason } => assert_eq!(open.replace((*reason, *micros)), None),
            Event::StallEnded { reason, lasted_micros } => {
                let (begun, at) = open.take().expect("it has begun");
                assert_eq!(*reason, begun);
                // The clock is read once more at either end.
                assert_eq!(*lasted_micros, micros - at - 2);
                stalls += 1;
            }
            _ => {}
        }
    }
    assert!(open.is_none() && stalls > 5, "{stalls}");
    assert!(0 < last && last < NOW.load(Ordering::Relaxed) - 1000);
}

#[test]
fn a_policys_status_is_reported_on_change_and_can_be_asked_for() {
    let mut bounded = 0;
    for policy in small_policies() {
        let name = policy.name();
        let (options, events) = recording(tiny().policy(policy));
        let db = Rig::new(Kind::MemoryDirectory).open(options, 1).unwrap();
        put(&db, 0..2000);
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
        let told: Vec<_> = (events.lock().unwrap().iter())
            .filter_map(|(_, event)| match event {
                Event::PolicyStatus { capacities, facts, .. } => {
                    Some((capacities.clone(), facts.clone()))
                }
                _ => None,
            })
            .collect();
        assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{name}");
        let stats = &db.stats().unwrap().keyspaces[0];
        let (capacities, facts) = told.last().expect("it was told at the first flush");
        assert_eq!(facts, &stats.policy_facts);
        bounded += u64::from(!capacities.is_empty());
        for (level, capacity) in stats.levels.iter().zip(capacities) {
            assert_eq!(level.capacity, *capacity);
            assert!(capacity.bytes.is_none_or(|bytes| bytes > 0), "{name}");
        }
    }
    // Of the vertical policies, each but universal.
    assert!(bounded >= 6, "{bounded}");
}

/// A policy that decides something at each installation, and counts what it is asked.
struct Decider {
    inner: Box<dyn Policy>,
    asked: Arc<AtomicU64>,
}

impl Policy for Decider {
    fn name(&self) -> &'static str {
        "decider"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        self.inner.plan(context)
    }

    fn apply(&self, state: &[u8], _: &Installed) -> Vec<u8> {
        vec![state.first().map_or(1, |n| n.wrapping_add(1))]
    }

    fn status(&self, _: &Shape, state: &[u8]) -> PolicyStatus {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let (name, of, key) = ("steps", Of::Item(0), state.to_vec());
        PolicyStatus { capacities: Vec::new(), facts: vec![Fact::Key { name, of, key }] }
    }

    fn decisions(&self, state: &[u8], _: &Installed) -> Vec<Decision> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let before = state.first().copied().unwrap_or(0).into();
        let counts = (Quantity::new("steps", before), Quantity::new("no-steps", 0));
        let term = Term::new(Unit::Count, counts.0, Relation::AtLeast, counts.1);
        let reason = Reason::new("a step was installed".into(), vec![term]);
        vec![Decision { name: "counted", reason, facts: Vec::new() }]
    }
}

fn deciding(asked: &Arc<AtomicU64>) -> Options {
    let asked = asked.clone();
    let custom_policy = Arc::new(move |_: &str| {
        let inner = PolicyOptions::preset("leveled").unwrap().build().unwrap();
        Some(Box::new(Decider { inner, asked: asked.clone() }) as Box<dyn Policy>)
    });
    tiny().custom_policy(custom_policy)
}

#[test]
fn decisions_are_reported_with_the_step_that_made_them() {
    let (options, events) = recording(deciding(&Arc::default()));
    let db = Rig::new(Kind::MemoryDirectory).open(options, 1).unwrap();
    for round in 0..5 {
        put(&db, round..round + 1);
        db.flush().unwrap();
    }
    let events = events.lock().unwrap();
    let installed = |e: &Event| matches!(e, Event::Flushed { .. } | Event::GroupInstalled { .. });
    let steps = events.iter().filter(|(_, e)| installed(e)).count();
    let mut told = 0u8;
    for pair in events.windows(2) {
        let [(_, decided), (_, status)] = pair else { continue };
        let Event::Decided { decision, reason, terms, .. } = decided else { continue };
        assert_eq!((*decision, reason.as_str()), ("counted", "a step was installed"));
        assert_eq!(terms[0].left.value, u64::from(told));
        told += 1;
        let Event::PolicyStatus { facts, .. } = status else { panic!("{status:?}") };
        let (name, of, key) = ("steps", Of::Item(0), vec![told]);
        assert_eq!(*facts, [Fact::Key { name, of, key }]);
    }
    assert!(steps >= 5 && usize::from(told) == steps, "{told} of {steps}");
}

#[test]
fn a_policy_is_asked_nothing_for_events_while_nobody_listens() {
    let asked = Arc::default();
    let executor = Arc::new(SeededExecutor::new(1));
    let db = Rig::new(Kind::MemoryDirectory).open_with(deciding(&asked), executor).unwrap();
    put(&db, 0..200);
    db.flush().unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let heard = Arc::new(AtomicU64::new(0));
    let counted = heard.clone();
    db.set_listener(Some(Arc::new(move |_, _: &Event| {
        counted.fetch_add(1, Ordering::Relaxed);
    })));
    put(&db, 200..400);
    db.flush().unwrap();
    let so_far = heard.load(Ordering::Relaxed);
    assert!(so_far > 0 && asked.load(Ordering::Relaxed) > 0);
    db.set_listener(None);
    put(&db, 400..600);
    db.flush().unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), so_far);
}

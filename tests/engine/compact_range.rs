//! Manual compaction of ranges: slice by slice, alongside policies and writes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use terrane::executor::{Executor, SeededExecutor, SliceExecutor, ThreadExecutor};
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::{Directory, read_exact_at, write_all_at};
use terrane::{Db, Durability, Error, ErrorKind, Event, Keyspace, Options};
use terrane_policy::{
    Action, Compaction, Destination, Group, Plan, PlanContext, Policy, PolicyOptions, Value,
};
use terrane_tests::fixtures::{Kind, Rig, sized_policies, tiny};
use terrane_workload::Random;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Slices and stalls, as reported by events.
#[derive(Default)]
struct Seen {
    /// Range compactions that are running.
    running: Vec<u64>,
    slices: usize,
    /// The most tables that one slice merged into the bottom.
    inputs_max: usize,
    stalls: usize,
}

struct Store {
    vfs: Arc<dyn Vfs>,
    options: Options,
    seen: Arc<Mutex<Seen>>,
    random: Random,
    model: Model,
}

impl Store {
    fn new(policy: PolicyOptions, seed: u64) -> Store {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let listener = {
            let seen = seen.clone();
            move |_, event: &Event| {
                let mut seen = seen.lock().unwrap();
                match event {
                    Event::CompactionBegun { compaction, reason, .. }
                        if reason.contains("a range") =>
                    {
                        seen.running.push(*compaction);
                        seen.slices += 1;
                    }
                    Event::GroupInstalled { compaction, inputs, .. }
                        if seen.running.contains(compaction) =>
                    {
                        seen.inputs_max = seen.inputs_max.max(inputs.len());
                    }
                    Event::Stalled { .. } => seen.stalls += 1,
                    _ => {}
                }
            }
        };
        let options = Options::small()
            .memtable_bytes(11 << 10)
            .wal_file_bytes(32 << 10)
            .max_total_wal_bytes(256 << 10)
            .policy(policy)
            .listener(Arc::new(listener));
        let vfs = Arc::new(MemoryVfs::new());
        Store { vfs, options, seen, random: Random(seed), model: Model::new() }
    }

    fn open(&self, executor: Arc<dyn Executor>) -> Db {
        let storage = Arc::new(Directory::open(self.vfs.clone()).unwrap());
        Db::open_storage(storage, self.options.clone(), executor).unwrap()
    }

    fn write(&mut self, keyspace: &Keyspace) {
        let key = format!("{:05}", self.random.below(3000)).into_bytes();
        if self.random.one_in(5) {
            keyspace.delete(&key, Durability::Buffered).unwrap();
            self.model.remove(&key);
        } else {
            let value: Vec<u8> = (0..50).map(|_| self.random.word() as u8).collect();
            keyspace.put(&key, &value, Durability::Buffered).unwrap();
            self.model.insert(key, value);
        }
    }

    /// Writes, where a policy has just merged nearly everything until there is more to compact.
    fn fill(&mut self, keyspace: &Keyspace) {
        (0..8000).for_each(|_| self.write(keyspace));
        for _ in 0..2000 {
            if tables_above_the_bottom(keyspace) >= 16 {
                break;
            }
            self.write(keyspace);
        }
    }

    fn shows_the_model(&self, keyspace: &Keyspace) {
        let mut cursor = keyspace.cursor(..).unwrap();
        for (key, value) in &self.model {
            assert_eq!(cursor.next().unwrap(), Some((key.as_slice(), value.as_slice())));
        }
        assert_eq!(cursor.next().unwrap(), None);
    }

    fn seen<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap())
    }
}

/// Every policy, each with a seed.
fn policies(
    level_base_bytes: u64,
    target_file_bytes: u64,
) -> impl Iterator<Item = (PolicyOptions, u64)> {
    let policies = sized_policies(level_base_bytes, target_file_bytes);
    policies
        .into_iter()
        .map(move |policy| policy.sized(level_base_bytes, target_file_bytes))
        .zip(1..)
}

fn tables_above_the_bottom(keyspace: &Keyspace) -> usize {
    let shape = keyspace.shape().unwrap();
    let bottom = shape.levels()[shape.deepest()].runs.last().map_or(0, |run| run.tables().len());
    shape.tables().count() - bottom
}

/// Whether everything written up to `through` is in the last run of the deepest level.
fn is_compact(keyspace: &Keyspace, through: u64) -> bool {
    let shape = keyspace.shape().unwrap();
    let bottom = shape.levels()[shape.deepest()].runs.last().map(|run| run.id);
    shape.tables().all(|(level, run, table)| {
        (level, Some(run)) == (shape.deepest(), bottom) || table.first_seq > through
    })
}

#[test]
fn a_range_becomes_compact_in_slices_while_writes_go_on() {
    for (policy, seed) in policies(16 << 10, 2 << 10) {
        let name = policy.name();
        let mut store = Store::new(policy, seed);
        let db = store.open(Arc::new(SeededExecutor::new(seed)));
        let keyspace = db.default_keyspace();
        store.fill(&keyspace);
        let through = db.stats().unwrap().last_sequence;
        let mut pending = keyspace.begin_compact_range(..).unwrap();
        let mut writes = 0;
        while !pending.is_done().unwrap() {
            store.write(&keyspace);
            writes += 1;
            assert!(writes < 50_000, "{name}: put off for ever");
        }
        assert!(is_compact(&keyspace, through), "{name}");
        store.shows_the_model(&keyspace);
        let (slices, most) = store.seen(|seen| (seen.slices, seen.inputs_max));
        let tables = keyspace.shape().unwrap().tables().count();
        println!(
            "{name}: {tables} tables, {slices} slices of at most {most} tables, {writes} writes"
        );
        assert!(slices > 3 && most < 100, "{name}: {slices} slices of at most {most} tables");
        assert_eq!(db.check().unwrap().damage, []);
    }
}

#[test]
fn compacted_slices_of_a_range_survive_a_restart() {
    // A run of one table is one slice.
    let has_slices = |policy: &PolicyOptions| {
        let parameters = policy.parameters();
        !parameters.iter().any(|p| matches!(p.value, Value::Choice { value: "none", .. }))
    };
    for (policy, seed) in policies(16 << 10, 2 << 10).filter(|(policy, _)| has_slices(policy)) {
        let name = policy.name();
        let mut store = Store::new(policy, seed);
        let db = store.open(Arc::new(SliceExecutor::default()));
        let keyspace = db.default_keyspace();
        (0..8000).for_each(|_| store.write(&keyspace));
        db.wait_until_idle().unwrap();
        // Some policies have just merged nearly everything.
        for _ in 0..40 {
            if tables_above_the_bottom(&keyspace) >= 12 {
                break;
            }
            (0..50).for_each(|_| store.write(&keyspace));
            db.wait_until_idle().unwrap();
        }
        // Two slices, then the process ends; as often as it takes.
        let mut rounds = 0;
        drop((keyspace, db));
        loop {
            store.seen(|seen| *seen = Seen::default());
            let db = store.open(Arc::new(SliceExecutor::default()));
            let keyspace = db.default_keyspace();
            let mut pending = keyspace.begin_compact_range(..).unwrap();
            let mut done = pending.is_done().unwrap();
            while !done && store.seen(|seen| seen.slices) < 2 {
                db.run_jobs(64 << 10).unwrap();
                done = pending.is_done().unwrap();
            }
            store.shows_the_model(&keyspace);
            if done {
                assert!(is_compact(&keyspace, u64::MAX), "{name}");
                break;
            }
            rounds += 1;
            assert!(rounds < 100, "{name}: it begins again and again");
        }
        assert!(rounds > 1, "{name}: {rounds} restarts");
    }
}

#[test]
fn a_steady_load_does_not_wait_for_the_compaction_of_a_range() {
    for (policy, seed) in policies(32 << 10, 8 << 10) {
        let name = policy.name();
        let mut store = Store::new(policy, seed);
        let db = store.open(Arc::new(SliceExecutor::default()));
        let keyspace = db.default_keyspace();
        (0..20_000).for_each(|_| store.write(&keyspace));
        db.wait_until_idle().unwrap();
        let before = store.seen(|seen| seen.stalls);
        let mut pending = keyspace.begin_compact_range(..).unwrap();
        let mut writes = 0;
        while !pending.is_done().unwrap() {
            store.write(&keyspace);
            // As a worker does between messages.
            db.run_jobs(1 << 10).unwrap();
            writes += 1;
            assert!(writes < 100_000, "{name}: put off for ever");
        }
        let stalls = store.seen(|seen| seen.stalls) - before;
        assert_eq!(stalls, 0, "{name}: in {writes} writes");
        store.shows_the_model(&keyspace);
    }
}

#[test]
fn a_range_that_cannot_be_read_is_an_error_until_it_can() {
    let executors: [fn() -> Arc<dyn Executor>; 3] = [
        || Arc::new(SliceExecutor::default()),
        || Arc::new(SeededExecutor::new(7)),
        || Arc::new(ThreadExecutor::new(1)),
    ];
    for executor in executors {
        let store = Store::new(PolicyOptions::preset("leveled").unwrap(), 1);
        let db = store.open(executor());
        let rows = db.default_keyspace();
        for value in 0..3u8 {
            for n in 0..200u8 {
                rows.put([n], [value; 9], Durability::Buffered).unwrap();
            }
            db.flush().unwrap();
        }
        let shape = rows.shape().unwrap();
        let tables: Vec<_> = shape.tables().map(|(.., table)| table.id.0).collect();
        drop(rows);
        db.close().unwrap();
        // Tables are opened when they are first read, and these are not yet.
        let db = store.open(executor());
        let rows = db.default_keyspace();
        let lost = format!("{:08}.sst", tables[0]);
        let bytes = store.vfs.open(&lost).unwrap();
        store.vfs.remove(&lost).unwrap();
        for _ in 0..3 {
            let refused = rows.compact_range(..).map_err(Error::into_kind);
            assert!(
                matches!(&refused, Err(ErrorKind::Corrupt(d)) if d.file == lost),
                "{refused:?}"
            );
            rows.put([200], [9], Durability::Sync).unwrap();
        }
        let mut read = vec![0; bytes.len().unwrap() as usize];
        read_exact_at(&*bytes, &mut read, 0).unwrap();
        write_all_at(&*store.vfs.create(&lost).unwrap(), &read, 0).unwrap();
        rows.compact_range(..).unwrap();
        assert_eq!(rows.scan(..).unwrap().count(), 201);
    }
}

/// Undoes what a slice does: moves a table of the last run up again, as often as it is called, up to a bound.
struct Restless {
    plans: Arc<AtomicU64>,
}

/// Plans of a restless policy, after which it rests.
const PLANS_MAX: u64 = 5_000;

impl Policy for Restless {
    fn name(&self) -> &'static str {
        "restless"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let (bottom, run) = context.shape.runs().pop()?;
        let rests = self.plans.load(Ordering::Relaxed) == PLANS_MAX;
        if rests || !context.running.compactions.is_empty() {
            return None;
        }
        let mut inputs: Vec<_> = run.tables().iter().map(|table| table.id).collect();
        let level = if bottom.level < 2 { 2 } else { 1 };
        if level == 1 {
            if inputs.len() < 2 {
                return None;
            }
            inputs.truncate(1);
        }
        self.plans.fetch_add(1, Ordering::Relaxed);
        let destination = Destination { level, run: context.fresh };
        let group = Group::new(inputs, destination, Action::Move);
        Some(Compaction::parallel(vec![group], "undoes a slice").into())
    }
}

#[test]
fn a_range_ends_though_its_policy_undoes_every_slice() {
    let plans = Arc::new(AtomicU64::new(0));
    let made = plans.clone();
    let custom = move |_: &str| Some(Box::new(Restless { plans: made.clone() }) as Box<dyn Policy>);
    let policy = sized_policies(2 << 10, 1 << 10)[0].clone();
    let options = tiny().custom_policy(Arc::new(custom)).policy(policy);
    let rig = Rig::new(Kind::MemoryDirectory);
    let db = rig.open_with(options, Arc::new(SliceExecutor::default())).unwrap();
    let keyspace = db.default_keyspace();
    let mut random = Random(1);
    for n in 0..100u32 {
        let value: Vec<u8> = (0..100).map(|_| random.word() as u8).collect();
        keyspace.put(n.to_be_bytes(), value, Durability::Buffered).unwrap();
    }
    keyspace.compact_range(..).unwrap();
    let plans = plans.load(Ordering::Relaxed);
    assert!(plans > 5 && plans < PLANS_MAX, "{plans} plans");
    assert_eq!(keyspace.scan(..).unwrap().count(), 100);
}

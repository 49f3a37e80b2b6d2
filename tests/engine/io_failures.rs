//! A storage operation or a read fails, or all operations from one on, or the file system is full: the
//! call reports it, the open store still reads correctly, and once the file system works again the
//! store continues or is reopened with every acknowledged write.
//!
//! 1. Play a workload until a call fails. The error is an I/O failure, or says that an earlier one
//!    closed the log.
//! 2. The store still shows exactly what was acknowledged, and a check finds no damage.
//! 3. Either power is lost too: everything promised survives. Or the file system works again: the call
//!    is repeated, and where it is refused, the store is reopened with everything acknowledged. The
//!    workload continues to its end.
//! 4. At the end power is lost: everything survives.
//!
//! Each seed has one of a few policies ([`POLICIES`]).

use std::sync::Arc;
use terrane::executor::{SeededExecutor, ThreadExecutor};
use terrane::storage::vfs::Vfs;
use terrane::storage::vfs::fault::{Fault, Survivors};
use terrane::{Db, Durability, Error, ErrorKind, WriteBatch};
use terrane_tests::fixtures::{Kind, Rig, small_policy, tiny};
use terrane_tests::full;
use terrane_tests::history::{History, check, shown};
use terrane_tests::workload::{Change, Step, workload, write_batch};

/// Failing operation.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Once {
        operation: u64,
        fault: Fault,
    },
    From {
        operation: u64,
        fault: Fault,
    },
    /// One read fails; everything is also read after each step.
    Read(u64),
    /// The file system has this capacity.
    Capacity {
        bytes: u64,
        fault: Fault,
    },
}

#[derive(Clone, Copy, Debug)]
struct Experiment {
    kind: Kind,
    seed: u64,
    trouble: Trouble,
    /// Whether power is lost when a call has failed.
    crash: bool,
}

struct Run {
    experiment: Experiment,
    rig: Rig,
    db: Option<Db>,
    history: History,
    /// Number of acknowledged batches.
    acknowledged: usize,
    opened: u64,
}

type Verdict<T = ()> = Result<T, String>;

const STEPS: usize = 60;
/// The policies by seed: a plain one, one that records prefixes in tables, and one that cuts flushes and
/// keeps a state.
const POLICIES: [&str; 3] = ["tiered", "ptier", "bucket"];
/// The most jobs that run at once.
const JOBS_MAX: usize = 4;

impl Experiment {
    fn run(self) -> Verdict {
        let rig = Rig::new(self.kind);
        match self.trouble {
            Trouble::Once { operation, fault } => rig.vfs.fail_at(operation, fault),
            Trouble::From { operation, fault } => rig.vfs.fail_from(operation, fault),
            Trouble::Read(read) => rig.vfs.fail_read_at(read),
            Trouble::Capacity { bytes, fault } => rig.vfs.set_capacity(bytes, fault),
        }
        let mut run = Run {
            experiment: self,
            rig,
            db: None,
            history: History::default(),
            acknowledged: 0,
            opened: 0,
        };
        for step in workload(self.seed, STEPS) {
            if let Err(first) = run.play(&step) {
                run.failed(&first)?;
                if self.crash {
                    return run.crashed();
                }
                run.rig.vfs.heal();
                // Each job that failed in the meantime is reported once, to a call that waits for it.
                let mut again = run.play(&step);
                for _ in 0..JOBS_MAX {
                    if !matches!(&again, Err(e) if !matches!(e.kind(), ErrorKind::Poisoned(_))) {
                        break;
                    }
                    again = run.play(&step);
                }
                if let Err(refusal) = again {
                    run.reopen(&refusal)?;
                    run.play(&step).map_err(|e| format!("reopened after {refusal}: {e}"))?;
                }
            }
        }
        run.rig.vfs.heal();
        let closed = run.db.take().map_or(Ok(()), Db::close);
        if closed.is_ok() {
            run.history.promise();
        }
        run.crashed()
    }
}

impl Run {
    fn open(&mut self) -> terrane::Result<Db> {
        if let Some(db) = &self.db {
            return Ok(db.clone());
        }
        self.opened += 1;
        let seed = self.experiment.seed;
        let policy = small_policy(POLICIES[seed as usize % POLICIES.len()]);
        let executor = SeededExecutor::new(seed + self.opened);
        let db = self.rig.open_with(tiny().policy(policy), Arc::new(executor))?;
        self.db = Some(db.clone());
        Ok(db)
    }

    /// Plays one step; a batch that failed is the last in the history, and not acknowledged.
    fn play(&mut self, step: &Step) -> terrane::Result<()> {
        let db = self.open()?;
        match step {
            Step::Write { batch, sync } => {
                let write = write_batch(&db, batch)?;
                self.history.forget(self.acknowledged);
                self.history.attempt(batch);
                db.write(write, if *sync { Durability::Sync } else { Durability::Buffered })?;
                self.acknowledged += 1;
                if *sync {
                    self.history.promise();
                }
            }
            Step::Sync => {
                db.sync()?;
                self.history.promise();
            }
            Step::Flush => {
                db.flush()?;
                self.history.promise();
            }
            Step::Settle => db.wait_until_idle()?,
            Step::Reopen => {
                self.db = None;
                db.close()?;
                self.history.promise();
                self.open()?;
            }
            Step::Drop => {
                self.db = None;
                drop(db);
                self.open()?;
            }
        }
        if matches!(self.experiment.trouble, Trouble::Read(_)) {
            let state = shown(&self.open()?)?;
            assert!(&state == self.history.last(), "a read that does not fail is wrong");
        }
        Ok(())
    }

    /// A call has failed: the error it returned and what the store shows are correct.
    fn failed(&mut self, error: &Error) -> Verdict {
        if !is_of_a_vfs(error) {
            return Err(format!("a failing file system is reported as: {error}"));
        }
        let Some(db) = &self.db else { return Ok(()) };
        let state = shown(db).map_err(|e| format!("reading after {error}: {e}"))?;
        let mut acknowledged = self.history.clone();
        acknowledged.forget(self.acknowledged);
        if &state != acknowledged.last() {
            return Err(format!("after {error} the store shows another state"));
        }
        check(db).map_err(|why| format!("after {error} {why}"))
    }

    /// A store that keeps refusing is reopened, on a file system that works again.
    fn reopen(&mut self, refusal: &Error) -> Verdict {
        if self.db.is_some() && !matches!(refusal.kind(), ErrorKind::Poisoned(_)) {
            return Err(format!("on a sound file system: {refusal}"));
        }
        self.db = None;
        let db = self.open().map_err(|e| format!("reopening after {refusal}: {e}"))?;
        check(&db)?;
        let state = shown(&db).map_err(|e| format!("reading after {refusal}: {e}"))?;
        let found = self.history.judge(&state)?;
        if found < self.acknowledged {
            return Err(format!("{found} batches of {} that were acknowledged", self.acknowledged));
        }
        self.history.forget(found);
        self.acknowledged = found;
        Ok(())
    }

    /// Power is lost: everything promised survives, and the store works.
    fn crashed(mut self) -> Verdict {
        // Nothing may run after power is lost.
        let held = self.db.take();
        self.rig.vfs.crash(Survivors::Synced).map_err(|e| e.to_string())?;
        drop(held);
        self.rig.restore_power();
        let db = self.open().map_err(|e| format!("opening after the crash: {e}"))?;
        check(&db)?;
        let state = shown(&db).map_err(|e| format!("reading after the crash: {e}"))?;
        let found = self.history.judge(&state)?;
        self.history.rewind(found);
        self.acknowledged = found;
        for step in workload(self.experiment.seed + 1, 12) {
            self.play(&step).map_err(|e| format!("going on: {e}"))?;
        }
        let db = self.open().map_err(|e| format!("going on: {e}"))?;
        let state = shown(&db).map_err(|e| format!("going on: {e}"))?;
        if &state != self.history.last() {
            return Err("the store goes on with another state".to_owned());
        }
        check(&db)
    }
}

fn is_of_a_vfs(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Poisoned(cause) => is_of_a_vfs(cause),
        other => matches!(other, ErrorKind::Io(_) | ErrorKind::NoSpace(_) | ErrorKind::Short(_)),
    }
}

/// The storage operations of the whole workload, and the bytes it uses at its end.
fn measure(kind: Kind, seed: u64) -> (u64, u64) {
    let trouble = Trouble::Capacity { bytes: u64::MAX, fault: Fault::Io };
    let rig = Rig::new(kind);
    let experiment = Experiment { kind, seed, trouble, crash: false };
    let mut run =
        Run { experiment, rig, db: None, history: History::default(), acknowledged: 0, opened: 0 };
    workload(seed, STEPS).iter().for_each(|step| run.play(step).expect("nothing fails"));
    let space = run.open().and_then(|db| db.stats()).expect("nothing fails").space;
    (run.rig.vfs.operations(), space.taken)
}

/// Fails reads of a workload, every `stride`-th.
fn fail_reads(kind: Kind, seeds: std::ops::Range<u64>, stride: usize) {
    for seed in seeds {
        let rig = Rig::new(kind);
        let experiment = Experiment { kind, seed, trouble: Trouble::Read(u64::MAX), crash: false };
        let (history, acknowledged, opened) = (History::default(), 0, 0);
        let mut run = Run { experiment, rig, db: None, history, acknowledged, opened };
        workload(seed, STEPS).iter().for_each(|step| run.play(step).expect("nothing fails"));
        for read in (seed % stride as u64..run.rig.vfs.reads()).step_by(stride) {
            endure(kind, seed, Trouble::Read(read));
        }
    }
}

const FAULTS: [Fault; 3] = [Fault::Io, Fault::NoSpace, Fault::Short];

/// Fails every `stride`-th operation of each workload, in every way.
fn fail_everywhere(kind: Kind, seeds: std::ops::Range<u64>, stride: usize) {
    for seed in seeds {
        let (operations, _) = measure(kind, seed);
        for operation in (seed % stride as u64..operations).step_by(stride) {
            for fault in FAULTS {
                let once = Trouble::Once { operation, fault };
                for trouble in [once, Trouble::From { operation, fault }] {
                    endure(kind, seed, trouble);
                }
            }
        }
    }
}

/// Limits the file system to fractions of what the workload uses.
fn fill_up(kind: Kind, seeds: std::ops::Range<u64>, stride: usize) {
    for seed in seeds {
        let (_, taken) = measure(kind, seed);
        for share in (1..100).step_by(stride) {
            for fault in [Fault::NoSpace, Fault::Short] {
                endure(kind, seed, Trouble::Capacity { bytes: taken * share / 100, fault });
            }
        }
    }
}

fn endure(kind: Kind, seed: u64, trouble: Trouble) {
    for crash in [false, true] {
        let experiment = Experiment { kind, seed, trouble, crash };
        if let Err(why) = experiment.run() {
            panic!("{experiment:?}: {why}");
        }
    }
}

fn seeds(few: u64) -> std::ops::Range<u64> {
    if full() { 0..20 } else { 0..few }
}

/// 1 with `full()`, otherwise `n`.
fn one_of(n: usize) -> usize {
    if full() { 1 } else { n }
}

#[test]
fn a_failed_operation_loses_no_write_in_a_memory_directory() {
    fail_everywhere(Kind::MemoryDirectory, seeds(2), one_of(5));
}

#[test]
fn a_failed_operation_loses_no_write_with_mapped_logs() {
    fail_everywhere(Kind::MappedDirectory, seeds(2), one_of(11));
}

#[test]
fn a_failed_operation_loses_no_write_in_a_memory_volume() {
    fail_everywhere(Kind::MemoryVolume, seeds(2), one_of(5));
}

#[test]
fn a_failed_operation_loses_no_write_in_a_native_directory() {
    fail_everywhere(Kind::NativeDirectory, 2..3, one_of(40));
}

#[test]
fn a_failed_operation_loses_no_write_in_a_native_volume() {
    fail_everywhere(Kind::NativeVolume, 3..4, one_of(40));
}

#[test]
fn a_failed_read_loses_no_write_in_a_directory() {
    fail_reads(Kind::MemoryDirectory, 0..1, one_of(31));
}

#[test]
fn a_failed_read_loses_no_write_in_a_volume() {
    fail_reads(Kind::MemoryVolume, 1..2, one_of(31));
}

#[test]
fn a_full_disk_loses_no_write_in_a_memory_directory() {
    fill_up(Kind::MemoryDirectory, seeds(3), one_of(7));
}

#[test]
fn a_full_disk_loses_no_write_in_a_memory_volume() {
    fill_up(Kind::MemoryVolume, seeds(3), one_of(7));
}

#[test]
fn a_full_disk_loses_no_write_in_a_native_directory() {
    fill_up(Kind::NativeDirectory, 2..3, one_of(30));
}

#[test]
fn a_full_disk_loses_no_write_in_a_native_volume() {
    fill_up(Kind::NativeVolume, 3..4, one_of(30));
}

#[test]
fn a_store_on_a_full_disk_opens_and_resumes_with_new_space() {
    // A volume may have space of its own for what the logs hold.
    for kind in [Kind::MemoryDirectory, Kind::NativeDirectory] {
        let mut rig = Rig::new(kind);
        let mut history = History::default();
        let open = |rig: &Rig, seed| rig.open_with(tiny(), Arc::new(SeededExecutor::new(seed)));
        let db = open(&rig, 1).expect("a new store");
        let id = db.default_keyspace().id();
        let write = |db: &Db, n: u8| {
            let mut batch = WriteBatch::new();
            batch.put(id, &[n % 50], &[n; 80])?;
            db.write(batch, Durability::Buffered)
        };
        for n in 0..100 {
            history.attempt(&[(0, vec![n % 50], Change::Put(vec![n; 80]))]);
            write(&db, n).expect("nothing fails yet");
        }
        db.close().expect("nothing fails yet");
        rig.vfs.set_capacity(0, Fault::NoSpace);
        // Repeatedly, with power cut in between.
        for round in 2..5 {
            let db = open(&rig, round).expect("no room is needed to open");
            assert!(&shown(&db).expect("reads need no room") == history.last(), "{kind:?}");
            assert_eq!(db.check().expect("a check needs no room").damage, []);
            // The log has space until it is full.
            let key = vec![round as u8];
            history.attempt(&[(0, key.clone(), Change::Delete)]);
            let deleted = db.default_keyspace().delete(&key, Durability::Sync);
            deleted.expect("the log has room");
            assert!(
                matches!(db.flush().map_err(Error::into_kind), Err(ErrorKind::NoSpace(_))),
                "there is no room for tables"
            );
            db.sync().expect("what was written needs no room");
            drop(db);
            rig.vfs.crash(Survivors::Synced).expect("a crash");
            rig.restore_power();
            rig.vfs.set_capacity(0, Fault::NoSpace);
        }
        let db = open(&rig, 8).expect("no room is needed to open");
        let refused = (0..100).find_map(|n| {
            history.attempt(&[(0, vec![n % 50], Change::Put(vec![n; 80]))]);
            write(&db, n).err()
        });
        history.rewind(history.batches() - 1);
        assert!(refused.as_ref().is_some_and(Error::is_no_space), "{kind:?}: {refused:?}");
        drop(db);
        rig.vfs.heal();
        let db = open(&rig, 9).expect("there is room");
        assert!(&shown(&db).expect("reads") == history.last(), "{kind:?}");
        write(&db, 200).expect("there is room");
        db.flush().expect("there is room");
    }
}

#[test]
fn a_manifest_that_had_no_room_rolls_over_once_there_is() {
    for kind in
        [Kind::MemoryDirectory, Kind::NativeDirectory, Kind::MemoryVolume, Kind::NativeVolume]
    {
        let mut rig = Rig::new(kind);
        let db = rig.open(tiny(), 1).expect("a new store");
        let rows = db.default_keyspace();
        rows.put(b"before", b"value", Durability::Sync).expect("there is room");
        let names = rig.vfs.list().expect("a list");
        let length =
            |name: &String| rig.vfs.open(name).and_then(|file| file.len()).expect("a file");
        let taken: u64 = names.iter().map(length).sum();
        rig.vfs.set_capacity(taken + (16 << 10), Fault::NoSpace);
        let create = |n: u32| db.create_keyspace(&format!("keyspace {n}"));
        let (created, full) = (0..100_000)
            .find_map(|n| create(n).err().map(|e| (n, e)))
            .expect("the manifest has an end");
        assert!(full.is_no_space(), "{kind:?}: {full}");
        let in_the_log = rows.put(b"full", b"value", Durability::Sync);
        in_the_log.expect("nothing was lost, and the log has room");
        assert!(db.flush().is_err_and(|e| e.is_no_space()), "{kind:?}");
        assert!(create(created).is_err_and(|e| e.is_no_space()), "{kind:?}");
        assert_eq!(
            rows.get(b"before").expect("reads need no room").as_deref(),
            Some(&b"value"[..])
        );
        rig.vfs.heal();
        rows.put(b"after", b"value", Durability::Sync).expect("there is room again");
        db.flush().expect("there is room again");
        create(created).expect("there is room again");
        db.wait_until_idle().expect("there is room again");
        assert_eq!(db.check().expect("a check").damage, [], "{kind:?}");
        assert_eq!(db.keyspaces().len(), created as usize + 2, "{kind:?}");
        drop((rows, db));
        rig.vfs.crash(Survivors::Synced).expect("a crash");
        rig.restore_power();
        let db = rig.open(tiny(), 2).expect("a sound store");
        assert_eq!(db.keyspaces().len(), created as usize + 2, "{kind:?}");
        for key in [&b"before"[..], b"full", b"after"] {
            let value = db.default_keyspace().get(key).expect("reads");
            assert_eq!(value.as_deref(), Some(&b"value"[..]), "{kind:?}");
        }
    }
}

#[test]
fn a_flush_that_fails_on_another_thread_is_reported() {
    // The flush syncs the log, writes and syncs a table, then the edit, with a few operations each.
    let mut failures = 0;
    for nth in 0..12 {
        let rig = Rig::new(Kind::MemoryDirectory);
        let db = rig.open_with(tiny(), Arc::new(ThreadExecutor::new(1))).expect("a new store");
        let put = db.default_keyspace().put(b"key", b"value", Durability::Buffered);
        put.expect("nothing fails yet");
        rig.vfs.fail_at(rig.vfs.operations() + nth, Fault::Io);
        if db.flush().is_err() {
            failures += 1;
            continue;
        }
        let keyspace = &db.stats().expect("reads do not fail").keyspaces[0];
        let tables: usize = keyspace.levels.iter().map(|level| level.tables).sum();
        assert_eq!((keyspace.memtable_entries, tables), (0, 1));
    }
    assert!(failures > 2, "too few operations belong to the flush: {failures}");
}

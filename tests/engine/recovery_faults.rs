//! Operations fail during recovery after a crash, with other options than before.
//!
//! 1. Play a workload until power is cut, so that logs are torn.
//! 2. Open the result read-only and copy it: nothing is written, and the copy shows the same.
//! 3. Open it repeatedly, each time as the crash left it, with a fault at one operation of recovery
//!    after another. Where it opens, it shows what it shows without the fault, and accepts writes or
//!    refuses them.
//! 4. Open it once more, without losing power. Everything promised is there, nothing else has appeared,
//!    and whatever recovery discarded is quarantined. Then power is cut: it shows the same.

use terrane::storage::vfs::fault::{Fault, SECTORS, Survivors};
use terrane::storage::{Directory, Storage};
use terrane::{Db, Options};
use terrane_tests::crash::play;
use terrane_tests::fixtures::{Kind, Rig, drawn};
use terrane_tests::full;
use terrane_tests::history::{History, State, check, shown};
use terrane_tests::image::Image;
use terrane_tests::workload::workload;
use terrane_workload::Random;

use std::sync::Arc;
use terrane::executor::SeededExecutor;

type Outcome<T> = Result<T, String>;

/// Failing operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plan {
    /// One operation.
    Once(Fault),
    /// One, and all after it.
    From(Fault),
    /// No space is left.
    Full,
}

/// The store as a crash left it.
struct Left {
    kind: Kind,
    seed: u64,
    image: Image,
    history: History,
    /// State after opening: the number of batches, the discarded bytes, and the operations of opening.
    state: State,
    batches: usize,
    discarded: u64,
    operations: u64,
}

fn failed(what: &str) -> impl Fn(terrane::Error) -> String {
    move |e| format!("{what}: {e}")
}

/// Options that recovery depends on, different for each opening.
fn options(seed: u64, nth: u64) -> Options {
    let mut random = Random(seed ^ nth << 32);
    let mut among = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
    drawn(seed)
        .wal_file_bytes(among(&[1 << 10, 4 << 10, 4 << 10, 16 << 10]))
        .max_total_wal_bytes(among(&[12 << 10, 40 << 10]))
        .memtable_bytes(among(&[512, 2 << 10, 8 << 10]))
}

impl Left {
    /// Steps 1 and 2.
    fn make(kind: Kind, seed: u64) -> Outcome<Left> {
        let mut random = Random(seed ^ 0x0fa1_1ed0);
        let (mut rig, mut history) = (Rig::new(kind), History::default());
        rig.vfs.set_sector(SECTORS[random.below(3) as usize]);
        // Closed cleanly once, so that log files hold records of earlier logs.
        let steps = workload(seed, 40);
        play(
            rig.open(drawn(seed), seed).map_err(failed("creating"))?,
            &rig,
            seed,
            &steps,
            &mut history,
        )
        .map_err(failed("the workload"))?;
        let db = rig.open(drawn(seed), seed).map_err(failed("opening"))?;
        rig.vfs.cut_at(rig.vfs.operations() + 20 + random.below(150));
        let seed_2 = seed + 1_000_000;
        let _ = play(db, &rig, seed_2, &workload(seed_2, 80), &mut history);
        rig.vfs.crash(Survivors::Random(seed)).map_err(failed("the crash"))?;
        rig.restore_power();
        let image = Image::of(&*rig.inner);
        let before = rig.vfs.operations();
        let db = rig.open(options(seed, 0), seed).map_err(failed("opening what a crash left"))?;
        let operations = rig.vfs.operations() - before;
        let state = shown(&db).map_err(failed("reading"))?;
        let batches = history.judge(&state)?;
        history.forget(batches);
        let discarded = db.stats().map_err(failed("stats"))?.quarantine_bytes;
        check(&db)?;
        let left = Left { kind, seed, image, history, state, batches, discarded, operations };
        left.read_only()?;
        Ok(left)
    }

    fn rig(&self) -> Rig {
        Rig::over(self.kind, Arc::new(self.image.vfs()))
    }

    /// Step 2.
    fn read_only(&self) -> Outcome<()> {
        if self.kind != Kind::MemoryDirectory {
            return Ok(());
        }
        let rig = self.rig();
        let storage = Directory::read_only(Arc::new(rig.vfs.clone())).map_err(failed("reading"))?;
        let options = options(self.seed, 1).read_only(true);
        let db = Db::open_storage(Arc::new(storage), options, Arc::new(SeededExecutor::new(1)))
            .map_err(failed("opening to read"))?;
        self.shows(&db)?;
        let place = Rig::new(Kind::MemoryVolume);
        let target: Arc<dyn Storage> = place.storage().map_err(failed("a volume"))?;
        let mut copy = db.begin_checkpoint(&*target).map_err(failed("copying"))?;
        while copy.step(&*target).map_err(failed("copying"))? {}
        drop((copy, target));
        for nth in 2..4 {
            let db =
                place.open(self::options(self.seed, nth), 2).map_err(failed("opening the copy"))?;
            self.shows(&db).map_err(|e| format!("the copy: {e}"))?;
            check(&db)?;
        }
        if rig.vfs.operations() > 0 {
            return Err("reading changed the file system".into());
        }
        Ok(())
    }

    fn shows(&self, db: &Db) -> Outcome<()> {
        if shown(db).map_err(failed("reading"))? != self.state {
            return Err("it does not show what it shows without a fault".into());
        }
        Ok(())
    }

    /// Steps 3 and 4. Returns whether it opened under the fault.
    fn strike(&self, operation: u64, plan: Plan) -> Outcome<bool> {
        let mut rig = self.rig();
        let mut history = self.history.clone();
        rig.vfs.set_sector(SECTORS[(operation % 3) as usize]);
        match plan {
            Plan::Once(fault) => rig.vfs.fail_at(operation, fault),
            Plan::From(fault) => rig.vfs.fail_from(operation, fault),
            Plan::Full => rig.vfs.set_capacity(0, Fault::NoSpace),
        }
        let nth = operation + 7;
        let opened = rig.open(options(self.seed, nth), operation);
        let ok = opened.is_ok();
        if let (Err(e), Plan::Full) = (&opened, plan) {
            return Err(format!("it does not open: {e}"));
        }
        if let Ok(db) = opened {
            self.shows(&db)?;
            // A successful sync makes durable whatever recovery found.
            if db.sync().is_ok() {
                check(&db)?;
                history.rewind(self.batches);
            }
            if operation.is_multiple_of(2) {
                let _ = play(db, &rig, operation, &workload(operation, 12), &mut history);
            } else {
                let _ = db.flush().map(|()| history.rewind(self.batches));
                let _ = db.close();
            }
        }
        rig.vfs.heal();
        let db = rig.open(options(self.seed, nth + 1), operation).map_err(failed("reopening"))?;
        let batches = history.judge(&shown(&db).map_err(failed("reading"))?)?;
        history.rewind(batches);
        check(&db)?;
        let kept = db.stats().map_err(failed("stats"))?.quarantine_bytes;
        if kept < self.discarded && plan != Plan::Once(Fault::Reverted) {
            return Err(format!("{kept} bytes are quarantined of {}", self.discarded));
        }
        drop(db);
        rig.vfs.crash(Survivors::Random(operation)).map_err(failed("the crash"))?;
        rig.restore_power();
        let db =
            rig.open(options(self.seed, nth + 2), operation).map_err(failed("after a crash"))?;
        if &shown(&db).map_err(failed("reading"))? != history.last() {
            return Err("what was shown is not durable".into());
        }
        check(&db)?;
        play(db, &rig, operation + 1, &workload(operation + 1, 8), &mut history)
            .map_err(failed("going on"))?;
        Ok(ok)
    }
}

fn strike_everywhere(kind: Kind) {
    let (mut strikes, mut opened, mut discarded) = (0, 0, 0);
    let seeds = if full() { 200 } else { 10 };
    let make =
        |seed| Left::make(kind, seed).unwrap_or_else(|e| panic!("{kind:?}, seed {seed}: {e}"));
    // Few crashes tear a log: the first one that does is among them.
    let torn = (seeds..seeds + 500).map(make).find(|left| left.discarded > 0);
    for left in (0..seeds).map(make).chain(torn) {
        let seed = left.seed;
        discarded += left.discarded;
        for operation in 0..left.operations + 3 {
            for plan in [
                Plan::Once(Fault::Io),
                Plan::Once(Fault::Short),
                Plan::Once(Fault::Reverted),
                Plan::Once(Fault::NoSpace),
                Plan::From(Fault::Killed),
                Plan::Full,
            ] {
                match left.strike(operation, plan) {
                    Ok(ok) => opened += u64::from(ok),
                    Err(why) => panic!(
                        "{kind:?}, seed {seed}, {plan:?} at {operation} of {}: {why}",
                        left.operations
                    ),
                }
                strikes += 1;
            }
        }
    }
    assert!(opened > 20 && opened < strikes && discarded > 0, "{opened} of {strikes}, {discarded}");
}

#[test]
fn a_fault_in_recovery_loses_nothing_in_a_directory() {
    strike_everywhere(Kind::MemoryDirectory);
}

#[test]
fn a_fault_in_recovery_loses_nothing_in_a_volume() {
    strike_everywhere(Kind::MemoryVolume);
}

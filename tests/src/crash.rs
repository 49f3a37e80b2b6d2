//! Runs a workload until power is cut, and checks what is left.

use crate::fixtures::{Kind, Rig, drawn};
use crate::history::{History, check, shown};
use crate::workload::{Step, workload, write_batch};
use terrane::storage::vfs::fault::Survivors;
use terrane::{Db, Durability, Result};

/// One experiment: the workload, and where power is cut.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// The storage.
    pub kind: Kind,
    /// Determines the workload, and the order of background work without threads.
    pub seed: u64,
    /// Whether background work runs on threads: then the cut is at another moment of it each time.
    pub threads: bool,
    /// Steps of the workload.
    pub steps: usize,
    /// The storage operation at which power is cut.
    pub cut: u64,
    /// The unit that the file system writes atomically, in bytes.
    pub sector: u64,
}

impl Crash {
    /// Plays the workload once, and looks at each outcome of the cut: how much of the unsynced state
    /// survives.
    ///
    /// # Errors
    /// A promise that the store broke.
    pub fn run(&self, outcomes: &[Survivors]) -> std::result::Result<(), String> {
        let mut rig = self.rig();
        let mut history = History::default();
        rig.vfs.set_sector(self.sector);
        rig.vfs.cut_at(self.cut);
        // Fails where power is cut.
        let _ = run(&rig, self.seed, self.steps, &mut history);
        let cut = rig.vfs.clone();
        for survivors in outcomes {
            // Nothing else reaches the underlying file system: each outcome replaces the one before.
            cut.crash(*survivors).map_err(|e| format!("the crash failed: {e}"))?;
            rig.restore_power();
            self.look(&rig, history.clone()).map_err(|why| format!("{survivors:?}: {why}"))?;
        }
        Ok(())
    }

    /// The store opens, keeps its promises, passes a check and keeps working.
    fn look(&self, rig: &Rig, mut history: History) -> std::result::Result<(), String> {
        let failed = |what: &'static str| move |e: terrane::Error| format!("{what}: {e}");
        let db = rig.open(drawn(self.seed), self.seed).map_err(failed("reopening"))?;
        check(&db)?;
        let shown_now = history.judge(&shown(&db).map_err(failed("reading"))?)?;
        let sequence = db.snapshot().sequence();
        if sequence != shown_now as u64 {
            return Err(format!("{shown_now} batches are shown, the last has sequence {sequence}"));
        }
        if history.follower.batches() > shown_now {
            let read = history.follower.batches();
            return Err(format!("the feed had {read} batches, the store has {shown_now}"));
        }
        history.rewind(shown_now);
        history.follow(&db).map_err(failed("following"))?;
        if history.follower.batches() != shown_now {
            return Err(format!("the feed ends after {} batches", history.follower.batches()));
        }
        play(db, rig, self.seed + 1, &workload(self.seed + 1, 12), &mut history)
            .map_err(failed("going on"))?;
        let db = rig.open(drawn(self.seed), self.seed).map_err(failed("reopening again"))?;
        check(&db)?;
        let state = shown(&db).map_err(failed("reading again"))?;
        history.follow(&db).map_err(failed("following again"))?;
        if history.follower.batches() != history.batches() {
            return Err("the feed lacks what was written after the crash".into());
        }
        if &state != history.last() {
            return Err("the store does not show what was written after the crash".into());
        }
        Ok(())
    }

    /// The number of storage operations in the workload when nothing fails.
    ///
    /// # Panics
    /// If the workload fails.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let rig = self.rig();
        run(&rig, self.seed, self.steps, &mut History::default()).expect("nothing fails");
        rig.vfs.operations()
    }

    /// An empty place.
    fn rig(&self) -> Rig {
        let mut rig = Rig::new(self.kind);
        rig.threads = self.threads;
        rig
    }
}

/// Runs the whole workload on a new store.
///
/// # Errors
/// The first failure of the store.
pub fn run(rig: &Rig, seed: u64, steps: usize, history: &mut History) -> Result<()> {
    let db = rig.open(drawn(seed), seed)?;
    play(db, rig, seed, &workload(seed, steps), history)
}

/// Plays steps on an open store, records the history, and closes the store.
///
/// # Errors
/// The first failure of the store.
///
/// # Panics
/// If the store shows anything other than what was written.
pub fn play(mut db: Db, rig: &Rig, seed: u64, steps: &[Step], history: &mut History) -> Result<()> {
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Write { batch, sync } => {
                let write = write_batch(&db, batch)?;
                history.attempt(batch);
                let durability = if *sync { Durability::Sync } else { Durability::Buffered };
                let sequence = db.write(write, durability)?;
                assert_eq!(sequence, history.batches() as u64, "each batch has the next");
                if *sync {
                    history.promise();
                }
            }
            Step::Sync => {
                db.sync()?;
                history.promise();
            }
            Step::Flush => {
                db.flush()?;
                history.promise();
            }
            Step::Settle => db.wait_until_idle()?,
            Step::Reopen => {
                db.close()?;
                history.promise();
                db = rig.open(drawn(seed), seed + number as u64)?;
            }
            Step::Drop => {
                drop(db);
                db = rig.open(drawn(seed), seed + number as u64)?;
            }
        }
        // It falls behind what is retained at times.
        if number % 5 == 0 || number % 64 > 40 {
            history.follow(&db)?;
        }
        if number % 16 == 0 {
            assert!(&shown(&db)? == history.last(), "step {number} shows a wrong state");
        }
    }
    db.close()?;
    history.promise();
    Ok(())
}

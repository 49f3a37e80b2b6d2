//! Runs a workload until power is cut, and looks at what is left.

use crate::fixtures::{Kind, Rig, drawn};
use crate::history::{History, shown};
use crate::workload::{KEYSPACES, Step, workload};
use terrane::storage::vfs::fault::Survivors;
use terrane::{Db, Durability, Result, WriteBatch};

/// One experiment: the workload, where power is cut, and what survives.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// The storage.
    pub kind: Kind,
    /// Decides the workload and the order of background work.
    pub seed: u64,
    /// Steps of the workload.
    pub steps: usize,
    /// The storage operation at which power is cut; `None` for never.
    pub cut: Option<u64>,
    /// What of the unsynced state is left.
    pub survivors: Survivors,
    /// The bytes that the file system writes whole or not at all.
    pub sector: u64,
}

impl Crash {
    /// Runs the experiment.
    ///
    /// # Errors
    /// What the store lost or broke, in words.
    pub fn run(&self) -> std::result::Result<(), String> {
        let mut rig = Rig::new(self.kind);
        let mut history = History::default();
        rig.vfs.set_sector(self.sector);
        if let Some(cut) = self.cut {
            rig.vfs.cut_at(cut);
        }
        let ran = run(&rig, self.seed, self.steps, &mut history);
        if self.cut.is_none() {
            return ran.map_err(|e| format!("the workload failed: {e}"));
        }
        rig.vfs.crash(self.survivors).map_err(|e| format!("the crash failed: {e}"))?;
        rig.restore_power();
        self.look(&rig, &mut history)
    }

    /// The store opens, keeps its promises, is sound and goes on working.
    fn look(&self, rig: &Rig, history: &mut History) -> std::result::Result<(), String> {
        let failed = |what: &'static str| move |e: terrane::Error| format!("{what}: {e}");
        let db = rig.open(drawn(self.seed), self.seed).map_err(failed("reopening"))?;
        sound(&db)?;
        let shown_now = history.judge(&shown(&db).map_err(failed("reading"))?)?;
        let sequence = db.snapshot().sequence();
        if sequence != shown_now as u64 {
            return Err(format!("{shown_now} batches are shown, the last has sequence {sequence}"));
        }
        history.rewind(shown_now);
        play(db, rig, self.seed + 1, &workload(self.seed + 1, 12), history)
            .map_err(failed("going on"))?;
        let db = rig.open(drawn(self.seed), self.seed).map_err(failed("reopening again"))?;
        sound(&db)?;
        let state = shown(&db).map_err(failed("reading again"))?;
        if &state != history.last() {
            return Err("the store does not show what was written after the crash".into());
        }
        Ok(())
    }

    /// How many storage operations the workload takes when nothing fails.
    ///
    /// # Panics
    /// If it fails.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let rig = Rig::new(self.kind);
        run(&rig, self.seed, self.steps, &mut History::default()).expect("nothing fails");
        rig.vfs.operations()
    }
}

fn sound(db: &Db) -> std::result::Result<(), String> {
    let report = db.check().map_err(|e| format!("checking: {e}"))?;
    match report.damage.first() {
        None => Ok(()),
        Some(damage) => Err(format!("check finds {damage}")),
    }
}

/// Runs the whole workload from an empty place.
///
/// # Errors
/// The first failure of the store.
pub fn run(rig: &Rig, seed: u64, steps: usize, history: &mut History) -> Result<()> {
    let db = rig.open(drawn(seed), seed)?;
    play(db, rig, seed, &workload(seed, steps), history)
}

/// Plays steps on an open store, keeping the history, and closes it.
///
/// # Errors
/// The first failure of the store.
///
/// # Panics
/// If the store shows anything but what was written.
pub fn play(mut db: Db, rig: &Rig, seed: u64, steps: &[Step], history: &mut History) -> Result<()> {
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Write { batch, sync } => {
                let ids = [db.keyspace(KEYSPACES[0])?.id(), db.keyspace(KEYSPACES[1])?.id()];
                let mut write = WriteBatch::new();
                for (keyspace, key, value) in batch {
                    match value {
                        Some(value) => write.put(ids[*keyspace], key, value)?,
                        None => write.delete(ids[*keyspace], key)?,
                    }
                }
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
        if number % 16 == 0 {
            assert!(&shown(&db)? == history.last(), "step {number} shows a wrong state");
        }
    }
    db.close()?;
    history.promise();
    Ok(())
}

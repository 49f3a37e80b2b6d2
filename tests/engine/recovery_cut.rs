//! Power is cut during recovery, at one operation after another, again and again.
//!
//! 1. Play a workload on a store until power is cut.
//! 2. Open the store with power cut at operation 0, then 1, and so on, each time on what the previous
//!    cut left, until opening completes before its cut.
//! 3. The store shows a prefix of history with everything promised. It is durable: power is cut once
//!    more, and the store shows the same.
//! 4. Continue from 1 with what is there. Sequences lost in the crash are assigned again, so a record
//!    that recovery once discarded must never be mistaken for the one written in its place.

use terrane::Result;
use terrane::storage::vfs::fault::{SECTORS, Survivors};
use terrane_tests::crash::play;
use terrane_tests::fixtures::{Kind, Rig, drawn};
use terrane_tests::full;
use terrane_tests::history::{History, shown};
use terrane_tests::workload::workload;
use terrane_workload::Random;

/// Crashes of one store.
const ROUNDS: u64 = 5;
/// More operations than opening such a store takes.
const OPENING_MAX: u64 = 2_000;

/// One store that crashes repeatedly.
struct Run {
    rig: Rig,
    history: History,
    random: Random,
    seed: u64,
    /// Recoveries that were cut.
    cuts: u64,
    /// Bytes of records that recovery discarded and quarantined.
    discarded_bytes: u64,
}

impl Run {
    fn new(kind: Kind, seed: u64) -> Run {
        let random = Random(seed ^ 0x7ec0_7e12);
        let (rig, history) = (Rig::new(kind), History::default());
        let mut run = Run { rig, history, random, seed, cuts: 0, discarded_bytes: 0 };
        run.draw_sector();
        run
    }

    fn draw_sector(&mut self) {
        let sector = SECTORS[self.random.below(SECTORS.len() as u64) as usize];
        self.rig.vfs.set_sector(sector);
    }

    /// Cuts power unless it is cut already, and restores it.
    fn crash(&mut self, survivors: Survivors) {
        self.rig.vfs.crash(survivors).expect("the wrapped file system is well");
        self.rig.restore_power();
        self.draw_sector();
    }

    fn survivors(&mut self) -> Survivors {
        let operation = self.rig.vfs.operations();
        match self.random.below(6) {
            0 => Survivors::Synced,
            1 => Survivors::All,
            2 => Survivors::Prefix { operation, sectors: self.random.below(7) },
            _ => Survivors::Random(self.random.word()),
        }
    }

    /// Step 1. Fails if the store does not open.
    fn play(&mut self, round: u64) -> Result<()> {
        let seed = self.seed + round * 1_000;
        let db = self.rig.open(drawn(self.seed), seed)?;
        let cut = self.rig.vfs.operations() + 1 + self.random.below(150);
        self.rig.vfs.cut_at(cut);
        // Fails where power is cut.
        let _ = play(db, &self.rig, seed, &workload(seed, 60), &mut self.history);
        Ok(())
    }

    /// Step 2.
    fn cut_recovery(&mut self) -> std::result::Result<(), String> {
        for cut in 0..OPENING_MAX {
            self.rig.vfs.cut_at(cut);
            let opened = self.rig.open(drawn(self.seed), cut);
            let ended = self.rig.vfs.operations() <= cut;
            if let Err(e) = &opened
                && ended
            {
                return Err(format!("after {cut} cuts: {e}"));
            }
            drop(opened);
            let survivors = self.survivors();
            self.crash(survivors);
            if ended {
                return Ok(());
            }
            self.cuts += 1;
        }
        Err(format!("opening takes {OPENING_MAX} operations"))
    }

    /// Returns the number of batches that the store shows.
    fn look(&mut self) -> std::result::Result<usize, String> {
        let failed = |e: terrane::Error| format!("looking: {e}");
        let db = self.rig.open(drawn(self.seed), self.seed).map_err(failed)?;
        let batches = self.history.judge(&shown(&db).map_err(failed)?)?;
        if db.snapshot().sequence() != batches as u64 {
            return Err(format!("{batches} batches, the last is {}", db.snapshot().sequence()));
        }
        self.discarded_bytes += db.stats().map_err(failed)?.quarantine_bytes;
        match db.check().map_err(failed)?.damage.first() {
            Some(damage) => Err(format!("check finds {damage}")),
            None => Ok(batches),
        }
    }

    fn round(&mut self, round: u64) -> std::result::Result<(), String> {
        self.play(round).map_err(|e| format!("opening: {e}"))?;
        let survivors = self.survivors();
        self.crash(survivors);
        if round.is_multiple_of(2) {
            self.cut_recovery()?;
        }
        let batches = self.look()?;
        self.history.rewind(batches);
        self.crash(Survivors::Synced);
        match self.look()? {
            again if again == batches => Ok(()),
            again => Err(format!("{batches} batches were shown, {again} are left")),
        }
    }
}

/// Crashes the store of each seed [`ROUNDS`] times.
fn cut_again_and_again(kind: Kind, seeds: std::ops::Range<u64>) {
    let (mut cuts, mut discarded_bytes) = (0, 0);
    for seed in seeds {
        let mut run = Run::new(kind, seed);
        for round in 0..ROUNDS {
            if let Err(why) = run.round(round) {
                panic!("{kind:?}, seed {seed}, round {round}: {why}");
            }
        }
        cuts += run.cuts;
        discarded_bytes += run.discarded_bytes;
    }
    assert!(cuts > 20, "recovery was cut {cuts} times only");
    assert!(discarded_bytes > 0, "no crash took a record");
}

fn seeds(quick: u64) -> std::ops::Range<u64> {
    if full() { 0..quick * 20 } else { 0..quick }
}

#[test]
fn repeatedly_cut_recovery_loses_nothing_in_a_directory() {
    cut_again_and_again(Kind::MemoryDirectory, seeds(20));
}

#[test]
fn repeatedly_cut_recovery_loses_nothing_in_a_volume() {
    cut_again_and_again(Kind::MemoryVolume, seeds(20));
}

#[test]
fn repeatedly_cut_recovery_loses_nothing_in_a_native_directory() {
    cut_again_and_again(Kind::NativeDirectory, seeds(3));
}

#[test]
fn repeatedly_cut_recovery_loses_nothing_with_mapped_logs() {
    cut_again_and_again(Kind::MappedDirectory, seeds(10));
}

//! Storage that fails silently, and syncs that revert data: reads are correct or return the damage, and
//! everything promised that is still on the file system is there.
//!
//! * A write is lost, or goes to another place. It may go unnoticed only for the last record of a log
//!   with no later write to its file: nothing distinguishes that from a record never written. Where
//!   nothing proves that a record was synced, recovery discards it, reports that, and the store opens.
//! * A sync fails and reverts what it was to write, sector by sector, to what is on the file system.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane::storage::vfs::fault::Fault;
use terrane::{Error, ErrorKind, Event};
use terrane_tests::crash::play;
use terrane_tests::fixtures::{Kind, Rig, tiny_with};
use terrane_tests::full;
use terrane_tests::history::{History, shown};
use terrane_tests::workload::{Step, workload};

const STEPS: usize = 60;

/// Fails one operation of a workload, reopens the store on a file system that works, and judges what it
/// shows; returns whether the fault was noticed.
fn strike(kind: Kind, seed: u64, operation: u64, fault: Fault) -> Result<bool, String> {
    let rig = Rig::new(kind);
    rig.vfs.fail_at(operation, fault);
    let mut history = History::default();
    // Panics if it reads anything wrong on the way.
    let ran = run(&rig, seed, &mut history);
    let silent = fault != Fault::Reverted;
    let names_it = |e: &Error| match e.kind() {
        ErrorKind::Poisoned(cause) if !silent => matches!(cause.kind(), ErrorKind::Io(_)),
        ErrorKind::Poisoned(cause) => matches!(cause.kind(), ErrorKind::Corrupt(_)),
        ErrorKind::Corrupt(_) => silent,
        ErrorKind::Io(_) => !silent,
        _ => false,
    };
    if let Err(e) = &ran
        && !names_it(e)
    {
        return Err(format!("the workload fails with {e}"));
    }
    let end_lost = rig.vfs.struck_last();
    rig.vfs.heal();
    let discarded = Arc::new(AtomicBool::new(false));
    let seen = discarded.clone();
    let listener = move |_, event: &Event| {
        if let Event::Recovered { discarded_bytes, .. } = event {
            seen.store(*discarded_bytes > 0, Ordering::Relaxed);
        }
    };
    let options = tiny_with(seed).listener(Arc::new(listener));
    let state = rig.open(options, seed).and_then(|db| shown(&db));
    match state {
        Err(e) if silent && names_it(&e) => Ok(true),
        Err(e) => Err(format!("after {ran:?} the store does not open: {e}")),
        Ok(state) => match history.judge(&state) {
            Ok(_) => Ok(ran.is_err()),
            Err(_) if end_lost && history.has(&state) => Ok(false),
            Err(_) if silent && discarded.load(Ordering::Relaxed) && history.has(&state) => {
                Ok(true)
            }
            Err(why) => Err(why),
        },
    }
}

/// Plays a workload on a store that is open throughout and closed at the end.
fn run(rig: &Rig, seed: u64, history: &mut History) -> terrane::Result<()> {
    let mut steps = workload(seed, STEPS);
    steps.retain(|step| !matches!(step, Step::Reopen | Step::Drop));
    play(rig.open(tiny_with(seed), seed)?, rig, seed, &steps, history)
}

fn strike_everywhere(kind: Kind, fault: Fault) {
    let seeds = if full() { 0..14 } else { 0..2 };
    for seed in seeds {
        let rig = Rig::new(kind);
        run(&rig, seed, &mut History::default()).expect("nothing fails");
        let operations = rig.vfs.operations();
        let stride = if full() { 1 } else { 3 };
        let mut noticed = 0;
        for operation in (seed % stride..operations).step_by(stride as usize) {
            match strike(kind, seed, operation, fault) {
                Ok(found) => noticed += u64::from(found),
                Err(why) => panic!("{kind:?}, {seed}, {fault:?} at {operation}: {why}"),
            }
        }
        assert!(noticed > 0, "no fault of {operations} operations matters");
    }
}

#[test]
fn a_lost_write_is_noticed_in_a_directory() {
    strike_everywhere(Kind::MemoryDirectory, Fault::Lost);
}

#[test]
fn a_lost_write_is_noticed_in_a_volume() {
    strike_everywhere(Kind::MemoryVolume, Fault::Lost);
}

#[test]
fn a_misdirected_write_is_noticed_in_a_directory() {
    for by in [512, 4096] {
        strike_everywhere(Kind::MemoryDirectory, Fault::Misdirected(by));
    }
}

#[test]
fn a_misdirected_write_is_noticed_in_a_volume() {
    for by in [4096, 64 << 10] {
        strike_everywhere(Kind::MemoryVolume, Fault::Misdirected(by));
    }
}

#[test]
fn a_failed_sync_that_reverts_loses_no_promise_in_a_directory() {
    strike_everywhere(Kind::MemoryDirectory, Fault::Reverted);
}

#[test]
fn a_failed_sync_that_reverts_loses_no_promise_in_a_volume() {
    strike_everywhere(Kind::MemoryVolume, Fault::Reverted);
}

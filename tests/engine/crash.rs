//! Power is cut at every storage operation: nothing that was promised is lost. Background work is done in the order
//! of a seed, or on threads.

use terrane::storage::vfs::fault::{SECTOR, SECTORS, Survivors};
use terrane_tests::crash::Crash;
use terrane_tests::fixtures::{Kind, small_policies};
use terrane_tests::full;

/// Cuts power at every `stride`-th operation of a workload, with several outcomes each.
fn cut_everywhere(whole: Crash, stride: u64) {
    let (seed, operations) = (whole.seed, whole.operations());
    assert!(operations > 100, "the workload is too small to mean anything: {operations}");
    for cut in (seed % stride..operations).step_by(stride as usize) {
        let outcomes = [
            Survivors::Synced,
            Survivors::All,
            Survivors::Random(cut),
            Survivors::Random(cut ^ 0x5555),
            Survivors::Prefix { operation: cut, sectors: 0 },
            Survivors::Prefix { operation: cut, sectors: 1 + cut % 7 },
        ];
        let crash = Crash { cut, sector: SECTORS[((seed + cut) % 3) as usize], ..whole };
        if let Err(why) = crash.run(&outcomes) {
            panic!("{crash:?} of {operations}: {why}");
        }
    }
}

/// A workload whose background work is done in the order of the seed.
fn seeded(kind: Kind, seed: u64, steps: usize) -> Crash {
    Crash { kind, seed, threads: false, steps, cut: 0, sector: SECTOR }
}

/// A workload for each policy: seeds choose them in turn.
fn cut_under_every_policy(kind: Kind) {
    let (seeds, stride) = if full() { (42, 1) } else { (small_policies().len() as u64, 28) };
    (0..seeds).for_each(|seed| cut_everywhere(seeded(kind, seed, 80), stride));
}

/// The same on threads: a cut is at another moment of what runs each time, and so each seed has fewer.
fn cut_threads_under_every_policy(kind: Kind) {
    let (seeds, stride) = if full() { (42, 3) } else { (small_policies().len() as u64, 80) };
    for seed in 0..seeds {
        cut_everywhere(Crash { threads: true, ..seeded(kind, seed, 80) }, stride);
    }
}

#[test]
fn nothing_promised_is_lost_in_a_memory_directory() {
    cut_under_every_policy(Kind::MemoryDirectory);
}

#[test]
fn nothing_promised_is_lost_with_mapped_logs() {
    cut_under_every_policy(Kind::MappedDirectory);
}

#[test]
fn nothing_promised_is_lost_in_a_memory_volume() {
    cut_under_every_policy(Kind::MemoryVolume);
}

#[test]
fn nothing_promised_is_lost_in_a_native_directory() {
    let stride = if full() { 1 } else { 7 };
    cut_everywhere(seeded(Kind::NativeDirectory, 3, 60), stride);
}

#[test]
fn nothing_promised_is_lost_in_a_native_volume() {
    let stride = if full() { 1 } else { 7 };
    cut_everywhere(seeded(Kind::NativeVolume, 4, 60), stride);
}

#[test]
fn nothing_promised_is_lost_while_threads_work_in_a_directory() {
    cut_threads_under_every_policy(Kind::MappedDirectory);
}

#[test]
fn nothing_promised_is_lost_while_threads_work_in_a_volume() {
    cut_threads_under_every_policy(Kind::MemoryVolume);
}

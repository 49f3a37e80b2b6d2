//! Power is cut during the compaction of a range, at one storage operation after another.
//!
//! Whatever was acknowledged and flushed survives. The current slice resumes or is abandoned, the same
//! range can be compacted again to the end, and no unreferenced file is left.

use std::sync::{Arc, Mutex};
use terrane::storage::vfs::fault::{SECTORS, Survivors};
use terrane::version::VersionSet;
use terrane::{Db, Durability, Event, KeyRange, Keyspace, Options};
use terrane_tests::fixtures::{Kind, Rig, drawn, named_files};
use terrane_tests::full;
use terrane_tests::history::{History, check, shown};
use terrane_tests::workload::{Step, workload, write_batch};

/// One experiment: the storage, the seed, where power is cut, and what survives.
#[derive(Clone, Copy, Debug)]
struct Cut {
    kind: Kind,
    seed: u64,
    at: Option<u64>,
    survivors: Survivors,
}

fn range(seed: u64) -> KeyRange {
    if seed.is_multiple_of(2) { KeyRange::default() } else { KeyRange::prefix(b"key0") }
}

/// Range slices that are running, and whether a job failed during one.
type Slices = Arc<Mutex<(Vec<u64>, bool)>>;

fn options(seed: u64, slices: &Slices) -> Options {
    let slices = slices.clone();
    let listener = move |_, event: &Event| {
        let (running, failed) = &mut *slices.lock().expect("no listener panics");
        match event {
            Event::CompactionBegun { compaction, reason, .. } if reason.contains("range") => {
                running.push(*compaction);
            }
            Event::CompactionEnded { compaction } => running.retain(|c| c != compaction),
            Event::JobFailed { .. } => *failed |= !running.is_empty(),
            _ => {}
        }
    };
    drawn(seed).listener(Arc::new(listener))
}

/// Fills a store, then compacts a range while writes continue. Fails where power is cut. Returns the
/// number of operations before the compaction started.
fn run(cut: Cut, rig: &Rig, history: &mut History, slices: &Slices) -> terrane::Result<u64> {
    let db = rig.open(options(cut.seed, slices), cut.seed)?;
    let mut write = |db: &Db, step: &Step| {
        let Step::Write { batch, .. } = step else { return Ok(()) };
        let writes = write_batch(db, batch)?;
        history.attempt(batch);
        db.write(writes, Durability::Buffered).map(drop)
    };
    workload(cut.seed, 90).iter().try_for_each(|step| write(&db, step))?;
    db.wait_until_idle()?;
    let began = rig.vfs.operations();
    if let Some(at) = cut.at {
        rig.vfs.cut_at(began + at);
    }
    let mut pending = db.default_keyspace().begin_compact_range(&range(cut.seed))?;
    for step in workload(cut.seed ^ 0x4a4e, 12) {
        write(&db, &step)?;
        pending.is_done()?;
    }
    while !pending.is_done()? {}
    db.flush()?;
    history.promise();
    db.close()?;
    Ok(began)
}

fn is_compact(keyspace: &Keyspace, range: &KeyRange, through: u64) -> bool {
    let shape = keyspace.shape().expect("a keyspace");
    let bottom = shape.levels()[shape.deepest()].runs.last().map(|run| run.id);
    shape.tables().all(|(level, run, table)| {
        let outside = !range.below_end(&table.smallest) || !range.above_start(&table.largest);
        outside || table.first_seq > through || (level, Some(run)) == (shape.deepest(), bottom)
    })
}

/// In a closed store: files that the manifest does not name, and compactions that never ended.
fn leftovers(rig: &Rig) -> terrane::Result<String> {
    let storage = rig.storage()?;
    let recovered = storage.recover()?.unwrap_or_default();
    let version_set = VersionSet::replay(&recovered.edits)?;
    let mut files = storage.files()?;
    let named = named_files(&version_set);
    files.retain(|file| !named.contains(file));
    let begun: Vec<_> = version_set.remaining.keys().collect();
    let nothing = files.is_empty() && begun.is_empty();
    Ok(if nothing { String::new() } else { format!("{files:?}, compactions {begun:?}") })
}

/// Runs one experiment. Returns whether power was cut during a slice.
fn experiment(cut: Cut) -> Result<bool, String> {
    let failed = |what: &'static str| move |e: terrane::Error| format!("{what}: {e}");
    let (mut rig, mut history) = (Rig::new(cut.kind), History::default());
    rig.vfs.set_sector(SECTORS[(cut.at.unwrap_or(0) % 3) as usize]);
    let slices = Slices::default();
    // Fails where power is cut.
    let _ = run(cut, &rig, &mut history, &slices);
    let was_cut = slices.lock().expect("no listener panics").1;
    rig.vfs.crash(cut.survivors).map_err(failed("the crash"))?;
    rig.restore_power();
    let db = rig.open(options(cut.seed, &slices), cut.seed).map_err(failed("opening"))?;
    let batches = history.judge(&shown(&db).map_err(failed("reading"))?)?;
    history.rewind(batches);
    check(&db)?;
    let keyspace = db.default_keyspace();
    let range = range(cut.seed);
    keyspace.compact_range(&range).map_err(failed("compacting again"))?;
    if !is_compact(&keyspace, &range, db.snapshot().sequence()) {
        return Err("the range is not compact".into());
    }
    db.wait_until_idle().map_err(failed("settling"))?;
    if &shown(&db).map_err(failed("reading"))? != history.last() {
        return Err("compacting changed what is shown".into());
    }
    check(&db)?;
    db.close().map_err(failed("closing"))?;
    drop(keyspace);
    match leftovers(&rig).map_err(failed("looking"))? {
        left if left.is_empty() => Ok(was_cut),
        left => Err(format!("left behind: {left}")),
    }
}

fn cut_everywhere(kind: Kind, seeds: std::ops::Range<u64>, stride: u64) {
    let (mut cuts, mut slices) = (0, 0);
    for seed in seeds {
        let (rig, whole) =
            (Rig::new(kind), Cut { kind, seed, at: None, survivors: Survivors::All });
        let began =
            run(whole, &rig, &mut History::default(), &Slices::default()).expect("nothing fails");
        let operations = rig.vfs.operations() - began;
        let stride = if full() { 1 } else { stride };
        for at in (seed % stride..operations).step_by(stride as usize) {
            let torn = Survivors::Prefix { operation: began + at, sectors: 1 + at % 7 };
            for survivors in [Survivors::Synced, Survivors::All, Survivors::Random(at), torn] {
                let cut = Cut { at: Some(at), survivors, ..whole };
                match experiment(cut) {
                    Ok(was_cut) => slices += u64::from(was_cut),
                    Err(why) => panic!("{cut:?} of {operations}: {why}"),
                }
                cuts += 1;
            }
        }
    }
    assert!(slices > 0, "{slices} of {cuts} cuts met a slice");
}

#[test]
fn a_cut_range_compaction_loses_nothing_in_a_memory_directory() {
    cut_everywhere(Kind::MemoryDirectory, 0..7, 23);
}

#[test]
fn a_cut_range_compaction_loses_nothing_in_a_memory_volume() {
    cut_everywhere(Kind::MemoryVolume, 0..7, 23);
}

#[test]
fn a_cut_range_compaction_loses_nothing_in_a_native_directory() {
    cut_everywhere(Kind::NativeDirectory, 3..5, 23);
}

#[test]
fn a_cut_range_compaction_loses_nothing_in_a_native_volume() {
    cut_everywhere(Kind::NativeVolume, 4..8, 7);
}

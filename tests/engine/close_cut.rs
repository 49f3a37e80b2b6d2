//! Power is cut during a clean close that flushes memtables, at one storage operation after another.
//!
//! 1. Fill logs with more than a close leaves to the next opening. No job runs before, so that the close
//!    has two memtables of each keyspace to flush.
//! 2. Whatever survives the cut, the store opens, shows a prefix of history with everything promised, and
//!    passes a check. Where all of it survives, no batch is missing.
//! 3. It continues: what is written then is there after another close, which flushes where this one did not.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::fault::{SECTORS, Survivors};
use terrane::{Db, Durability, Event, Listener, Options};
use terrane_tests::fixtures::{Kind, Rig};
use terrane_tests::full;
use terrane_tests::history::{History, check, shown};
use terrane_tests::workload::{Change, Operation, write_batch};
use terrane_workload::Random;

/// Number of batches written before the close.
const BATCHES: usize = 14;
/// Puts of each batch in each keyspace.
const PUTS: usize = 5;
/// Their values' bytes: 70 are more than the 4 MiB of logs for each memtable that a close does not flush.
const VALUE_BYTES: usize = 64 << 10;
/// The batch that is synced, and with it those before.
const SYNCED: usize = 5;

/// A store that will be closed.
struct Load {
    kind: Kind,
    batches: Vec<Vec<Operation>>,
    /// All batches, of which those that are synced are promised.
    history: History,
}

/// Returns a batch with puts in `keyspaces` keyspaces.
fn batch(number: usize, keyspaces: usize) -> Vec<Operation> {
    let mut random = Random(number as u64);
    let counter = (number as u64).to_be_bytes().to_vec();
    let mut batch = vec![(0, b"counter".to_vec(), Change::Put(counter))];
    for n in 0..PUTS * keyspaces {
        let value = (0..VALUE_BYTES / 8).flat_map(|_| random.word().to_le_bytes()).collect();
        batch.push((
            n % keyspaces,
            format!("key{number:02}{n:02}").into_bytes(),
            Change::Put(value),
        ));
    }
    batch
}

/// A store's options, and where it notes how many records it has replayed when it was opened. No memtable
/// comes near a stall, so that writes run no job.
fn options() -> (Options, Arc<AtomicU64>) {
    let replayed = Arc::new(AtomicU64::new(u64::MAX));
    let records = replayed.clone();
    let listener: Listener = Arc::new(move |_, event: &Event| {
        if let Event::Recovered { records: found, .. } = event {
            records.store(*found, Ordering::Relaxed);
        }
    });
    let options = Options::default()
        .memtable_bytes(3 << 20)
        .max_immutable_memtables(8)
        .wal_file_bytes(1 << 20)
        .listener(listener);
    (options, replayed)
}

fn open(rig: &Rig) -> terrane::Result<(Db, Arc<AtomicU64>)> {
    let (options, replayed) = options();
    Ok((rig.open_with(options, Arc::new(SliceExecutor::default()))?, replayed))
}

impl Load {
    fn new(kind: Kind, keyspaces: usize) -> Load {
        let batches: Vec<_> = (1..=BATCHES).map(|number| batch(number, keyspaces)).collect();
        let mut history = History::default();
        for (number, batch) in (1..).zip(&batches) {
            history.attempt(batch);
            if number == SYNCED {
                history.promise();
            }
        }
        Load { kind, batches, history }
    }

    /// A store with all batches in its logs, and the operations that this took.
    fn fill(&self, rig: &Rig) -> terrane::Result<(Db, u64)> {
        let (db, _) = open(rig)?;
        for (number, batch) in (1..).zip(&self.batches) {
            let durability = if number == SYNCED { Durability::Sync } else { Durability::Buffered };
            db.write(write_batch(&db, batch)?, durability)?;
        }
        Ok((db, rig.vfs.operations()))
    }

    /// The operations of a close that nothing cuts, which leaves no record to replay.
    fn operations(&self) -> u64 {
        let rig = Rig::new(self.kind);
        let (db, before) = self.fill(&rig).expect("nothing fails");
        assert_eq!(db.stats().expect("it is open").flushed_bytes, 0, "the close flushes all of it");
        db.close().expect("nothing fails");
        let operations = rig.vfs.operations() - before;
        let (_db, replayed) = open(&rig).expect("nothing fails");
        assert_eq!(replayed.load(Ordering::Relaxed), 0);
        operations
    }

    /// Cuts power at an operation of the close, and looks at each outcome. Returns how many records were
    /// left to replay where all survived.
    fn cut(&self, at: u64) -> Result<Option<u64>, String> {
        let failed = |what: &'static str| move |e: terrane::Error| format!("{what}: {e}");
        let mut rig = Rig::new(self.kind);
        rig.vfs.set_sector(SECTORS[(at % 3) as usize]);
        let (db, before) = self.fill(&rig).map_err(failed("filling"))?;
        rig.vfs.cut_at(before + at);
        let mut history = self.history.clone();
        if db.close().is_ok() {
            history.promise();
        }
        let (cut, mut left) = (rig.vfs.clone(), None);
        let torn = Survivors::Prefix { operation: before + at, sectors: at % 7 };
        for survivors in [Survivors::Synced, Survivors::All, Survivors::Random(at), torn] {
            cut.crash(survivors).map_err(failed("the crash"))?;
            rig.restore_power();
            let (batches, records) = look(&rig, history.clone(), self.batches[0].clone())
                .map_err(|why| format!("{survivors:?}: {why}"))?;
            if survivors == Survivors::All {
                left = Some(records);
                if batches < BATCHES {
                    return Err(format!("{batches} batches are left, though all survived"));
                }
            }
        }
        Ok(left)
    }
}

/// The store opens, keeps its promises, passes a check and continues with `next`. Returns how many batches it
/// showed, and how many records it replayed.
fn look(rig: &Rig, mut history: History, next: Vec<Operation>) -> Result<(usize, u64), String> {
    let failed = |what: &'static str| move |e: terrane::Error| format!("{what}: {e}");
    let (db, replayed) = open(rig).map_err(failed("opening"))?;
    check(&db)?;
    let batches = history.judge(&shown(&db).map_err(failed("reading"))?)?;
    let sequence = db.snapshot().sequence();
    if sequence != batches as u64 {
        return Err(format!("{batches} batches are shown, the last has sequence {sequence}"));
    }
    history.rewind(batches);
    history.attempt(&next);
    let write = write_batch(&db, &next).map_err(failed("going on"))?;
    db.write(write, Durability::Buffered).map_err(failed("going on"))?;
    db.close().map_err(failed("closing"))?;
    let (db, _) = open(rig).map_err(failed("opening again"))?;
    check(&db)?;
    if &shown(&db).map_err(failed("reading again"))? != history.last() {
        return Err("the store does not show what was written after the crash".into());
    }
    Ok((batches, replayed.load(Ordering::Relaxed)))
}

/// Cuts power at every operation or, unless everything runs, at every few, which differ by storage.
fn cut_everywhere(kind: Kind, keyspaces: usize) {
    let load = Load::new(kind, keyspaces);
    let operations = load.operations();
    let stride = if full() { 1 } else { operations.div_ceil(40) };
    let first = kind as u64 % stride;
    let mut left = BTreeSet::new();
    for at in (first..operations).step_by(stride as usize) {
        match load.cut(at) {
            Ok(records) => left.extend(records),
            Err(why) => panic!("{kind:?}, {keyspaces} keyspaces, {at} of {operations}: {why}"),
        }
    }
    // Before the first flush took effect, between two, and after the last.
    assert!(left.contains(&(BATCHES as u64)) && left.contains(&0) && left.len() > 2, "{left:?}");
}

#[test]
fn a_cut_close_loses_nothing_in_a_memory_directory() {
    cut_everywhere(Kind::MemoryDirectory, 1);
}

#[test]
fn a_cut_close_loses_nothing_with_mapped_logs() {
    cut_everywhere(Kind::MappedDirectory, 1);
}

#[test]
fn a_cut_close_loses_nothing_in_a_memory_volume() {
    cut_everywhere(Kind::MemoryVolume, 1);
}

#[test]
fn a_cut_close_loses_nothing_of_two_keyspaces_in_one_log() {
    cut_everywhere(Kind::MemoryDirectory, 2);
}

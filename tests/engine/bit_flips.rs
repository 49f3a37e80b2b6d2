//! Flips single bits of a closed or crashed store: no read is wrong, and damage that matters is reported.
//!
//! 1. The stores have tables in several levels of two keyspaces and records in the log. They were
//!    closed, or lost power during a flush. Most are tiered; those of `ptier` have prefixes in their
//!    tables, and those of `bucket` boundaries in the manifest.
//! 2. One bit that matters ([`terrane_tests::image`]) is flipped. Where there is a second copy (heads
//!    and manifest), the store opens, shows everything and reports the repair. Otherwise opening,
//!    reading or a check reports the damage, and every read returns the correct value or that error.
//!    Only a log record that nothing proves may be dropped together with those after it, and that is
//!    reported too.
//! 3. Flipping any other bit changes nothing visible, and a check finds nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::MemoryVfs;
use terrane::storage::vfs::fault::Survivors;
use terrane::{Db, Error, ErrorKind, Event};
use terrane_tests::crash::play;
use terrane_tests::fixtures::{Kind, Rig, small_policy, tiny};
use terrane_tests::full;
use terrane_tests::history::{History, State, shown};
use terrane_tests::image::{Image, Part, Structure};
use terrane_tests::workload::{KEYSPACES, Operation, Step, workload, write_batch};

struct Store {
    kind: Kind,
    image: Image,
    history: History,
    /// Number of visible batches.
    shown: usize,
}

/// State in which the store was left.
#[derive(Clone, Copy, PartialEq)]
enum Rest {
    /// Closed, with several records in the log.
    Closed,
    /// Closed, with one record in a log whose file was recycled.
    OneRecord,
    /// Lost power during a flush.
    Crashed,
}

/// A store with data in each of its structures, under the policy of this name.
fn store(kind: Kind, rest: Rest, policy: &str) -> Store {
    let rig = Rig::over(kind, Arc::new(MemoryVfs::new()));
    let created = tiny().policy(small_policy(policy));
    let mut history = History::default();
    let mut steps = workload(5, 60);
    steps.extend([Step::Flush, Step::Settle]);
    play(rig.open(created, 5).expect("a new store"), &rig, 5, &steps, &mut history)
        .expect("nothing fails");
    // This executor merges nothing on its own: a table of level 0, then records in the log, six synced
    // and three buffered.
    let db = rig.open_with(tiny(), Arc::new(SliceExecutor::default())).expect("the store");
    let mut batches = workload(6, 200).into_iter().filter_map(|step| match step {
        Step::Write { batch, .. } if batch.len() < 6 => Some(batch),
        _ => None,
    });
    let mut writes = |n, sync| {
        batches.by_ref().take(n).for_each(|batch| write(&db, &batch, sync, &mut history));
    };
    writes(6, false);
    db.flush().expect("nothing fails");
    writes(6, true);
    writes(3, false);
    let levels =
        |k: &terrane::stats::KeyspaceStats| k.levels.iter().filter(|l| l.tables > 0).count();
    let stats = db.stats().expect("figures");
    assert!(stats.keyspaces.iter().all(|k| levels(k) >= 2), "too few levels: {stats:?}");
    if rest == Rest::OneRecord {
        db.close().expect("nothing fails");
        let db = rig.open_with(tiny(), Arc::new(SliceExecutor::default())).expect("the store");
        batches.by_ref().take(1).for_each(|batch| write(&db, &batch, true, &mut history));
        db.close().expect("nothing fails");
        rig.vfs.crash(Survivors::Synced).expect("a file system in memory");
    } else if rest == Rest::Crashed {
        rig.vfs.cut_at(rig.vfs.operations() + 5);
        assert!(db.flush().is_err(), "the cut is in the midst of a flush");
        rig.vfs.crash(Survivors::Random(5)).expect("a file system in memory");
    } else {
        db.close().expect("nothing fails");
        rig.vfs.crash(Survivors::Synced).expect("a file system in memory");
    }
    let image = Image::of(&*rig.inner);
    let copy = Rig::over(kind, Arc::new(image.vfs()));
    let state = shown(&copy.open(tiny(), 0).expect("a sound store")).expect("a sound store");
    let shown = history.judge(&state).expect("every promise is kept");
    Store { kind, image, history, shown }
}

fn write(db: &Db, batch: &[Operation], sync: bool, history: &mut History) {
    let write = write_batch(db, batch).expect("within the limits");
    history.attempt(batch);
    let durability = if sync { terrane::Durability::Sync } else { terrane::Durability::Buffered };
    db.write(write, durability).expect("nothing fails");
    if sync {
        history.promise();
    }
}

/// Damage that the store has reported.
#[derive(Default)]
struct Reported {
    repaired: AtomicBool,
    discarded: AtomicU64,
    error: Mutex<Option<Error>>,
}

impl Reported {
    /// Records an error, which must name damage.
    fn error(&self, e: Error) -> Result<(), String> {
        let names_damage = matches!(
            e.kind(),
            ErrorKind::Corrupt(_) | ErrorKind::NewerFormat(_) | ErrorKind::NoStore(_)
        );
        if !names_damage {
            return Err(format!("an error that names no damage: {e}"));
        }
        *self.error.lock().expect("no panic") = Some(e);
        Ok(())
    }

    fn any_error(&self) -> Option<Error> {
        self.error.lock().expect("no panic").clone()
    }
}

impl Store {
    /// Opens the store with one bit flipped and reads everything.
    fn judge(&self, file: &str, bit: u64, of: Option<Structure>) -> Result<(), String> {
        let rig = Rig::over(self.kind, Arc::new(self.image.flipped(file, bit)));
        let reported = Arc::new(Reported::default());
        let listened = reported.clone();
        let listener = move |_, event: &Event| {
            if let Event::Recovered { discarded_bytes, repaired, .. } = event {
                listened.repaired.store(!repaired.is_empty(), Ordering::Relaxed);
                listened.discarded.store(*discarded_bytes, Ordering::Relaxed);
            }
        };
        let options = tiny().listener(Arc::new(listener));
        match rig.open_with(options, Arc::new(SliceExecutor::default())) {
            Ok(db) => self.look(&db, &reported, of)?,
            Err(e) => reported.error(e)?,
        }
        let discarded = reported.discarded.load(Ordering::Relaxed) > 0;
        match (of, reported.any_error()) {
            (None, Some(e)) => Err(format!("nothing that matters is damaged, but {e}")),
            (None, None) => Ok(()),
            (Some(Structure::Head | Structure::Manifest), Some(e)) => {
                Err(format!("a second copy is there, but {e}"))
            }
            (Some(Structure::Head | Structure::Manifest), None) => {
                let repaired = reported.repaired.load(Ordering::Relaxed);
                if repaired { Ok(()) } else { Err("the repair is not reported".into()) }
            }
            (Some(_), Some(_)) => Ok(()),
            (Some(Structure::Unproven { .. }), None) if discarded => Ok(()),
            (Some(_), None) => Err("it is not reported".into()),
        }
    }

    fn look(&self, db: &Db, reported: &Reported, of: Option<Structure>) -> Result<(), String> {
        let mut expected = self.history.state(self.shown);
        if let Some(Structure::Unproven { records }) = of
            && reads(db, expected, &Reported::default()).is_err()
        {
            expected = self.history.state(self.shown - records);
        }
        reads(db, expected, reported)?;
        let report = db.check().map_err(|e| format!("a check fails: {e}"))?;
        report.damage.into_iter().try_for_each(|damage| reported.error(damage.into()))?;
        // Nor may merges hide the damage by rewriting it with new checksums.
        db.wait_until_idle().or_else(|e| reported.error(e))?;
        reads(db, expected, reported)
    }
}

/// Scans in both directions and gets: each returns the expected entries, or reports damage.
fn reads(db: &Db, expected: &State, reported: &Reported) -> Result<(), String> {
    let names = db.keyspaces();
    for (name, expected) in KEYSPACES.iter().zip(expected) {
        if !names.iter().any(|n| n == name) {
            return Err(format!("keyspace {name} is gone"));
        }
        let keyspace = db.create_keyspace(name).map_err(|e| e.to_string())?;
        let cursor = || keyspace.cursor(..).map_err(|e| e.to_string());
        let (mut forward, mut backward) = (cursor()?, cursor()?);
        follow(|| Ok(owned(forward.next()?)), expected.iter(), reported)?;
        follow(|| Ok(owned(backward.prev()?)), expected.iter().rev(), reported)?;
        let absent = [b"".as_slice(), b"key", b"key0505", b"zzz"];
        for key in expected.keys().map(Vec::as_slice).chain(absent) {
            match keyspace.get(key) {
                Ok(found) if found.as_ref() == expected.get(key) => {}
                Ok(_) => return Err(format!("a get of {} is wrong", key.escape_ascii())),
                Err(e) => reported.error(e)?,
            }
        }
    }
    Ok(())
}

type Pair = (Vec<u8>, Vec<u8>);

fn owned(pair: Option<(&[u8], &[u8])>) -> Option<Pair> {
    pair.map(|(key, value)| (key.to_vec(), value.to_vec()))
}

/// Follows a scan to its end or to the damage.
fn follow<'a>(
    mut step: impl FnMut() -> terrane::Result<Option<Pair>>,
    mut expected: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>,
    reported: &Reported,
) -> Result<(), String> {
    loop {
        match (step(), expected.next()) {
            (Err(e), _) => return reported.error(e),
            (Ok(None), None) => return Ok(()),
            (Ok(Some(found)), Some(pair)) if (&found.0, &found.1) == pair => {}
            (Ok(found), expected) => {
                return Err(format!("a scan shows {found:?} and not {expected:?}"));
            }
        }
    }
}

/// Flips all bits that matter, or a sample of about `SAMPLES`, and some that do not.
fn flip(kind: Kind, rest: Rest) {
    flip_under("tiered", kind, rest);
}

/// The same, of a store under the policy of this name.
fn flip_under(policy: &str, kind: Kind, rest: Rest) {
    const SAMPLES: u64 = 900;
    let store = store(kind, rest, policy);
    let parts = store.image.parts(kind);
    let log = match rest {
        Rest::OneRecord => Structure::Unproven { records: 1 },
        Rest::Closed | Rest::Crashed => Structure::Proven,
    };
    for of in [Structure::Head, Structure::Manifest, Structure::Table, log] {
        assert!(parts.iter().any(|part| part.of == of), "the store has no {of:?}");
    }
    let bits = |part: &Part| (part.range.end - part.range.start) * 8;
    let total: u64 = parts.iter().map(bits).sum();
    let stride = if full() { 1 } else { (total / SAMPLES) | 1 };
    let mut skip = 0;
    for part in &parts {
        for bit in (skip..bits(part)).step_by(stride as usize) {
            judge(&store, &part.file, part.range.start * 8 + bit, Some(part.of));
        }
        // Carry the stride over into the next part.
        let passed = bits(part).saturating_sub(skip).div_ceil(stride) * stride;
        skip = (skip + passed).saturating_sub(bits(part));
    }
    for (file, bytes) in &store.image.files {
        let matters =
            |at: u64| parts.iter().any(|part| part.file == *file && part.range.contains(&at));
        let free: Vec<u64> = (0..bytes.len() as u64).filter(|at| !matters(*at)).collect();
        let samples = if full() { 20_000 } else { 60 };
        for (n, at) in free.iter().step_by(free.len() / samples + 1).enumerate() {
            judge(&store, file, at * 8 + n as u64 % 8, None);
        }
    }
}

fn judge(store: &Store, file: &str, bit: u64, of: Option<Structure>) {
    let verdict = catch_unwind(AssertUnwindSafe(|| store.judge(file, bit, of)));
    if let Err(why) = verdict.unwrap_or_else(|_| Err("it panics".to_owned())) {
        panic!("bit {} of byte {} of {file} ({of:?}): {why}", bit % 8, bit / 8);
    }
}

#[test]
fn a_bit_flip_in_a_closed_directory_is_reported_or_harmless() {
    flip(Kind::MemoryDirectory, Rest::Closed);
}

#[test]
fn a_bit_flip_in_a_crashed_directory_is_reported_or_harmless() {
    flip(Kind::MemoryDirectory, Rest::Crashed);
}

#[test]
fn a_bit_flip_in_the_only_record_of_a_directory_is_reported() {
    flip(Kind::MemoryDirectory, Rest::OneRecord);
}

#[test]
fn a_bit_flip_in_the_only_record_of_a_volume_is_reported() {
    flip(Kind::MemoryVolume, Rest::OneRecord);
}

#[test]
fn a_bit_flip_in_a_closed_volume_is_reported_or_harmless() {
    flip(Kind::MemoryVolume, Rest::Closed);
}

#[test]
fn a_bit_flip_in_a_crashed_volume_is_reported_or_harmless() {
    flip(Kind::MemoryVolume, Rest::Crashed);
}

#[test]
fn a_bit_flip_in_a_store_of_prefixes_is_reported_or_harmless() {
    flip_under("ptier", Kind::MemoryDirectory, Rest::Closed);
}

#[test]
fn a_bit_flip_in_a_store_of_buckets_is_reported_or_harmless() {
    flip_under("bucket", Kind::MemoryVolume, Rest::Crashed);
}

/// In memory as well: the bytes are the same.
#[test]
fn a_bit_flip_in_a_closed_one_file_volume_is_never_silent() {
    flip(Kind::NativeVolume, Rest::Closed);
}

#[test]
fn a_bit_flip_in_a_crashed_one_file_volume_is_never_silent() {
    flip(Kind::NativeVolume, Rest::Crashed);
}

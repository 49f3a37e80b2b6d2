//! Any one bit of a store at rest is flipped: no read is wrong, and whatever matters is reported.
//!
//! 1. Stores with tables in several levels of two keyspaces and with records in the log, closed or
//!    cut off in the midst of a flush.
//! 2. A bit that matters ([`terrane_tests::image`]) is flipped. Where there is a second copy (heads
//!    and manifest) the store opens, shows everything, and says what it made good. Otherwise opening,
//!    reading or a check says what is damaged, and every read gives the truth or that error. Only a
//!    log record that nothing proves may take itself and those after it along, and that is
//!    reported, too.
//! 3. Any other bit changes nothing that is shown, and a check finds nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::MemoryVfs;
use terrane::storage::vfs::fault::Survivors;
use terrane::{Db, Error, Event, Options};
use terrane_tests::crash::play;
use terrane_tests::fixtures::{Kind, Rig, tiny};
use terrane_tests::full;
use terrane_tests::history::{History, State, shown};
use terrane_tests::image::{Image, Part, Structure};
use terrane_tests::workload::{KEYSPACES, Step, workload};

struct Store {
    kind: Kind,
    image: Image,
    history: History,
    /// How many batches it shows.
    shown: usize,
}

/// How a store came to rest.
#[derive(Clone, Copy, PartialEq)]
enum Rest {
    /// Closed, with several records in the log.
    Closed,
    /// Closed, with one record in a log whose file served before.
    OneRecord,
    /// Cut off in the midst of a flush.
    Crashed,
}

/// A store with something in each of its structures.
fn store(kind: Kind, rest: Rest) -> Store {
    let rig = Rig::over(kind, Arc::new(MemoryVfs::new()));
    let mut history = History::default();
    let mut steps = workload(5, 60);
    steps.extend([Step::Flush, Step::Settle]);
    play(rig.open(tiny(), 5).expect("a new store"), &rig, 5, &steps, &mut history)
        .expect("nothing fails");
    // With this executor nothing is merged unasked: a table of level 0, then records in the log, six
    // synced and three buffered.
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

fn write(db: &Db, batch: &[terrane_tests::workload::Operation], sync: bool, history: &mut History) {
    let ids = KEYSPACES.map(|name| db.keyspace(name).expect("a keyspace").id());
    let mut write = terrane::WriteBatch::new();
    for (keyspace, key, value) in batch {
        match value {
            Some(value) => write.put(ids[*keyspace], key, value),
            None => write.delete(ids[*keyspace], key),
        }
        .expect("within the limits");
    }
    history.attempt(batch);
    let durability = if sync { terrane::Durability::Sync } else { terrane::Durability::Buffered };
    db.write(write, durability).expect("nothing fails");
    if sync {
        history.promise();
    }
}

/// What was said of the damage so far.
#[derive(Default)]
struct Message {
    made_good: AtomicBool,
    discarded: AtomicU64,
    error: Mutex<Option<Error>>,
}

impl Message {
    /// Takes down an error, which must name damage.
    fn error(&self, e: Error) -> Result<(), String> {
        let names_damage =
            matches!(e, Error::Corrupt(_) | Error::NewerFormat(_) | Error::NoStore(_));
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
    /// Opens the store with one bit flipped and looks at everything.
    fn judge(&self, file: &str, bit: u64, of: Option<Structure>) -> Result<(), String> {
        let rig = Rig::over(self.kind, Arc::new(self.image.flipped(file, bit)));
        let said = Arc::new(Message::default());
        let heard = said.clone();
        let listener = move |event: &Event| {
            if let Event::Recovered { discarded_bytes, repaired, .. } = event {
                heard.made_good.store(!repaired.is_empty(), Ordering::Relaxed);
                heard.discarded.store(*discarded_bytes, Ordering::Relaxed);
            }
        };
        let options = Options { listener: Some(Arc::new(listener)), ..tiny() };
        match rig.open_with(options, Arc::new(SliceExecutor::default())) {
            Ok(db) => self.look(&db, &said, of)?,
            Err(e) => said.error(e)?,
        }
        let discarded = said.discarded.load(Ordering::Relaxed) > 0;
        match (of, said.any_error()) {
            (None, Some(e)) => Err(format!("nothing that matters is damaged, but {e}")),
            (None, None) => Ok(()),
            (Some(Structure::Head | Structure::Manifest), Some(e)) => {
                Err(format!("a second copy is there, but {e}"))
            }
            (Some(Structure::Head | Structure::Manifest), None) => {
                let said = said.made_good.load(Ordering::Relaxed);
                if said { Ok(()) } else { Err("nobody says that a copy was made good".into()) }
            }
            (Some(_), Some(_)) => Ok(()),
            (Some(Structure::Unproven { .. }), None) if discarded => Ok(()),
            (Some(_), None) => Err("nobody reports it".into()),
        }
    }

    fn look(&self, db: &Db, said: &Message, of: Option<Structure>) -> Result<(), String> {
        let mut expected = self.history.state(self.shown);
        if let Some(Structure::Unproven { records }) = of
            && reads(db, expected, &Message::default()).is_err()
        {
            expected = self.history.state(self.shown - records);
        }
        reads(db, expected, said)?;
        let report = db.check().map_err(|e| format!("a check fails: {e}"))?;
        report.damage.into_iter().try_for_each(|damage| said.error(damage.into()))?;
        // Merges must not make good data of bad, either.
        db.wait_until_idle().or_else(|e| said.error(e))?;
        reads(db, expected, said)
    }
}

/// Scans in both directions and gets, each of which gives what is expected, or damage.
fn reads(db: &Db, expected: &State, said: &Message) -> Result<(), String> {
    let names = db.engine().keyspace_names();
    for (name, expected) in KEYSPACES.iter().zip(expected) {
        if !names.iter().any(|n| n == name) {
            return Err(format!("keyspace {name} is gone"));
        }
        let keyspace = db.keyspace(name).map_err(|e| e.to_string())?;
        let cursor = || keyspace.cursor(..).map_err(|e| e.to_string());
        let (mut forward, mut backward) = (cursor()?, cursor()?);
        follow(|| Ok(owned(forward.next()?)), expected.iter(), said)?;
        follow(|| Ok(owned(backward.prev()?)), expected.iter().rev(), said)?;
        let absent = [b"".as_slice(), b"key", b"key0505", b"zzz"];
        for key in expected.keys().map(Vec::as_slice).chain(absent) {
            match keyspace.get(key) {
                Ok(found) if found.as_ref() == expected.get(key) => {}
                Ok(_) => return Err(format!("a get of {} is wrong", key.escape_ascii())),
                Err(e) => said.error(e)?,
            }
        }
    }
    Ok(())
}

type Pair = (Vec<u8>, Vec<u8>);

fn owned(pair: Option<(&[u8], &[u8])>) -> Option<Pair> {
    pair.map(|(key, value)| (key.to_vec(), value.to_vec()))
}

/// Follows a scan to its end or to damage.
fn follow<'a>(
    mut step: impl FnMut() -> terrane::Result<Option<Pair>>,
    mut expected: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>,
    said: &Message,
) -> Result<(), String> {
    loop {
        match (step(), expected.next()) {
            (Err(e), _) => return said.error(e),
            (Ok(None), None) => return Ok(()),
            (Ok(Some(found)), Some(pair)) if (&found.0, &found.1) == pair => {}
            (Ok(found), expected) => {
                return Err(format!("a scan shows {found:?} and not {expected:?}"));
            }
        }
    }
}

/// Flips bits that matter, about `SAMPLES` of them or all, and some that do not.
fn flip(kind: Kind, rest: Rest) {
    const SAMPLES: u64 = 900;
    let store = store(kind, rest);
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
        // Go on where the stride leads in the next part.
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

/// In memory, too: the bytes are the same.
#[test]
fn a_bit_flip_in_a_closed_one_file_volume_is_never_silent() {
    flip(Kind::NativeVolume, Rest::Closed);
}

#[test]
fn a_bit_flip_in_a_crashed_one_file_volume_is_never_silent() {
    flip(Kind::NativeVolume, Rest::Crashed);
}

//! Mixed load for as long as `TERRANE_SOAK_SECONDS` says: writers, readers, snapshots and scans on a store that
//! is opened and closed again and again, with pools, policies and bounds drawn at random, and whose process is
//! killed now and then. Invariants hold, memory, open files and threads do not grow, and an idle store leaves no file
//! that it does not name.
//!
//! 1. Each writer has its own keys. Its `n`th batch follows from `n` alone, and puts `n` under a key of its own: so
//!    a store says how many batches of each writer it has, and a model of these follows.
//! 2. After each batch the writer notes its number in a file beside the store. A store that is opened again has all
//!    batches that were noted, however its process ended: the operating system had them.
//! 3. Readers find that a batch is whole, in a snapshot twice the same, and that no writer goes back.
//! 4. Rounds run in this process, which is where things would leak, or in another, which is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use terrane::executor::{ThreadExecutor, WorkerPool};
use terrane::storage::FileId;
use terrane::{Db, Durability, Keyspace, Options, WriteBatch};
use terrane_tests::fixtures::sized_policies;
use terrane_tests::full;
use terrane_tests::resources::Resources;
use terrane_workload::Random;

/// Place and round of a process that will be killed.
const PLACE: &str = "TERRANE_TEST_SOAK";
const WRITERS: u64 = 3;
/// Keys of a writer.
const KEYS: u64 = 2_000;
/// Rounds before memory is first looked at.
const WARM: u64 = 40;
/// Limit on the growth of memory, in KiB: less than a store that was not dropped would hold.
const GROWTH_KIB: u64 = 24 << 10;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn seconds() -> u64 {
    let given = std::env::var("TERRANE_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(if full() { 120 } else { 6 })
}

/// The key under which a writer has the number of its last batch.
fn last(writer: u64) -> Vec<u8> {
    format!("{writer}/last").into_bytes()
}

/// The `n`th batch of a writer: a pair of keys with the same value, which starts with `n`, and a delete or a put.
fn changes(writer: u64, n: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut random = Random(writer << 48 | n);
    let mut value = n.to_be_bytes().to_vec();
    value.extend((0..random.below(300)).map(|_| random.word() as u8));
    let (pair, other) = (random.below(KEYS), random.below(KEYS));
    let key = |name: &str, number: u64| format!("{writer}/{name}{number:05}").into_bytes();
    let gone = random.one_in(4);
    vec![
        (last(writer), Some(n.to_be_bytes().to_vec())),
        (key("left", pair), Some(value.clone())),
        (key("right", pair), Some(value.clone())),
        (key("other", other), (!gone).then_some(value)),
    ]
}

/// Places of stores and notes.
struct Place(PathBuf);

impl Place {
    fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    fn note(&self, writer: u64) -> PathBuf {
        self.0.join(format!("noted-{writer}"))
    }

    /// The last batch of a writer that was acknowledged.
    fn noted(&self, writer: u64) -> u64 {
        let bytes = fs::read(self.note(writer)).unwrap_or_default();
        bytes.try_into().map_or(0, u64::from_be_bytes)
    }

    /// The files of the store.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.store()).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }
}

/// Opens the store with options and an executor that a round draws.
fn open(place: &Place, random: &mut Random, pool: &WorkerPool) -> Db {
    let policies = sized_policies(256 << 10, 64 << 10);
    let policy = policies[random.below(policies.len() as u64) as usize].clone();
    let mut among = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
    let executor = match among(&[0, 1, 2, 3, 4]) {
        0 => ThreadExecutor::in_pool(pool),
        merges => ThreadExecutor::in_pool(&WorkerPool::new(merges as usize)),
    };
    let options = Options::default()
        .memtable_bytes(among(&[64 << 10, 256 << 10]))
        .wal_file_bytes(64 << 10)
        .max_total_wal_bytes(1 << 20)
        .cache_bytes(among(&[0, 256 << 10, 1 << 20]))
        .max_open_files(among(&[8, 1000]) as usize)
        .allow_mmap_writes(among(&[0, 1]) == 1)
        .allow_mmap_reads(among(&[0, 1]) == 1)
        .sync_interval(Duration::from_millis(20))
        .background_bytes_per_second(among(&[0, 0, 0, 8 << 20]))
        .policy(policy);
    Db::open_with(place.store(), options, Arc::new(executor)).unwrap()
}

/// The tables among the files that the store does not have.
fn unnamed_tables(db: &Db, files: &[String]) -> Vec<String> {
    let shape = db.default_keyspace().shape().unwrap();
    let named: BTreeSet<String> =
        shape.tables().map(|(.., table)| FileId::table(table.id.0).to_string()).collect();
    let tables = files.iter().filter(|name| name.ends_with(".sst"));
    tables.filter(|name| !named.contains(*name)).cloned().collect()
}

fn write(db: &Db, place: &Place, writer: u64, from: u64, stop: &AtomicBool) {
    let rows = db.default_keyspace();
    let note = OpenOptions::new().create(true).write(true).truncate(false).open(place.note(writer));
    let note = note.unwrap();
    note.write_all_at(&from.to_be_bytes(), 0).unwrap();
    for n in from + 1.. {
        let mut batch = WriteBatch::new();
        for (key, value) in changes(writer, n) {
            match value {
                Some(value) => batch.put(&rows, &key, &value).unwrap(),
                None => batch.delete(&rows, &key).unwrap(),
            }
        }
        let durability = if n % 256 == 0 { Durability::Sync } else { Durability::Buffered };
        db.write(batch, durability).unwrap();
        note.write_all_at(&n.to_be_bytes(), 0).unwrap();
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

fn number(value: Option<Vec<u8>>) -> u64 {
    value.map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap()))
}

/// Step 3.
fn read(db: &Db, seed: u64, stop: &AtomicBool) {
    let (rows, mut random, mut before) =
        (db.default_keyspace(), Random(seed), [0; WRITERS as usize]);
    while !stop.load(Ordering::Relaxed) {
        let snapshot = db.snapshot();
        let writer = random.below(WRITERS);
        let n = number(snapshot.get(&rows, last(writer)).unwrap());
        assert!(n >= before[writer as usize], "writer {writer} goes back to {n}");
        before[writer as usize] = n;
        let pair = random.below(KEYS);
        let sides = ["left", "right"].map(|side| {
            let key = format!("{writer}/{side}{pair:05}");
            snapshot.get(&rows, key).unwrap()
        });
        assert_eq!(sides[0], sides[1], "a batch is torn");
        if random.one_in(200) {
            let rows_of = || {
                let scan = snapshot.scan(&rows, ..).unwrap();
                scan.inspect(|row| assert!(row.is_ok(), "{row:?}")).count()
            };
            let first = rows_of();
            std::thread::sleep(Duration::from_millis(random.below(20)));
            assert_eq!(rows_of(), first, "a snapshot changes");
        }
    }
}

/// Loads a store for a while.
fn load(db: &Db, place: &Place, models: &[(u64, Model)], seed: u64, time: Duration) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let stop = &stop;
        for (writer, (from, _)) in (0..).zip(models) {
            threads.spawn(move || write(db, place, writer, *from, stop));
        }
        threads.spawn(move || read(db, seed, stop));
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
}

/// Brings the models to what the store has, which is all that was noted, and compares.
fn verify(db: &Db, place: &Place, models: &mut [(u64, Model)]) {
    let rows: Keyspace = db.default_keyspace();
    for (writer, (at, model)) in (0..).zip(models.iter_mut()) {
        let found = number(rows.get(last(writer)).unwrap());
        let noted = place.noted(writer);
        assert!((noted..=noted + 1).contains(&found), "writer {writer}: {found}, noted {noted}");
        for n in *at + 1..=found {
            for (key, value) in changes(writer, n) {
                match value {
                    Some(value) => drop(model.insert(key, value)),
                    None => drop(model.remove(&key)),
                }
            }
        }
        *at = found;
    }
    let mut scan = rows.scan(..).unwrap();
    for (key, value) in models.iter().flat_map(|(_, model)| model) {
        let (found, is) = scan.next().expect("as many rows as the model").unwrap();
        assert!(&found == key && &is == value, "{} differs", String::from_utf8_lossy(key));
    }
    assert!(scan.next().is_none());
}

#[test]
fn mixed_load_keeps_invariants() {
    let begun = Instant::now();
    let dir = tempfile::tempdir().unwrap();
    let (place, pool) = (Place(dir.path().to_owned()), WorkerPool::new(2));
    let mut models = vec![(0, Model::new()); WRITERS as usize];
    let (mut random, mut kills, mut warm) = (Random(17), 0, None);
    let before = Resources::now(dir.path());
    let (mut rounds, mut least, mut most) = (0, usize::MAX, 0);
    // Where the soak is asked for, growth is measured from a warm state on.
    let asked = std::env::var_os("TERRANE_SOAK_SECONDS").is_some();
    let least_rounds = if asked { WARM + 1 } else { 1 };
    while begun.elapsed() < Duration::from_secs(seconds()) || kills == 0 || rounds < least_rounds {
        rounds += 1;
        if random.one_in(3) {
            kills += 1;
            kill(&place, rounds, Duration::from_millis(50 + random.below(400)));
        }
        let db = open(&place, &mut random, &pool);
        verify(&db, &place, &mut models);
        db.default_keyspace().set_policy(&db.options().policy).unwrap();
        load(&db, &place, &models, rounds, Duration::from_millis(random.below(600)));
        if random.one_in(4) {
            assert_eq!(db.check().unwrap().damage, []);
        }
        match random.below(4) {
            0 => drop(db),
            1 => db.close_within(Duration::from_millis(random.below(100))).unwrap(),
            2 => {
                // With nothing left to do, there are no files but those that are named.
                db.wait_until_idle().unwrap();
                let files = place.files();
                let unnamed = unnamed_tables(&db, &files);
                let stats = db.stats().unwrap();
                assert_eq!(unnamed, [""; 0], "files {files:?}, {:?}", stats.background);
                let logs = files.iter().filter(|name| name.ends_with(".log")).count();
                let (logs_named, quarantined) = (stats.wal_files, stats.quarantine_bytes);
                assert!(logs <= logs_named || quarantined > 0, "{logs} logs, {logs_named} named");
                let files = files.len();
                (least, most) = (least.min(files), most.max(files));
                db.close().unwrap();
            }
            _ => db.close().unwrap(),
        }
        if rounds == WARM {
            warm = Some(Resources::now(dir.path()));
        }
    }
    let after = Resources::settled(dir.path(), &before);
    println!("{rounds} rounds, {kills} kills, {least} to {most} files of the idle store");
    println!("before {before:?}\nwarm {warm:?}\nafter {after:?}");
    // Other tests run in this process, unless the soak is asked for.
    if let Some(warm) = warm.filter(|_| asked) {
        let rest = |r: Resources| Resources { memory_kib: 0, ..r };
        assert_eq!(rest(after), rest(before));
        assert!(after.memory_kib < warm.memory_kib + GROWTH_KIB, "memory has grown");
    }
    let db = open(&place, &mut random, &pool);
    verify(&db, &place, &mut models);
}

/// Makes another process open the store and write, and kills it.
fn kill(place: &Place, round: u64, after: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "soak::write_until_killed"])
        .env(PLACE, &place.0)
        .env("TERRANE_TEST_ROUND", round.to_string())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ended.is_none(), "the process ended by itself: {ended:?}");
}

/// The process that is killed.
#[test]
fn write_until_killed() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let round: u64 = std::env::var("TERRANE_TEST_ROUND").unwrap().parse().unwrap();
    let (place, mut random) = (Place(place.into()), Random(round));
    let db = open(&place, &mut random, &WorkerPool::new(2));
    let rows = db.default_keyspace();
    let from = |writer| (number(rows.get(last(writer)).unwrap()), Model::new());
    let models: Vec<_> = (0..WRITERS).map(from).collect();
    load(&db, &place, &models, round, Duration::from_secs(3600));
}

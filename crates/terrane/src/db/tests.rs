//! Calls in steps, while others write between the steps; writes, while calls are held (`blocked`);
//! bounds over several keyspaces (`memory`); a store that is only read (`read_only`); what opening does
//! with logs (`recovery`), and what becomes of their files (`logs`); what writes wait for (`waits`), how
//! near they are to that (`backpressure`), and how they slow down (`slowdown`); jobs slice by slice
//! (`jobs`), who runs them (`executors`), flushes beside merges (`lanes`), and what becomes of their panics
//! (`panics`); conditional batches (`conditions`), deletes of ranges (`range_deletes`), and calls that wait
//! for nothing (`trying`); files to be removed, and failures (`faults`); handles (`handles`), and the places that
//! they are opened at (`paths`); gets that read memory alone (`pinned`); stores of many keyspaces (`many_keyspaces`);
//! gets and writes that events report (`operations`); published faults of other stores (`rivals`).

mod backpressure;
mod blocked;
mod conditions;
mod executors;
mod expiry;
mod faults;
mod filters;
mod gated;
mod handles;
mod jobs;
mod lanes;
mod logs;
mod lost_logs;
mod many_keyspaces;
mod memory;
mod merges;
mod operations;
mod panics;
mod paths;
mod pinned;
mod range_deletes;
mod read_only;
mod recovery;
mod rivals;
mod slowdown;
mod trying;
mod waits;

use crate::admin::{CheckReport, Checkpoint, Waiter};
use crate::event::{Event, Listener};
use crate::executor::{Executor, SliceExecutor, ThreadExecutor};
use crate::jobs::Progress;
use crate::schedule;
use crate::schedule::JobFilter;
use crate::storage::vfs::fault::{Fault, Survivors};
use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use crate::storage::volume::VolumeOptions;
use crate::storage::{Directory, File, Storage, StoreId, Volume};
use crate::version::Change;
use crate::{
    Db, Durability, Durability::Buffered, Error, ErrorKind, KeyRange, Keyspace, Options, Result,
    WriteBatch,
};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terrane_policy::{PolicyOptions, Tiered};

/// Time after which a wait has failed. Whatever takes seconds takes minutes on a machine that is busy besides.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits for what threads will do.
#[track_caller]
fn eventually(mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "it never happens");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn directory(vfs: &FaultVfs) -> Arc<dyn Storage> {
    Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap())
}

fn volume(file: &Arc<dyn File>) -> Volume {
    let new_id = StoreId::random().unwrap();
    Volume::open(vec![file.clone()], VolumeOptions { new_id, ..VolumeOptions::default() }).unwrap()
}

fn faulty() -> FaultVfs {
    FaultVfs::new(Arc::new(MemoryVfs::default())).unwrap()
}

/// A store with small memtables and smaller logs.
fn open(storage: Arc<dyn Storage>, executor: Arc<dyn Executor>) -> Result<Db> {
    let options =
        Options { memtable_bytes: 64 << 10, wal_file_bytes: 16 << 10, ..Options::small() };
    Db::open_storage(storage, options, executor)
}

fn slices() -> Arc<dyn Executor> {
    Arc::new(SliceExecutor::default())
}

/// Puts `keys` keys with incompressible values, drawn from `seed`.
fn fill(db: &Db, keys: u32, mut seed: u64) {
    let mut draw = || {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (seed >> 32) as u32
    };
    for key in 0..keys {
        let mut writes = WriteBatch::new();
        let value: Vec<_> = (0..50).flat_map(|_| draw().to_be_bytes()).collect();
        writes.put(db.default_keyspace().id(), &key.to_be_bytes(), &value).unwrap();
        db.write(writes, Buffered).unwrap();
    }
}

fn entries(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    db.default_keyspace().scan(..).unwrap().collect::<Result<_>>().unwrap()
}

#[test]
fn a_table_says_for_which_keyspace_it_was_written() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    let put = |db: &Db, name: &str, key: &[u8]| {
        db.create_keyspace(name).unwrap().put(key, b"value", Buffered).unwrap();
    };
    let all_say = |db: &Db, tables: usize| {
        let (mut found, names) = (0, db.keyspaces());
        for name in &names {
            let keyspace = db.create_keyspace(name).unwrap();
            let tree =
                db.engine().keyspaces.load().get(&keyspace.id()).unwrap().super_version.load_full();
            for table in tree.tree.shape().tables().map(|(.., info)| info.id) {
                let said = tree.tree.table(table).unwrap().table().properties().unwrap();
                assert_eq!(said.keyspace_id, Some(keyspace.id().0));
                assert_eq!(said.keyspace_name.as_ref(), Some(name));
                found += 1;
            }
        }
        assert_eq!((names.len(), found), (2, tables));
    };
    for _ in 0..2 {
        for name in ["default", "other"] {
            [b"a", b"z"].iter().for_each(|key| put(&db, name, *key));
        }
        db.flush().unwrap();
    }
    all_say(&db, 4);
    db.create_keyspace("other").unwrap().compact_range(..).unwrap();
    all_say(&db, 3);
    put(&db, "other", b"c");
    db.close().unwrap();
    // What was replayed.
    let db = open(directory(&vfs), slices()).unwrap();
    db.flush().unwrap();
    all_say(&db, 4);
}

fn runs(db: &Db) -> usize {
    runs_of(&db.default_keyspace())
}

fn runs_of(keyspace: &Keyspace) -> usize {
    keyspace.shape().unwrap().levels().iter().map(|level| level.runs.len()).sum()
}

/// Runs jobs in small slices until it is done; returns how often it was not.
fn finish(db: &Db, mut waiter: Waiter, mut between: impl FnMut(usize)) -> Result<usize> {
    let mut steps = 0;
    while !waiter.is_done()? {
        between(steps);
        // The next look reports a failure.
        let _ = db.run_jobs(4 << 10);
        steps += 1;
    }
    Ok(steps)
}

#[test]
fn a_flush_takes_what_was_written_before_it_and_no_more() {
    let db = open(directory(&faulty()), slices()).unwrap();
    fill(&db, 100, 1);
    let flush = db.begin_flush().unwrap();
    let steps = finish(&db, flush, |step| {
        db.default_keyspace().put(b"later", &[0; 10], Buffered).unwrap();
        assert!(step < 100, "no end");
    });
    assert!(steps.unwrap() > 1);
    let tables = db.default_keyspace().shape().unwrap();
    assert_eq!(tables.tables().map(|(_, _, table)| table.entries).sum::<u64>(), 100);
    assert!(db.default_keyspace().get(b"later").unwrap().is_some());
}

#[test]
fn compactions_of_ranges_end_in_turn_beside_writes() {
    let db = open(directory(&faulty()), slices()).unwrap();
    for round in 0..3 {
        fill(&db, 200, round);
        db.flush().unwrap();
    }
    let expected = entries(&db);
    let first = db.default_keyspace().begin_compact_range(..).unwrap();
    let mut second: Option<Waiter> = None;
    let steps = finish(&db, first, |step| {
        db.default_keyspace().put(&[step as u8; 5], b"later", Buffered).unwrap();
        match &mut second {
            Some(second) => assert!(!second.is_done().unwrap(), "the first has the tables"),
            // When the first has them.
            None if step == 2 => {
                second = Some(db.default_keyspace().begin_compact_range(..).unwrap());
            }
            None => {}
        }
    });
    assert!(steps.unwrap() > 10);
    finish(&db, second.unwrap(), |_| ()).unwrap();
    assert_eq!(runs(&db), 1);
    let found = entries(&db);
    assert!(expected.iter().all(|entry| found.contains(entry)));
    assert!(found.len() > expected.len());
}

#[test]
fn failures_of_jobs_and_a_close_are_reported() {
    for native in [false, true] {
        let vfs = faulty();
        let executor = if native { Arc::new(ThreadExecutor::new(1)) } else { slices() };
        let db = open(directory(&vfs), executor).unwrap();
        let keyspace = db.default_keyspace();
        fill(&db, 100, 1);
        db.flush().unwrap();
        fill(&db, 100, 2);
        db.flush().unwrap();
        vfs.fail_from(vfs.operations(), Fault::Io);
        if native {
            assert!(keyspace.compact_range(..).is_err());
            continue;
        }
        let compaction = keyspace.begin_compact_range(..).unwrap();
        assert!(matches!(
            finish(&db, compaction, |_| ()).map_err(Error::into_kind),
            Err(ErrorKind::Io(_))
        ));
        // It is not taken for done where another's retry comes before the next look.
        let mut again = keyspace.begin_compact_range(..).unwrap();
        assert!(!again.is_done().unwrap());
        while db.engine().state.failure().is_none() {
            let _ = db.run_jobs(4 << 10);
        }
        db.engine().retry();
        vfs.heal();
        finish(&db, again, |_| ()).unwrap();
        assert_eq!(runs(&db), 1);

        fill(&db, 100, 3);
        let mut waiter = db.begin_flush().unwrap();
        let mut check = db.begin_check().unwrap();
        let mut copy = db.begin_checkpoint(&*directory(&faulty())).unwrap();
        db.close().unwrap();
        assert!(matches!(waiter.is_done().map_err(Error::into_kind), Err(ErrorKind::Closed(_))));
        assert!(matches!(check.step(1).map_err(Error::into_kind), Err(ErrorKind::Closed(_))));
        assert!(matches!(
            copy.step(&*directory(&faulty())).map_err(Error::into_kind),
            Err(ErrorKind::Closed(_))
        ));
    }
}

/// A check in steps of a byte; returns how many it took.
fn check(db: &Db, mut between: impl FnMut(usize)) -> (CheckReport, usize) {
    let mut check = db.begin_check().unwrap();
    for step in 0.. {
        if let Some(report) = check.step(1).unwrap() {
            return (report, step);
        }
        between(step);
    }
    unreachable!()
}

#[test]
fn a_check_in_steps_finds_what_a_check_at_once_finds() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    for round in 0..3 {
        fill(&db, 200, round);
        db.flush().unwrap();
    }
    fill(&db, 200, 4);
    let sound = db.check().unwrap();
    assert_eq!((sound.tables, sound.entries, sound.damage.len()), (3, 600, 0));
    assert!(sound.wal_records > 200);
    let tables = vfs.list().unwrap().into_iter().filter(|name| name.ends_with(".sst"));
    for (n, table) in (0..).zip(tables) {
        // In the first, the second, the third block or so.
        vfs.flip(&table, (100 + n * 5000) * 8).unwrap();
    }
    let at_once = db.check().unwrap();
    assert_eq!(at_once.damage.len(), 3);
    let (stepwise, steps) = check(&db, |_| ());
    assert!(steps > 3 * 4, "{steps} steps");
    assert_eq!(format!("{stepwise:?}"), format!("{at_once:?}"));
}

#[test]
fn a_check_finds_no_damage_in_what_goes_away_meanwhile() {
    let db = open(directory(&faulty()), slices()).unwrap();
    for tables_are_there in [false, true] {
        // In several logs.
        fill(&db, 200, 1);
        let (report, _) = check(&db, |step| {
            // Tables are merged, and logs retire and are recycled, before they are read.
            db.default_keyspace().compact_range(..).unwrap();
            db.wait_until_idle().unwrap();
            fill(&db, 200, step as u64);
        });
        assert_eq!(report.damage, []);
        assert_eq!(report.tables > 0, tables_are_there);
        assert!(report.wal_records >= 200);
    }
}

/// Does the steps of a checkpoint, and other things between them; returns how many there were.
fn copy(mut copy: Checkpoint, target: &dyn Storage, mut between: impl FnMut(usize)) -> usize {
    for step in 0.. {
        if !copy.step(target).unwrap() {
            return step;
        }
        between(step);
    }
    unreachable!()
}

#[test]
fn a_checkpoint_shows_its_start_though_files_are_removed() {
    let vfs = MemoryVfs::new();
    let (from, to) = (vfs.create("from").unwrap(), vfs.create("to").unwrap());
    let db = open(Arc::new(volume(&from)), slices()).unwrap();
    fill(&db, 2000, 1);
    db.default_keyspace().compact_range(..).unwrap();
    // What is in logs alone, several of them.
    fill(&db, 200, 2);
    let expected = entries(&db);
    let target = volume(&to);
    let begun = db.begin_checkpoint(&target).unwrap();
    let steps = copy(begun, &target, |step| {
        // The tables that are copied are dropped, the logs retire, and their room is used.
        if step < 3 {
            fill(&db, 2000, 3 + step as u64);
            db.default_keyspace().compact_range(..).unwrap();
            db.wait_until_idle().unwrap();
        }
    });
    assert!(steps > 3, "{steps} steps");
    drop(target);
    let copied = open(Arc::new(volume(&to)), slices()).unwrap();
    assert!(entries(&copied) == expected);
    assert_eq!(copied.check().unwrap().damage, []);
    assert!(entries(&db) != expected);
}

#[test]
fn a_checkpoint_that_is_not_completed_leaves_no_store() {
    let vfs = MemoryVfs::new();
    let (from, to) = (vfs.create("from").unwrap(), vfs.create("to").unwrap());
    let db = open(Arc::new(volume(&from)), slices()).unwrap();
    fill(&db, 1000, 1);
    let target = volume(&to);
    let mut begun = db.begin_checkpoint(&target).unwrap();
    assert!(begun.step(&target).unwrap());
    drop((begun, target));
    let options = Options { create: false, ..Options::small() };
    let opened = Db::open_storage(Arc::new(volume(&to)), options, slices());
    assert!(matches!(opened.map_err(Error::into_kind), Err(ErrorKind::NoStore(_))));
    db.checkpoint(&volume(&to)).unwrap();
    assert!(entries(&open(Arc::new(volume(&to)), slices()).unwrap()) == entries(&db));
}

fn tables(vfs: &FaultVfs) -> usize {
    vfs.list().unwrap().iter().filter(|name| name.ends_with(".sst")).count()
}

#[test]
fn a_dropped_keyspace_leaves_no_table_of_an_open_flush() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    let pending = [b"a", b"b"].map(|key| {
        other.put(key, b"value", Buffered).unwrap();
        db.begin_flush().unwrap()
    });
    let [older, mut newer] = [(); 2].map(|()| schedule::next_job(db.engine(), JobFilter::Flush));
    while newer.as_mut().unwrap().run_for(u64::MAX).unwrap() == Progress::More {}
    assert_eq!((tables(&vfs), runs_of(&other)), (1, 0), "it waits for the older flush");
    assert!(db.drop_keyspace("other").unwrap());
    drop((older, newer, pending));
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&vfs), 0);
}

#[test]
fn an_empty_batch_is_refused_where_others_are() {
    let db = open(directory(&faulty()), slices()).unwrap();
    db.clone().close().unwrap();
    for durability in [Buffered, Durability::Sync] {
        let written = db.write(WriteBatch::new(), durability);
        let written = written.map_err(Error::into_kind);
        assert!(matches!(written, Err(ErrorKind::Closed(_))), "{durability:?}: {written:?}");
    }
}

#[test]
fn an_empty_durable_batch_makes_earlier_writes_durable() {
    let inner = Arc::new(MemoryVfs::default());
    let vfs = FaultVfs::new(inner.clone()).unwrap();
    let db = open(directory(&vfs), slices()).unwrap();
    let last = db.default_keyspace().put(b"k", b"v", Buffered).unwrap();
    assert_eq!(db.write(WriteBatch::new(), Durability::Sync).unwrap(), last);
    vfs.crash(Survivors::Synced).unwrap();
    let db = open(directory(&FaultVfs::new(inner).unwrap()), slices()).unwrap();
    assert_eq!(db.default_keyspace().get(b"k").unwrap(), Some(b"v".to_vec()));
}

#[test]
fn a_log_too_small_for_any_record_is_refused() {
    let open = |wal_file_bytes| {
        let options = Options { wal_file_bytes, ..Options::small() };
        Db::open_storage(directory(&faulty()), options, slices())
    };
    for wal_file_bytes in [0, 1, 7, 71] {
        assert!(
            matches!(
                open(wal_file_bytes).map_err(Error::into_kind),
                Err(ErrorKind::InvalidArgument(_))
            ),
            "{wal_file_bytes}"
        );
    }
    let db = open(72).unwrap();
    for key in 0..20 {
        db.default_keyspace().put(&[key], b"", Buffered).unwrap();
    }
    assert_eq!((entries(&db).len(), db.check().unwrap().damage), (20, vec![]));
}

#[test]
fn compacting_a_range_without_keys_does_nothing() {
    let db = open(directory(&faulty()), slices()).unwrap();
    for round in 0..2 {
        fill(&db, 100, round);
        db.flush().unwrap();
    }
    fill(&db, 100, 2);
    let before = (runs(&db), db.stats().unwrap().flushed_bytes);
    let [from, to] = [90u32, 10].map(|key| Bound::Included(key.to_be_bytes().to_vec()));
    db.default_keyspace().compact_range((from, to)).unwrap();
    assert_eq!((runs(&db), db.stats().unwrap().flushed_bytes), before);
    let keyspace = db.default_keyspace();
    db.close().unwrap();
    let (from, to) = (Bound::Included(vec![2]), Bound::Excluded(vec![1]));
    assert!(matches!(
        keyspace.compact_range((from, to)).map_err(Error::into_kind),
        Err(ErrorKind::Closed(_))
    ));
}

#[test]
fn the_size_of_a_range_counts_tables_and_parts_at_its_bounds() {
    let db = open(directory(&faulty()), slices()).unwrap();
    for round in 0..3 {
        fill(&db, 4000, round);
        db.flush().unwrap();
    }
    let keyspace = db.default_keyspace();
    let size = |from: Bound<u32>, to: Bound<u32>| {
        let [from, to] = [from, to].map(|bound| bound.map(|key| key.to_be_bytes().to_vec()));
        keyspace.approximate_size(&KeyRange { from, to }).unwrap()
    };
    let (included, excluded, all_keys) = (Bound::Included, Bound::Excluded, Bound::Unbounded);
    let shape = keyspace.shape().unwrap();
    assert_eq!(size(all_keys, all_keys), shape.totals().bytes());
    for (from, to) in [(0, 1000), (500, 600), (1000, 1001), (1500, 4000), (2500, 9000)] {
        let [first, last] = [from, to - 1].map(|key: u32| key.to_be_bytes().to_vec());
        let (mut least, mut most) = (0, 0);
        for (.., table) in shape.tables() {
            let inside = first <= table.smallest && table.largest <= last;
            let outside = table.largest < first || last < table.smallest;
            least += if inside { table.bytes } else { 0 };
            most += if outside { 0 } else { table.bytes };
        }
        let found = size(included(from), excluded(to));
        assert!((least..=most).contains(&found), "{from} to {to}: {found} in {least} to {most}");
    }
    keyspace.compact_range(..).unwrap();
    let all = keyspace.shape().unwrap().totals().bytes();
    for key in [1000, 2000, 3000] {
        let near = |found: u64, part: u32| found.abs_diff(all * u64::from(part) / 4000) < all / 20;
        assert!(near(size(all_keys, excluded(key)), key), "before {key}");
        assert!(near(size(included(key), all_keys), 4000 - key), "from {key}");
        assert!(near(size(included(key), excluded(key + 400)), 400), "at {key}");
    }
    assert_eq!(size(included(4000), all_keys), 0);
    assert_eq!(size(included(3000), excluded(1000)), 0);
}

/// A store of a later release, as far as this one can tell.
#[test]
fn a_stored_policy_that_is_not_known_keeps_no_store_closed() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    db.default_keyspace().put(b"key", b"value", Buffered).unwrap();
    let (id, policy) =
        (db.create_keyspace("other").unwrap().id(), r#"{"policy":"tiered","depth":3}"#);
    let engine = db.engine();
    let change = Change::SetPolicy { keyspace: id, policy: policy.to_owned() };
    drop(engine.state.lock_edits().unwrap().apply(vec![change], &[], &[]).unwrap());
    db.close().unwrap();

    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = told.clone();
    let listener: Listener = Arc::new(move |_, event| {
        if let Event::PolicyAdjusted { keyspace, problems, .. } = event {
            listener.lock().unwrap().push((*keyspace, problems.clone()));
        }
    });
    let options = Options { listener: Some(listener), ..Options::small() };
    let db = Db::open_storage(directory(&vfs), options, slices()).unwrap();
    let (other, problem) = (db.create_keyspace("other").unwrap(), "unknown parameter `depth`");
    let told = told.lock().unwrap();
    assert!(
        matches!(&told[..], [(keyspace, problems)] if *keyspace == id && problems[0].starts_with(problem))
    );
    let stats = db.stats().unwrap().keyspaces;
    let told: Vec<_> = stats.iter().map(|k| (&*k.policy, k.policy_problems.len())).collect();
    assert_eq!(told, [("leveled", 0), ("tiered", 1)]);
    assert_eq!(db.default_keyspace().get(b"key").unwrap(), Some(b"value".to_vec()));

    let known = other.policy().unwrap();
    assert_eq!(known, PolicyOptions::preset("tiered").unwrap());
    other.set_policy(&known).unwrap();
    assert!(db.stats().unwrap().keyspaces.iter().all(|k| k.policy_problems.is_empty()));
    let PolicyOptions::Tiered(wrong) = known else { panic!("{known:?}") };
    let wrong = PolicyOptions::Tiered(Tiered { size_ratio: 1, ..wrong });
    assert!(other.set_policy(&wrong).is_err());
    drop((other, db));
    let options = Options { policy: wrong, ..Options::small() };
    assert!(Db::open_storage(directory(&vfs), options, slices()).is_err());
}

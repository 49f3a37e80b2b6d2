//! Jobs in slices: the work and the events of a slice, and the remains of a dropped job.

use super::{directory, entries, faulty, fill, finish, open, slices};
use crate::event::Event;
use crate::jobs::Progress;
use crate::schedule;
use crate::schedule::{Job, JobFilter};
use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use crate::storage::volume::VolumeOptions;
use crate::storage::{FileId, FileKind, StoreId, Volume};
use crate::write;
use crate::{Db, Durability, Options};
use std::sync::{Arc, Mutex};
use terrane_policy::event::MAX_PROGRESS;
use terrane_policy::{
    Action, Compaction, Destination, Group, Installed, LevelChange, Plan, PlanContext, Policy,
    Reason, Reshape, Step,
};

/// Bytes counted for each entry of [`fill`]: a key of 4 bytes, a value of 200, and 16.
const ENTRY: u64 = 220;

type Events = Arc<Mutex<Vec<Event>>>;

/// Returns a store whose jobs run only when a test runs them, and its events.
fn store(vfs: &FaultVfs) -> (Db, Events) {
    let events = Events::default();
    let told = events.clone();
    let listener = move |_, event: &Event| told.lock().unwrap().push(event.clone());
    let options =
        Options { memtable_bytes: 1 << 20, listener: Some(Arc::new(listener)), ..Options::small() };
    (Db::open_storage(directory(vfs), options, slices()).unwrap(), events)
}

/// A flush of 300 entries.
fn flush(db: &Db) -> Job {
    fill(db, 300, 1);
    write::seal_all(db.engine()).unwrap();
    schedule::next_job(db.engine(), JobFilter::Flush).unwrap()
}

/// A merge of two runs of 300 entries each, into one.
fn merge(db: &Db) -> Job {
    for seed in [1, 2] {
        fill(db, 300, seed);
        db.flush().unwrap();
    }
    let mut compaction = db.default_keyspace().begin_compact_range(..).unwrap();
    assert!(!compaction.is_done().unwrap());
    // It is asked for as long as somebody waits for it.
    std::mem::forget(compaction);
    schedule::next_job(db.engine(), JobFilter::Other).unwrap()
}

/// Runs a job to its end; returns in how many slices.
fn run(mut job: Job, bytes: u64) -> usize {
    (1..).find(|_| job.run_for(bytes).unwrap() == Progress::Done).unwrap()
}

fn tables(vfs: &FaultVfs) -> Vec<String> {
    let names = vfs.list().unwrap().into_iter();
    names.filter(|n| FileId::parse(n).is_some_and(|id| id.kind == FileKind::Table)).collect()
}

#[test]
fn a_slice_of_a_job_does_what_it_is_given() {
    let vfs = faulty();
    assert_eq!(run(flush(&store(&vfs).0), 10 * ENTRY), 300 / 10 + 1);
    let vfs = faulty();
    assert_eq!(run(merge(&store(&vfs).0), 10 * ENTRY), 600 / 10 + 1);
}

#[test]
fn a_volume_shrinks_after_the_jobs_that_drop_most_of_it() {
    let file = MemoryVfs::default().create("volume").unwrap();
    let options = VolumeOptions {
        min_growth: 64 << 10,
        new_id: StoreId::random().unwrap(),
        ..VolumeOptions::default()
    };
    let volume = Arc::new(Volume::open(vec![file.clone()], options).unwrap());
    let db = open(volume, slices()).unwrap();
    fill(&db, 10_000, 1);
    db.flush().unwrap();
    let full = file.len().unwrap();
    assert!(full > 10_000 * ENTRY);
    fill(&db, 10, 1);
    (10..10_000u32).for_each(|key| {
        db.default_keyspace().delete(key.to_be_bytes(), Durability::Buffered).unwrap();
    });
    db.default_keyspace().compact_range(..).unwrap();
    while db.run_jobs(64 << 10).unwrap() {}
    let left = file.len().unwrap();
    assert!(left < full, "{left} of {full} bytes are left");
    assert_eq!(entries(&db).len(), 10);
}

#[test]
fn closing_removes_the_files_that_the_last_reader_held() {
    let vfs = faulty();
    let (db, _) = store(&vfs);
    let keyspace = db.default_keyspace();
    for seed in [1, 2] {
        fill(&db, 300, seed);
        db.flush().unwrap();
    }
    let cursor = keyspace.cursor(..).unwrap();
    keyspace.compact_range(..).unwrap();
    assert_eq!(tables(&vfs).len(), 3, "the cursor holds the inputs");
    drop((cursor, keyspace));
    db.close().unwrap();
    assert_eq!(tables(&vfs).len(), 1);
}

#[test]
fn a_merge_reports_each_share_of_its_progress_once() {
    let vfs = faulty();
    let (db, events) = store(&vfs);
    let job = merge(&db);
    let total: u64 = db.engine().keyspaces.shape(db.default_keyspace().id()).unwrap().bytes();
    run(job, 10 * ENTRY);
    let mut told = Vec::new();
    for event in events.lock().unwrap().iter() {
        if let Event::MergeProgress { read_bytes, total_bytes, written_bytes, .. } = event {
            assert_eq!(*total_bytes, total);
            told.push((*read_bytes, *written_bytes));
        }
    }
    // After each slice of 10 of the 600 entries that completes a share.
    let share = |slices: u64| slices * 10 * MAX_PROGRESS / 600;
    let after = (1..=60u64).filter(|slices| share(*slices) > share(*slices - 1));
    let read: Vec<_> = after.map(|slices| total * slices / 60).collect();
    assert_eq!(told.len(), read.len());
    assert!(told.iter().zip(&read).all(|((told, _), read)| told.abs_diff(*read) <= 1), "{told:?}");
    assert!(told.is_sorted_by(|(_, a), (_, b)| a < b), "{told:?}");
    // Each key is written once, of the two times that it was read.
    let (_, written) = told[told.len() - 1];
    assert!((total / 3..total * 2 / 3).contains(&written), "{written} of {total}");
}

#[test]
fn a_dropped_job_leaves_no_file_and_another_does_its_work() {
    for begin in [flush, merge] {
        let vfs = faulty();
        let (db, _) = store(&vfs);
        let mut job = begin(&db);
        assert_eq!(job.run_for(10 * ENTRY).unwrap(), Progress::More);
        let (before, writing) = (entries(&db), tables(&vfs));
        drop(job);
        while let Some(removal) = schedule::next_job(db.engine(), JobFilter::Removal) {
            run(removal, 1);
        }
        assert_eq!(tables(&vfs).len(), writing.len() - 1);
        db.flush().unwrap();
        let compaction = db.default_keyspace().begin_compact_range(..).unwrap();
        finish(&db, compaction, |_| ()).unwrap();
        db.wait_until_idle().unwrap();
        assert_eq!(tables(&vfs).len(), 1);
        assert!(entries(&db) == before);
        assert_eq!(db.check().unwrap().damage, []);
    }
}

/// Moves the runs of level 0 into level 1, each with a group, and then adds a level above that;
/// remembers of each group whether it was the last.
struct Moves;

impl Policy for Moves {
    fn name(&self) -> &'static str {
        "moves"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let levels = context.shape.levels();
        if levels.first().is_some_and(|level0| !level0.runs.is_empty()) {
            let destination = Destination { level: 1, run: context.fresh };
            let groups = levels[0].runs.iter().map(|run| {
                let inputs = run.tables().iter().map(|table| table.id).collect();
                Group::new(inputs, destination, Action::Move)
            });
            return Some(Compaction::parallel(groups.collect(), "a test").into());
        }
        let is_deep = context.running.compactions.is_empty() && context.shape.deepest() == 1;
        let reason = Reason::new("a test".to_owned(), Vec::new());
        is_deep.then(|| Reshape { change: LevelChange::Add(1), reason }.into())
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let mut next = state.to_vec();
        if let Step::Group { ends, .. } = installed.step {
            next.push(u8::from(ends));
        }
        next
    }
}

#[test]
fn dropped_jobs_run_again_and_a_policy_learns_its_plans_end() {
    for dropped in [false, true] {
        let vfs = faulty();
        let options = Options {
            custom_policy: Some(Arc::new(|_| Some(Box::new(Moves)))),
            ..Options::small()
        };
        let db = Db::open_storage(directory(&vfs), options, slices()).unwrap();
        for key in 0..2u8 {
            db.default_keyspace().put([key], b"value", crate::Durability::Buffered).unwrap();
            write::seal_all(db.engine()).unwrap();
        }
        let mut jobs = 0;
        while let Some(mut job) = schedule::next_job(db.engine(), JobFilter::Any) {
            if dropped {
                drop(job);
                let Some(again) = schedule::next_job(db.engine(), JobFilter::Any) else { break };
                job = again;
            }
            run(job, 1 << 20);
            jobs += 1;
            assert!(jobs < 100, "no end");
        }
        let shape = db.engine().keyspaces.shape(db.default_keyspace().id()).unwrap();
        let tables: Vec<_> = shape.levels().iter().map(|level| level.totals().tables).collect();
        assert_eq!(tables, [0, 0, 2], "{dropped}");
        let state = db.engine().state.lock();
        let record = state.version_set.keyspaces.get(&db.default_keyspace().id()).unwrap();
        // A group that is dropped is planned again, by itself.
        assert_eq!(record.policy_state, [u8::from(dropped), 1]);
        drop(state);
        assert_eq!(entries(&db).len(), 2);
    }
}

/// Merges the runs of level 0 into one of level 1, in parts that start at these keys.
struct Shares(Vec<Vec<u8>>);

impl Policy for Shares {
    fn name(&self) -> &'static str {
        "shares"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let level0 = context.shape.levels().first()?;
        let is_due = level0.runs.len() == 2 && context.running.compactions.is_empty();
        let destination = Destination { level: 1, run: context.fresh };
        let inputs = level0.tables().map(|table| table.id).collect();
        let group = Group::new(inputs, destination, Action::merge(u64::MAX));
        let group = Group { parts: self.0.clone(), ..group };
        is_due.then(|| Compaction::parallel(vec![group], "a test").into())
    }
}

/// Two runs of 300 entries, and the jobs of their merge in four parts, of which the last has no keys.
fn shared(vfs: &FaultVfs) -> (Db, Events, Vec<Job>) {
    let events = Events::default();
    let told = events.clone();
    let listener = move |_, event: &Event| told.lock().unwrap().push(event.clone());
    let keys: Vec<_> = [100u32, 201, 70_000].iter().map(|key| key.to_be_bytes().to_vec()).collect();
    let options = Options {
        memtable_bytes: 1 << 20,
        listener: Some(Arc::new(listener)),
        custom_policy: Some(Arc::new(move |_| Some(Box::new(Shares(keys.clone()))))),
        ..Options::small()
    };
    let db = Db::open_storage(directory(vfs), options, slices()).unwrap();
    for seed in [1, 2] {
        fill(&db, 300, seed);
        write::seal_all(db.engine()).unwrap();
        run(schedule::next_job(db.engine(), JobFilter::Flush).unwrap(), 1 << 20);
    }
    let parts: Vec<_> =
        std::iter::from_fn(|| schedule::next_job(db.engine(), JobFilter::Other)).collect();
    assert_eq!(parts.len(), 4, "a job each, at the same time");
    (db, events, parts)
}

/// The least keys and the entries of the tables of a level.
fn level(db: &Db, level: usize) -> Vec<(u32, u64)> {
    let shape = db.engine().keyspaces.shape(db.default_keyspace().id()).unwrap();
    let key = |key: &[u8]| u32::from_be_bytes(key.try_into().unwrap());
    let tables = shape.levels().get(level).into_iter().flat_map(|level| level.tables());
    tables.map(|table| (key(&table.smallest), table.entries)).collect()
}

#[test]
fn a_shared_merge_takes_effect_once_its_slowest_part_is_done() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
        let vfs = faulty();
        let (db, events, parts) = shared(&vfs);
        let before = entries(&db);
        let mut parts: Vec<_> = parts.into_iter().map(Some).collect();
        for (done, number) in order.into_iter().enumerate() {
            assert_eq!((done, level(&db, 0).len()), (done, 2), "nothing is installed");
            run(parts[number].take().unwrap(), 10 * ENTRY);
        }
        assert_eq!(level(&db, 0), []);
        assert_eq!(level(&db, 1), [(0, 100), (100, 101), (201, 99)]);
        let installed = |event: &&Event| matches!(event, Event::GroupInstalled { .. });
        assert_eq!(events.lock().unwrap().iter().filter(installed).count(), 1);
        assert!(entries(&db) == before);
        assert_eq!(db.stats().unwrap().keyspaces[0].levels[1].tables, 3);
        assert_eq!(db.check().unwrap().damage, []);
    }
}

#[test]
fn the_parts_of_a_merge_report_its_progress_together() {
    let vfs = faulty();
    let (_db, events, mut parts) = shared(&vfs);
    let mut last = 0;
    for _ in 0..5 {
        for part in &mut parts[..3] {
            part.run_for(10 * ENTRY).unwrap();
        }
    }
    for event in events.lock().unwrap().iter() {
        if let Event::MergeProgress { read_bytes, total_bytes, .. } = event {
            assert!(*read_bytes > last && read_bytes <= total_bytes, "{read_bytes} after {last}");
            // 150 of the 600 entries were read.
            assert!(*read_bytes <= total_bytes / 4, "{read_bytes} of {total_bytes}");
            last = *read_bytes;
        }
    }
    assert!(last > 0);
}

#[test]
fn a_shared_merge_with_a_dropped_part_leaves_no_file_and_reruns() {
    for dropped in 0..3 {
        let vfs = faulty();
        let (db, events, parts) = shared(&vfs);
        let (before, files) = (entries(&db), tables(&vfs).len());
        let mut parts = parts.into_iter();
        for part in parts.by_ref().take(dropped) {
            run(part, 1 << 20);
        }
        let mut part = parts.next().unwrap();
        part.run_for(10 * ENTRY).unwrap();
        let mut another = parts.next().unwrap();
        another.run_for(10 * ENTRY).unwrap();
        drop(part);
        run(another, 1 << 20);
        drop(parts);
        let abandoned = |event: &&Event| matches!(event, Event::GroupAbandoned { .. });
        assert_eq!(events.lock().unwrap().iter().filter(abandoned).count(), 1);
        while let Some(removal) = schedule::next_job(db.engine(), JobFilter::Removal) {
            run(removal, 1);
        }
        assert_eq!(tables(&vfs).len(), files, "what the parts wrote is gone");
        db.wait_until_idle().unwrap();
        assert_eq!(level(&db, 1), [(0, 100), (100, 101), (201, 99)], "again, and whole");
        assert!(entries(&db) == before);
    }
}

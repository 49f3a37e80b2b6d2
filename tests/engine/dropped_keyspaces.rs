//! Power is cut at every operation around the removal of keyspaces: the store and its change feed agree.
//!
//! 1. Write rows into keyspaces, some of them flushed, and drop a keyspace; create one of the same name, and drop that.
//! 2. Cut power at an operation, and open the store again, read-only at first.
//! 3. A follower that applies the whole feed has the rows of the store, and every step that returned has taken effect.
//! 4. The same holds after another opening, and for a checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::rules::Rule;
use terrane::storage::Directory;
use terrane::storage::vfs::MemoryVfs;
use terrane::storage::vfs::fault::{Fault, Survivors};
use terrane::{Change, Db, Durability, FeedCursor, Options, Result};
use terrane_tests::fixtures::{KINDS, Kind, Rig};
use terrane_tests::full;

/// Rows by keyspace, without keyspaces that have none.
type Rows = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;
type Verdict = std::result::Result<(), String>;

/// A step of the schedule.
#[derive(Clone, Copy)]
enum Step {
    Put(&'static str, u8),
    Drop(&'static str),
    Flush,
}

/// The logs rotate several times, and their files are recycled.
fn options() -> Options {
    Options::small().wal_file_bytes(4 << 10).feed_bytes(1 << 20)
}

fn schedule() -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..3 {
        for n in 0..3 {
            steps.extend([Step::Put("users", n), Step::Put("default", 10 * round + n)]);
        }
        if round == 1 {
            steps.push(Step::Flush);
        }
        steps.extend([Step::Put("users", 7), Step::Drop("users"), Step::Put("other", round)]);
    }
    steps.extend([Step::Put("users", 9), Step::Drop("other"), Step::Flush]);
    steps
}

impl Step {
    fn run(self, db: &Db) -> Result<()> {
        match self {
            Step::Put(name, key) => {
                let keyspace = db.create_keyspace(name)?;
                keyspace.put([key], [key; 500], Durability::Sync).map(drop)
            }
            Step::Drop(name) => db.drop_keyspace(name).map(drop),
            Step::Flush => db.flush().map(drop),
        }
    }

    fn apply(self, rows: &mut Rows) {
        match self {
            Step::Put(name, key) => {
                rows.entry(name.to_owned()).or_default().insert(vec![key], vec![key; 500]);
            }
            Step::Drop(name) => drop(rows.remove(name)),
            Step::Flush => {}
        }
    }
}

fn shown(db: &Db) -> Result<Rows> {
    let mut rows = Rows::new();
    for name in db.keyspaces() {
        let keyspace = db.open_keyspace(&name)?.expect("a keyspace that is listed");
        let found = keyspace.scan(..)?.collect::<Result<BTreeMap<_, _>>>()?;
        if !found.is_empty() {
            rows.insert(name, found);
        }
    }
    Ok(rows)
}

/// Returns the rows that the feed adds up to.
fn followed(db: &Db, from: FeedCursor, mut rows: Rows) -> Result<Rows> {
    let mut changes = db.changes(from)?;
    while let Some(batch) = changes.try_next()? {
        for (name, change) in batch.changes() {
            match change {
                Change::Put { key, value, .. } => {
                    let of = rows.entry(name.to_owned()).or_default();
                    of.insert(key.to_vec(), value.to_vec());
                }
                Change::DropKeyspace => drop(rows.remove(name)),
                other => panic!("nobody wrote {other:?}"),
            }
        }
    }
    Ok(rows)
}

/// Checks that the feed and the rows agree, and that the rows are those after the steps that returned, or after one
/// more.
fn judge(db: &Db, possible: &[Rows]) -> Verdict {
    let failed = |e: terrane::Error| e.to_string();
    let start = FeedCursor { sequence: 0, ..db.feed_cursor() };
    let found = shown(db).map_err(failed)?;
    if !possible.contains(&found) {
        return Err(format!("found rows of {:?}", found.keys()));
    }
    if followed(db, start, Rows::new()).map_err(failed)? != found {
        return Err("the feed has other rows than the store".to_owned());
    }
    match db.check().map_err(failed)?.damage.first() {
        Some(damage) => Err(format!("check finds {damage}")),
        None => Ok(()),
    }
}

/// Plays the schedule until power is cut; returns the number of operations if it was not.
fn play(kind: Kind, cut: u64, survivors: Survivors) -> std::result::Result<Option<u64>, String> {
    let mut rig = Rig::new(kind);
    let db = rig.open(options(), 1).map_err(|e| e.to_string())?;
    let start = rig.vfs.operations();
    rig.vfs.cut_at(start + cut);
    let mut rows = vec![Rows::new()];
    for step in schedule() {
        let mut after = rows.last().cloned().unwrap_or_default();
        step.apply(&mut after);
        rows.push(after);
        if step.run(&db).is_err() {
            break;
        }
        rows = rows.split_off(rows.len() - 1);
    }
    if rows.len() == 1 {
        let operations = rig.vfs.operations() - start;
        if operations <= cut {
            judge(&db, &rows)?;
            return Ok(Some(operations));
        }
    }
    drop(db);
    rig.vfs.crash(survivors).map_err(|e| e.to_string())?;
    rig.restore_power();
    let shown_before = read_only(&rig).map_err(|e| format!("read-only: {e}"))?;
    if matches!(kind, Kind::MemoryDirectory | Kind::NativeDirectory) {
        on_full_disk(&mut rig, &shown_before).map_err(|why| format!("on a full disk: {why}"))?;
    }
    for opening in 0..2 {
        let db = rig.open(options(), 2).map_err(|e| format!("opening {opening}: {e}"))?;
        db.sync().map_err(|e| e.to_string())?;
        judge(&db, &rows).map_err(|why| format!("opening {opening}: {why}"))?;
        if shown(&db).map_err(|e| e.to_string())? != shown_before {
            return Err("a read-only opening shows other rows".to_owned());
        }
        rows = vec![shown(&db).map_err(|e| e.to_string())?];
        if opening == 1 {
            checkpoint(&db, &rows[0])?;
        }
        db.close().map_err(|e| e.to_string())?;
    }
    Ok(None)
}

/// Returns the rows that a read-only opening shows.
fn read_only(rig: &Rig) -> Result<Rows> {
    let executor = Arc::new(SliceExecutor::default());
    let db = Db::open_storage(rig.reading()?, options().read_only(true), executor)?;
    if let Some(damage) = db.check()?.damage.into_iter().next() {
        return Err(damage.into());
    }
    shown(&db)
}

/// Checks that a store opens without room for an edit, and that an edit for which there is room then loses nothing.
fn on_full_disk(rig: &mut Rig, rows: &Rows) -> Verdict {
    rig.vfs.set_capacity(0, Fault::NoSpace);
    let db = rig.open(options(), 3).map_err(|e| e.to_string())?;
    if shown(&db).map_err(|e| e.to_string())? != *rows {
        return Err("other rows are shown".to_owned());
    }
    rig.vfs.heal();
    db.create_keyspace("later").map_err(|e| e.to_string())?;
    match db.check().map_err(|e| e.to_string())?.damage.first() {
        Some(damage) => Err(format!("check finds {damage}")),
        None => Ok(()),
    }
}

/// Checks a copy of the store, which has keyspaces that were dropped in its logs only.
fn checkpoint(db: &Db, rows: &Rows) -> Verdict {
    let copy = || -> Result<Rows> {
        let vfs = Arc::new(MemoryVfs::new());
        db.checkpoint(&Directory::open(vfs.clone())?)?;
        let storage = Arc::new(Directory::open(vfs)?);
        shown(&Db::open_storage(storage, options(), Arc::new(SliceExecutor::default()))?)
    };
    match copy().map_err(|e| e.to_string())? == *rows {
        true => Ok(()),
        false => Err("a checkpoint has other rows".to_owned()),
    }
}

/// Plays the schedule with a cut at every operation, or at some of them.
fn cut_everywhere(kind: Kind, stride: u64) -> Verdict {
    for cut in (0..).step_by(stride as usize) {
        for survivors in [Survivors::Synced, Survivors::All, Survivors::Random(cut)] {
            match play(kind, cut, survivors) {
                Ok(None) => {}
                Ok(Some(_)) => return Ok(()),
                Err(why) => return Err(format!("{kind:?}, cut {cut}, {survivors:?}: {why}")),
            }
        }
    }
    Ok(())
}

#[test]
fn a_removal_and_its_change_survive_together() {
    for kind in KINDS {
        let is_native = matches!(kind, Kind::NativeDirectory | Kind::NativeVolume);
        let stride = if full() {
            1
        } else if is_native {
            29
        } else {
            3
        };
        cut_everywhere(kind, stride).unwrap();
    }
}

#[test]
fn a_removal_waits_until_its_batch_is_synced() {
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        let broken = || Rule::DropBeforeEdit.broken(|| cut_everywhere(kind, 1));
        let noticed = std::panic::catch_unwind(broken);
        assert!(!matches!(noticed, Ok(Ok(()))), "{kind:?}");
    }
}

/// Fills the disk while the manifest is full, drops a keyspace, and again once there is space.
fn without_space(kind: Kind) -> Result<()> {
    let rig = Rig::new(kind);
    let options = options().wal_file_bytes(64 << 10);
    let db = rig.open(options.clone(), 1)?;
    let mut rows = Rows::new();
    let schedule = [Step::Put("before", 1), Step::Drop("before"), Step::Put("users", 2)];
    for step in schedule.into_iter().chain([Step::Put("default", 3), Step::Flush]) {
        step.run(&db)?;
        step.apply(&mut rows);
    }
    db.wait_until_idle()?;
    rig.vfs.set_capacity(0, Fault::NoSpace);
    let refused = (0..).find_map(|n| db.create_keyspace(&format!("empty-{n}")).err());
    assert!(refused.unwrap().is_no_space());
    let last = db.latest_sequence();
    for _ in 0..2 {
        let refused = Step::Drop("users").run(&db).unwrap_err();
        assert!(refused.is_no_space(), "{refused}");
    }
    assert_eq!(db.latest_sequence(), last);
    let step = Step::Put("users", 4);
    step.run(&db)?;
    step.apply(&mut rows);
    judge(&db, &[rows.clone()]).unwrap();
    rig.vfs.heal();
    for step in [Step::Drop("users"), Step::Put("users", 5)] {
        step.run(&db)?;
        step.apply(&mut rows);
    }
    judge(&db, &[rows.clone()]).unwrap();
    drop(db);
    judge(&rig.open(options, 2)?, &[rows]).unwrap();
    Ok(())
}

#[test]
fn a_drop_on_a_full_disk_is_refused_and_then_succeeds() {
    for kind in KINDS {
        without_space(kind).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
    }
}

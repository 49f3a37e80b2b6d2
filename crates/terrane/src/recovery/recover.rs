//! Recovery: every acknowledged write is there again, and writing continues where it ended.
//!
//! 1. Read the manifest into the version set. Every table that it names must be there with its length; it
//!    is opened, and so verified, when it is first used.
//! 2. Replay the live logs into memtables, leaving out what tables hold already. The last of each
//!    keyspace takes writes again, older ones wait for their flush. A batch may drop a keyspace that
//!    the manifest still has, if a crash came before the edit.
//! 3. Rewrite in place what may not be durable, and sync it: nothing that depends on it may outlive
//!    it. Then drop those keyspaces by edits.
//! 4. Append after the last record. Only bytes that were there before have been written, so a crash
//!    during recovery is repaired by recovering again, and a full disk is no obstacle.
//! 5. If the crash took something from that log, it is *sealed* like the full ones before it: writes
//!    continue in a spare one, or a new one. What is left of the lost records is copied first
//!    ([`quarantine`](super::quarantine)), since the file will be recycled.
//! 6. If there is no space for that, the store still opens for reading: the memtables are visible, the
//!    logs stay as they are, and no write is accepted until it is reopened with space. A read-only
//!    store stops before step 3.

use super::live_log::LiveLog;
use super::quarantine::quarantine;
use crate::batch::{self, Operation};
use crate::engine::{Engine, Log, RetainedFile, Snapshots, SpareLog, State, StoreState, Writer};
use crate::entry::Seq;
use crate::error::{Closed, Result};
use crate::event::Event;
use crate::features::RANGE_DELETES;
use crate::install;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::options::Options;
use crate::storage::{FileId, Recovered};
use crate::sync::atomic::Ordering;
use crate::vec_map::{VecMap, VecSet};
use crate::version::{Change, Edit, VersionSet};
use crate::wal::{LogWriter, Replay, write_again};
use crate::write;
use std::sync::Arc;
use terrane_policy::PolicyOptions;

/// Memtables rebuilt from the logs, by keyspace, oldest first. The last is being filled.
type Memtables = VecMap<KeyspaceId, Vec<Arc<Memtable>>>;

/// Contents of the logs that tables lack.
#[derive(Default)]
struct Replayed {
    memtables: Memtables,
    /// Keyspaces of the manifest that batches drop, each with the number of the batch.
    dropped: Vec<(KeyspaceId, Seq)>,
}

/// Recovers the store that the storage has.
pub(crate) fn recover(engine: &Engine, recovered: &Recovered) -> Result<()> {
    let mut state = engine.state.lock();
    let State { version_set, planner, .. } = &mut *state;
    let keyspaces = engine.keyspaces.load();
    let forgotten =
        planner.resume(version_set, |id| keyspaces.get(&id).map(|k| k.policy.load_full()));
    state.repairable.clone_from(&recovered.repaired);
    let version_set = state.version_set.clone();
    drop(state);
    for (&keyspace, record) in &version_set.keyspaces {
        let (policy, problems) = PolicyOptions::stored(&record.policy);
        if !problems.is_empty() {
            engine.emit(|| Event::PolicyAdjusted { keyspace, policy, problems });
        }
    }
    let mut replayed = Replayed::default();
    let floor = version_set.durable(recovered.synced);
    let mut replay = Replay::new(version_set.log_start, floor);
    let mut logs = Vec::new();
    for &record in &version_set.logs {
        let file = engine.storage.open(FileId::log(record.file))?;
        let found = replay.log(record.id(), &file, record.through, &mut |seq, batch| {
            replay_batch(&engine.options, &version_set, &mut replayed, seq, batch)
        })?;
        logs.push(LiveLog { record, len: file.len()?, file, found });
    }
    let done = replay.end()?;
    resume_retained(engine, &version_set)?;
    let last = done.next - 1;
    engine.snapshots.show(last);
    let Replayed { memtables, dropped } = replayed;
    show_replayed(engine, &memtables);
    let discarded_bytes = done.discarded_bytes + recovered.discarded_bytes;
    engine.counters.discarded_bytes.store(discarded_bytes, Ordering::Relaxed);
    engine.emit(|| Event::Recovered {
        records: done.records,
        batches: done.batches,
        entries: done.entries,
        discarded_bytes,
        repaired: recovered.repaired.clone(),
    });
    if engine.storage.read_only() {
        hide(engine, &dropped)?;
        only_show(&engine.state, &engine.log, logs, done.next);
        engine.log.syncs.advance(last);
        return Ok(());
    }
    // A manifest with damage or a torn end is started again by the next commit.
    let irregular = recovered.discarded_bytes > 0 || !recovered.repaired.is_empty();
    let tidied = if irregular || !forgotten.is_empty() {
        let edits = engine.state.lock_edits();
        edits.and_then(|m| m.apply(forgotten, &[], &[]).map(|mut state| state.repairable.clear()))
    } else {
        Ok(())
    };
    match tidied.and_then(|()| go_on(engine, logs.clone(), &dropped, done.next, done.claim)) {
        Err(full) if full.is_no_space() => {
            engine.log.syncs.poison(&full);
            forget(engine, &dropped);
            only_show(&engine.state, &engine.log, logs, done.next);
            remove_strays(engine)
        }
        went_on => went_on,
    }
}

/// Opens the logs that are retained for the change feed.
fn resume_retained(engine: &Engine, version_set: &VersionSet) -> Result<()> {
    let (salt, usual_bytes) = (engine.storage.id().salt(), engine.options.wal_file_bytes);
    let mut logs = Vec::new();
    for &record in &version_set.retained {
        let file = engine.storage.open(FileId::log(record.file))?;
        let capacity = file.len()?;
        let reusable = record.log.salt == salt && capacity == usual_bytes;
        logs.push(RetainedFile { record, file, capacity, reusable });
    }
    engine.state.lock().logs.retained.resume(logs);
    Ok(())
}

/// Leaves the logs as they are: nothing is appended to them, but a check or a checkpoint reads
/// them.
fn only_show(store: &StoreState, log: &Log, logs: Vec<LiveLog>, next: Seq) {
    let mut state = store.lock();
    let next_bytes = state.logs.next_bytes();
    state.logs.resume(logs.into_iter().map(|log| log.sealed(false)), [], next_bytes);
    drop(state);
    log.writer().skip_to(next);
}

/// Removes keyspaces that batches drop from a store that is only read.
fn hide(engine: &Engine, dropped: &[(KeyspaceId, Seq)]) -> Result<()> {
    forget(engine, dropped);
    let changes = dropped.iter().map(|&(id, sequence)| Change::DropKeyspace { id, sequence });
    engine.state.lock().version_set.apply(&Edit { changes: changes.collect() })
}

/// Removes keyspaces that batches drop from the live ones of a store whose manifest had no room for the edit. It
/// has them until an opening finds room: other edits may come before that one, and must not lose their tables.
fn forget(engine: &Engine, dropped: &[(KeyspaceId, Seq)]) {
    for keyspace in dropped.iter().filter_map(|&(id, _)| engine.keyspaces.get(id)) {
        install::forget_keyspace(engine, &mut engine.state.lock(), &keyspace);
    }
}

/// Brings one batch's entries back, those that no table holds.
fn replay_batch(
    options: &Options,
    version_set: &VersionSet,
    replayed: &mut Replayed,
    seq: Seq,
    batch: &[u8],
) -> Result<()> {
    let Replayed { memtables, dropped } = replayed;
    let mut touched = Vec::new();
    let operator = options.merge_operator.as_ref();
    // A keyspace that was dropped has no record, and its entries go with it.
    let is_replayed =
        |id: &KeyspaceId| version_set.keyspaces.get(id).is_some_and(|record| seq > record.flushed);
    let mut memtable_of = |id: KeyspaceId| {
        if !touched.contains(&id) {
            touched.push(id);
        }
        memtables.update(id, |list| match list.last() {
            Some(memtable) => memtable.clone(),
            None => {
                list.push(Arc::new(options.memtable()));
                list.last().cloned().unwrap_or_default()
            }
        })
    };
    let deletes_range = version_set.has(RANGE_DELETES);
    if deletes_range {
        for (id, list) in batch::range_deletes(batch, seq).iter() {
            if is_replayed(id) {
                memtable_of(*id).delete_ranges(list);
            }
        }
    }
    for entry in batch::effective(batch, deletes_range) {
        let (id, operation) = entry.map_err(|damage| damage.within("log", 0))?;
        if let Operation::DropKeyspace(_) = operation {
            let is_live = version_set.keyspaces.contains_key(&id);
            if is_live && dropped.iter().all(|&(before, _)| before != id) {
                dropped.push((id, seq));
            }
        } else if is_replayed(&id) {
            operation.insert_into(&memtable_of(id), seq, operator)?;
        }
    }
    // Between two batches: none is spread over two memtables.
    for id in touched {
        let full = |m: &Arc<Memtable>| write::is_full(options, m);
        if let Some(list) = memtables.get_mut(&id).filter(|list| list.last().is_some_and(full)) {
            list.push(Arc::new(options.memtable()));
        }
    }
    Ok(())
}

/// Gives readers what the logs held.
fn show_replayed(engine: &Engine, memtables: &Memtables) {
    for (id, keyspace) in engine.keyspaces.load().iter() {
        let list = memtables.get(id).map_or(&[][..], Vec::as_slice);
        for (n, memtable) in list.iter().enumerate() {
            let super_version = keyspace.super_version.load_full();
            let (sealed, tree) = (super_version.sealed.clone(), super_version.tree.clone());
            keyspace.show(super_version.replaced(memtable.clone(), sealed, tree));
            engine.memtables.add(memtable.bytes() as u64);
            if n + 1 < list.len()
                && let Some(through) = memtable.last_seq()
            {
                write::seal(engine, &mut engine.state.lock(), *id, through);
            }
        }
    }
}

/// Makes what was replayed durable, and the last log, or another, ready for the next record.
fn go_on(
    engine: &Engine,
    mut logs: Vec<LiveLog>,
    dropped: &[(KeyspaceId, Seq)],
    next: Seq,
    claim: Seq,
) -> Result<()> {
    for log in logs.iter().filter(|log| log.found.last >= claim) {
        write_again(log.record.id(), &*log.file, log.found, claim)?;
    }
    for &(id, sequence) in dropped {
        let edits = engine.state.lock_edits()?;
        let keyspace = engine.keyspaces.live(id)?;
        install::drop_keyspace(engine, &edits, &keyspace, sequence)?;
        engine.emit(|| Event::KeyspaceDropped { keyspace: id, name: keyspace.name.clone() });
    }

    // Logs of an unusual size, or those of the store that this is a copy of, do not get recycled.
    let (salt, usual_bytes) = (engine.storage.id().salt(), engine.options.wal_file_bytes);
    let is_usual = |log: &LiveLog| log.record.salt == salt && log.len == usual_bytes;
    let largest = logs.iter().map(|log| log.len).max().unwrap_or(0);
    let used = logs.iter().rposition(|log| log.is_used() || !is_usual(log));
    let spares = logs.split_off(used.map_or(0, |last| last + 1));
    let resumed = logs.pop_if(|log| log.record.salt == salt && log.is_open());
    quarantine(engine, &logs)?;
    let sealed = logs.into_iter().map(|log| {
        let reusable = is_usual(&log);
        log.sealed(reusable)
    });
    let spares = spares.into_iter().map(|log| SpareLog {
        number: log.record.number,
        file_number: log.record.file,
        file: log.file,
        capacity: log.len,
    });
    let mut state = engine.state.lock();
    state.logs.resume(sealed, spares, engine.options.log_bytes_after(largest));
    drop(state);

    match resumed {
        Some(LiveLog { record, file, len, found }) => {
            let writing = LogWriter::resume(file, record.id(), len, found.end);
            let reusable = len == usual_bytes;
            start_log(
                &engine.snapshots,
                &engine.log,
                Writer::appending(writing, record.file, reusable, next, claim),
            );
        }
        None => {
            install::add_spare_log(engine, 0)?;
            let log = engine.state.lock().logs.take_spare().ok_or(Closed::Store)?;
            begin_log(engine, log, next, claim)?;
        }
    }
    // Not before: a flush that takes effect retires logs, and what was discarded of them is kept.
    engine.log.syncs.advance(next - 1);
    // The options may set lower limits than they did.
    write::seal_full(
        engine,
        &engine.log.writer(),
        &engine.keyspaces.load(),
        &mut std::iter::empty(),
    )
}

/// Makes `log`, an empty one, the one that takes the next record.
pub(crate) fn begin_log(engine: &Engine, log: SpareLog, next: Seq, claim: Seq) -> Result<()> {
    let id = engine.log.id(log.number);
    let reusable = log.capacity == engine.options.wal_file_bytes;
    let writing = LogWriter::begin(log.file, id, log.capacity)?;
    start_log(
        &engine.snapshots,
        &engine.log,
        Writer::appending(writing, log.file_number, reusable, next, claim),
    );
    Ok(())
}

fn start_log(snapshots: &Snapshots, log: &Log, appending: Writer) {
    snapshots.show(appending.last());
    log.start(appending);
}

/// Removes the files of a start that had no space: those that no edit names, except the orphans
/// that the storage keeps. What was left over before, it has removed.
fn remove_strays(engine: &Engine) -> Result<()> {
    let version_set = engine.state.lock().version_set.clone();
    let mut named: VecSet<FileId> = VecSet::default();
    named.extend(version_set.tables().iter().map(|info| FileId::table(info.id.0)));
    named.extend(version_set.log_files());
    named.extend(version_set.quarantine.iter().map(|kept| FileId::log(kept.file)));
    let orphans = engine.storage.orphans()?;
    named.extend(orphans.iter().filter_map(|orphan| FileId::parse(&orphan.file)));
    for file in engine.storage.files()? {
        if !named.contains(&file) {
            engine.storage.remove(file)?;
        }
    }
    while engine.jobs.obsolete_files.take().is_some() {}
    Ok(())
}

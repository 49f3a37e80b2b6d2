//! Commits: a group of batches becomes one log record, then memtable entries, then visible.
//!
//! 1. Refuse what cannot be written, to an unknown keyspace or a poisoned log, and wait while a stall
//!    lasts (`stall`).
//! 2. Refuse batches whose conditions do not hold (`condition`).
//! 3. Append one record to the log, in a spare one if it does not fit.
//! 4. For a synced commit sync the log: older ones that were not synced yet first, so that what a
//!    crash takes is always a suffix.
//! 5. Insert into the memtables and publish the last sequence: the group is visible as a whole.
//! 6. Seal memtables that are full.
//!
//! A failed append or sync leaves the log in an unknown state, so the writer is poisoned: nothing
//! is acknowledged after it until the store is reopened.

use super::CatchUp;
use super::announce::is_announced;
use super::condition::{Evaluated, Outcome, Refusal};
use super::prepared::{Decision, Prepared, Write};
use super::seal::{seal_deleting, seal_full};
use super::stall::{StallGuard, begin_stall, stall};
use crate::batch::{self, Operation, WriteBatch, effective};
use crate::engine::{Engine, KeyspaceMap, Recorded, Wait, Writer};
use crate::entry::Seq;
use crate::error::{Closed, Corruption, Error, ErrorKind, Result, Stall};
use crate::features::DROPS;
use crate::install;
use crate::keyspace::KeyspaceId;
use crate::operand::MergeOperator;
use crate::options::Durability;
use crate::sync::{Loaded, MutexGuard};
use crate::version::SuperVersion;
use crate::wal::{LogWriter, log_file_bytes, payload_bytes};
use terrane_platform::THREADS;

/// Bytes of logs for each memtable that a clean close leaves to replay at most, which takes some 20 ms.
const REPLAY_BYTES_MAX: u64 = 4 << 20;

/// Writes a group of batches, none of them empty, as one atomic record, and returns the sequence of the
/// last one. Each has its own, in their order. During a stall `catch_up` waits for background work.
///
/// # Errors
/// [`crate::ErrorKind::Stalled`] if it cannot (nothing was written), an I/O failure (nothing is
/// acknowledged; the log is poisoned), or a bad argument.
pub(crate) fn commit(
    engine: &Engine,
    batches: &[&WriteBatch],
    durability: Durability,
    catch_up: &CatchUp<'_>,
) -> Result<Seq> {
    engine.state.writable()?;
    let (mut writer, keyspaces) = writer_with_room(engine, batches, catch_up)?;
    batches.iter().try_for_each(|batch| check(&keyspaces, batch))?;
    append(engine, &mut writer, &keyspaces, batches, durability)
}

/// Writes batches as one record, buffered, unless that would wait: for a lock, for background work, or for another
/// log. Returns the sequence of the last if they are written.
///
/// # Errors
/// The errors of [`commit`].
pub(crate) fn try_commit(engine: &Engine, batches: &[&WriteBatch]) -> Result<Option<Seq>> {
    engine.state.writable()?;
    let Some(mut writer) = engine.log.try_writer() else { return Ok(None) };
    try_append(engine, &mut writer, batches)
}

/// Runs `body` under the writer's lock, so that nothing is written meanwhile, and writes the batch that it returns, as
/// [`try_commit`] does. Returns what it returned if the batch is written.
///
/// # Errors
/// Those of `body` and of [`commit`].
pub(crate) fn try_update<T, E: From<Error>>(
    engine: &Engine,
    body: impl FnOnce() -> Result<Option<(WriteBatch, T)>, E>,
) -> Result<Option<T>, E> {
    engine.state.writable()?;
    let Some(mut writer) = engine.log.try_writer() else { return Ok(None) };
    let Some((batch, value)) = body()? else { return Ok(None) };
    let is_written = batch.is_empty()
        || is_announced(&engine.keyspaces, &engine.snapshots.clock, &batch)
            && try_append(engine, &mut writer, &[&batch])?.is_some();
    Ok(is_written.then_some(value))
}

/// Writes batches, buffered, unless they would wait for background work or another log.
fn try_append(
    engine: &Engine,
    writer: &mut Writer,
    batches: &[&WriteBatch],
) -> Result<Option<Seq>> {
    engine.log.syncs.usable()?;
    let keyspaces = engine.keyspaces.load();
    let bytes = payload_bytes(batches.iter().map(|batch| batch.bytes().len()));
    if !writer.fits(bytes) || stall(engine, &keyspaces, batches)?.is_some() {
        return Ok(None);
    }
    batches.iter().try_for_each(|batch| check(&keyspaces, batch))?;
    append(engine, writer, &keyspaces, batches, Durability::Buffered).map(Some)
}

/// Commits the batches of several calls as [`commit`] does; some batches have conditions. It refuses
/// batches whose conditions do not hold, and writes the others. A call with a batch that was outrun writes nothing;
/// a call with a batch that waits for a merge writes the batches before it.
///
/// # Errors
/// The errors of [`commit`].
pub(crate) fn commit_if(
    engine: &Engine,
    calls: &[&[Write]],
    durability: Durability,
    catch_up: &CatchUp<'_>,
) -> Result<Vec<Result<Decision>>> {
    engine.state.writable()?;
    let all: Vec<&WriteBatch> = calls.iter().copied().flatten().map(|w| &w.batch).collect();
    let (mut writer, keyspaces) = writer_with_room(engine, &all, catch_up)?;
    let mut accepted = Vec::with_capacity(all.len());
    let mut decisions = Vec::with_capacity(all.len());
    for call in calls {
        let is_outrun = |prepared: &Prepared| {
            let Evaluated { at, until, .. } = prepared.evaluated;
            !prepared.is_last_try()
                && (writer.recent_after(at).is_none() || until <= engine.snapshots.clock.now())
        };
        if call.iter().filter_map(|write| write.prepared.as_ref()).any(is_outrun) {
            decisions.extend(call.iter().map(|_| Ok(Decision::Outrun)));
            continue;
        }
        // What follows a batch that waits for a merge waits with it.
        let mut waits = false;
        for write in *call {
            if waits {
                decisions.push(Ok(Decision::Outrun));
                continue;
            }
            let refusals = check(&keyspaces, &write.batch)
                .and_then(|()| refusals(engine, &writer, &keyspaces, write, &accepted));
            decisions.push(refusals.map(|refusals| {
                let Some(refusals) = refusals else {
                    waits = true;
                    return Decision::Outrun;
                };
                Decision::Decided(if !refusals.is_empty() {
                    Outcome::Refused(refusals)
                } else if write.batch.is_empty() {
                    Outcome::Written(writer.last() + accepted.len() as u64)
                } else {
                    accepted.push(&write.batch);
                    Outcome::Written(writer.last() + accepted.len() as u64)
                })
            }));
        }
    }
    if !accepted.is_empty() {
        append(engine, &mut writer, &keyspaces, &accepted, durability)?;
    }
    Ok(decisions)
}

/// Returns the conditions of a batch that do not hold after what `accepted` has of its group; `None` if a merge has
/// to be evaluated first.
fn refusals(
    engine: &Engine,
    writer: &Writer,
    keyspaces: &KeyspaceMap,
    write: &Write,
    accepted: &[&WriteBatch],
) -> Result<Option<Vec<Refusal>>> {
    let Some(prepared) = &write.prepared else { return Ok(Some(Vec::new())) };
    let Prepared { checks, evaluated: Evaluated { at, refusals, .. }, .. } = prepared;
    if checks.keyspaces().any(|id| keyspaces.get(&id).is_none()) {
        return Err(Closed::Keyspace.into());
    }
    let group = (writer.last() + 1..).zip(accepted.iter().map(|batch| batch.bytes()));
    if prepared.is_last_try() {
        return checks.after(
            group,
            &checks.evaluate(engine)?.refusals,
            engine.snapshots.clock.now(),
        );
    }
    let recent = writer.recent_after(*at).into_iter().flatten();
    checks.after(recent.chain(group), refusals, engine.snapshots.clock.now())
}

/// Appends a group of batches to the log and makes it visible. Returns the sequence of the last one.
fn append(
    engine: &Engine,
    writer: &mut Writer,
    keyspaces: &KeyspaceMap,
    batches: &[&WriteBatch],
    durability: Durability,
) -> Result<Seq> {
    let recorded = record(engine, writer, batches, durability)?;
    show(engine, writer, keyspaces, batches, &recorded)?;
    Ok(recorded.last)
}

/// Appends a group of batches to the log as one record.
pub(super) fn record(
    engine: &Engine,
    writer: &mut Writer,
    batches: &[&WriteBatch],
    durability: Durability,
) -> Result<Recorded> {
    let append =
        |parts: &[&[u8]]| engine.log.append(writer, parts, durability, &engine.counters.waits);
    let recorded = with_parts(batches, append)?;
    if recorded.half_fills {
        install::want_spare_log(&engine.state, &engine.background);
    }
    let bytes = batches.iter().map(|batch| batch.bytes().len() as u64).sum();
    let entries = batches.iter().map(|b| b.len() as u64).sum();
    engine.counters.logged(bytes, entries, recorded.bytes);
    if durability == Durability::Sync {
        // Under the lock: nothing becomes visible before an earlier durable write.
        engine.log.sync_write(writer, &engine.counters.waits)?;
    }
    Ok(recorded)
}

/// Makes a group of batches visible once the log has it.
pub(super) fn show(
    engine: &Engine,
    writer: &mut Writer,
    keyspaces: &KeyspaceMap,
    batches: &[&WriteBatch],
    &Recorded { first, last, .. }: &Recorded,
) -> Result<()> {
    let operator = engine.options.merge_operator.as_ref();
    let taken = insert(keyspaces, batches, first, operator)?;
    engine.memtables.add(taken);
    engine.snapshots.show(last);
    if THREADS {
        let recent = |parts: &[&[u8]]| {
            writer.keep_recent(engine.log.conditional.any(), first, parts);
        };
        with_parts(batches, recent);
    }
    let mut touched = batches.iter().flat_map(|batch| batch.keyspaces());
    seal_full(engine, writer, keyspaces, &mut touched)
}

/// Calls `body` with the bytes of a group's batches. A group of one, the usual one, costs no allocation.
fn with_parts<R>(batches: &[&WriteBatch], body: impl FnOnce(&[&[u8]]) -> R) -> R {
    match batches {
        [batch] => body(&[batch.bytes()]),
        _ => body(&Vec::from_iter(batches.iter().map(|batch| batch.bytes()))),
    }
}

/// Commits a batch without an entry: it is refused where others are, and makes what was written
/// before it durable if it asks for that. Returns the last sequence.
pub(crate) fn commit_nothing(engine: &Engine, durability: Durability) -> Result<Seq> {
    engine.state.writable()?;
    drop(engine.state.lock_open()?);
    engine.log.syncs.usable()?;
    let last = engine.snapshots.visible();
    if durability == Durability::Sync {
        engine.counters.waits.time(Wait::Sync, || engine.sync())?;
    }
    Ok(last)
}

/// Returns the writer, with a log that a record of the batches fits in, once nothing stalls them.
fn writer_with_room<'e>(
    engine: &'e Engine,
    batches: &[&WriteBatch],
    catch_up: &CatchUp<'_>,
) -> Result<(MutexGuard<'e, Writer>, Loaded<KeyspaceMap>)> {
    let bytes = payload_bytes(batches.iter().map(|batch| batch.bytes().len()));
    let mut caught_up = Ok(());
    let mut told = None;
    loop {
        let mut writer = engine.log.writer_for_write(&engine.counters.waits);
        engine.log.syncs.usable()?;
        let keyspaces = engine.keyspaces.load();
        if let Some(reason) = stall(engine, &keyspaces, batches)? {
            if reason == Stall::RangeDeletes {
                // A flush of older memtables has named those of the active ones, which no compaction can apply.
                seal_deleting(engine, &writer, &keyspaces, batches)?;
            }
            drop(writer);
            begin_stall(engine, reason, &mut told)?;
            // The job that ended the stall may have ended just before the executor looked for
            // one, so only a second stall without a job in between is final.
            caught_up.map_err(|e: Error| match e.kind() {
                ErrorKind::Stalled(_) => ErrorKind::Stalled(reason).into(),
                _ => e,
            })?;
            caught_up = engine.counters.waits.time(reason.into(), catch_up);
            continue;
        }
        told = None;
        if writer.fits(bytes) || rotate_log(engine, &mut writer, log_file_bytes(bytes))? {
            return Ok((writer, keyspaces));
        }
        drop(writer);
        let _guard = StallGuard::new(&engine.jobs.events, Stall::Wal);
        engine
            .counters
            .waits
            .time(Wait::Wal, || install::add_spare_log(engine, log_file_bytes(bytes)))?;
    }
}

/// Prepares a flush before the store is closed: writes continue in another log, so that the flush retires
/// all that have records. Returns whether it is worth it: the next opening would replay them.
///
/// # Errors
/// A store that is only read, an I/O error.
pub(crate) fn begin_last_flush(engine: &Engine) -> Result<bool> {
    engine.state.writable()?;
    engine.log.syncs.usable()?;
    let writer = engine.log.writer();
    let sealed = engine.state.lock().logs.sealed_bytes();
    let bytes = sealed + writer.bytes();
    drop(writer);
    // Each memtable becomes a table, which has its own cost.
    let keyspaces = engine.keyspaces.load();
    let written = keyspaces.values().filter(|k| !k.super_version.load().active.is_empty());
    let most = REPLAY_BYTES_MAX.saturating_mul(written.count().max(1) as u64);
    if bytes <= most || engine.memtables.all() == 0 {
        return Ok(false);
    }
    install::add_spare_log(engine, 0)?;
    rotate_log(engine, &mut engine.log.writer(), 0)?;
    Ok(true)
}

/// Closes the full log and continues in a spare one. Returns whether there is one with room for a record
/// of `bytes`.
pub(super) fn rotate_log(engine: &Engine, writer: &mut Writer, bytes: u64) -> Result<bool> {
    let mut state = engine.state.lock_open()?;
    let spare = state.logs.has_spare(bytes).then(|| state.logs.take_spare()).flatten();
    let Some(next) = spare else { return Ok(false) };
    drop(state);
    let id = engine.log.id(next.number);
    let log = match LogWriter::begin(next.file.clone(), id, next.capacity) {
        Ok(log) => log,
        Err(e) => {
            engine.state.lock().logs.put_back(next);
            return Err(e);
        }
    };
    let reusable = next.capacity == engine.options.wal_file_bytes;
    let Some(sealed) = engine.log.rotate(writer, log, &next, reusable) else { return Ok(true) };
    engine.state.lock().logs.seal(sealed);
    Ok(true)
}

/// Refuses a batch that names a keyspace which is not there, and one that drops a keyspace.
pub(super) fn check(keyspaces: &KeyspaceMap, batch: &WriteBatch) -> Result<()> {
    if batch.features() & DROPS != 0 {
        // One of the quarantine: without the edit that belongs to it, recovery would drop the keyspace later.
        let expected = "no entry that drops a keyspace, as drop_keyspace does";
        return Err(Error::invalid("batch", expected, "one"));
    }
    let is_known = |id: KeyspaceId| keyspaces.get(&id).is_some();
    if batch.keyspaces().all(is_known) { Ok(()) } else { Err(Closed::Keyspace.into()) }
}

/// Inserts the entries of batches with consecutive sequences, and returns the bytes of memory that
/// they take. The batches were checked when they were made.
fn insert(
    keyspaces: &KeyspaceMap,
    batches: &[&WriteBatch],
    first: Seq,
    operator: Option<&MergeOperator>,
) -> Result<u64> {
    let mut taken = 0;
    let held = |id: &KeyspaceId| -> Result<Loaded<SuperVersion>> {
        Ok(keyspaces.get(id).ok_or(Closed::Keyspace)?.super_version.load())
    };
    for (seq, batch) in (first..).zip(batches).filter(|(_, batch)| batch.deletes_range()) {
        for (id, list) in batch::range_deletes(batch.bytes(), seq).iter() {
            let super_version = held(id)?;
            let memtable = &super_version.active;
            let before = memtable.bytes();
            memtable.delete_ranges(list);
            taken += memtable.bytes().saturating_sub(before) as u64;
        }
    }
    let mut current: Option<(KeyspaceId, Loaded<SuperVersion>)> = None;
    let numbered = (first..).zip(batches).flat_map(|(seq, batch)| {
        effective(batch.bytes(), batch.deletes_range()).map(move |entry| (seq, entry))
    });
    for (seq, entry) in numbered {
        let (id, operation) = entry.map_err(|_| {
            Corruption::new("memory", 0, "a sound batch", "one that does not decode")
        })?;
        if let Operation::DropKeyspace(_) = operation {
            continue;
        }
        let super_version = match &current {
            Some((of, super_version)) if *of == id => super_version,
            _ => &current.insert((id, held(&id)?)).1,
        };
        let memtable = &super_version.active;
        let before = memtable.bytes();
        operation.insert_into(memtable, seq, operator)?;
        taken += memtable.bytes().saturating_sub(before) as u64;
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::SliceExecutor;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::{Db, Options};
    use std::sync::Arc;

    fn open(wal_file_bytes: u64) -> Db {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let options = Options { wal_file_bytes, ..Options::small() };
        Db::open_storage(storage, options, Arc::new(SliceExecutor::default())).unwrap()
    }

    #[test]
    fn a_spare_log_is_requested_once_when_half_of_the_log_is_full() {
        let put = |db: &Db| {
            let mut batch = WriteBatch::new();
            batch.put(&db.default_keyspace(), "key", vec![7; 100]).unwrap();
            let engine = db.engine();
            commit(engine, &[&batch], Durability::Buffered, &|| Ok(())).unwrap();
            let wanted = engine.state.lock().logs.take_spare_wanted();
            (wanted, engine.log.writer().bytes())
        };
        let (_, record) = put(&open(1 << 20));
        let db = open(10 * record);
        for n in 1..9 {
            assert_eq!(put(&db), (n == 6, n * record), "{n}");
        }
    }
}

//! Creation, replacement and retirement of log files; `engine/log_files.rs` has their state.

use crate::engine::{
    Background, EditLock, Engine, Retired, Retiring, SealedLog, SpareLog, State, StoreState,
};
use crate::entry::Seq;
use crate::error::Result;
use crate::memtable::Memtable;
use crate::storage::FileId;
use crate::version::Change;
use crate::wal::{LogWriter, erase};
use std::sync::Arc;

/// The size of a log file where there is no space for one of the usual size.
const SMALL_LOG_BYTES: u64 = 64 << 10;

/// Asks a job for a spare log, since the log fills, so that no write will wait for it.
pub(crate) fn want_spare_log(store: &StoreState, background: &Background) {
    if store.lock().logs.want_spare() {
        background.notify_work();
    }
}

/// Makes a spare log with room for a record of `bytes`, unless there is one.
pub(crate) fn add_spare_log(engine: &Engine, bytes: u64) -> Result<()> {
    let edits = engine.state.lock_edits()?;
    let mut state = engine.state.lock();
    if state.logs.has_spare(bytes) {
        return Ok(());
    }
    let usual = state.logs.next_bytes();
    let mut capacity = bytes.max(usual);
    let number = engine.ids.fresh();
    // A log of unusual size is used before the spares, so they get new numbers after its number. Meanwhile no writer
    // finds them.
    let spares = state.logs.take_spares();
    drop(state);
    let mut created = engine.storage.create(FileId::log(number), capacity);
    let small = bytes.max(SMALL_LOG_BYTES);
    if small < capacity
        && let Err(full) = &created
        && full.is_no_space()
    {
        // Deletes must find room, since a full store gets space by them.
        capacity = small;
        created = engine.storage.create(FileId::log(number), capacity);
    }
    let file = match created {
        Ok(file) => file,
        Err(e) => {
            // They follow one that a writer may have put back meanwhile.
            engine.state.lock().logs.add_spares(spares);
            // Part of the file may have been created.
            engine.jobs.mark_obsolete(FileId::log(number));
            return Err(e);
        }
    };
    // A volume's file starts with the bytes of an earlier one, which recovery would report as a record that a crash cut
    // short. A failure to erase them has no other effect.
    let _ = erase(&*file);
    let mut logs = vec![SpareLog { number, file_number: number, file, capacity }];
    for spare in &spares {
        logs.push(SpareLog { number: engine.ids.fresh(), ..spare.clone() });
    }
    let open = |log: &SpareLog| engine.log.opened(log.number, log.file_number);
    let changes = logs.iter().map(open).collect();
    let committed = edits.apply(changes, &[FileId::log(number)], &[]);
    match committed {
        Ok(mut state) => {
            state.logs.set_next_bytes(engine.options.log_bytes_after(usual));
            // They follow one that a writer may have put back meanwhile.
            state.logs.add_spares(logs);
            Ok(())
        }
        Err(e) => {
            if !engine.state.in_doubt() {
                engine.state.lock().logs.add_spares(spares);
                engine.jobs.mark_obsolete(FileId::log(number));
            }
            Err(e)
        }
    }
}

/// Replaces all logs by a small one, as a new store has it, if tables hold all writes: an application that deletes and
/// compacts gets the space of its logs as well.
pub(crate) fn trim_logs(engine: &Engine) -> Result<()> {
    // In a volume the small log lies behind the large ones; a second one takes the space that they free.
    for anew in [false, true] {
        if !replace_logs(engine, anew)? {
            break;
        }
        engine.remove_obsolete();
    }
    Ok(())
}

/// Replaces all logs by one of the first size, if tables hold all writes; with `anew` also a single log of that
/// size. Returns whether it replaced them.
///
/// 1. Create the small log, and open it by an edit, while writers use the one before. Meanwhile they find no spare
///    log: the numbers of the spares are below that of the small log.
/// 2. Under the writer's lock switch to the small log. The spare logs become full ones without a record.
/// 3. Retire all full logs by another edit. If there was a write before step 2, its flush does that.
///
/// A crash between these leaves logs that recovery replays in the order of their numbers.
fn replace_logs(engine: &Engine, anew: bool) -> Result<bool> {
    let capacity = engine.options.log_bytes_after(0);
    let edits = engine.state.lock_edits()?;
    let Some((_, file_bytes)) = engine.log.writer().file() else { return Ok(false) };
    let mut state = engine.state.lock();
    let is_small = state.logs.files().is_empty() && file_bytes <= capacity;
    let has_memtables = state.flushes.hold_any(&engine.keyspaces.load());
    let needed = has_memtables || state.logs.are_held() || engine.log.syncs.usable().is_err();
    if needed || is_small && !anew {
        return Ok(false);
    }
    let spares = state.logs.take_spares();
    drop(state);
    let number = engine.ids.fresh();
    let (small, log) = match open_small_log(engine, &edits, number, capacity) {
        Ok(opened) => opened,
        Err(e) => {
            if !engine.state.in_doubt() {
                engine.state.lock().logs.add_spares(spares);
                engine.jobs.mark_obsolete(FileId::log(number));
            }
            return Err(e);
        }
    };
    let Some(last) = switch_logs(engine, small, log, spares) else { return Ok(false) };
    // A retained batch must not be one that a power cut could undo.
    if engine.options.feed_bytes > 0 {
        engine.sync()?;
    }
    // No writer has sealed another meanwhile: there was no spare one to continue in.
    let mut changes = vec![Change::RetireLogs { below: number, next: last + 1 }];
    let state = engine.state.lock();
    let by = Retiring { recycle: false, ..retiring(engine, &state) };
    let mut retired = state.logs.retain(state.logs.full(), &by, &mut changes);
    drop(state);
    let mut state = edits.apply(changes, &[], &retired.dropped)?;
    state.logs.forget_pins();
    let gone = state.logs.remove_retired(&mut retired);
    drop(state);
    engine.log.syncs.advance(last);
    // The system may take its time to unmap them, so no lock is held.
    drop(gone);
    retired.dropped.into_iter().for_each(|file| engine.jobs.mark_obsolete(file));
    Ok(true)
}

/// Creates a log, and opens it by an edit.
fn open_small_log(
    engine: &Engine,
    edits: &EditLock<'_>,
    number: u64,
    capacity: u64,
) -> Result<(SpareLog, LogWriter)> {
    let file = engine.storage.create(FileId::log(number), capacity)?;
    let small = SpareLog { number, file_number: number, file, capacity };
    let log = LogWriter::begin(small.file.clone(), engine.log.id(number), capacity)?;
    let changes = vec![engine.log.opened(number, number)];
    drop(edits.apply(changes, &[FileId::log(number)], &[])?);
    Ok((small, log))
}

/// Continues in the log of `small`, and makes full logs of the one before and of all spare logs. Returns the last
/// sequence number of the full logs; or `None` if a memtable needs them, or no write may follow.
fn switch_logs(
    engine: &Engine,
    small: SpareLog,
    log: LogWriter,
    spares: Vec<SpareLog>,
) -> Option<Seq> {
    let mut writer = engine.log.writer();
    let mut state = engine.state.lock();
    if engine.log.syncs.usable().is_err() {
        // No write follows before the store is opened again.
        state.logs.add_spares(spares);
        state.logs.add_spares(vec![small]);
        return None;
    }
    let last = writer.last();
    let usual_bytes = engine.options.wal_file_bytes;
    let full = engine.log.rotate(&mut writer, log, &small, small.capacity == usual_bytes);
    full.into_iter().for_each(|full| state.logs.seal(full));
    // A writer may have put back one meanwhile that it had taken before.
    let put_back = state.logs.take_spares();
    for spare in put_back.into_iter().chain(spares) {
        state.logs.seal(SealedLog {
            id: engine.log.id(spare.number),
            file_number: spare.file_number,
            file: spare.file,
            last,
            bytes: 0,
            capacity: spare.capacity,
            reusable: spare.capacity == usual_bytes,
        });
    }
    state.logs.set_next_bytes(engine.options.log_bytes_after(small.capacity));
    let was_written = state.flushes.hold_any(&engine.keyspaces.load());
    (!was_written).then_some(last)
}

/// Returns the logs whose entries are all in tables once `flushed` is in one, and adds the changes that
/// retire them.
pub(crate) fn retire_logs(
    engine: &Engine,
    state: &mut State,
    flushed: &Arc<Memtable>,
    changes: &mut Vec<Change>,
) -> Retired {
    if state.logs.is_oldest_kept(flushed) {
        return Retired::default();
    }
    let unflushed = state.flushes.first_seqs(&engine.keyspaces.load(), Some(flushed));
    let by = retiring(engine, state);
    state.logs.retire(&unflushed, &by, changes)
}

/// Returns the bounds and numbers by which logs retire now.
fn retiring<'e>(engine: &'e Engine, state: &State) -> Retiring<'e> {
    let feed_bytes = engine.options.feed_bytes;
    Retiring {
        first: state.version_set.log_start,
        // A retained log must be durable. One whose last batches are those of a dropped keyspace may not be yet.
        through: if feed_bytes > 0 { engine.log.syncs.synced() } else { Seq::MAX },
        feed_bytes,
        recycle: true,
        usual_bytes: engine.options.wal_file_bytes,
        salt: engine.storage.id().salt(),
        ids: &engine.ids,
    }
}

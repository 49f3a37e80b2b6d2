//! Creation and replacement of log files; `engine/logs.rs` has the state of the logs.

use crate::engine::{Background, Engine, Retired, SpareLog, State, Versions, Writer};
use crate::error::Result;
use crate::memtable::Memtable;
use crate::storage::FileId;
use crate::version::Change;
use crate::wal::{LogWriter, erase};
use std::sync::Arc;

/// The size of a log file where there is no space for one of the usual size.
const SMALL_LOG_BYTES: u64 = 64 << 10;

/// Reports that the log fills: a job will make a spare one, so that no write waits for it.
pub(crate) fn want_spare_log(versions: &Versions, background: &Background) {
    if versions.state().logs.want_spare() {
        background.notify_work();
    }
}

/// Makes a spare log with room for a record of `bytes`, unless there is one.
pub(crate) fn add_spare_log(engine: &Engine, bytes: u64) -> Result<()> {
    let edits = engine.versions.lock_edits()?;
    let mut state = engine.versions.state();
    if state.logs.has_spare(bytes) {
        return Ok(());
    }
    let usual = state.logs.next_bytes();
    let mut capacity = bytes.max(usual);
    let number = engine.ids.fresh();
    // A log of unusual size overtakes the spares: they get new numbers behind it. Meanwhile no
    // writer finds them.
    let spares = state.logs.take_spares();
    drop(state);
    let mut created = engine.storage.create(FileId::log(number), capacity);
    let small = bytes.max(SMALL_LOG_BYTES);
    if small < capacity
        && let Err(full) = &created
        && full.is_no_space()
    {
        // Deletes should find room: they are how a full store gets some.
        capacity = small;
        created = engine.storage.create(FileId::log(number), capacity);
    }
    let file = match created {
        Ok(file) => file,
        Err(e) => {
            // A writer may have given one back meanwhile, which it had before.
            engine.versions.state().logs.add_spares(spares);
            // Part of the file may have been created.
            engine.jobs.mark_obsolete(FileId::log(number));
            return Err(e);
        }
    };
    // A volume's file starts with what was there before, which recovery would read as a record that
    // a crash cut short. Where this fails, it says so, and no more.
    let _ = erase(&*file);
    let mut logs = vec![SpareLog { number, file_number: number, file, capacity }];
    for spare in &spares {
        logs.push(SpareLog { number: engine.ids.fresh(), ..spare.clone() });
    }
    let open = |log: &SpareLog| engine.log.opened(log.number, log.file_number);
    let changes = logs.iter().map(open).collect();
    let committed = edits.apply(changes, &[FileId::log(number)], &[]);
    // A writer may have given one back meanwhile, which it had before.
    match committed {
        Ok(mut state) => {
            state.logs.set_next_bytes(engine.options.log_bytes_after(usual));
            state.logs.add_spares(logs);
            Ok(())
        }
        Err(e) => {
            if !engine.versions.in_doubt() {
                engine.versions.state().logs.add_spares(spares);
                engine.jobs.mark_obsolete(FileId::log(number));
            }
            Err(e)
        }
    }
}

/// Replaces all logs by a small one, as a new store has it, if tables hold everything that was written: what an
/// application deletes and compacts gives its space back.
pub(crate) fn trim_logs(engine: &Engine) -> Result<()> {
    // In a volume the small log lies behind the large ones; a second one takes the space that they leave.
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
fn replace_logs(engine: &Engine, anew: bool) -> Result<bool> {
    let capacity = engine.options.log_bytes_after(0);
    let edits = engine.versions.lock_edits()?;
    let mut writer = engine.log.writer();
    let state = engine.versions.state();
    let Some((file, file_bytes)) = writer.file() else { return Ok(false) };
    let mut dropped = state.logs.files();
    let has_memtables = state.flushes.hold_any(&engine.keyspaces.load());
    let needed = has_memtables || state.logs.are_held() || engine.log.syncs.usable().is_err();
    drop(state);
    if needed || !anew && dropped.is_empty() && file_bytes <= capacity {
        return Ok(false);
    }
    dropped.push(FileId::log(file));
    let (number, last) = (engine.ids.fresh(), writer.last());
    let created = engine.storage.create(FileId::log(number), capacity).and_then(|file| {
        erase(&*file)?;
        let log = LogWriter::begin(file, engine.log.id(number), capacity)?;
        let retired = Change::RetireLogs { below: number, next: last + 1 };
        let changes = vec![retired, engine.log.opened(number, number)];
        Ok((log, edits.apply(changes, &[FileId::log(number)], &dropped)?))
    });
    let (log, mut state) = created.inspect_err(|_| {
        if !engine.versions.in_doubt() {
            engine.jobs.mark_obsolete(FileId::log(number));
        }
    })?;
    let replaced = state.logs.replace(engine.options.log_bytes_after(capacity));
    drop(state);
    engine.log.syncs.advance(last);
    let reusable = capacity == engine.options.wal_file_bytes;
    let appending = Writer::appending(log, number, reusable, last + 1, last);
    let before = std::mem::replace(&mut *writer, appending);
    drop((writer, before, replaced));
    dropped.into_iter().for_each(|file| engine.jobs.mark_obsolete(file));
    Ok(true)
}

/// Returns the logs whose entries are all in tables once `flushed` is in one, and adds the changes that
/// retire them.
pub(crate) fn retire_logs(
    engine: &Engine,
    state: &mut State,
    flushed: &Arc<Memtable>,
    changes: &mut Vec<Change>,
) -> Retired {
    if state.logs.is_kept(flushed) {
        return Retired::default();
    }
    let unflushed = state.flushes.first_seqs(&engine.keyspaces.load(), flushed);
    let usual_bytes = engine.options.wal_file_bytes;
    state.logs.retire(&unflushed, &engine.log, &engine.ids, usual_bytes, changes)
}

//! Records that recovery discards are kept until the owner removes them: damage to the last records
//! of a log looks like a crash, and the rest may still be of use.
//!
//! One edit ends the logs where their records end and names the copies, each a log file of its own: a
//! mark, so that it is not taken for a log, then the bytes as they were.

use super::live_log::LiveLog;
use crate::engine::Engine;
use crate::error::Result;
use crate::storage::{FileId, read_exact_at, write_all_at};
use crate::version::{Change, Quarantine};

/// Head of a file with discarded records.
pub(crate) const MARK: &[u8; 8] = b"setaside";

/// Bytes copied at a time.
const CHUNK: u64 = 256 << 10;

/// Keeps what was discarded of these logs, and ends them there.
pub(super) fn quarantine(engine: &Engine, logs: &[LiveLog]) -> Result<()> {
    let (mut changes, mut added) = (Vec::new(), Vec::new());
    for log in logs.iter().filter(|log| log.found.discarded_bytes > 0) {
        let (offset, bytes) = (log.found.end, log.found.discarded_bytes);
        let file = engine.ids.fresh();
        let copy = engine.storage.create(FileId::log(file), MARK.len() as u64 + bytes)?;
        write_all_at(&*copy, MARK, 0)?;
        let mut chunk = Vec::new();
        for at in (0..bytes).step_by(CHUNK as usize) {
            chunk.resize((bytes - at).min(CHUNK) as usize, 0);
            read_exact_at(&*log.file, &mut chunk, offset + at)?;
            write_all_at(&*copy, &chunk, MARK.len() as u64 + at)?;
        }
        copy.sync()?;
        added.push(FileId::log(file));
        let number = log.record.number;
        changes.push(Change::EndLog { number, through: log.found.last });
        let log = log.record.id();
        changes.push(Change::Quarantine(Quarantine { file, log, offset, bytes }));
    }
    if !changes.is_empty() {
        drop(engine.state.lock_edits()?.apply(changes, &added, &[])?);
    }
    Ok(())
}

//! Records that recovery discards are kept until the owner has them removed: damage to the last
//! records of a log cannot be told from a crash, and the rest may still be of use.
//!
//! One edit ends the logs where their records end and names the copies, each a log file of its own: a
//! mark, so that it is not taken for a log, then the bytes as they were.

use crate::batch::WriteBatch;
use crate::db::Db;
use crate::engine::Engine;
use crate::entry::Seq;
use crate::error::Result;
use crate::recovery::LiveLog;
use crate::storage::{FileId, read_exact_at, write_all_at};
use crate::sync::lock;
use crate::version::{Change, Quarantine};
use crate::wal::scan;

/// What a file with discarded records begins with.
pub(crate) const MARK: &[u8; 8] = b"setaside";

/// Bytes copied at a time.
const CHUNK: u64 = 256 << 10;

impl Engine {
    /// Keeps what was discarded of these logs, and ends them there.
    pub(crate) fn quarantine(&self, logs: &[LiveLog]) -> Result<()> {
        let (mut changes, mut added) = (Vec::new(), Vec::new());
        for log in logs.iter().filter(|log| log.found.discarded_bytes > 0) {
            let (offset, bytes) = (log.found.end, log.found.discarded_bytes);
            let file = self.ids.fresh();
            let copy = self.storage.create(FileId::log(file), MARK.len() as u64 + bytes)?;
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
            drop(self.commit_edit(&self.lock_edits()?, changes, &added, &[])?);
        }
        Ok(())
    }
}

impl Db {
    /// What recovery has discarded and keeps, the oldest first.
    #[must_use]
    pub fn quarantine(&self) -> Vec<Quarantine> {
        lock(&self.engine().state).version_set.quarantine.clone()
    }

    /// The batches that can still be read of what was quarantined, each with the sequence that it had.
    /// Another batch may have that sequence now.
    ///
    /// # Errors
    /// A failing file system, or one that is not kept any more.
    pub fn read_quarantine(&self, kept: &Quarantine) -> Result<Vec<(Seq, WriteBatch)>> {
        let file = self.engine().storage.open(FileId::log(kept.file))?;
        let length = kept.bytes.min(file.len()?.saturating_sub(MARK.len() as u64));
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        read_exact_at(&*file, &mut bytes, MARK.len() as u64)?;
        let mut found = Vec::new();
        for record in scan(&bytes, kept.log)? {
            for (seq, batch) in record.batches(&bytes) {
                // One with an entry of a later release's kind cannot be read.
                found.extend(WriteBatch::from_encoded(batch.to_vec()).map(|batch| (seq, batch)));
            }
        }
        Ok(found)
    }

    /// Removes all that recovery has discarded; returns how many bytes that were.
    ///
    /// # Errors
    /// A failing file system.
    pub fn drop_quarantine(&self) -> Result<u64> {
        let engine = self.engine();
        let manifest = engine.lock_edits()?;
        let version_set = lock(&engine.state).version_set.clone();
        let kept = &version_set.quarantine;
        if !kept.is_empty() {
            let changes = kept.iter().map(|k| Change::DropQuarantine { file: k.file }).collect();
            let dropped: Vec<_> = kept.iter().map(|k| FileId::log(k.file)).collect();
            drop(engine.commit_edit(&manifest, changes, &[], &dropped)?);
            dropped.into_iter().for_each(|file| engine.jobs.mark_obsolete(file));
        }
        Ok(version_set.quarantine_bytes())
    }
}

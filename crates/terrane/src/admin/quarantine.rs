//! Records that recovery discarded and keeps for the owner.

use crate::batch::{WriteBatch, decode};
use crate::db::Db;
use crate::entry::Seq;
use crate::error::Result;
use crate::recovery::MARK;
use crate::storage::{FileId, read_exact_at};
use crate::version::{Change, Quarantine};
use crate::wal::scan;

impl Db {
    /// Returns the records that recovery discarded and keeps, oldest first.
    #[must_use]
    pub fn quarantine(&self) -> Vec<Quarantine> {
        self.engine().state.lock().version_set.quarantine.clone()
    }

    /// The batches that can still be read of what was quarantined, each with the sequence that it had.
    /// Another batch may have that sequence now.
    ///
    /// # Errors
    /// An I/O error, or one that has been dropped.
    pub fn read_quarantine(&self, kept: &Quarantine) -> Result<Vec<(Seq, WriteBatch)>> {
        let file = self.engine().storage.open(FileId::log(kept.file))?;
        let length = kept.bytes.min(file.len()?.saturating_sub(MARK.len() as u64));
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        read_exact_at(&*file, &mut bytes, MARK.len() as u64)?;
        let mut found = Vec::new();
        for record in scan(&bytes, kept.log)? {
            for (seq, batch) in record.batches(&bytes) {
                // One with an entry of a later release's kind cannot be read.
                found.extend(read_batch(batch).map(|batch| (seq, batch)));
            }
        }
        Ok(found)
    }

    /// Removes all that recovery has discarded; returns how many bytes there were.
    ///
    /// # Errors
    /// An I/O error.
    pub fn drop_quarantine(&self) -> Result<u64> {
        let engine = self.engine();
        let manifest = engine.state.lock_edits()?;
        let version_set = engine.state.lock().version_set.clone();
        let kept = &version_set.quarantine;
        if !kept.is_empty() {
            let changes = kept.iter().map(|k| Change::DropQuarantine { file: k.file }).collect();
            let dropped: Vec<_> = kept.iter().map(|k| FileId::log(k.file)).collect();
            drop(manifest.apply(changes, &[], &dropped)?);
            dropped.into_iter().for_each(|file| engine.jobs.mark_obsolete(file));
        }
        Ok(version_set.quarantine_bytes())
    }
}

/// Returns a batch of a log, which may be one that drops a keyspace.
fn read_batch(bytes: &[u8]) -> Result<WriteBatch> {
    let mut batch = WriteBatch::new();
    for entry in decode(bytes) {
        let (keyspace, operation) = entry.map_err(|damage| damage.within("log", 0))?;
        batch.push(keyspace, operation)?;
    }
    Ok(batch)
}

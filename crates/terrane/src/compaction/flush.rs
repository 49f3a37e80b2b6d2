//! Flush: a sealed memtable becomes a table of level 0.

use super::{Outputs, Progress, Retention};
use crate::db::Engine;
use crate::entry::Seq;
use crate::error::Result;
use crate::keyspace::KeyspaceId;
use crate::memtable::{Memtable, MemtableCursor};
use crate::read::Cursor;
use std::sync::Arc;

/// Writes one memtable, version by version, leaving out what no reader can see.
pub(crate) struct Flush {
    keyspace: KeyspaceId,
    through: Seq,
    memtable: Arc<Memtable>,
    progress: Option<(MemtableCursor, Retention)>,
    outputs: Outputs,
}

impl Flush {
    pub fn new(keyspace: KeyspaceId, through: Seq, memtable: Arc<Memtable>) -> Self {
        Flush { keyspace, through, memtable, progress: None, outputs: Outputs::default() }
    }

    pub fn step(&mut self, engine: &Engine, bytes: u64) -> Result<Progress> {
        let (cursor, retention) = match &mut self.progress {
            Some(progress) => progress,
            None => {
                let mut cursor = self.memtable.cursor();
                cursor.seek_first()?;
                self.progress.insert((cursor, Retention::new(engine.snapshot_list())))
            }
        };
        let mut left = bytes;
        while cursor.valid() {
            let (key, tag, value) = (cursor.key(), cursor.tag(), cursor.value());
            // Level 0 is the newest: whatever a tombstone hides lies below it.
            if retention.keeps(key, tag, |_| true) {
                self.outputs.add(engine, key, tag, value)?;
            }
            left = left.saturating_sub((key.len() + value.len() + 16) as u64);
            cursor.next()?;
            if left == 0 {
                return Ok(Progress::More);
            }
        }
        self.outputs.cut(engine)?;
        let table = self.outputs.finished().first().cloned();
        if !engine.flush_written(self.keyspace, self.through, table)? {
            self.outputs.discard(engine);
        }
        Ok(Progress::Done)
    }

    pub fn abandon(mut self, engine: &Engine) {
        self.outputs.discard(engine);
        engine.flush_abandoned(self.keyspace, self.through);
    }
}

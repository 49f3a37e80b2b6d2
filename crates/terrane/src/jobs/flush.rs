//! Flush: a sealed memtable becomes a run of level 0.
//!
//! 1. The policy says where it is cut, if it wishes: most make one table of it.
//! 2. Version by version is written, but for those that no reader can see.
//! 3. The tables are durable before one edit names them.

use crate::engine::Engine;
use crate::entry::Seq;
use crate::error::Result;
use crate::jobs::{DropRule, Progress, TableSetWriter};
use crate::keyspace::KeyspaceId;
use crate::memtable::{Memtable, MemtableCursor};
use std::sync::Arc;
use terrane_policy::FlushPlan;
use terrane_table::read::Cursor;

/// Writes one memtable.
pub(crate) struct Flush {
    keyspace: KeyspaceId,
    through: Seq,
    memtable: Arc<Memtable>,
    writing: Option<Writing>,
}

/// A flush whose plan is made.
struct Writing {
    plan: FlushPlan,
    cursor: MemtableCursor,
    drop_rule: DropRule,
    outputs: TableSetWriter,
}

impl Flush {
    pub fn new(keyspace: KeyspaceId, through: Seq, memtable: Arc<Memtable>) -> Self {
        Flush { keyspace, through, memtable, writing: None }
    }

    pub fn step(&mut self, engine: &Engine, bytes: u64) -> Result<Progress> {
        let Writing { plan, cursor, drop_rule, outputs } = match &mut self.writing {
            Some(writing) => writing,
            None => {
                let plan = engine.plan_flush(self.keyspace, &self.memtable);
                let outputs =
                    TableSetWriter::new(engine, self.keyspace, plan.cuts.clone(), u64::MAX, None);
                let drop_rule = DropRule::new(engine.snapshot_list());
                let mut cursor = self.memtable.cursor();
                cursor.seek_first()?;
                self.writing.insert(Writing { plan, cursor, drop_rule, outputs })
            }
        };
        let mut left = bytes;
        while cursor.valid() {
            let (key, tag, value) = (cursor.key(), cursor.tag(), cursor.value());
            // Level 0 is the newest: whatever a tombstone hides lies below it.
            if drop_rule.keeps(key, tag, |_| true) {
                outputs.add(engine, key, tag, value)?;
            }
            left = left.saturating_sub((key.len() + value.len() + 16) as u64);
            cursor.next()?;
            if left == 0 {
                outputs.count_memory();
                return Ok(Progress::More);
            }
        }
        outputs.cut(engine)?;
        let tables = outputs.finished().to_vec();
        if !engine.flush_written(self.keyspace, self.through, plan, tables)? {
            outputs.discard(engine);
        }
        Ok(Progress::Done)
    }

    pub fn abandon(self, engine: &Engine) {
        if let Some(mut writing) = self.writing {
            writing.outputs.discard(engine);
        }
        engine.flush_abandoned(self.keyspace, self.through);
    }
}

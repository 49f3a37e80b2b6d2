//! Flush: a sealed memtable becomes a run of level 0.
//!
//! 1. The policy says where it is cut, if it wishes: most make one table of it.
//! 2. Every version is written, except those that no reader can see. What range deletes of the memtable and of newer
//!    ones hide is among these, so that a full store can be emptied: the edit that names the tables names them too.
//! 3. The tables are durable before one edit names them.

use super::{Flushed, Outcome, TableSetWriter};
use crate::entry::Seq;
use crate::error::Result;
use crate::keyspace::KeyspaceId;
use crate::memtable::{Memtable, MemtableCursor};
use std::sync::Arc;
use terrane_policy::FlushPlan;
use terrane_table::read::{Cursor, Resolver, is_operand, take_versions};
use terrane_types::range_deletes::RangeDeletes;

/// Writes one memtable.
pub(crate) struct Flush {
    pub keyspace: KeyspaceId,
    pub through: Seq,
    pub memtable: Arc<Memtable>,
    writing: Option<Writing>,
}

/// A flush whose plan is made.
struct Writing {
    plan: FlushPlan,
    cursor: MemtableCursor,
    resolver: Resolver,
    outputs: TableSetWriter,
    range_deletes: RangeDeletes,
}

impl Flush {
    pub fn new(keyspace: KeyspaceId, through: Seq, memtable: Arc<Memtable>) -> Self {
        Flush { keyspace, through, memtable, writing: None }
    }

    /// Whether it is planned: until then it cannot run.
    pub fn is_planned(&self) -> bool {
        self.writing.is_some()
    }

    /// Says how the memtable is cut, where its tables go and what they keep after these range deletes.
    pub fn plan(
        &mut self,
        plan: FlushPlan,
        outputs: TableSetWriter,
        resolver: Resolver,
        range_deletes: RangeDeletes,
    ) -> Result<()> {
        let mut cursor = self.memtable.cursor();
        cursor.seek_first()?;
        self.writing = Some(Writing { plan, cursor, resolver, outputs, range_deletes });
        Ok(())
    }

    /// Writes about `bytes` bytes. Returns the tables when all are written.
    pub fn step(&mut self, bytes: u64) -> Result<Option<Outcome>> {
        let Some(Writing { plan, cursor, resolver, outputs, range_deletes }) = &mut self.writing
        else {
            return Ok(None);
        };
        let mut left = bytes;
        while cursor.valid() {
            // Level 0 is the newest: whatever a tombstone hides lies below it.
            let covered = |_: &[u8]| true;
            if is_operand(cursor.tag()) {
                let (key, mut versions) = take_versions(cursor)?;
                resolver.join(&key, &mut versions, covered)?;
                for (tag, stored) in &versions {
                    let judgement = resolver.judge(&key, *tag, stored, covered)?;
                    outputs.take(&key, *tag, stored, judgement)?;
                    left = left.saturating_sub((key.len() + stored.len() + 16) as u64);
                }
            } else {
                let (key, tag, value) = (cursor.key(), cursor.tag(), cursor.value());
                let judgement = resolver.judge(key, tag, value, covered)?;
                outputs.take(key, tag, value, judgement)?;
                left = left.saturating_sub((key.len() + value.len() + 16) as u64);
                cursor.next()?;
            }
            if left == 0 {
                outputs.count_memory();
                return Ok(None);
            }
        }
        outputs.cut()?;
        Ok(Some(Outcome::Flushed {
            keyspace: self.keyspace,
            through: self.through,
            flushed: Flushed {
                plan: plan.clone(),
                tables: outputs.finished().to_vec(),
                range_deletes: range_deletes.clone(),
            },
        }))
    }

    /// Throws away what was written, or leaves it where an edit may have named it.
    pub fn discard(&mut self, named: bool) {
        if let Some(writing) = &mut self.writing {
            writing.outputs.discard(named);
        }
    }
}

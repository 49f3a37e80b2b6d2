//! A subscriber of the change feed over the openings of a store: it applies every batch to maps of its own.

use crate::history::State;
use crate::workload::{KEYSPACES, Merge};
use std::sync::Arc;
use terrane::{Change, CursorProblem, Db, Error, ErrorKind, FeedCursor, Operand, Result};

/// Whether a cursor is too old for the feed.
fn is_too_old(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Cursor(refused) if refused.problem == CursorProblem::TooOld)
}

/// A subscriber, with what it knows of the store.
#[derive(Clone, Default)]
pub struct Follower {
    cursor: Option<FeedCursor>,
    state: State,
    /// Times that it had to read the store anew.
    pub anew: usize,
}

impl Follower {
    /// The number of batches that it has dealt with.
    #[must_use]
    pub fn batches(&self) -> usize {
        self.cursor.map_or(0, |cursor| cursor.sequence as usize)
    }

    /// Deals with the batches that are durable; `states[n]` is the state after n batches.
    ///
    /// # Errors
    /// Errors of reading the logs.
    ///
    /// # Panics
    /// If a batch is missing, doubled, out of order or another one than was written.
    pub fn follow(&mut self, db: &Db, states: &[Arc<State>]) -> Result<()> {
        let start = FeedCursor { sequence: 0, ..db.feed_cursor() };
        self.cursor.get_or_insert(start);
        match self.read(db, states) {
            // Flushes of other threads retire logs meanwhile.
            Err(e) if is_too_old(&e) => {
                let now = db.feed_cursor();
                self.state.clone_from(&states[now.sequence as usize]);
                self.cursor = Some(now);
                self.anew += 1;
                self.follow(db, states)
            }
            read => read,
        }
    }

    /// Deals with the batches after its cursor.
    fn read(&mut self, db: &Db, states: &[Arc<State>]) -> Result<()> {
        let Some(cursor) = self.cursor else { return Ok(()) };
        let mut changes = db.changes(cursor)?;
        while let Some(batch) = changes.try_next()? {
            let number = self.batches() + 1;
            assert_eq!(batch.cursor().sequence as usize, number, "the next batch");
            for (name, change) in batch.changes() {
                let at = KEYSPACES.iter().position(|other| *other == name).expect("a keyspace");
                self.apply(at, &change);
            }
            assert!(self.state == *states[number], "batch {number} is another one");
            self.cursor = Some(batch.cursor());
        }
        Ok(())
    }

    fn apply(&mut self, keyspace: usize, change: &Change<'_>) {
        let rows = &mut self.state[keyspace];
        match *change {
            Change::Put { key, value, expires } if expires != Some(1) => {
                rows.insert(key.to_vec(), value.to_vec());
            }
            Change::Put { key, .. } | Change::Delete { key } => drop(rows.remove(key)),
            Change::Merge { key, operand } => {
                let merge = match operand {
                    Operand::Add(n) => Merge::Add(n),
                    Operand::Min(n) => Merge::Min(n),
                    Operand::Max(n) => Merge::Max(n),
                    _ => panic!("no such operand was written"),
                };
                let value = merge.apply(rows.get(key));
                rows.insert(key.to_vec(), value);
            }
            Change::DeleteRange { from, to } => {
                let is_in = |key: &[u8]| key >= from && to.is_none_or(|to| key < to);
                rows.retain(|key, _| !is_in(key));
            }
            _ => panic!("an unknown change"),
        }
    }
}

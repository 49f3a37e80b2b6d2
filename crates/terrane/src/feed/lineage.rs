//! Lineages, and the cursors from which the feed of a store can continue.
//!
//! 1. A store is created with a lineage: its salt, which is drawn at random with its id. A checkpoint is another store
//!    with another id, so it has another lineage. A copy of the files has the same lineage.
//! 2. An edit may start another lineage, and names the last batch before it ([`Db::begin_lineage`]).
//! 3. A cursor is valid if it has the store's lineage, the batch after it is in a log or not written yet, and the batch
//!    of its sequence number is written.

use super::cursor::{FeedCursor, Lineage};
use crate::db::Db;
use crate::engine::{Engine, State};
use crate::entry::Seq;
use crate::error::{CursorProblem, CursorRefused, ErrorKind, Result};
use crate::rules::Rule;
use crate::storage::StoreId;
use crate::version::Change;

/// Returns the lineage of a store.
pub(crate) fn of(engine: &Engine, state: &State) -> Lineage {
    match state.version_set.lineage {
        0 => Lineage(engine.storage.id().salt()),
        lineage => Lineage(lineage),
    }
}

/// Returns the sequence number before the oldest batch that the feed has.
fn oldest(state: &State) -> Seq {
    let first = state.logs.retained.first().unwrap_or(state.version_set.log_start);
    first.saturating_sub(1).max(state.version_set.feed_start)
}

/// Refuses a cursor from which the feed cannot continue.
pub(super) fn check(engine: &Engine, state: &State, cursor: FeedCursor) -> Result<()> {
    let lineage = of(engine, state);
    let problem = if Rule::CursorOfLineage.holds() && cursor.lineage != lineage {
        CursorProblem::OtherLineage
    } else if cursor.sequence < oldest(state) {
        CursorProblem::TooOld
    } else if cursor.sequence > engine.log.last() {
        CursorProblem::TooNew
    } else {
        return Ok(());
    };
    let [oldest, newest] = [oldest(state), engine.log.syncs.synced()]
        .map(|sequence| FeedCursor { lineage, sequence }.to_string());
    let cursor = cursor.to_string();
    Err(ErrorKind::Cursor(CursorRefused { cursor, problem, oldest, newest }).into())
}

impl Db {
    /// Returns the place in the change feed after the last batch that is known to be durable.
    #[must_use]
    pub fn feed_cursor(&self) -> FeedCursor {
        let engine = self.engine();
        let lineage = of(engine, &engine.state.lock());
        FeedCursor { lineage, sequence: engine.log.syncs.synced() }
    }

    /// Returns the oldest place from which [`Db::changes`] can continue.
    #[must_use]
    pub fn oldest_feed_cursor(&self) -> FeedCursor {
        let engine = self.engine();
        let state = engine.state.lock();
        FeedCursor { lineage: of(engine, &state), sequence: oldest(&state) }
    }

    /// Starts a lineage of the change feed, for instance after a restore to an earlier moment. Every earlier cursor is
    /// refused. Returns the first cursor of the lineage.
    ///
    /// # Errors
    /// An I/O error, or a closed store.
    pub fn begin_lineage(&self) -> Result<FeedCursor> {
        let engine = self.engine();
        engine.state.writable()?;
        engine.sync()?;
        let edits = engine.state.lock_edits()?;
        // 0 stands for the lineage that the store was created with.
        let lineage = StoreId::random()?.salt().max(1);
        let start = engine.log.syncs.synced();
        drop(edits.apply(vec![Change::Lineage { lineage, start }], &[], &[])?);
        Ok(FeedCursor { lineage: Lineage(lineage), sequence: start })
    }
}

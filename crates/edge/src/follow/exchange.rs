//! The requests of a replica, and the effects of the lines that answer them, without a network. The caller sends, waits
//! and tries again.
//!
//! 1. A store without a cursor of the source requests a snapshot: the store is emptied, and the last batch of the
//!    snapshot has its cursor.
//! 2. Otherwise it requests the changes after its cursor. Each batch is one batch here, with its cursor.
//! 3. If the source refuses the cursor, the cursor is deleted. The next exchange starts with step 1.

use super::Ended;
use super::apply::{self, Apply};
use super::lines::Line;
use super::progress::Replica;
use super::record::Record;
use crate::rules::Rule;
use std::sync::Arc;
use terrane::{Db, FeedCursor, Result};

/// Seconds between two lines of progress.
const PROGRESS: u64 = 1;

/// Requests to a source, one after another, until one fails.
pub(super) struct Exchange {
    db: Db,
    source: String,
    replica: Arc<Replica>,
    record: Record,
    stage: Stage,
}

enum Stage {
    /// The first line of a snapshot is awaited.
    Snapshot,
    /// Rows of the snapshot at a cursor are loaded.
    Rows(Apply, FeedCursor),
    /// Changes after a cursor are applied.
    Changes(Apply, FeedCursor),
}

/// The next thing that the caller reads or sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another line.
    Line,
    /// Another request.
    Request,
}

impl Exchange {
    /// Starts with the request that suits the cursor in the store.
    ///
    /// # Errors
    /// A closed store, damage, an I/O error.
    pub fn start(db: &Db, source: &str, replica: Arc<Replica>) -> Result<Self> {
        let record = Record::of(db)?;
        let cursor = record.cursor(source)?;
        let mut exchange = Exchange {
            db: db.clone(),
            source: source.to_owned(),
            replica,
            record,
            stage: Stage::Snapshot,
        };
        match cursor {
            Some(cursor) => exchange.follow(cursor),
            None => exchange.replica.cursor_lost(),
        }
        Ok(exchange)
    }

    /// Returns the target of the next request.
    pub fn request(&self) -> String {
        match &self.stage {
            Stage::Snapshot | Stage::Rows(..) => "/v1/snapshot".to_owned(),
            Stage::Changes(_, cursor) => format!("/v1/changes?since={cursor}&progress={PROGRESS}"),
        }
    }

    /// Handles a refused request. Returns the reason why the exchange has ended.
    pub fn refused(&mut self, status: u16) -> Ended {
        match (&self.stage, status) {
            (Stage::Changes(..), 410) => self.forget(),
            _ => Ended::Source(format!("{}{} answers {status}", self.source, self.request())),
        }
    }

    /// Handles a line of the reply.
    ///
    /// # Errors
    /// The reason why the exchange has ended; it must not be used again.
    pub fn line(&mut self, line: &Line) -> std::result::Result<Next, Ended> {
        match &mut self.stage {
            Stage::Snapshot => {
                let Line::Start { cursor } = line else {
                    return Err(Ended::Source("the snapshot starts without a cursor".to_owned()));
                };
                let cursor = parse(cursor)?;
                self.record.start(&self.source)?;
                if Rule::EmptyFirst.holds() {
                    apply::empty(&self.db)?;
                }
                let apply = Apply::new(&self.db, self.record.clone());
                self.stage = Stage::Rows(apply, cursor);
                Ok(Next::Line)
            }
            Stage::Rows(apply, cursor) => {
                if !apply.row(line, *cursor)? {
                    return Ok(Next::Line);
                }
                let cursor = *cursor;
                self.follow(cursor);
                Ok(Next::Request)
            }
            Stage::Changes(apply, last) => {
                match change(apply, *last, line) {
                    Ok((cursor, newest)) => {
                        *last = cursor;
                        self.replica.progressed(cursor, newest);
                    }
                    Err(Ended::Gone) => return Err(self.forget()),
                    Err(e) => return Err(e),
                }
                Ok(Next::Line)
            }
        }
    }

    /// Continues with the changes after a cursor.
    fn follow(&mut self, cursor: FeedCursor) {
        self.replica.applied(cursor);
        self.stage = Stage::Changes(Apply::new(&self.db, self.record.clone()), cursor);
    }

    /// Deletes the cursor, which the source refuses.
    fn forget(&mut self) -> Ended {
        self.replica.cursor_lost();
        match self.record.forget_cursor() {
            Ok(()) => Ended::Gone,
            Err(e) => Ended::Store(e),
        }
    }
}

/// Applies a line of the changes after `last`. Returns the cursor after it, and the end of the feed if the line names
/// it.
fn change(
    apply: &mut Apply,
    last: FeedCursor,
    line: &Line,
) -> std::result::Result<(FeedCursor, Option<FeedCursor>), Ended> {
    match line {
        Line::Batch { cursor, ops } => {
            let cursor = parse(cursor)?;
            let follows = cursor.lineage == last.lineage && cursor.sequence > last.sequence;
            if Rule::InOrder.holds() && !follows {
                return Err(Ended::Source(format!("found a batch at {cursor} after {last}")));
            }
            apply.batch(cursor, ops)?;
            Ok((cursor, None))
        }
        // A replica follows everything, so it lacks no batch before that cursor.
        Line::Progress { cursor, newest } => {
            let cursor = parse(cursor)?;
            let moves = cursor.lineage == last.lineage && cursor.sequence > last.sequence;
            Ok((if moves { cursor } else { last }, Some(parse(newest)?)))
        }
        Line::Failed { error } if error.status == 410 => Err(Ended::Gone),
        Line::Failed { error } => Err(Ended::Source(error.detail.clone())),
        Line::Next { next } => Err(Ended::Source(format!("the source stops at {next}"))),
        other => Err(apply::unexpected(other)),
    }
}

fn parse(cursor: &str) -> std::result::Result<FeedCursor, Ended> {
    cursor.parse().map_err(|e: terrane::Error| Ended::Source(e.to_string()))
}

//! Refusals of cursors of the change feed.

/// A cursor from which the change feed cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a cursor from {oldest} on, found {cursor}, {problem}")]
pub struct CursorRefused {
    /// The cursor.
    pub cursor: String,
    /// The reason.
    pub problem: CursorProblem,
    /// The oldest cursor from which the feed can continue.
    pub oldest: String,
    /// The newest one.
    pub newest: String,
}

/// Reason why the change feed cannot continue from a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CursorProblem {
    /// The batches after it are in no log any longer.
    #[error("whose next batches are no longer kept")]
    TooOld,
    /// The store has no batch of its sequence number.
    #[error("which is ahead of the store")]
    TooNew,
    /// It is of another history of the store, or of another store.
    #[error("which is of another lineage")]
    OtherLineage,
}

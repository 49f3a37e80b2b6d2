//! The durable state of the store and its live picture.
//!
//! 1. An [`Edit`] is a list of [`Change`]s of the durable state, as a journal record.
//! 2. The [`Catalog`] is all edits applied: keyspaces with their shapes, the live logs, counters.
//! 3. A [`Tree`] is one keyspace's shape with its tables open, immutable, shared by readers.

mod body;
mod bounds;
mod catalog;
mod change;
mod edit;
mod plan;
mod tree;

pub use catalog::{Catalog, KeyspaceRecord, LogRecord, SetAside};
pub use change::{Change, Features};
pub use edit::Edit;
pub use tree::{Grave, Graveyard, LiveTable, Tree};

//! The durable state of the store and its live picture.
//!
//! 1. An [`Edit`] is one change of the durable state, as a journal record.
//! 2. The [`Catalog`] is all edits applied: keyspaces with their shapes, the live logs, counters.
//! 3. A [`Tree`] is one keyspace's shape with its tables open, immutable, shared by readers.

mod body;
mod bounds;
mod catalog;
mod edit;
mod plan;
mod tree;

pub use catalog::{Catalog, KeyspaceRecord, LogRecord, SetAside};
pub use edit::{Change, Edit, Features};
pub use tree::{Grave, Graveyard, LiveTable, Tree};

//! Jobs: the work that executors run in slices.
//!
//! 1. `Flush` writes a memtable as a run of level 0; `Merge` a group's inputs as new tables.
//! 2. `TableSetWriter` builds tables and opens them; `DropRule` says which versions stay.
//! 3. `memory` - the buffers of jobs, within the memory budget.
//!
//! A job that is dropped before its end is abandoned: what it wrote is removed, and what it held is
//! free for another.

mod drop_rule;
mod flush;
mod memory;
mod merge;
mod progress;
mod table_set_writer;

pub use progress::Progress;

pub(crate) use drop_rule::DropRule;
pub(crate) use flush::Flush;
pub(crate) use memory::{JobMemory, Reservation};
pub(crate) use merge::Merge;
pub(crate) use table_set_writer::TableSetWriter;

//! Jobs: the work that executors run in slices.
//!
//! 1. A [`Job`] owns one piece of work and runs for about as many bytes as it is given.
//! 2. `Flush` writes a memtable as a table of level 0; `Merge` a group's inputs as new tables.
//! 3. `TableSetWriter` builds tables and opens them; `DropRule` says which versions stay.
//!
//! A job that is dropped before its end is abandoned: what it wrote is removed, and what it held is
//! free for another.

mod drop_rule;
mod flush;
mod job;
mod merge;
mod table_set_writer;

pub(crate) use drop_rule::DropRule;
pub(crate) use flush::Flush;
pub(crate) use job::Work;
pub use job::{Job, Progress};
pub(crate) use merge::Merge;
pub(crate) use table_set_writer::TableSetWriter;

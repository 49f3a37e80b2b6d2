//! Jobs: the work that executors run in slices.
//!
//! 1. `Flush` writes a memtable as a run of level 0; `Merge` a group's inputs, or a part of
//!    them (`SharedMerge`), as new tables.
//! 2. `TableSetWriter` builds tables and opens them; a `Resolver` decides which versions stay, and until when.
//! 3. All work in a [`JobContext`], their buffers within the memory budget (`memory`). None of them
//!    knows the engine: a job's last step returns an [`Outcome`], which the engine installs.

mod context;
mod flush;
mod memory;
mod merge;
mod outcome;
mod progress;
mod shared_merge;
mod table_set_writer;

pub use progress::Progress;

pub(crate) use context::JobContext;
pub(crate) use flush::Flush;
pub(crate) use memory::{JobMemory, Reservation};
pub(crate) use merge::Merge;
pub(crate) use outcome::{Flushed, Outcome};
pub(crate) use shared_merge::{Part, SharedMerge};
pub(crate) use table_set_writer::TableSetWriter;

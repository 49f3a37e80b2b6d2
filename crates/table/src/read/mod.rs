//! Reading: cursors over sorted sequences of entries.
//!
//! 1. A [`Cursor`] walks one sorted sequence: a memtable, a table, a run.
//! 2. A [`MergeCursor`] makes one sequence of many.
//! 3. A [`MvccCursor`] goes on it and shows what a reader at one sequence number sees of it.
//!
//! An [`ReadTracer`] is told what a read does: it counts ([`ReadCounts`]), and keeps the steps of a
//! [`Trace`].

mod counts;
mod cursor;
mod merge;
mod mvcc_cursor;
mod range;
mod read_tracer;
mod source;
mod trace;

pub use counts::{ReadCounters, ReadCounts};
pub use cursor::Cursor;
pub use merge::MergeCursor;
pub use mvcc_cursor::{MvccCursor, known_kind};
pub use range::Range;
pub use read_tracer::{Origin, ReadTracer};
pub use source::Source;
pub use trace::{Step, Trace};

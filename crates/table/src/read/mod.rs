//! Reading: cursors over sorted sequences of entries.
//!
//! 1. A [`Cursor`] walks one sorted sequence: a memtable, a table, a run.
//! 2. A [`MergeCursor`] makes one sequence of many.
//! 3. A [`Walk`] goes on it and shows what a reader at one sequence number sees of it.
//!
//! An [`Observer`] is told what a read does: it counts ([`ReadCounts`]), and keeps the steps of a
//! [`Trace`].

mod counts;
mod cursor;
mod merge;
mod observer;
mod range;
mod source;
mod trace;
mod walk;

pub use counts::{ReadCounters, ReadCounts};
pub use cursor::Cursor;
pub use merge::MergeCursor;
pub use observer::{Observer, Origin};
pub use range::Range;
pub use source::Source;
pub use trace::{Step, Trace};
pub use walk::{Walk, known_kind};

//! Reading: cursors over sorted sequences of entries.
//!
//! 1. A [`Cursor`] walks one sorted sequence: a memtable, a table, a run.
//! 2. A [`MergeCursor`] makes one sequence of many.
//! 3. A [`Scan`] shows what a reader at one sequence number sees of it.

mod cursor;
mod merge;
mod scan;
mod source;

pub use cursor::Cursor;
pub use merge::MergeCursor;
pub(crate) use scan::known_kind;
pub use scan::{Range, Scan};
pub(crate) use source::Source;

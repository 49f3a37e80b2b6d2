//! Reads across memtables and tables.
//!
//! 1. A [`Source`] is a cursor over one sorted sequence: a memtable or a run.
//! 2. A [`MergeCursor`] merges many of them into one sequence.
//! 3. An [`MvccCursor`] on top shows the keys and values visible at one sequence number.
//! 4. `resolve` decides which versions those are, and which ones a merge keeps; `join_operands` joins
//!    operands with what lies below them.

mod cover;
mod join_operands;
mod merge_cursor;
mod mvcc_cursor;
mod range;
mod resolve;
mod source;

pub use crate::cursor::Cursor;
pub use crate::trace::{Origin, ReadCounters, ReadCounts, ReadTracer, Step, Trace, Verdict};
pub use join_operands::{Joined, Stored, is_operand, join, join_first, take_versions};
pub use merge_cursor::MergeCursor;
pub use mvcc_cursor::MvccCursor;
pub use range::KeyRange;
pub use resolve::{Judgement, MergeFilter, Resolver, sight};
pub use source::Source;
pub use terrane_types::resolve::{Fate, Reader, Sight};

//! Reads across memtables and tables.
//!
//! 1. A [`Source`] is a cursor over one sorted sequence: a memtable or a run.
//! 2. A [`MergeCursor`] merges many of them into one sequence.
//! 3. An [`MvccCursor`] on top shows the keys and values visible at one sequence number.
//! 4. `resolve` decides which versions those are, and which ones a merge keeps; `versions` joins operands with what
//!    lies below them.

mod cover;
mod merge;
mod mvcc_cursor;
mod range;
mod resolve;
mod source;
mod versions;

pub use crate::cursor::Cursor;
pub use crate::trace::{Origin, ReadCounters, ReadCounts, ReadTracer, Step, Trace, Verdict};
pub use merge::MergeCursor;
pub use mvcc_cursor::MvccCursor;
pub use range::KeyRange;
pub use resolve::{Judgement, MergeFilter, Resolver, sight};
pub use source::Source;
pub use terrane_types::resolve::{Fate, Reader, Sight};
pub use versions::{Joined, Stored, is_operand, join, join_first, take_versions};

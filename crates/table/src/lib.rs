//! Memtables, tables (SSTs) and reads across them: the data path of a Terrane store.
//!
//! Every operation passes through here entry by entry: a write inserts into a memtable, a flush and
//! a merge write tables, a get and a scan read both. Crate `terrane` is the store around it: it
//! decides which tables exist, and re-exports these modules.
//!
//! This is a crate of its own so that the browser's module can be compiled for speed here and for
//! size elsewhere.

pub mod coding;
pub mod cursor;
pub mod entry;
pub mod error;
pub mod file;
mod key_buffer;
pub mod memtable;
pub mod operand;
mod prefetch;
pub mod read;
#[doc(hidden)]
pub mod sync;
pub mod table;
pub mod trace;

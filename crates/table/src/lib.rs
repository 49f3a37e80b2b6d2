//! Tables of a Terrane store, in memory and on a file system, and reading over them.
//!
//! This is what every operation passes through, entry by entry: a write goes into a memtable, a
//! flush and a merge write tables, a get and a scan read both. The store around it, crate
//! `terrane`, decides which tables there are; it shows these modules as its own.
//!
//! It is a crate by itself so that the browser's module can have it compiled for speed, and the
//! rest for size.

pub mod codec;
pub mod cursor;
pub mod entry;
pub mod error;
pub mod file;
pub mod memtable;
pub mod read;
#[doc(hidden)]
pub mod sync;
pub mod table;
pub mod trace;

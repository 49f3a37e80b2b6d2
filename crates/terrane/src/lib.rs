//! Terrane: an embedded ordered key-value store.
//!
//! One LSM engine for native SSD files and, compiled to WebAssembly, for the browser's Origin
//! Private File System.
//!
//! ```
//! # fn main() -> terrane::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("notes");
//! use terrane::{Db, Durability, Options};
//!
//! let db = Db::open(&path, Options::default())?;
//! let notes = db.default_keyspace();
//! notes.put("2026-01", "first", Durability::Sync)?;
//! notes.put("2026-02", "second", Durability::Buffered)?;
//! assert_eq!(notes.get("2026-01")?, Some(b"first".to_vec()));
//!
//! for row in notes.scan("2026".."2027")? {
//!     let (key, value) = row?;
//!     println!("{key:?} {value:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! * [`Db`] is an open store, [`Keyspace`] one of its ordered maps. [`Scan`] iterates over a
//!   [`Range`] of keys; [`Cursor`] does so without copying, and seeks.
//! * [`WriteBatch`] changes several keys, in any keyspaces, at once; [`Snapshot`] reads the store as
//!   it was at one moment.
//! * [`Options`] bounds memory, files and waits. [`policy`] chooses how tables are merged.
//! * [`Db::stats`], [`Event`] and [`trace`] show what the store does; [`Db::check`] verifies it.
//! * [`storage`] and [`executor`] are for those who bring files or threads of their own.

#[doc(hidden)]
pub mod batch;
#[doc(hidden)]
pub mod compaction;
#[doc(hidden)]
pub mod db;
#[doc(hidden)]
pub mod event;
pub mod executor;
#[doc(hidden)]
pub mod keyspace;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod rules;
mod scan;
pub mod stats;
pub mod storage;
mod sync;
pub mod trace;
#[doc(hidden)]
pub mod version;
#[doc(hidden)]
pub mod wal;

pub use batch::WriteBatch;
pub use db::{
    Check, CheckReport, Checkpoint, Db, Engine, Keyspace, Lookup, Snapshot, Stats, Waiter, inspect,
};
#[cfg(not(target_arch = "wasm32"))]
pub use db::{Salvaged, SalvagedFile, repair};
#[doc(inline)]
pub use entry::Seq;
#[doc(no_inline)]
pub use error::{
    Busy, Closed, Corruption, Error, InvalidArgument, IoFailure, NewerFormat, NoSpace, NoStore,
    Result, ShortIo, Stall,
};
#[doc(inline)]
pub use event::{Event, Listener};
#[doc(inline)]
pub use keyspace::KeyspaceId;
pub use options::{CustomPolicy, Durability, Options};
#[doc(inline)]
pub use read::Range;
pub use scan::{Cursor, Scan};
#[doc(inline)]
pub use table::{Compression, TableOptions};
#[doc(inline)]
pub use terrane_policy as policy;
#[doc(inline)]
pub use terrane_table::error;

// What other crates of this repository look into.
#[doc(hidden)]
pub use terrane_table::{codec, entry, memtable, read, table};
#[doc(hidden)]
pub use terrane_types::vec_map;

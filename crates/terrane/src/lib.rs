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

pub mod batch;
pub mod compaction;
pub mod db;
pub mod driver;
pub mod event;
pub mod keyspace;
pub mod options;
pub mod rules;
mod scan;
pub mod storage;
mod sync;
pub mod version;
pub mod wal;

pub use batch::WriteBatch;
pub use db::{CheckReport, Db, Engine, Keyspace, Lookup, Snapshot, Stats};
pub use error::{
    Busy, Closed, Corruption, Error, InvalidArgument, NewerFormat, NoSpace, NoStore, Refused,
    Result, Short, Stall,
};
pub use event::Event;
pub use keyspace::KeyspaceId;
pub use options::{Durability, Options};
pub use read::Range;
pub use scan::{Cursor, Scan};
pub use terrane_policy::sorted;
pub use terrane_table::{codec, entry, error, memtable, read, table};

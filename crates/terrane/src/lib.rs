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
//! Keys and values are bytes; keys have an order, and up to 65,535 bytes.
//!
//! * [`Db`] is an open store, [`Keyspace`] one of its ordered maps. [`Scan`] iterates over a
//!   [`KeyRange`] from either end; [`Cursor`] does so without copying, and seeks.
//! * [`WriteBatch`] changes several keys, in any keyspaces, at once; [`Snapshot`] reads the store as
//!   it was at one moment.
//! * [`Db::write_if`] writes a batch if its [`Condition`]s hold: keys that are absent, have a value or a version,
//!   ranges that did not change since a snapshot.
//! * [`Db::transact`] runs a [`Transaction`]: it reads at a snapshot, sees its own writes, and is run again where what
//!   it read has changed.
//! * [`Keyspace::delete_range`] deletes any number of keys at the cost of one write; [`Keyspace::put_expiring`] sets a
//!   value for a time.
//! * [`Keyspace::merge`] applies an [`Operand`] without a read: adds to a number, bounds it, or combines values by
//!   [`Options::merge_operator`](field@Options::merge_operator). A keyspace takes merges or values that expire, for
//!   good.
//! * [`Options::compaction_filter`](field@Options::compaction_filter) removes values that an application no longer
//!   needs as compactions meet them.
//! * [`Durability`] is chosen by each write: durable when it returns, or within a second.
//! * [`Options`] bounds memory, files and waits. [`policy`] chooses how tables are merged, by keyspace and at any
//!   time.
//! * [`Error`] is matched by [`ErrorKind`].
//! * [`Db::stats`], [`Event`] and [`trace`] show what the store does; [`Db::check`] verifies it.
//! * [`Db::changes`] is the change feed: every batch after a [`FeedCursor`], once it is durable.
//! * [`Db::checkpoint`] copies a store in use; `repair` salvages a damaged one.
//! * [`storage`] opens stores elsewhere: in one file, in memory, in files of your own. [`executor`] chooses the
//!   threads of background work.

mod admin;
#[doc(hidden)]
pub mod batch;
mod db;
mod engine;
#[doc(hidden)]
pub mod event;
pub mod executor;
mod features;
mod feed;
mod install;
mod jobs;
#[doc(hidden)]
pub mod keyspace;
mod left_out;
#[doc(hidden)]
pub mod options;
mod read;
mod recovery;
#[doc(hidden)]
pub mod rules;
mod schedule;
pub mod stats;
pub mod storage;
mod sync;
pub mod trace;
#[doc(hidden)]
pub mod version;
#[doc(hidden)]
pub mod wal;
mod write;

pub use admin::{
    Check, CheckReport, Checkpoint, DoubtfulRange, DoubtfulRows, Moment, Salvaged, SalvagedFile,
    Stats, Waiter, inspect, repair,
};
pub use batch::WriteBatch;
pub use db::{Db, Keyspace, Snapshot, Transaction, TransactionScan, TransactionValue, TryWrite};
#[doc(inline)]
pub use entry::{Millis, Seq};
#[doc(no_inline)]
pub use error::{
    Busy, Closed, Corruption, CursorProblem, CursorRefused, Error, ErrorKind, InvalidArgument,
    IoFailure, JobPanicked, NewerFormat, NoSpace, NoStore, Result, ShortIo, Stall,
};
#[doc(inline)]
pub use event::{Event, Listener};
pub use feed::{Change, ChangeBatch, Changes, FeedCursor, FeedWatch, Lineage};
#[doc(inline)]
pub use keyspace::KeyspaceId;
pub use operand::{MergeOperator, Operand};
pub use options::{CompactionFilter, CustomPolicy, Durability, FilterDecision, Options, WallClock};
pub use read::{Cursor, Lookup, Scan, TryGet, Versioned};
#[doc(inline)]
pub use table::{Compression, TableOptions};
#[doc(inline)]
pub use terrane_policy as policy;
#[doc(inline)]
pub use terrane_table::error;
#[doc(inline)]
pub use terrane_table::read::KeyRange;
pub use write::{Condition, ConditionalBatch, Outcome, Refusal};

// Parts of backups.
#[doc(hidden)]
pub use admin::{Pin, PinnedTable, Restoration, VersionSetCopy};
#[doc(hidden)]
pub use feed::NamedKeyspace;
// What other crates of this repository look into.
#[doc(hidden)]
pub use terrane_table::{coding, entry, memtable, operand, table};
#[doc(hidden)]
pub use terrane_types::vec_map;

//! Terrane for tokio: a store whose calls do not block the runtime.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> terrane::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("notes");
//! use terrane::{Durability, Options};
//!
//! let db = terrane_tokio::Db::open(path, Options::default()).await?;
//! let notes = db.default_keyspace();
//! notes.put("2026-01", "first", Durability::Sync).await?;
//! assert_eq!(notes.get("2026-01").await?, Some(b"first".to_vec()));
//!
//! let mut pages = notes.scan("2026".."2027");
//! while let Some(page) = pages.next_page().await? {
//!     for (key, value) in page {
//!         println!("{key:?} {value:?}");
//!     }
//! }
//! db.close().await
//! # }
//! ```
//!
//! 1. A call that need not wait runs in the task that awaits it: a get whose value is in memory, a buffered write while
//!    nobody else writes.
//! 2. Other writes go to one committer thread, through a bounded queue. It takes all that has arrived and commits it as
//!    one record with one sync: a hundred tasks that write durably wait for one sync rather than for a hundred.
//! 3. Other reads go to a bounded number of blocking threads.
//!
//! A write whose future is dropped is written whole or not at all.
//!
//! [`terrane::WriteBatch`] takes a [`Keyspace`] of this crate as it takes one of `terrane`: `batch.put(&notes, ..)`.

mod changes;
mod committer;
mod condition;
mod db;
mod keyspace;
mod scan;
mod snapshot;
mod submitted;

pub use changes::Changes;
pub use condition::Condition;
pub use db::Db;
pub use keyspace::Keyspace;
pub use scan::{Page, Scan};
pub use snapshot::Snapshot;
pub use submitted::{Submitted, SubmittedUpdate};

//! Terrane: an embedded ordered key-value store.

pub mod batch;
pub mod codec;
pub mod entry;
pub mod error;
pub mod keyspace;
pub mod memtable;
pub mod read;
pub mod rules;
pub mod storage;
pub mod table;
pub mod wal;

pub use error::{Corruption, Error, Result, Stall};

//! What a read does, told step by step to whoever wants to know.
//!
//! Reads are generic over their [`Observer`], so that a step that nobody looks at costs nothing:
//!
//! * `()` wants to know nothing: compactions, checks.
//! * [`ReadCounts`](super::ReadCounts) counts, for the store's figures.
//! * [`Trace`](super::Trace) keeps every step.

use crate::entry::Tag;
use crate::error::Result;
use terrane_policy::{RunId, TableId};

/// Where a block came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The block cache.
    Cache,
    /// Bytes that an earlier read of the same cursor took along.
    ReadAhead,
    /// The medium.
    Medium,
}

/// Is told what a read does, in the order in which it does it. What is not implemented does
/// nothing, and is not there after compilation.
pub trait Observer: Send {
    /// The operation goes on to tables: no memtable answered a get, or a scan is placed.
    fn tables(&mut self) {}
    /// A memtable is searched: 0 is the active one, then come the sealed ones, newest first.
    fn memtable(&mut self, _place: usize) {}
    /// A run is searched: the one table of it whose key range holds the key, if any does.
    fn run(&mut self, _level: usize, _run: RunId, _table: Option<TableId>) {}
    /// A scan goes over to this table of its run.
    fn table(&mut self, _table: TableId) {}
    /// A table's filter let the key pass, or said that it is surely absent.
    fn filter(&mut self, _passed: bool) {}
    /// A block of `len` stored bytes at `offset` of its table is looked into; `read` bytes were
    /// read from the medium for it.
    fn block(&mut self, _offset: u64, _len: u64, _origin: Origin, _read: u64) {}
    /// The newest version that the reader may see was found.
    fn found(&mut self, _tag: Tag, _value: &[u8]) {}
    /// The memtable or table has no version that the reader may see, though its filter let the key
    /// pass where `filtered`. `newer` finds out whether it has newer ones.
    ///
    /// # Errors
    /// Those of `newer`.
    fn absent(&mut self, _filtered: bool, _newer: impl FnOnce() -> Result<bool>) -> Result<()> {
        Ok(())
    }
    /// A memtable or run came to stand on this key; on none where it has nothing in that direction.
    fn stands(&mut self, _key: Option<&[u8]>) {}
    /// A scan shows a row.
    fn row(&mut self, _key: &[u8], _value: &[u8]) {}
}

impl Observer for () {}

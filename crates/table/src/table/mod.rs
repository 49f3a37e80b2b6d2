//! Tables (SSTs): immutable sorted files.
//!
//! ```text
//! data block *     entries in order, each block compressed          (block, block_codec)
//! partition *      filter: Bloom filter of the user keys of some
//!                  blocks; optional                                 (filter, block_codec)
//!                  index: separator, handle and entry count of
//!                  each of these blocks                             (index, block_codec)
//! index            separator and handle of each partition           (index, block_codec)
//! properties       counts, key range, histogram of keys             (properties, block_codec)
//! directory        kind, offset and length of each section          (footer, block_codec)
//! footer           80 bytes: magic, version, features, identity     (footer)
//! ```
//!
//! The parts follow each other without a gap. Each has a checksum seeded with the store's salt, the
//! table's number and the part's offset, which detects any flipped bit and also a valid block in the
//! wrong place.
//!
//! * Writing: a [`TableWriter`] takes entries in order and returns a
//!   [`TableInfo`](terrane_types::TableInfo).
//! * Reading: a [`Table`] is opened on first use. Its top-level index, its partitions and its blocks
//!   are read on demand and kept in a shared [`BlockCache`]. A [`TableCursor`] iterates over one
//!   table, a [`RunCursor`] over a run of disjoint tables.
//! * Checking: [`Table::check`] verifies every byte.
//! * Salvage: [`Salvage`] reads what is left of a damaged table, also without its index (`block_walk`).

pub mod block;
pub mod block_codec;
mod block_cursor;
mod block_fetcher;
mod block_walk;
mod block_writer;
mod cache;
mod cache_shard;
mod check;
mod cursor;
pub mod filter;
pub mod footer;
mod get;
#[cfg(not(target_arch = "wasm32"))]
mod get_peeked;
mod index;
mod key_heads;
mod key_prefixes;
#[cfg(any(test, target_arch = "wasm32"))]
mod lz4;
mod open_table;
mod partition_index;
mod partitions;
pub mod properties;
mod reader;
mod run;
mod run_tables;
mod salvage;
mod slot;
mod spare;
#[cfg(test)]
mod tests;
mod writer;

pub use crate::coding::key_hash;
pub use block_codec::Compression;
pub use block_cursor::BlockCursor;
pub use block_fetcher::{MAX_READAHEAD_BYTES, ReadPattern};
pub use cache::BlockCache;
pub use check::TableCheck;
pub use cursor::TableCursor;
#[cfg(not(target_arch = "wasm32"))]
pub use get_peeked::Peeked;
pub use properties::Properties;
pub use reader::{Table, TableFiles};
pub use run::RunCursor;
pub use run_tables::RunTables;
pub use salvage::{KnownTable, LostBlock, Salvage};
pub use writer::TableWriter;

use crate::error::Corruption;
use std::fmt::Display;
use terrane_types::FilterBits;

/// Options of a new table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Target size of a data block, in bytes before compression (1 to 16 MiB).
    pub block_bytes: usize,
    /// Compression of data blocks.
    pub compression: Compression,
    /// Filter bits per distinct user key; none for no filter.
    pub filter_bits_per_key: FilterBits,
    /// Target size of the index and of the filter of a partition, in bytes (1 to 16 MiB). Each is
    /// read and cached as a whole.
    pub partition_bytes: usize,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            block_bytes: 4096,
            compression: Compression::Lz4,
            filter_bits_per_key: FilterBits::whole(10),
            partition_bytes: 16 << 10,
        }
    }
}

/// Bytes that do not decode. Boxed, since every step of a cursor may return it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(Box<Details>);

/// Place of damage, the expected content, and the content found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    /// Offset in the bytes to decode (after decompression).
    at: usize,
    /// Expected content.
    expected: String,
    /// Content found.
    found: String,
}

impl Malformed {
    #[cold]
    fn new(at: usize, expected: impl Display, found: impl Display) -> Self {
        Malformed::boxed(at, &expected, &found)
    }

    /// Formats in one place, so that each generic caller stays small.
    #[inline(never)]
    fn boxed(at: usize, expected: &dyn Display, found: &dyn Display) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Malformed(Box::new(Details { at, expected, found }))
    }

    /// The corruption of the part at `offset` of `file`.
    #[cold]
    fn within(self, file: &str, offset: u64) -> Corruption {
        let Details { at, expected, found } = *self.0;
        match at {
            0 => Corruption::new(file, offset, expected, found),
            at => {
                let found = format_args!("{found} ({at} bytes into this part)");
                Corruption::new(file, offset, expected, found)
            }
        }
    }
}

//! Tables (SSTs): immutable sorted files.
//!
//! ```text
//! data block *     entries in order, compressed one by one          (block, stored)
//! partition *      filter: Bloom filter of some blocks' user keys,
//!                  which may be absent                              (filter, stored)
//!                  index: a separator, place and count for each of
//!                  these blocks                                     (block, stored)
//! index            a separator and the place of each partition      (block, stored)
//! properties       counts, ranges and a key histogram               (properties, stored)
//! directory        where the sections lie                           (footer, stored)
//! footer           80 bytes: magic, version, features, whose it is  (footer)
//! ```
//!
//! The parts follow each other without a gap, and each is covered by a checksum that is seeded with
//! the store's salt, the table's number and the part's offset: a flipped bit is noticed wherever it
//! is, and so is a sound block in a wrong place.
//!
//! * Writing: a [`TableWriter`] takes entries in order and returns a
//!   [`TableInfo`](terrane_types::TableInfo).
//! * Reading: a [`Table`] is opened when it is first used. Its top level, its partitions and its
//!   blocks are read on demand and kept in a shared [`BlockCache`]. A [`TableCursor`] walks one
//!   table, a [`RunCursor`] a run of disjoint ones.
//! * Checking: [`Table::check`] reads every byte again.
//! * Salvage: [`Salvage`] reads what a damaged table still holds.

pub mod block;
pub mod block_codec;
mod block_cursor;
mod block_fetcher;
mod block_writer;
mod cache;
mod check;
mod cursor;
pub mod filter;
pub mod footer;
mod get;
mod index;
mod key_prefixes;
mod open_table;
mod partitions;
pub mod properties;
mod reader;
mod run;
mod salvage;
mod slot;
#[cfg(test)]
mod tests;
mod writer;

pub use crate::codec::key_hash;
pub use block_codec::Compression;
pub use block_cursor::BlockCursor;
pub use block_fetcher::{MAX_READAHEAD_BYTES, ReadPattern};
pub use cache::BlockCache;
pub use check::TableCheck;
pub use cursor::TableCursor;
pub use properties::Properties;
pub use reader::{Table, TableFiles};
pub use run::RunCursor;
pub use salvage::{LostBlock, Salvage};
pub use writer::TableWriter;

use crate::error::Corruption;
use std::fmt::Display;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableOptions {
    /// Size at which a data block is closed, in bytes before compression (1 to 16 MiB).
    pub block_bytes: usize,
    /// How data blocks are compressed.
    pub compression: Compression,
    /// Bits of filter for each distinct user key (0 to 64; 0 is no filter).
    pub filter_bits_per_key: f32,
    /// Size at which a partition of index and filter is closed, in bytes: where the index or the
    /// filter has reached it (1 to 16 MiB). It is what is read and cached of them at once.
    pub partition_bytes: usize,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            block_bytes: 4096,
            compression: Compression::Lz4,
            filter_bits_per_key: 10.0,
            partition_bytes: 16 << 10,
        }
    }
}

/// Bytes that do not decode. Behind a pointer, since every step of a cursor may return it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(Box<Fault>);

/// Where among the bytes, what was expected there, what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    /// Offset in the bytes that were to be decoded (after decompression).
    at: usize,
    /// What sound bytes hold there.
    expected: String,
    /// What these hold.
    found: String,
}

impl Malformed {
    #[cold]
    fn new(at: usize, expected: impl Display, found: impl Display) -> Self {
        Malformed::told(at, &expected, &found)
    }

    /// Here alone the sentences are written.
    #[inline(never)]
    fn told(at: usize, expected: &dyn Display, found: &dyn Display) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Malformed(Box::new(Fault { at, expected, found }))
    }

    /// Names the file, and the offset in it of the part that did not decode.
    #[cold]
    fn within(self, file: &str, offset: u64) -> Corruption {
        let Fault { at, expected, found } = *self.0;
        match at {
            0 => Corruption::new(file, offset, expected, found),
            at => {
                let found = format_args!("{found} ({at} bytes into this part)");
                Corruption::new(file, offset, expected, found)
            }
        }
    }
}

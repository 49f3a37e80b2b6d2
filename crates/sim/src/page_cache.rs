//! The operating system's page cache: the pages of tables that were written or read last are evicted last.
//!
//! A page has the size of a block. Jobs write through it, clients read through it; a merge finds in it what it held
//! when the merge started, and leaves its order alone. A removed table leaves no pages.

use crate::cache::Cache;
use crate::reads::Block;
use crate::tree::Table;
use terrane_policy::{TableId, TableInfo};

/// The pages of tables in memory.
pub(crate) struct PageCache {
    pages: Cache,
    page_bytes: u64,
    is_absent: bool,
}

impl PageCache {
    /// A cache of `bytes`, in pages of `page_bytes`.
    pub(crate) fn new(bytes: u64, page_bytes: u64) -> Self {
        let pages = bytes / page_bytes;
        PageCache { pages: Cache::new(pages), page_bytes, is_absent: pages == 0 }
    }

    /// Keeps bytes that were written to a table, from an offset on.
    pub(crate) fn write(&mut self, table: TableId, from: u64, bytes: u64) {
        if self.is_absent {
            return;
        }
        for page in from / self.page_bytes..(from + bytes).div_ceil(self.page_bytes) {
            self.pages.read(table.0, page);
        }
    }

    /// Keeps a block that is read; returns whether it was there.
    pub(crate) fn read(&mut self, (table, block): Block) -> bool {
        self.pages.read(table.0, block)
    }

    /// Returns the share of the tables' pages that are not there.
    pub(crate) fn missing(&self, tables: &[&Table]) -> f64 {
        if self.is_absent {
            return 1.0;
        }
        let (mut pages, mut missing) = (0u64, 0u64);
        for table in tables {
            for page in self.pages_of(&table.info) {
                pages += 1;
                missing += u64::from(!self.pages.holds(table.info.id.0, page));
            }
        }
        missing as f64 / pages.max(1) as f64
    }

    /// Frees the pages of a table that is removed.
    pub(crate) fn remove(&mut self, table: &TableInfo) {
        if self.is_absent {
            return;
        }
        for page in self.pages_of(table) {
            self.pages.remove(table.id.0, page);
        }
    }

    fn pages_of(&self, table: &TableInfo) -> std::ops::Range<u64> {
        0..table.bytes.div_ceil(self.page_bytes)
    }
}

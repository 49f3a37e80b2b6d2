//! Point lookups in memory alone, natively. They write nothing that threads share, but for flags that say what is used.
//!
//! 1. The steps are those of `get`. A pin keeps what is borrowed: the open table, a filter, an index, and a block that
//!    the index shows.
//! 2. What is not there, or is damaged, is left to `get`, which holds no pin: a file may be read for it.

use super::block::Located;
use super::open_table::Partition;
use super::reader::Table;
use crate::entry::{Seq, Tag};
use crate::sync::swap::Pinned;
use crate::trace::{ReadCounts, Verdict};

/// Result of a search of a table in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The filter rules the key out.
    RuledOut,
    /// A block was searched.
    Searched {
        /// Tag of what was found and lent.
        tag: Option<Tag>,
        /// Whether a filter had passed the key.
        is_filtered: bool,
    },
}

impl Shown {
    /// Returns the tag of what was found.
    #[inline]
    #[must_use]
    pub fn tag(self) -> Option<Tag> {
        match self {
            Shown::RuledOut => None,
            Shown::Searched { tag, .. } => tag,
        }
    }

    /// Returns what the filter said, if there is one.
    #[inline]
    #[must_use]
    pub fn verdict(self) -> Option<Verdict> {
        match self {
            Shown::RuledOut => Some(Verdict::Negative),
            Shown::Searched { is_filtered: false, .. } => None,
            Shown::Searched { tag: Some(_), .. } => Some(Verdict::Positive),
            Shown::Searched { tag: None, .. } => Some(Verdict::FalsePositive),
        }
    }

    /// Adds the search to `counts`.
    #[inline]
    pub fn count(self, counts: &mut ReadCounts) {
        let Shown::Searched { tag, is_filtered } = self else {
            counts.filter_negatives += 1;
            return;
        };
        counts.blocks += 1;
        counts.blocks_cached += 1;
        counts.filter_false_positives += u64::from(is_filtered && tag.is_none());
    }
}

impl Table {
    /// [`Table::find`] in memory, with the reads of each table counted if `watching`; `None` if memory has too little.
    /// Nothing is counted or lent then.
    #[inline]
    pub fn find_shown(
        &self,
        key: &[u8],
        hash: u64,
        at: Seq,
        lend: &mut dyn FnMut(Tag, &[u8]),
        watching: bool,
        pinned: &Pinned,
    ) -> Option<Shown> {
        let target = Tag::at(at);
        let opened = self.peek(pinned)?;
        let partition = opened.partitions.get(opened.partition_for(key, target).ok()?)?;
        let is_filtered = partition.handle.filter_len > 0;
        if is_filtered && !partition.filter.peek(pinned)?.may_contain(hash) {
            return Some(Shown::RuledOut);
        }
        self.search_shown(key, at, lend, watching, (partition, is_filtered), pinned)
    }

    /// Searches a partition's index and a block; `None` if memory lacks one of them. If the partition `is_filtered`,
    /// its filter has passed the key.
    #[inline(never)]
    fn search_shown(
        &self,
        key: &[u8],
        at: Seq,
        lend: &mut dyn FnMut(Tag, &[u8]),
        watching: bool,
        (partition, is_filtered): (&Partition, bool),
        pinned: &Pinned,
    ) -> Option<Shown> {
        let target = Tag::at(at);
        let index = partition.index.peek(pinned)?;
        let block = index.shown(index.restarts_below(key, target).ok()?, pinned)?;
        let found = block.lower_bound(key, target, None).ok()?;
        block.touch();
        self.watch(watching);
        let mut tag = None;
        if let Some(Located { entry, same_key: true, .. }) = found {
            lend(entry.tag, entry.value);
            tag = Some(entry.tag);
        }
        Some(Shown::Searched { tag, is_filtered })
    }
}

//! Point lookups in memory alone, natively. They write nothing that threads share, but for flags that say what is used.
//!
//! 1. The steps are those of `get`. A pin keeps what is borrowed: the open table, a filter, an index, and a block that
//!    the index shows.
//! 2. What is not there, or is damaged, is left to `get`, which holds no pin: a file may be read for it.

use super::block::Located;
use super::reader::Table;
use crate::entry::{Seq, Tag};
use crate::sync::swap::Pinned;
use crate::trace::ReadTracer;

impl Table {
    /// [`Table::find`] in memory; `None` if memory has too little. Nothing is counted or lent then.
    #[inline]
    pub(super) fn find_shown(
        &self,
        key: &[u8],
        hash: u64,
        at: Seq,
        lend: &mut dyn FnMut(Tag, &[u8]),
        tracer: &mut ReadTracer,
        pinned: &Pinned,
    ) -> Option<Option<Tag>> {
        if tracer.is_recording() {
            return None;
        }
        let target = Tag::at(at);
        let opened = self.peek(pinned)?;
        let partition = opened.partitions.get(opened.partition_for(key, target).ok()?)?;
        let is_filtered = partition.handle.filter_len > 0;
        if is_filtered && !partition.filter.peek(pinned)?.may_contain(hash) {
            tracer.filter(false);
            return Some(None);
        }
        let index = partition.index.peek(pinned)?;
        let block = index.shown(index.restarts_below(key, target).ok()?, pinned)?;
        let found = block.lower_bound(key, target, None).ok()?;
        block.touch();
        self.watch(tracer);
        tracer.shown_block(is_filtered);
        let Some(Located { entry, same_key: true, .. }) = found else {
            tracer.absent(is_filtered, || Ok(false)).ok()?;
            return Some(None);
        };
        lend(entry.tag, entry.value);
        Some(Some(entry.tag))
    }
}

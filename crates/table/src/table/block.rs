//! Blocks: short sorted sequences of entries, the unit of reads, checksums and caching.
//!
//! ```text
//! entry *   restart: u32 *   count of restarts: u32
//! entry  =  shared, unshared, value length, tag: varints;  key bytes [unshared];  value
//! ```
//!
//! An entry's key is the first `shared` bytes of the previous key, then its own `unshared` bytes.
//! At a restart point nothing is shared, so that a search can start there:
//!
//! 1. A binary search finds the last restart point whose entry is before the target. A data block that is searched
//!    again has the heads of its keys (`key_heads`), which lead to the entry itself or to the first with the same head.
//! 2. From there entries are decoded one by one. Keys are not reconstructed: as long as they are below
//!    the target, the length of the prefix they share with it shows how the next one compares.

use super::Malformed;
use super::key_heads::{Found, KeyHeads};
use super::key_prefixes::KeyPrefixes;
use crate::coding::{Decoder, short_varint};
use crate::entry::{Tag, common_prefix};
use crate::prefetch::prefetch;
use std::cmp::Ordering;
use std::sync::OnceLock;
// Not modelled, since the cache, which asks, is not either.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Entries per restart point of a data block as it is written: a balance of size and search time.
pub(super) const RESTART_INTERVAL: u32 = 16;

/// A decoded block. Its restart points are valid; entries are validated as they are read.
#[derive(Debug, Default)]
pub struct Block {
    bytes: Vec<u8>,
    /// Length of the entries; the restart points follow.
    entries: usize,
    /// For blocks of the index.
    key_prefixes: Option<KeyPrefixes>,
    /// For data blocks that are searched again; `None` in a block that cannot have them.
    key_heads: OnceLock<Option<KeyHeads>>,
    /// Whether it was read where an index shows it, since the cache last asked.
    used: AtomicBool,
}

/// One entry as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub shared: usize,
    pub delta: &'a [u8],
    pub tag: Tag,
    pub value: &'a [u8],
    /// Offset of the next entry.
    pub end: usize,
}

impl<'a> Entry<'a> {
    /// The entry at `at`; `None` if it is cut short.
    // Left to the compiler, it is a call natively, which costs a step of a scan 70 instructions.
    #[cfg_attr(target_arch = "wasm32", inline)]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn decode(entries: &'a [u8], at: usize) -> Option<Self> {
        let rest = entries.get(at..)?;
        let (shared, unshared, value_len, mut d) = match rest {
            // The common case: three lengths of one byte each.
            &[shared, unshared, value_len, ref rest @ ..]
                if (shared | unshared | value_len) < 0x80 =>
            {
                (shared.into(), unshared.into(), value_len.into(), Decoder::new(rest))
            }
            _ => {
                let mut d = Decoder::new(rest);
                (d.length()?, d.length()?, d.length()?, d)
            }
        };
        let tag = Tag(d.long_varint()?);
        let delta = d.take(unshared)?;
        let value = d.take(value_len)?;
        Some(Entry { shared, delta, tag, value, end: entries.len() - d.rest().len() })
    }
}

/// An entry whose lengths take a byte each, by its place.
pub(super) struct ShortEntry<'a> {
    pub shared: usize,
    /// Rest of the block, from the `unshared` bytes of the key on.
    pub rest: &'a [u8],
    pub unshared: usize,
    /// Offset of the value.
    pub value: usize,
    pub tag: Tag,
    /// Offset of the next entry.
    pub end: usize,
}

/// Result of a search: the first entry at or after its target.
pub(super) struct Located<'a> {
    /// The entry's offset. Its shared bytes are those of the target.
    pub at: usize,
    pub entry: Entry<'a>,
    /// Whether its key is the target's.
    pub same_key: bool,
}

impl Block {
    /// Returns a block without entries.
    pub(super) const fn empty() -> Self {
        Block {
            bytes: Vec::new(),
            entries: 0,
            key_prefixes: None,
            key_heads: OnceLock::new(),
            used: AtomicBool::new(false),
        }
    }

    /// Decodes a block from verified and decompressed bytes.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, Malformed> {
        let Some((body, count)) = bytes.split_last_chunk::<4>() else {
            return Err(Malformed::new(0, "a count of restart points", "too few bytes"));
        };
        let count = u32::from_le_bytes(*count);
        let entries = usize::try_from(count)
            .ok()
            .and_then(|n| n.checked_mul(4))
            .and_then(|n| body.len().checked_sub(n))
            .filter(|_| count > 0);
        let Some(entries) = entries else {
            return Err(Malformed::new(
                body.len(),
                "1 or more restart points within the block",
                format_args!("{count} in {} bytes", body.len()),
            ));
        };
        let block = Block { bytes, entries, ..Block::empty() };
        let mut least = 0;
        for (i, point) in block.restarts().iter().enumerate() {
            let at = offset(point);
            if at >= entries || (i == 0 && at != 0) || at < least {
                return Err(Malformed::new(
                    entries + 4 * i,
                    format_args!(
                        "a restart point of {least} or more within {entries} bytes of entries"
                    ),
                    at,
                ));
            }
            least = at + 1;
        }
        Ok(block)
    }

    /// Adds [`KeyPrefixes`], which make searches faster and take memory.
    #[must_use]
    pub(super) fn with_key_prefixes(mut self) -> Self {
        let points = self.restarts();
        self.key_prefixes = KeyPrefixes::of(points.len(), |n| {
            let entry = self.entry(points.get(n).map(offset)?).ok()?;
            (entry.shared == 0).then_some(entry.delta)
        });
        self
    }

    /// Prepares a data block for searches, unless it is prepared; returns whether its keys have heads then.
    #[inline]
    pub fn prepare(&self) -> bool {
        self.key_heads.get_or_init(|| KeyHeads::of(self, self.entries_most())).is_some()
    }

    /// Asks for the entry to which the heads of keys lead, which is read soon. Returns what they found.
    #[inline]
    pub(super) fn prefetch(&self, key: &[u8]) -> Option<Found> {
        /// Most entries end within three lines.
        const ENTRY_BYTES: usize = 192;
        let found = self.key_heads.get()?.as_ref()?.find(key)?;
        prefetch(self.bytes.get(found.0)?, ENTRY_BYTES);
        Some(found)
    }

    /// Notes that the block is read, for the cache.
    #[inline]
    pub(super) fn touch(&self) {
        if !self.used.load(Relaxed) {
            self.used.store(true, Relaxed);
        }
    }

    /// Whether the block was [touched](Self::touch) since the last call.
    pub(super) fn was_used(&self) -> bool {
        self.used.swap(false, Relaxed)
    }

    /// Returns the most entries that a written block has, by its restart points.
    fn entries_most(&self) -> usize {
        self.restarts().len() * RESTART_INTERVAL as usize
    }

    /// Bytes held in memory; for a data block those of its heads as well, although it may not have them yet.
    #[must_use]
    pub fn memory(&self) -> usize {
        let search = match &self.key_prefixes {
            Some(key_prefixes) => key_prefixes.memory(),
            None => KeyHeads::memory(self.entries_most()),
        };
        size_of::<Self>() + self.bytes.capacity() + search
    }

    /// The buffer, for reuse.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The entries' bytes, without the restart points.
    pub(super) fn entries(&self) -> &[u8] {
        self.bytes.get(..self.entries).unwrap_or_default()
    }

    /// The restart points, ascending.
    pub(super) fn restarts(&self) -> &[[u8; 4]] {
        self.bytes
            .get(self.entries..)
            .unwrap_or_default()
            .as_chunks()
            .0
            .split_last()
            .map_or(&[], |(_, points)| points)
    }

    /// The entry at offset `at`.
    #[cfg_attr(target_arch = "wasm32", inline)]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn entry(&self, at: usize) -> Result<Entry<'_>, Malformed> {
        Entry::decode(self.entries(), at)
            .ok_or_else(|| Malformed::new(at, "an entry", "an incomplete one"))
    }

    /// The entry at offset `at`, if its lengths take a byte each and its tag at most eight; `None` for others, and for
    /// what is none. A step of a scan decodes most entries here, by few checks of bounds.
    #[inline(always)]
    pub(super) fn short_entry(&self, at: usize) -> Option<ShortEntry<'_>> {
        let entry = self.entries().get(at..)?;
        let &[shared, unshared, value_len, ref tag @ ..] = entry.first_chunk::<11>()?;
        let (tag, tag_len) = short_varint(tag)?;
        let rest = entry.get(3 + tag_len..)?;
        let unshared_len = usize::from(unshared);
        let len = unshared_len + usize::from(value_len);
        let is_short = (shared | unshared | value_len) < 0x80 && len <= rest.len();
        let key = at + 3 + tag_len;
        is_short.then_some(ShortEntry {
            shared: shared.into(),
            rest,
            unshared: unshared_len,
            value: key + unshared_len,
            tag: Tag(tag),
            end: key + len,
        })
    }

    /// The last restart point before offset `goal`, which is greater than 0.
    pub(super) fn restart_before(&self, goal: usize) -> usize {
        let points = self.restarts();
        let after = points.partition_point(|point| offset(point) < goal);
        after.checked_sub(1).and_then(|i| points.get(i)).map_or(0, offset)
    }

    /// Asks for the first entries, which are read soon. The processor asks for those behind them by itself.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn prefetch_start(&self) {
        const START_BYTES: usize = 256;
        prefetch(self.bytes.as_ptr(), START_BYTES);
    }

    /// Returns the first entry at or after (`key`, `tag`). `known` is the result of the heads for `key`, if they were
    /// searched before.
    pub(super) fn lower_bound(
        &self,
        key: &[u8],
        tag: Tag,
        known: Option<Found>,
    ) -> Result<Option<Located<'_>>, Malformed> {
        let found = match self.key_heads.get() {
            Some(Some(key_heads)) => known.or_else(|| key_heads.find(key)),
            _ => {
                let below = self.restarts_below(key, tag)?.checked_sub(1);
                Some((below.and_then(|i| self.restarts().get(i)).map_or(0, offset), true))
            }
        };
        let Some((mut at, may_be_below)) = found.filter(|(at, _)| *at < self.entries) else {
            return Ok(None);
        };
        let mut entry = self.entry(at)?;
        if !may_be_below {
            return Ok(Some(Located { at, entry, same_key: false }));
        }
        // The length of the prefix that the previous key shares with the target, and of that key. Where heads lead to
        // an entry, the one before has another head: what this one shares with it is a part of the target.
        let is_by_heads = matches!(self.key_heads.get(), Some(Some(_)));
        let mut matched = if is_by_heads { entry.shared } else { 0 };
        let mut before_len = matched;
        loop {
            if entry.shared > before_len {
                return Err(too_much_shared(at, entry.shared, before_len));
            }
            // An entry that shares more than that differs from the target where the previous one does,
            // and so is below it.
            if entry.shared <= matched {
                let rest = key.get(entry.shared..).unwrap_or_default();
                let common = common_prefix(entry.delta, rest);
                matched = entry.shared + common;
                let (order, same_key) = match (entry.delta.get(common), rest.get(common)) {
                    (None, None) => (tag.cmp(&entry.tag), true),
                    (found, wanted) => (found.cmp(&wanted), false),
                };
                if order != Ordering::Less {
                    return Ok(Some(Located { at, entry, same_key }));
                }
            }
            before_len = entry.shared + entry.delta.len();
            at = entry.end;
            if at >= self.entries {
                return Ok(None);
            }
            entry = self.entry(at)?;
        }
    }

    /// The entry at restart point `n`; `None` past the last.
    #[inline]
    pub(super) fn nth(&self, n: usize) -> Result<Option<Entry<'_>>, Malformed> {
        self.restarts().get(n).map(|point| self.entry(offset(point))).transpose()
    }

    /// Returns the number of restart points at entries before (`key`, `tag`).
    #[cfg_attr(not(target_arch = "wasm32"), inline)]
    pub(super) fn restarts_below(&self, key: &[u8], tag: Tag) -> Result<usize, Malformed> {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(below) = self.key_prefixes.as_ref().and_then(|prefixes| prefixes.below(key)) {
            return Ok(below);
        }
        self.restarts_below_by_keys(key, tag)
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(never))]
    fn restarts_below_by_keys(&self, key: &[u8], tag: Tag) -> Result<usize, Malformed> {
        let points = self.restarts();
        let (mut low, mut high) = match &self.key_prefixes {
            Some(key_prefixes) => key_prefixes.narrow(key),
            None => (0, points.len()),
        };
        while low < high {
            let middle = low + (high - low) / 2;
            let at = points.get(middle).map_or(0, offset);
            let entry = self.entry(at)?;
            if entry.shared != 0 {
                return Err(too_much_shared(at, entry.shared, 0));
            }
            if crate::entry::compare(entry.delta, entry.tag, key, tag) == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// A restart point as an offset.
pub(super) fn offset(point: &[u8; 4]) -> usize {
    u32::from_le_bytes(*point) as usize
}

#[cold]
pub(super) fn too_much_shared(at: usize, shared: usize, limit: usize) -> Malformed {
    Malformed::new(at, format_args!("at most {limit} bytes shared with the previous key"), shared)
}

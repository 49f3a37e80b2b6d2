//! Writes tables.
//!
//! 1. Entries are added in order to a block; the hashes of their keys are collected for the filter.
//! 2. A block of the target size is compressed and encoded. Its index entry waits for the first key of
//!    the next block, so that its separator can be short.
//! 3. Index entries and hashes are collected in partitions ([`Partitions`]).
//! 4. Encoded bytes are buffered and go to the file in large writes.
//! 5. Partitions, index, properties, directory and footer follow at the end.

use super::TableOptions;
use super::block::{Block, RESTART_INTERVAL};
use super::block_codec::{MAX_PART_TARGET_BYTES, PartEncoder, seed};
use super::block_writer::BlockWriter;
use super::cache::BlockCache;
use super::footer::{FOOTER_BYTES, Footer, Section, encode_directory, kind};
use super::index::{BlockHandle, separator};
use super::key_heads::KeyHeads;
use super::partitions::Partitions;
use super::properties::{HistogramBuilder, Properties};
use crate::coding::{escaped, key_hash};
use crate::entry::{Seq, Tag, check_limits, common_prefix};
use crate::error::{Error, Result};
use crate::file::{File, write_all_at};
use std::sync::Arc;
use terrane_types::{FilterBits, Kept, PrefixBuilder, PrefixRule, TableId, TableInfo};

/// The least size of a write to the file, but for the last, in bytes.
const WRITE_BYTES: usize = 256 << 10;
/// Restart points are 32-bit offsets, also in the top level of the index.
const MAX_INDEX_BYTES: usize = u32::MAX as usize / 2;

/// Writes one table into a file.
pub struct TableWriter {
    file: Arc<dyn File>,
    id: TableId,
    salt: u64,
    commits: u64,
    block_bytes: usize,
    encoder: PartEncoder,
    /// Bytes written to the file, and the bytes buffered after them.
    written: u64,
    pending: Vec<u8>,
    block: BlockWriter,
    partitions: Partitions,
    /// The last block, whose index entry is not added yet.
    closed: Option<BlockHandle>,
    last_key: Vec<u8>,
    last_tag: Tag,
    properties: Properties,
    histogram: HistogramBuilder,
    /// Those of the keys, if they are wanted.
    prefixes: Option<PrefixBuilder>,
    /// Receives the blocks, as they are likely to be read soon.
    cache: Option<Arc<BlockCache>>,
    /// Buffers for a separator and a handle.
    separator: Vec<u8>,
    handle: Vec<u8>,
}

impl TableWriter {
    /// Starts table `id` in `file`, which is empty.
    #[must_use]
    pub fn new(file: Arc<dyn File>, id: TableId, options: &TableOptions) -> Self {
        let block_bytes = options.block_bytes.clamp(1, MAX_PART_TARGET_BYTES);
        let partition_bytes = options.partition_bytes.clamp(1, MAX_PART_TARGET_BYTES);
        TableWriter {
            file,
            id,
            salt: 0,
            commits: 0,
            block_bytes,
            encoder: PartEncoder::new(seed(0, id.0), options.compression),
            written: 0,
            pending: Vec::with_capacity(WRITE_BYTES + 2 * block_bytes),
            block: BlockWriter::new(RESTART_INTERVAL),
            partitions: Partitions::new(partition_bytes, options.filter_bits_per_key),
            closed: None,
            last_key: Vec::new(),
            last_tag: Tag(0),
            properties: Properties {
                filter_bits: options.filter_bits_per_key,
                kept: Some(Kept::default()),
                ..Properties::default()
            },
            histogram: HistogramBuilder::new(),
            prefixes: None,
            cache: None,
            separator: Vec::new(),
            handle: Vec::new(),
        }
    }

    /// Sets the store that writes the table: its salt, which seeds every checksum, and how many commits
    /// it has made. To be called before the first entry is added.
    #[must_use]
    pub fn of_store(mut self, salt: u64, commits: u64) -> Self {
        (self.salt, self.commits) = (salt, commits);
        self.encoder.set_seed(seed(salt, self.id.0));
        self
    }

    /// Sets the keyspace that the table is for, by id and, if it has one, name.
    #[must_use]
    pub fn of_keyspace(mut self, id: u32, name: Option<String>) -> Self {
        self.properties.keyspace_id = Some(id);
        self.properties.keyspace_name = name;
        self
    }

    /// Records the prefixes of the keys by this rule, if there is one.
    #[must_use]
    pub fn of_prefixes(mut self, rule: Option<PrefixRule>) -> Self {
        self.prefixes = rule.map(PrefixBuilder::new);
        self
    }

    /// Adds blocks to a cache while it has room.
    #[must_use]
    pub fn caching(mut self, cache: Arc<BlockCache>) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Appends an entry. Entries are added in order: key ascending, then tag descending.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::InvalidArgument`] for an entry out of order or over its limits; I/O
    /// failures.
    pub fn add(&mut self, key: &[u8], tag: Tag, value: &[u8]) -> Result<()> {
        check_limits(key, value)?;
        let common = common_prefix(&self.last_key, key);
        let (ascends, new_key) = match (self.last_key.get(common), key.get(common)) {
            (None, None) => (tag < self.last_tag, false),
            (last, next) => (last < next, true),
        };
        let first = self.properties.entries == 0;
        if !ascends && !first {
            return Err(self.out_of_order(key, tag));
        }
        if let Some(closed) = self.closed.take() {
            if new_key {
                separator(&self.last_key, key, common, &mut self.separator);
                self.add_to_index(closed, Tag(0));
            } else {
                self.separator.clone_from(&self.last_key);
                self.add_to_index(closed, self.last_tag);
            }
        }
        if first {
            self.properties.smallest = key.to_vec();
        }
        // A key whose versions span partitions is in each filter.
        let partitions = &mut self.partitions;
        if partitions.filters() && (new_key || partitions.is_without_keys()) {
            partitions.add_key(key_hash(key));
        }
        if let Some(prefixes) = &mut self.prefixes {
            prefixes.add(key);
        }
        self.properties.count(key, tag, value);
        self.block.add(common, key, tag, value);
        self.last_key.truncate(common);
        self.last_key.extend_from_slice(key.get(common..).unwrap_or_default());
        self.last_tag = tag;
        if self.block.len() >= self.block_bytes { self.close_block() } else { Ok(()) }
    }

    /// Counts the entry that was added last as one that only snapshots kept: it can be dropped once every
    /// snapshot has reached `until`.
    pub fn note_kept(&mut self, value_bytes: usize, until: Seq) {
        if let Some(kept) = &mut self.properties.kept {
            kept.add((self.last_key.len() + value_bytes) as u64, until);
        }
    }

    /// The length of the file if the table were finished now, in bytes. An estimate, since the current
    /// block is not compressed yet.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        let rest = self.block.len() + self.partitions.bytes() + FOOTER_BYTES;
        self.position() + rest as u64
    }

    /// Bytes of memory in use, about: buffered bytes, index and filter.
    #[must_use]
    pub fn memory(&self) -> u64 {
        (self.pending.capacity() + self.partitions.memory()) as u64
    }

    /// The number of entries so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.properties.entries
    }

    /// The user key of the last entry; empty before the first.
    #[must_use]
    pub fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Finishes the table: writes all of it to the file, and does not sync.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::InvalidArgument`] for a table without entries; I/O failures.
    pub fn finish(mut self) -> Result<TableInfo> {
        if self.properties.entries == 0 {
            return Err(Error::invalid("table", "one entry or more", "none"));
        }
        if self.block.entries() > 0 {
            self.close_block()?;
        }
        if let Some(closed) = self.closed.take() {
            self.separator.clone_from(&self.last_key);
            self.add_to_index(closed, Tag(0));
        }
        self.partitions.close(&self.last_key, Tag(0));
        let data_len = self.position();
        self.properties.filter_bytes = self.partitions.filter_bytes();
        let partitions =
            std::mem::replace(&mut self.partitions, Partitions::new(1, FilterBits::NONE));
        let mut top = partitions.store(&self.encoder, data_len, &mut self.pending);
        let len = self.position() - data_len;
        let mut sections = vec![Section { kind: kind::PARTITIONS, offset: data_len, len }];
        sections.push(self.section(kind::INDEX, top.finish()));

        let mut bytes = Vec::new();
        let histogram = std::mem::replace(&mut self.histogram, HistogramBuilder::new());
        self.properties.histogram = histogram.finish(&self.last_key, data_len);
        self.properties.prefixes =
            self.prefixes.take().map(PrefixBuilder::finish).unwrap_or_default();
        self.properties.largest = std::mem::take(&mut self.last_key);
        self.properties.scale_kept(data_len);
        self.properties.encode(&mut bytes);
        sections.push(self.section(kind::PROPERTIES, &bytes));

        bytes.clear();
        encode_directory(&sections, &mut bytes);
        let directory_offset = self.position();
        self.encoder.encode(&bytes, directory_offset, &mut self.pending);
        let directory_len = (self.position() - directory_offset) as u32;
        let (table, salt, commits) = (self.id.0, self.salt, self.commits);
        let footer = Footer { table, salt, commits, data_len, directory_offset, directory_len };
        footer.encode(&mut self.pending);
        self.write_pending()?;
        if self.file.len()? != self.written {
            self.file.set_len(self.written)?;
        }
        let expires_by = self.properties.expiry().unwrap_or(0);
        let Properties {
            entries,
            tombstones,
            smallest,
            largest,
            first_seq,
            last_seq,
            histogram,
            prefixes,
            filter_bits,
            filter_bytes,
            kept,
            ..
        } = self.properties;
        Ok(TableInfo {
            id: self.id,
            bytes: self.written,
            entries,
            tombstones,
            smallest,
            largest,
            first_seq,
            last_seq,
            filter_bits,
            filter_bytes,
            kept,
            cleared: 0,
            expires_by,
            salt,
            histogram,
            prefixes,
        })
    }

    /// The offset of the next part in the file.
    fn position(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn close_block(&mut self) -> Result<()> {
        let (offset, entries) = (self.position(), self.block.entries());
        let block = self.block.finish();
        self.encoder.encode_compressed(block, offset, &mut self.pending);
        if let Some(cache) = &self.cache
            && cache.has_room(self.id, offset, block.len() + KeyHeads::memory(entries as usize))
            && let Ok(block) = Block::decode(block.to_vec())
        {
            cache.insert(self.id, offset, &Arc::new(block));
        }
        self.block.clear();
        let end = self.position();
        self.closed = Some(BlockHandle { offset, len: end - offset, entries });
        self.properties.blocks += 1;
        self.histogram.block(&self.last_key, end);
        if self.partitions.bytes() > MAX_INDEX_BYTES {
            return Err(Error::invalid(
                "table",
                format_args!("an index of at most {MAX_INDEX_BYTES} bytes"),
                format_args!("{}", self.partitions.bytes()),
            ));
        }
        if self.pending.len() >= WRITE_BYTES { self.write_pending() } else { Ok(()) }
    }

    /// Adds the index entry of a closed block, with the key in `separator`.
    fn add_to_index(&mut self, closed: BlockHandle, tag: Tag) {
        self.handle.clear();
        closed.encode(&mut self.handle);
        self.partitions.add_block(&self.separator, tag, &self.handle);
    }

    fn section(&mut self, kind: u64, bytes: &[u8]) -> Section {
        let offset = self.position();
        self.encoder.encode(bytes, offset, &mut self.pending);
        Section { kind, offset, len: self.position() - offset }
    }

    fn write_pending(&mut self) -> Result<()> {
        write_all_at(self.file.as_ref(), &self.pending, self.written)?;
        self.written = self.position();
        self.pending.clear();
        Ok(())
    }

    #[cold]
    fn out_of_order(&self, key: &[u8], tag: Tag) -> Error {
        let name = |key: &[u8], tag: Tag| format!("{} at {}", escaped(key), tag.seq());
        Error::invalid(
            "entry",
            format_args!("one after {}", name(&self.last_key, self.last_tag)),
            name(key, tag),
        )
    }
}

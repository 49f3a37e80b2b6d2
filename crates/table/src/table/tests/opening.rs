//! Reads of opening a table, and memory of an open table.

use super::*;
use crate::error::ErrorKind;
use crate::table::block_codec::TRAILER_BYTES;
use crate::table::filter::Filter;
use crate::table::index::BlockHandle;
use crate::table::open_table::{OpenTable, Partition};
use crate::table::slot::Slot;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A file that counts its reads and writes, and the only one of its tables.
struct Counting(Arc<MemFile>, AtomicUsize, AtomicUsize);

impl File for Counting {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.1.fetch_add(1, Relaxed);
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.2.fetch_add(1, Relaxed);
        self.0.write_at(buf, offset)
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }
    fn len(&self) -> Result<u64> {
        self.0.len()
    }
}

struct CountingFiles(Arc<Counting>);

impl TableFiles for CountingFiles {
    fn open(&self, _: TableId) -> Result<Arc<dyn File>> {
        Ok(self.0.clone())
    }
}

fn counted(count: u64) -> (Arc<Table>, Arc<Counting>) {
    let (file, info) = write(&many(count), 1, &TableOptions::default());
    let file = Arc::new(Counting(file, AtomicUsize::new(0), AtomicUsize::new(0)));
    let cache = Arc::new(BlockCache::new(1 << 20));
    (Arc::new(Table::new(info, Arc::new(CountingFiles(file.clone())), cache)), file)
}

#[test]
fn one_read_opens_a_small_table_and_another_gets_a_block() {
    let (table, file) = counted(1000);
    table.open().unwrap();
    assert_eq!(file.1.load(Relaxed), 1);
    let opened = table.opened().unwrap();
    assert!(opened.partitions.iter().all(|p| p.filter.get().is_some() && p.index.get().is_some()));
    assert!(table.get(&many(1)[0].0, MAX_SEQ).unwrap().is_some());
    assert_eq!(file.1.load(Relaxed), 2);
}

#[test]
fn the_partitions_of_a_large_table_are_read_when_needed() {
    let (table, file) = counted(60_000);
    table.open().unwrap();
    let opened = table.opened().unwrap();
    assert!(opened.partitions.len() > 3);
    assert!(opened.partitions[0].index.get().is_none());
    let before = file.1.load(Relaxed);
    // A filter, an index and a block.
    for reads in [3, 3] {
        assert!(table.get(&many(1)[0].0, MAX_SEQ).unwrap().is_some());
        assert_eq!(file.1.load(Relaxed), before + reads);
    }
}

#[test]
fn an_open_table_takes_memory_for_each_of_its_partitions() {
    let options = TableOptions { block_bytes: 1, partition_bytes: 1, ..TableOptions::default() };
    for entries in [10, 1000] {
        let opened = table(&many(entries), 1, &options).opened().unwrap();
        assert_eq!(opened.partitions.len() as u64, entries);
        let slots = size_of::<Slot<Block>>() + size_of::<Slot<Filter>>();
        // Each slot with two counts of references, and in the top level a separator.
        let each = size_of::<Partition>() + slots + 4 * size_of::<usize>() + 40;
        let least = size_of::<OpenTable>() + opened.partitions.len() * each;
        let found = opened.memory();
        assert!((least..2 * least + 1000).contains(&found), "{found}, at least {least}");
    }
}

#[test]
fn a_handle_leads_to_a_block_within_the_data() {
    let table = table(&many(100), 1, &TableOptions::default());
    let opened = table.opened().unwrap();
    let least = TRAILER_BYTES as u64;
    let leads = |offset, len| {
        let mut bytes = Vec::new();
        BlockHandle { offset, len, entries: 1 }.encode(&mut bytes);
        opened.handle(&bytes, &opened.partitions[0]).is_ok()
    };
    assert!(leads(0, least) && leads(opened.data_len - least, least));
    assert!(!leads(0, least - 1), "too short for a checksum");
    assert!(!leads(opened.data_len - least + 1, least), "past the data");
    assert!(!leads(u64::MAX, least));
}

#[test]
fn a_table_is_opened_from_the_file_that_its_writer_has() {
    let (table, file) = counted(10);
    assert!(table.if_opened().is_none());
    let (other, _) = write(&many(11), 1, &TableOptions::default());
    assert!(matches!(table.open_in(other).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
    assert!(table.if_opened().is_none());
    table.open_in(file.0.clone()).unwrap();
    assert!(table.if_opened().is_some());
    assert_eq!(file.1.load(Relaxed), 0, "from the other handle");
}

#[test]
fn a_partition_read_without_a_filter_is_loaded_with_its_index() {
    let options = TableOptions { filter_bits_per_key: FilterBits::NONE, ..TableOptions::default() };
    let opened = table(&many(100), 1, &options).opened().unwrap();
    assert!(opened.partitions.iter().all(|p| p.index.get().is_some() && p.filter.get().is_none()));
}

#[test]
fn a_salvage_reports_the_tables_properties_and_its_reads() {
    let entries = many(300);
    let (file, info) =
        write(&entries, 9, &TableOptions { block_bytes: 1000, ..Default::default() });
    let mut salvage = Salvage::open(file.clone(), &NOTHING_KNOWN).unwrap();
    assert_eq!((salvage.number(), salvage.salt()), (9, SALT));
    assert_eq!(salvage.properties().unwrap().entries, info.entries);
    let mut read = 0;
    while salvage.entry().is_some() {
        read += 1;
        assert_eq!(salvage.entries(), read);
        salvage.next();
    }
    assert_eq!((read, salvage.lost().len()), (300, 0));
}

#[test]
fn a_table_is_written_in_large_writes_of_known_size() {
    let file = Arc::new(Counting(Arc::default(), AtomicUsize::new(0), AtomicUsize::new(0)));
    let options = TableOptions { compression: Compression::None, ..TableOptions::default() };
    let mut writer = TableWriter::new(file.clone(), TableId(1), &options);
    assert!(writer.bytes_written() >= footer::FOOTER_BYTES as u64);
    let before = writer.memory();
    assert!((256 << 10..300 << 10).contains(&before), "{before}");
    let entries = many(8000);
    for (key, tag, value) in &entries[..1000] {
        writer.add(key, *tag, value).unwrap();
    }
    // A hash for each key, and an index.
    assert!((before + 8000..before + 16_000).contains(&writer.memory()));
    for (key, tag, value) in &entries[1000..] {
        writer.add(key, *tag, value).unwrap();
    }
    let written = writer.finish().unwrap().bytes as usize;
    let writes = file.2.load(Relaxed);
    assert!(written > 800 << 10 && writes <= 1 + written / (256 << 10), "{writes} of {written}");
}

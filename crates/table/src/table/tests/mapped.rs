//! Tables in files that are memory-mapped.

use super::*;
use crate::trace::ReadTracer;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A mapped file, and how often it was read all the same.
struct Mapped(Vec<u8>, AtomicUsize);

impl File for Mapped {
    fn name(&self) -> &str {
        "mapped.sst"
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.1.fetch_add(1, Relaxed);
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
    fn write_at(&self, _: &[u8], _: u64) -> Result<usize> {
        unreachable!("a table does not change")
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    fn set_len(&self, _: u64) -> Result<()> {
        unreachable!("a table does not change")
    }
    fn len(&self) -> Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn mapped(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

/// An open table of many blocks in a mapped file.
fn mapped(entries: &[Entry]) -> (Arc<Table>, Arc<Mapped>) {
    let options = TableOptions { block_bytes: 100, ..TableOptions::default() };
    let (file, info) = write(entries, 1, &options);
    let file = Arc::new(Mapped(file.bytes(), AtomicUsize::new(0)));
    let table = unopened(&MemFile::holding(Vec::new()), &info, 1 << 20);
    table.open_in(file.clone()).unwrap();
    (table, file)
}

#[test]
fn a_get_takes_blocks_from_a_mapped_file_without_a_read() {
    let entries = many(1000);
    let (table, file) = mapped(&entries);
    let opening = file.1.load(Relaxed);
    for (key, tag, value) in entries.into_iter().step_by(100) {
        assert_eq!(table.get(&key, MAX_SEQ).unwrap(), Some((tag, value)));
    }
    assert_eq!(file.1.load(Relaxed), opening);
}

#[test]
fn a_mapped_file_serves_reads_of_more_than_a_block() {
    let (table, file) = mapped(&many(1000));
    for (readahead, is_read) in [(0, false), (MAX_READAHEAD_BYTES, true)] {
        let before = file.1.load(Relaxed);
        let pattern = ReadPattern::Compaction { readahead };
        let mut cursor = TableCursor::new(Arc::clone(&table), pattern, ReadTracer::default());
        cursor.seek_first().unwrap();
        while cursor.valid() {
            cursor.next().unwrap();
        }
        assert_eq!(file.1.load(Relaxed) > before, is_read, "{readahead} bytes ahead");
    }
}

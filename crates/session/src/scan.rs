//! Scans, which return their entries in pages.

use crate::codec::ByteList;
use terrane::{Error, ErrorKind, Result};

/// A scan of a range, which shows the store as it was when the scan started.
pub struct Scan {
    inner: terrane::Cursor,
    reverse: bool,
    /// The remaining limit of entries.
    left: f64,
    done: bool,
    /// An error for the next page, after a page with the entries before it.
    failed: Option<Error>,
    /// The key of the last row, or the one sought.
    at: Vec<u8>,
    /// Whether `at` is the key of a row.
    is_row: bool,
    /// Whether rows have ended, and if so at the start.
    ended: Option<bool>,
    /// Whether a file had to be read behind the last row, so that the cursor has lost its place.
    is_lost: bool,
}

/// The rows to return next.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// The most rows.
    pub count: u32,
    /// The size of rows that ends a page, in bytes.
    pub bytes: usize,
    /// Whether the previous rows are wanted.
    pub back: bool,
    /// Whether the keys of the rows are wanted.
    pub keys: bool,
    /// Whether the values of the rows are wanted.
    pub values: bool,
}

/// The most bytes of rows that are returned together.
pub const ROWS_BYTES: usize = 64 << 20;

/// The keys or values of a page, or both.
struct Page {
    lists: [Option<ByteList>; 2],
    bytes: usize,
}

/// The room for rows that a page starts with at most, in bytes.
const CAPACITY_MAX: usize = 16 << 10;

impl Page {
    /// Makes a page of about `bytes` bytes of rows.
    fn new(keys: bool, values: bool, bytes: usize) -> Self {
        let capacity = bytes.min(CAPACITY_MAX);
        let list = |wanted: bool| wanted.then(|| ByteList::with_capacity(capacity));
        Page { lists: [keys, values].map(list), bytes: 0 }
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes = 0;
        for (list, part) in self.lists.iter_mut().zip([key, value]) {
            if let Some(list) = list {
                list.push(part);
                self.bytes += list.size();
            }
        }
    }

    fn encode(self) -> Vec<u8> {
        let lists = || self.lists.iter().flatten();
        let mut page = Vec::with_capacity(lists().map(ByteList::size).sum());
        lists().for_each(|list| list.encode(&mut page));
        page
    }
}

impl Scan {
    pub(crate) fn new(inner: terrane::Cursor, reverse: bool, limit: f64) -> Self {
        Scan {
            inner,
            reverse,
            left: limit,
            done: false,
            failed: None,
            at: Vec::new(),
            is_row: false,
            ended: None,
            is_lost: false,
        }
    }

    /// Passes entries to `take` until it returns false, or there are no more.
    fn advance(&mut self, mut take: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        while self.left >= 1.0 {
            let step = if self.reverse { self.inner.prev() } else { self.inner.next() };
            let Some((key, value)) = step? else { break };
            self.left -= 1.0;
            if !take(key, value) && self.left >= 1.0 {
                return Ok(());
            }
        }
        self.done = true;
        Ok(())
    }

    /// Ends the scan after an error.
    fn or_done(&mut self, result: Result<()>) -> Result<()> {
        self.done |= result.is_err();
        result
    }

    /// Returns the next entries, their keys or values or both: at least one entry, then as many as
    /// come to about `bytes` bytes.
    ///
    /// # Errors
    /// Damage or an I/O error, after a page with the entries before it; the scan is done then.
    pub fn page(&mut self, bytes: u32, keys: bool, values: bool) -> Result<Vec<u8>> {
        let failed = self.failed.take().map_or(Ok(()), Err);
        self.or_done(failed)?;
        let mut page = Page::new(keys, values, bytes as usize);
        let mut any = false;
        let advanced = self.advance(|key, value| {
            any = true;
            page.push(key, value);
            page.bytes < bytes as usize
        });
        match advanced {
            Err(error) if any => self.failed = Some(error),
            advanced => self.or_done(advanced)?,
        }
        Ok(page.encode())
    }

    /// Moves to `seek` if it is a key, then returns the next rows. There are fewer than wanted at the end of the range,
    /// or where they take as many bytes. The limit of a scan does not apply.
    ///
    /// # Errors
    /// Damage or an I/O error; the scan is at its end then.
    pub fn rows(&mut self, seek: Option<Vec<u8>>, wanted: Wanted) -> Result<Vec<u8>> {
        let mut page = Page::new(wanted.keys, wanted.values, wanted.bytes);
        self.seek(seek);
        self.read(&mut page, wanted)?;
        Ok(page.encode())
    }

    /// Returns rows as `rows` does, as far as no file has to be read: `None` if one has to be read for the first.
    ///
    /// # Errors
    /// Damage.
    pub fn try_rows(&mut self, seek: Option<Vec<u8>>, wanted: Wanted) -> Result<Option<Vec<u8>>> {
        let mut page = Page::new(wanted.keys, wanted.values, wanted.bytes);
        self.seek(seek);
        self.inner.set_only_cached(true);
        let read = self.read(&mut page, wanted);
        self.inner.set_only_cached(false);
        match read {
            Err(error) if matches!(error.kind(), ErrorKind::WouldRead) => {
                self.is_lost = self.is_row;
                Ok((page.bytes > 0).then(|| page.encode()))
            }
            read => read.map(|()| Some(page.encode())),
        }
    }

    fn seek(&mut self, key: Option<Vec<u8>>) {
        let Some(key) = key else { return };
        self.inner.seek(&key);
        (self.at, self.is_row, self.ended, self.is_lost) = (key, false, None, false);
    }

    /// Adds the next rows to a page.
    fn read(&mut self, page: &mut Page, wanted: Wanted) -> Result<()> {
        let Wanted { count, bytes, back, .. } = wanted;
        if self.ended == Some(back) {
            return Ok(());
        }
        if self.ended.take().is_some() {
            // To the last row in the other direction, which is returned again, or to a key that no row has.
            self.inner.seek(&self.at);
            self.is_row = false;
        }
        if self.is_lost {
            self.inner.seek(&self.at);
            // The last row again.
            self.step(back)?;
            self.is_lost = false;
        }
        for _ in 0..count {
            let step = if back { self.inner.prev() } else { self.inner.next() };
            let Some((key, value)) = step? else {
                self.ended = Some(back);
                break;
            };
            self.at.clear();
            self.at.extend_from_slice(key);
            self.is_row = true;
            page.push(key, value);
            if page.bytes >= bytes {
                break;
            }
        }
        Ok(())
    }

    fn step(&mut self, back: bool) -> Result<()> {
        let step = if back { self.inner.prev() } else { self.inner.next() };
        step.map(|_| ())
    }

    /// Counts the next entries, at most `entries` of them.
    ///
    /// # Errors
    /// As for a page.
    pub fn count(&mut self, entries: u32) -> Result<u32> {
        let mut counted = 0;
        let advanced = self.advance(|_, _| {
            counted += 1;
            counted < entries
        });
        self.or_done(advanced)?;
        Ok(counted)
    }

    /// Whether there are no more entries.
    #[must_use]
    pub fn done(&self) -> bool {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use terrane::executor::SliceExecutor;
    use terrane::storage::{Directory, vfs::MemoryVfs};
    use terrane::{Db, Durability, KeyRange, Options};

    const ROWS: u32 = 3000;

    /// Returns numbers that are drawn from a seed, each below its bound.
    fn numbers(mut seed: u64) -> impl FnMut(u32) -> u32 {
        move |below| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) as u32 % below
        }
    }

    fn key(number: u32) -> Vec<u8> {
        format!("{number:06}").into_bytes()
    }

    /// Returns a store whose tables take more than its cache, with rows in memory as well, some of them deleted.
    fn store() -> Db {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let options = Options::small().cache_bytes(64 << 10);
        let db = Db::open_storage(storage, options, Arc::new(SliceExecutor::default())).unwrap();
        let rows = db.default_keyspace();
        let mut draw = numbers(7);
        for number in 0..ROWS {
            let value: Vec<u8> = (0..300).map(|_| draw(256) as u8).collect();
            rows.put(key(number), value, Durability::Buffered).unwrap();
        }
        db.flush().unwrap();
        rows.delete_range(key(700)..key(900), Durability::Buffered).unwrap();
        for number in (0..ROWS).step_by(7) {
            rows.delete(key(number), Durability::Buffered).unwrap();
            rows.put(key(number / 2), "newer", Durability::Buffered).unwrap();
        }
        db
    }

    /// Returns the keys of a page that has only keys.
    fn keys_of(page: &[u8]) -> Vec<Vec<u8>> {
        let number = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().unwrap()) as usize;
        let mut end = 4 + 4 * number(0);
        let lengths = (0..number(0)).map(|n| number(4 + 4 * n));
        let cut = lengths.map(|length| {
            end += length;
            page[end - length..end].to_vec()
        });
        cut.collect()
    }

    #[test]
    fn rows_of_memory_and_then_of_files_are_all_rows() {
        let db = store();
        let mut draw = numbers(1);
        let (mut whole, mut parts, mut none) = (0, 0, 0);
        for _ in 0..50 {
            let range = KeyRange::from(key(draw(ROWS))..key(ROWS - draw(ROWS / 2)));
            let scan = || {
                let cursor = db.default_keyspace().cursor(range.clone()).unwrap();
                Scan::new(cursor, false, f64::INFINITY)
            };
            let (mut tried, mut read) = (scan(), scan());
            for _ in 0..40 {
                let seek = (draw(3) == 0).then(|| key(draw(ROWS)));
                let (back, count) = (draw(2) == 0, 1 + draw(60));
                let wanted = Wanted { count, bytes: 1 << 20, back, keys: true, values: false };
                let expected = keys_of(&read.rows(seek.clone(), wanted).unwrap());
                let page = tried.try_rows(seek, wanted).unwrap();
                let mut found = page.as_deref().map(keys_of).unwrap_or_default();
                match page {
                    None => none += 1,
                    Some(_) if found.len() == expected.len() => whole += 1,
                    Some(_) => parts += 1,
                }
                let left = Wanted { count: count - found.len() as u32, ..wanted };
                if left.count > 0 {
                    found.extend(keys_of(&tried.rows(None, left).unwrap()));
                }
                assert_eq!(found, expected);
            }
        }
        assert!(whole > 0 && parts > 0 && none > 0, "{whole}, {parts}, {none}");
    }
}

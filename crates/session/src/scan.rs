//! Scans, which return their entries in pages.

use crate::codec::ByteList;
use terrane::{Error, Result};

/// A scan of a range, which shows the store as it was when the scan started.
pub struct Scan {
    inner: terrane::Cursor,
    reverse: bool,
    /// The remaining limit of entries.
    left: f64,
    done: bool,
    /// An error for the next page, after a page with the entries before it.
    failed: Option<Error>,
    /// The key of the last row, or the one sought; whether rows have ended, and if so at the start.
    at: Vec<u8>,
    ended: Option<bool>,
}

/// The most bytes of rows that are returned together.
pub const ROWS_BYTES: usize = 64 << 20;

/// The keys or values of a page, or both.
struct Page {
    lists: [Option<ByteList>; 2],
    bytes: usize,
}

impl Page {
    fn new(keys: bool, values: bool) -> Self {
        Page { lists: [keys, values].map(|wanted| wanted.then(ByteList::default)), bytes: 0 }
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
        let mut page = Vec::new();
        for list in self.lists.iter().flatten() {
            list.encode(&mut page);
        }
        page
    }
}

impl Scan {
    pub(crate) fn new(inner: terrane::Cursor, reverse: bool, limit: f64) -> Self {
        Scan { inner, reverse, left: limit, done: false, failed: None, at: Vec::new(), ended: None }
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
        let mut page = Page::new(keys, values);
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

    /// Moves to `seek` if it is a key, then returns the next `count` rows, or the previous ones if `back`, their keys
    /// or values or both. There are fewer at the end of the range, or where they take `bytes` bytes or more. The limit
    /// of a scan does not apply.
    ///
    /// # Errors
    /// Damage or an I/O error; the scan is at its end then.
    pub fn rows(
        &mut self,
        seek: Option<Vec<u8>>,
        count: u32,
        bytes: usize,
        back: bool,
        keys: bool,
        values: bool,
    ) -> Result<Vec<u8>> {
        let mut page = Page::new(keys, values);
        if let Some(key) = seek {
            self.inner.seek(&key);
            (self.at, self.ended) = (key, None);
        }
        if self.ended == Some(back) {
            return Ok(page.encode());
        }
        if self.ended.take().is_some() {
            // At the last row in the other direction, or where none was found from.
            self.inner.seek(&self.at);
        }
        for _ in 0..count {
            let step = if back { self.inner.prev() } else { self.inner.next() };
            let Some((key, value)) = step? else {
                self.ended = Some(back);
                break;
            };
            self.at.clear();
            self.at.extend_from_slice(key);
            page.push(key, value);
            if page.bytes >= bytes {
                break;
            }
        }
        Ok(page.encode())
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

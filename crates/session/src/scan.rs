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
}

impl Scan {
    pub(crate) fn new(inner: terrane::Cursor, reverse: bool, limit: f64) -> Self {
        Scan { inner, reverse, left: limit, done: false, failed: None }
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
        let [mut key_list, mut value_list] = <[ByteList; 2]>::default();
        let mut any = false;
        let advanced = self.advance(|key, value| {
            any = true;
            if keys {
                key_list.push(key);
            }
            if values {
                value_list.push(value);
            }
            key_list.size() + value_list.size() < bytes as usize
        });
        match advanced {
            Err(error) if any => self.failed = Some(error),
            advanced => self.or_done(advanced)?,
        }
        let mut page = Vec::with_capacity(key_list.size() + value_list.size());
        for (wanted, list) in [(keys, key_list), (values, value_list)] {
            if wanted {
                list.encode(&mut page);
            }
        }
        Ok(page)
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

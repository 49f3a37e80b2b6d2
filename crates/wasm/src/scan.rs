//! Scans, page by page.

use crate::fault::to_js;
use crate::packed::List;
use terrane::{Error, Result};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// A walk over a range of keys, as the store was when it began. Free it when done.
#[wasm_bindgen]
pub struct Scan {
    inner: terrane::Cursor,
    reverse: bool,
    /// Entries that may still be given.
    left: f64,
    done: bool,
}

impl Scan {
    pub(crate) fn new(inner: terrane::Cursor, reverse: bool, limit: f64) -> Self {
        Scan { inner, reverse, left: limit, done: false }
    }

    /// Gives entries to `take` until it answers false, or none is left.
    fn walk(&mut self, mut take: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
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

    /// After an error there is nothing to go on with.
    fn or_done(&mut self, result: Result<()>) -> Result<(), JsValue> {
        self.done |= result.is_err();
        result.map_err(|e: Error| to_js(&e))
    }
}

#[wasm_bindgen]
impl Scan {
    /// The next entries, packed, with or without their keys and values: at least one, then as many
    /// as come to about `bytes` bytes.
    ///
    /// # Errors
    /// Damage or a failing medium; the scan is done then.
    pub fn page(&mut self, bytes: u32, keys: bool, values: bool) -> Result<Vec<u8>, JsValue> {
        let [mut key_list, mut value_list] = <[List; 2]>::default();
        let walked = self.walk(|key, value| {
            if keys {
                key_list.push(key);
            }
            if values {
                value_list.push(value);
            }
            key_list.size() + value_list.size() < bytes as usize
        });
        self.or_done(walked)?;
        let mut page = Vec::with_capacity(key_list.size() + value_list.size());
        for (wanted, list) in [(keys, key_list), (values, value_list)] {
            if wanted {
                list.put(&mut page);
            }
        }
        Ok(page)
    }

    /// Counts the next entries, at most `entries`.
    ///
    /// # Errors
    /// As for a page.
    pub fn count(&mut self, entries: u32) -> Result<u32, JsValue> {
        let mut counted = 0;
        let walked = self.walk(|_, _| {
            counted += 1;
            counted < entries
        });
        self.or_done(walked)?;
        Ok(counted)
    }

    /// Whether no entry is left.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn done(&self) -> bool {
        self.done
    }
}

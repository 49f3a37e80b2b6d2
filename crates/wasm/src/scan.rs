//! Scans, which return their entries in pages.

use crate::to_js;
use terrane_session::{ROWS_BYTES, Wanted};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// A scan of a range, which shows the store as it was when the scan started. Free it when done.
#[wasm_bindgen]
pub struct Scan {
    inner: terrane_session::Scan,
    /// The page that JavaScript reads in place.
    page: Vec<u8>,
}

impl Scan {
    pub(crate) fn over(inner: terrane_session::Scan) -> Self {
        Scan { inner, page: Vec::new() }
    }
}

#[wasm_bindgen]
impl Scan {
    /// Returns the next entries, their keys or values or both: at least one entry, then as many as
    /// come to about `bytes` bytes.
    ///
    /// # Errors
    /// Damage or an I/O error, after a page with the entries before it; the scan is done then.
    pub fn page(&mut self, bytes: u32, keys: bool, values: bool) -> Result<Vec<u8>, JsValue> {
        to_js(self.inner.page(bytes, keys, values))
    }

    /// Returns the address of the next entries, as a page has them, valid until the next call.
    ///
    /// # Errors
    /// As for a page.
    pub fn page_in_place(
        &mut self,
        bytes: u32,
        keys: bool,
        values: bool,
    ) -> Result<*const u8, JsValue> {
        self.page = self.page(bytes, keys, values)?;
        Ok(self.page.as_ptr())
    }

    /// Moves to `seek` if it is a key, then returns the next `count` rows, or the previous ones if `back`, their keys
    /// or values or both.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn rows(
        &mut self,
        seek: Option<Vec<u8>>,
        count: u32,
        back: bool,
        keys: bool,
        values: bool,
    ) -> Result<Vec<u8>, JsValue> {
        to_js(self.inner.rows(seek, Wanted { count, bytes: ROWS_BYTES, back, keys, values }))
    }

    /// Counts the next entries, at most `entries` of them.
    ///
    /// # Errors
    /// As for a page.
    pub fn count(&mut self, entries: u32) -> Result<u32, JsValue> {
        to_js(self.inner.count(entries))
    }

    /// Whether there are no more entries.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn done(&self) -> bool {
        self.inner.done()
    }
}

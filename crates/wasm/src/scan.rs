//! Scans, which return their entries in pages.

use crate::to_js;
use terrane_session::{ROWS_BYTES, Wanted};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// A scan of a range, which shows the store as it was when the scan started. Free it when done.
#[wasm_bindgen]
pub struct Scan(pub(crate) terrane_session::Scan);

#[wasm_bindgen]
impl Scan {
    /// Returns the next entries, their keys or values or both: at least one entry, then as many as
    /// come to about `bytes` bytes.
    ///
    /// # Errors
    /// Damage or an I/O error, after a page with the entries before it; the scan is done then.
    pub fn page(&mut self, bytes: u32, keys: bool, values: bool) -> Result<Vec<u8>, JsValue> {
        to_js(self.0.page(bytes, keys, values))
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
        to_js(self.0.rows(seek, Wanted { count, bytes: ROWS_BYTES, back, keys, values }))
    }

    /// Counts the next entries, at most `entries` of them.
    ///
    /// # Errors
    /// As for a page.
    pub fn count(&mut self, entries: u32) -> Result<u32, JsValue> {
        to_js(self.0.count(entries))
    }

    /// Whether there are no more entries.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn done(&self) -> bool {
        self.0.done()
    }
}

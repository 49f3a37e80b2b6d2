//! Scans, which return their entries in pages.

use crate::guard::guard;
use napi::Env;
use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;
use terrane::Closed;

/// A scan of a range, which shows the store as it was when the scan started. Free it when done.
#[napi]
pub struct Scan(Option<terrane_session::Scan>);

impl Scan {
    pub(crate) fn new(scan: terrane_session::Scan) -> Self {
        Scan(Some(scan))
    }
}

#[napi]
impl Scan {
    /// Returns the next entries, their keys or values or both: at least one entry, then as many as
    /// come to about `bytes` bytes.
    ///
    /// # Errors
    /// Damage or an I/O error, after a page with the entries before it; the scan is done then.
    #[napi]
    pub fn page<'env>(
        &mut self,
        env: &'env Env,
        bytes: u32,
        keys: bool,
        values: bool,
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        let page = guard(env, || self.0.as_mut().ok_or(Closed::Store)?.page(bytes, keys, values))?;
        Uint8ArraySlice::copy_from(env, page)
    }

    /// Moves to `seek` if it is a key, then returns the next `count` rows, or the previous ones if `back`, their keys
    /// or values or both.
    ///
    /// # Errors
    /// Damage or an I/O error.
    #[napi]
    pub fn rows<'env>(
        &mut self,
        env: &'env Env,
        seek: Option<&[u8]>,
        count: u32,
        back: bool,
        keys: bool,
        values: bool,
    ) -> napi::Result<Uint8ArraySlice<'env>> {
        let rows = guard(env, || {
            let scan = self.0.as_mut().ok_or(Closed::Store)?;
            scan.rows(seek.map(<[u8]>::to_vec), count, back, keys, values)
        })?;
        Uint8ArraySlice::copy_from(env, rows)
    }

    /// Counts the next entries, at most `entries` of them.
    ///
    /// # Errors
    /// As for a page.
    #[napi]
    pub fn count(&mut self, env: &Env, entries: u32) -> napi::Result<u32> {
        guard(env, || self.0.as_mut().ok_or(Closed::Store)?.count(entries))
    }

    /// Whether there are no more entries.
    #[napi(getter)]
    #[must_use]
    pub fn done(&self) -> bool {
        self.0.as_ref().is_none_or(terrane_session::Scan::done)
    }

    /// Releases the files that the scan holds.
    #[napi]
    pub fn free(&mut self) {
        self.0 = None;
    }
}

//! The clients of a store's worker: what each has of the store, and the records of their writes.

use crate::store::Store;
use crate::to_js;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// The name of the keyspace of records, after U+0000.
const RECORDS: &str = "clients";

#[wasm_bindgen]
impl Store {
    /// Returns the same store with keyspaces and snapshots of its own, for another client. Free it before the
    /// store is closed.
    pub fn another(&self) -> Store {
        Store::over(self.number, self.session.another())
    }

    /// Opens the keyspace in which the worker keeps what its clients wrote, under a number; creates it if `create`.
    /// Returns whether there is one.
    ///
    /// # Errors
    /// An I/O error, or a closed store.
    pub fn records(&mut self, number: u32, create: bool) -> Result<bool, JsValue> {
        to_js(self.session.reserved_keyspace(number, RECORDS, create))
    }
}

//! The trees of a store's keyspaces: their shape, policy and compaction.

use crate::steps::Steps;
use crate::store::Store;
use crate::{json, to_js};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
impl Store {
    /// Returns the levels of a keyspace, with their runs and tables, as JSON.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn levels(&self, keyspace: u32) -> Result<JsValue, JsValue> {
        json(self.session.levels(keyspace))
    }

    /// Returns the policy of a keyspace with its parameters, as JSON.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn policy(&self, keyspace: u32) -> Result<JsValue, JsValue> {
        json(self.session.policy(keyspace))
    }

    /// Sets the policy of a keyspace.
    ///
    /// # Errors
    /// An unknown policy, a parameter outside its range, an I/O error.
    pub fn set_policy(&self, keyspace: u32, options: &str) -> Result<(), JsValue> {
        to_js(self.session.set_policy(keyspace, options))
    }

    /// Estimates the size of an encoded range in tables, in bytes.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn approximate_size(&self, keyspace: u32, within: &[u8]) -> Result<f64, JsValue> {
        to_js(self.session.approximate_size(keyspace, within))
    }

    /// Starts to compact an encoded range into one run.
    ///
    /// # Errors
    /// A closed store; an I/O error is returned by a step.
    pub fn compact_range(&self, keyspace: u32, within: &[u8]) -> Result<Steps, JsValue> {
        to_js(self.session.compact_range(keyspace, within).map(Steps))
    }
}

//! The trees of a store's keyspaces: what they look like, and how they are kept.

use crate::packed::range;
use crate::steps::Steps;
use crate::store::Store;
use crate::{answer, json, refused};
use terrane::{Keyspace, Result};
use terrane_policy::{Misspelt, PolicyOptions};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Reads a policy's options.
pub(crate) fn policy(json: &str) -> Result<PolicyOptions> {
    let expected = "a policy that this release knows, with its parameters";
    json.parse().map_err(|e: Misspelt| refused("policy", expected, e.to_string()))
}

/// Gives a keyspace a policy, unless it has it.
pub(crate) fn choose(keyspace: &Keyspace, policy: &PolicyOptions) -> Result<()> {
    if keyspace.policy()? == *policy { Ok(()) } else { keyspace.set_policy(policy) }
}

#[wasm_bindgen]
impl Store {
    /// The levels of a keyspace, with their runs and tables, as JSON.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn levels(&self, keyspace: u32) -> Result<JsValue, JsValue> {
        json(self.of(keyspace).and_then(Keyspace::shape))
    }

    /// The policy of a keyspace with its parameters, as JSON.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn policy(&self, keyspace: u32) -> Result<JsValue, JsValue> {
        json(self.of(keyspace).and_then(Keyspace::policy))
    }

    /// Gives a keyspace a policy.
    ///
    /// # Errors
    /// An unknown policy, a parameter outside its range, a failing medium.
    pub fn set_policy(&self, keyspace: u32, options: &str) -> Result<(), JsValue> {
        answer(self.of(keyspace).and_then(|keyspace| choose(keyspace, &policy(options)?)))
    }

    /// About how many bytes of tables hold the keys of a packed range.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn approximate_size(&self, keyspace: u32, within: &[u8]) -> Result<f64, JsValue> {
        let size = self.of(keyspace).and_then(|k| k.approximate_size(range(within)?));
        answer(size.map(|bytes| bytes as f64))
    }

    /// Merges what lies in a packed range into one run.
    ///
    /// # Errors
    /// A closed store; a full or failing medium is met at a step.
    pub fn compact_range(&self, keyspace: u32, within: &[u8]) -> Result<Steps, JsValue> {
        let begun = self.of(keyspace).and_then(|k| k.begin_compact_range(range(within)?));
        answer(begun.map(|compaction| self.pending(compaction)))
    }
}

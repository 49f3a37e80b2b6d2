//! The trees of a store's keyspaces: their shape, policy and compaction.

use crate::guard::guard;
use crate::steps::Steps;
use crate::store::Store;
use napi::Env;
use napi_derive::napi;

#[napi]
impl Store {
    /// Returns the levels of a keyspace, with their runs and tables, as JSON.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    #[napi]
    pub fn levels(&self, env: &Env, keyspace: u32) -> napi::Result<String> {
        self.json(env, |session| session.levels(keyspace))
    }

    /// Returns the policy of a keyspace with its parameters, as JSON.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    #[napi]
    pub fn policy(&self, env: &Env, keyspace: u32) -> napi::Result<String> {
        self.json(env, |session| session.policy(keyspace))
    }

    /// Sets the policy of a keyspace.
    ///
    /// # Errors
    /// An unknown policy, a parameter outside its range, an I/O error.
    #[napi(js_name = "set_policy")]
    pub fn set_policy(&self, env: &Env, keyspace: u32, options: String) -> napi::Result<()> {
        guard(env, || self.session()?.set_policy(keyspace, &options))
    }

    /// Estimates the size of an encoded range in tables, in bytes.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    #[napi(js_name = "approximate_size")]
    pub fn approximate_size(&self, env: &Env, keyspace: u32, within: &[u8]) -> napi::Result<f64> {
        guard(env, || self.session()?.approximate_size(keyspace, within))
    }

    /// Starts to compact an encoded range into one run.
    ///
    /// # Errors
    /// A closed store; an I/O error is returned by a step.
    #[napi(js_name = "compact_range")]
    pub fn compact_range(&self, env: &Env, keyspace: u32, within: &[u8]) -> napi::Result<Steps> {
        guard(env, || self.session()?.compact_range(keyspace, within).map(Steps::new))
    }
}

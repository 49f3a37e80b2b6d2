//! Watches of ranges, which report changes by any opening of the store.

use crate::guard::guard;
use crate::store::{Store, bytes};
use napi::Env;
use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;

#[napi]
impl Store {
    /// Starts a watch of encoded ranges, or asks for its next change.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    #[napi]
    pub fn watch(
        &self,
        env: &Env,
        number: u32,
        ranges: &[u8],
        with_keys: bool,
        asks: bool,
    ) -> napi::Result<()> {
        guard(env, || self.session()?.watch(number, ranges, with_keys, asks))
    }

    /// Ends a watch.
    ///
    /// # Errors
    /// A closed store.
    #[napi]
    pub fn unwatch(&self, env: &Env, number: u32) -> napi::Result<()> {
        guard(env, || {
            self.session()?.unwatch(number);
            Ok(())
        })
    }

    /// Takes the changes that were asked for, encoded.
    ///
    /// # Errors
    /// A closed store.
    #[napi]
    pub fn changes<'env>(&self, env: &'env Env) -> napi::Result<Uint8ArraySlice<'env>> {
        bytes(env, || Ok(self.session()?.changes()))
    }
}

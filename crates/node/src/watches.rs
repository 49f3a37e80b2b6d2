//! Watches of ranges, which report changes by any opening of the store.

use crate::guard::guard;
use crate::store::{Store, bytes};
use napi::Env;
use napi::bindgen_prelude::{Function, Uint8ArraySlice};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;
use std::sync::Arc;

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

    /// Sets the function that is called when there are changes to take, also those of other threads. It does not keep
    /// a process alive.
    ///
    /// # Errors
    /// A closed store; Node refuses the function.
    #[napi]
    pub fn wake(&self, env: &Env, wake: Function<'_, (), ()>) -> napi::Result<()> {
        let wake = wake.build_threadsafe_function().weak::<true>().build()?;
        guard(env, || {
            self.session()?.set_waker(Some(Arc::new(move || {
                // A thread that ends takes no more calls.
                let _ = wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
            })));
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

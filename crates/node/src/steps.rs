//! Long calls, which run step by step so that their caller can serve others in between.

use crate::guard::guard;
use napi::Env;
use napi::bindgen_prelude::{Either4, Null, Uint8ArraySlice, Undefined};
use napi_derive::napi;
use std::time::Duration;
use terrane::Closed;
use terrane_session::End;

/// Longest rest of a step that waits for jobs: they run on threads of the engine.
const REST: Duration = Duration::from_millis(1);

/// The result of a step.
type Stepped<'env> = Either4<Undefined, Null, String, Uint8ArraySlice<'env>>;

/// A long call that has started. Free it when done.
#[napi]
pub struct Steps(Option<terrane_session::Steps>);

impl Steps {
    pub(crate) fn new(steps: terrane_session::Steps) -> Self {
        Steps(Some(steps))
    }
}

#[napi]
impl Steps {
    /// Runs a step; returns undefined until the last step returns the call's result.
    ///
    /// # Errors
    /// An error of the call, which has failed then.
    #[napi]
    pub fn step<'env>(&mut self, env: &'env Env) -> napi::Result<Stepped<'env>> {
        let end = guard(env, || {
            let steps = self.0.as_mut().ok_or(Closed::Store)?;
            let end = steps.step()?;
            if end.is_none() && steps.only_wait() {
                std::thread::sleep(REST);
            }
            Ok(end)
        })?;
        Ok(match end {
            None => Either4::A(()),
            Some(End::Nothing) => Either4::B(Null),
            Some(End::Json(report)) => Either4::C(report),
            Some(End::Bytes(bytes)) => Either4::D(Uint8ArraySlice::copy_from(env, bytes)?),
        })
    }

    /// Releases what the call holds.
    #[napi]
    pub fn free(&mut self) {
        self.0 = None;
    }
}

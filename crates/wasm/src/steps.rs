//! Long calls, which run step by step so that their caller can serve others in between.

use crate::{to_js, to_json};
use terrane::{Check, Waiter};
use terrane::{Db, Result};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Bytes of work per step.
const STEP: u64 = 256 << 10;

/// A long call that has started. Free it when done.
#[wasm_bindgen]
pub struct Steps(Box<dyn FnMut() -> Result<Option<JsValue>>>);

#[wasm_bindgen]
impl Steps {
    /// Runs a step; returns undefined until the last step returns the call's result.
    ///
    /// # Errors
    /// An error of the call, which has failed then.
    pub fn step(&mut self) -> Result<JsValue, JsValue> {
        to_js((self.0)()).map(|end| end.unwrap_or(JsValue::UNDEFINED))
    }
}

impl Steps {
    pub(crate) fn new(step: impl FnMut() -> Result<Option<JsValue>> + 'static) -> Self {
        Steps(Box::new(step))
    }

    /// Runs background jobs until a flush or a compaction is complete.
    pub(crate) fn waiter(db: &Db, mut waiter: Waiter) -> Self {
        let db = db.clone();
        Steps::new(move || {
            if !waiter.is_done()? {
                // If a job fails, the next step returns its error.
                let _ = db.run_jobs(STEP);
            }
            // It may have been the last that was waited for, after which nothing calls the next step.
            Ok(waiter.is_done()?.then_some(JsValue::NULL))
        })
    }

    /// Verifies everything; returns the report as JSON.
    pub(crate) fn check(mut check: Check) -> Self {
        Steps::new(move || Ok(check.step(STEP)?.map(to_json)))
    }
}

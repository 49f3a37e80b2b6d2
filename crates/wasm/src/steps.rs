//! Calls that take their time, step by step, so that their caller serves others in between.

use crate::{answer, place, to_json};
use std::sync::Arc;
use terrane::db::{Check, Pending};
use terrane::storage::File;
use terrane::storage::volume::Volume;
use terrane::{Db, Result};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Bytes of a step.
const STEP: u64 = 256 << 10;

/// A call on its way. Free it when done.
#[wasm_bindgen]
pub struct Steps(Box<dyn FnMut() -> Result<Option<JsValue>>>);

#[wasm_bindgen]
impl Steps {
    /// Does a step; answers nothing until the last, and then what the call answers.
    ///
    /// # Errors
    /// What the call meets; it is over then.
    pub fn step(&mut self) -> Result<JsValue, JsValue> {
        answer((self.0)()).map(|end| end.unwrap_or(JsValue::UNDEFINED))
    }
}

impl Steps {
    pub(crate) fn new(step: impl FnMut() -> Result<Option<JsValue>> + 'static) -> Self {
        Steps(Box::new(step))
    }

    /// Runs jobs until what was asked for is done.
    pub(crate) fn pending(db: &Db, mut pending: Pending) -> Self {
        let db = db.clone();
        Steps::new(move || {
            let done = pending.is_done()?;
            if !done {
                // What keeps a job from its end, the next step is told.
                let _ = db.run_jobs(STEP);
            }
            Ok(done.then_some(JsValue::NULL))
        })
    }

    /// Verifies everything; the report is JSON.
    pub(crate) fn check(mut check: Check) -> Self {
        Steps::new(move || check.step(STEP)?.map(to_json).transpose())
    }

    /// Copies the store, as it is now, to a place that holds none; answers the bytes of `file`, if
    /// that is the place.
    pub(crate) fn copy(db: &Db, target: Volume, file: Option<Arc<dyn File>>) -> Result<Self> {
        let mut copy = db.begin_checkpoint(&target)?;
        Ok(Steps::new(move || {
            if copy.step(&target)? {
                return Ok(None);
            }
            file.as_deref().map_or(Ok(JsValue::NULL), place::contents).map(Some)
        }))
    }
}

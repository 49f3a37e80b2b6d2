//! Long calls, which run step by step so that their caller can serve others in between.

use crate::to_js;
use js_sys::Uint8Array;
use terrane_session::End;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// A long call that has started. Free it when done.
#[wasm_bindgen]
pub struct Steps(pub(crate) terrane_session::Steps);

#[wasm_bindgen]
impl Steps {
    /// Runs a step; returns undefined until the last step returns the call's result.
    ///
    /// # Errors
    /// An error of the call, which has failed then.
    pub fn step(&mut self) -> Result<JsValue, JsValue> {
        Ok(match to_js(self.0.step())? {
            None => JsValue::UNDEFINED,
            Some(End::Nothing) => JsValue::NULL,
            Some(End::Json(report)) => JsValue::from_str(&report),
            Some(End::Bytes(bytes)) => Uint8Array::from(&*bytes).into(),
        })
    }
}

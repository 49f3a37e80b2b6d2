//! Reporting a panic's message to the worker before the module traps.

use js_sys::Function;
use std::cell::RefCell;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static REPORT: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets the function that is called with a panic's message.
#[wasm_bindgen]
pub fn on_panic(report: Function) {
    REPORT.set(Some(report));
    std::panic::set_hook(Box::new(|info| {
        REPORT.with_borrow(|report| {
            if let Some(report) = report {
                // Even if the function throws, the trap follows.
                let _ = report.call1(&JsValue::UNDEFINED, &JsValue::from_str(&info.to_string()));
            }
        });
    }));
}

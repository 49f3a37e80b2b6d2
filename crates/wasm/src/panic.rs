//! A panic's message, told to the worker before the module traps.

use js_sys::Function;
use std::cell::RefCell;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static REPORT: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Has `report` called with the message of a panic.
#[wasm_bindgen]
pub fn on_panic(report: Function) {
    REPORT.set(Some(report));
    std::panic::set_hook(Box::new(|info| {
        REPORT.with_borrow(|report| {
            if let Some(report) = report {
                // A report that throws changes nothing: the trap follows.
                let _ = report.call1(&JsValue::UNDEFINED, &JsValue::from_str(&info.to_string()));
            }
        });
    }));
}

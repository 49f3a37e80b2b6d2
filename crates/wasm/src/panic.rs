//! Reporting a panic's message to the worker before the module traps: a release has none.

use js_sys::Function;
use wasm_bindgen::prelude::wasm_bindgen;

/// Sets the function that is called with a panic's message, in a build for development.
#[wasm_bindgen]
pub fn on_panic(report: Function) {
    #[cfg(debug_assertions)]
    development::on_panic(report);
    #[cfg(not(debug_assertions))]
    drop(report);
}

#[cfg(debug_assertions)]
mod development {
    use js_sys::Function;
    use std::cell::RefCell;
    use wasm_bindgen::JsValue;

    thread_local! {
        static REPORT: RefCell<Option<Function>> = const { RefCell::new(None) };
    }

    pub(super) fn on_panic(report: Function) {
        REPORT.set(Some(report));
        std::panic::set_hook(Box::new(|info| {
            REPORT.with_borrow(|report| {
                if let Some(report) = report {
                    // Even if the function throws, the trap follows.
                    let _ =
                        report.call1(&JsValue::UNDEFINED, &JsValue::from_str(&info.to_string()));
                }
            });
        }));
    }
}

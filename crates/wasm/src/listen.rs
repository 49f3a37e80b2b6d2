//! The engine's events, told to JavaScript while somebody listens.
//!
//! A function of JavaScript belongs to its thread and an engine's listener may not, so the functions
//! lie in a table of the thread, by the number of the store.

use js_sys::Function;
use std::cell::RefCell;
use std::sync::Arc;
use terrane::event::Listener;
use wasm_bindgen::JsValue;

thread_local! {
    static LISTENERS: RefCell<Vec<(u32, Function)>> = const { RefCell::new(Vec::new()) };
}

/// What a store is opened with: tells each event, as JSON, to the function that listens.
pub(crate) fn listener(store: u32) -> Listener {
    Arc::new(move |event| {
        let found = LISTENERS.with_borrow(|all| {
            all.iter().find(|(number, _)| *number == store).map(|(_, tell)| tell.clone())
        });
        if let Some(tell) = found
            && let Ok(json) = serde_json::to_string(event)
        {
            // A listener that throws changes nothing of what happened.
            let _ = tell.call1(&JsValue::UNDEFINED, &JsValue::from_str(&json));
        }
    })
}

/// Has `tell` called with the events of a store, or nobody.
pub(crate) fn listen(store: u32, tell: Option<Function>) {
    LISTENERS.with_borrow_mut(|all| {
        all.retain(|(number, _)| *number != store);
        all.extend(tell.map(|tell| (store, tell)));
    });
}

//! The engine's events, passed to JavaScript while it listens.
//!
//! A JavaScript function belongs to its thread, but an engine's listener must be `Send`. The functions
//! are therefore kept in a thread-local table, by the number of the store.

use js_sys::Function;
use std::cell::RefCell;
use std::sync::Arc;
use terrane::Db;
use terrane::event::{Event, Listener};
use terrane_types::json;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static LISTENERS: RefCell<Vec<(u32, Function)>> = const { RefCell::new(Vec::new()) };
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance)]
    fn now() -> f64;
}

/// Microseconds since a moment of the thread's choice.
pub(crate) fn clock() -> u64 {
    (now() * 1000.0) as u64
}

/// Passes each event, as JSON, to the store's function.
fn listener(store: u32) -> Listener {
    Arc::new(move |micros, event| {
        let found = LISTENERS.with_borrow(|all| {
            all.iter().find(|(number, _)| *number == store).map(|(_, emit)| emit.clone())
        });
        if let Some(emit) = found {
            // The event has happened, whether or not the function throws.
            let _ = emit.call1(&JsValue::UNDEFINED, &JsValue::from_str(&line(micros, event)));
        }
    })
}

/// An event and its time, as [`TraceLine`](terrane::event::TraceLine) has them, whose own code for that
/// is larger.
fn line(micros: u64, event: &Event) -> String {
    let members = json::to_string(event);
    format!("{{\"micros\":{micros},{}", members.strip_prefix('{').unwrap_or(&members))
}

/// Sets the function that is called with the events of a store.
pub(crate) fn listen(db: &Db, store: u32, emit: Option<Function>) {
    db.set_listener(emit.is_some().then(|| listener(store)));
    LISTENERS.with_borrow_mut(|all| {
        all.retain(|(number, _)| *number != store);
        all.extend(emit.map(|emit| (store, emit)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::event::TraceLine;
    use terrane_types::{KeyspaceId, Stall};

    #[test]
    fn a_line_is_that_of_a_trace() {
        let created = Event::KeyspaceCreated { keyspace: KeyspaceId(3), name: "{\"é".to_owned() };
        for (micros, event) in [(0, created), (u64::MAX, Event::Stalled { reason: Stall::Memory })]
        {
            let expected = serde_json::to_string(&TraceLine { micros, event: &event }).unwrap();
            assert_eq!(line(micros, &event), expected);
        }
    }
}

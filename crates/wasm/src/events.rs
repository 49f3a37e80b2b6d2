//! The engine's events, passed to JavaScript while it listens.
//!
//! A JavaScript function belongs to its thread, but an engine's listener must be `Send`. The functions
//! are therefore kept in a thread-local table, by the number of the store.

use js_sys::Function;
use std::cell::RefCell;
use std::sync::Arc;
#[cfg(feature = "threads")]
use std::sync::{Mutex, MutexGuard, PoisonError};
use terrane::Db;
use terrane::event::Listener;
use terrane_session::line;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    /// Listeners of the thread that opens stores.
    static LISTENERS: RefCell<Vec<(u32, Function)>> = const { RefCell::new(Vec::new()) };
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance)]
    fn now() -> f64;
    #[cfg(feature = "threads")]
    #[wasm_bindgen(thread_local_v2, js_namespace = performance, js_name = timeOrigin)]
    static TIME_ORIGIN: f64;
}

/// Microseconds since a moment of the thread's choice.
#[cfg(not(feature = "threads"))]
pub(crate) fn clock() -> u64 {
    (now() * 1000.0) as u64
}

/// Microseconds since a moment that all threads share.
#[cfg(feature = "threads")]
pub(crate) fn clock() -> u64 {
    ((TIME_ORIGIN.with(|origin| *origin) + now()) * 1000.0) as u64
}

/// Passes each event, as JSON, to the store's function.
fn listener(store: u32) -> Listener {
    Arc::new(move |micros, event| {
        #[cfg(feature = "threads")]
        if !terrane_opfs::owner::is_here() {
            let line = line(micros, event);
            return lock(&UNDELIVERED).push((store, line));
        }
        #[cfg(feature = "threads")]
        deliver();
        tell(store, || line(micros, event));
    })
}

/// Calls the store's function, if there is one.
fn tell(store: u32, line: impl FnOnce() -> String) {
    let found = LISTENERS.with_borrow(|all| {
        all.iter().find(|(number, _)| *number == store).map(|(_, emit)| emit.clone())
    });
    if let Some(emit) = found {
        // The event has happened, whether or not the function throws.
        let _ = emit.call1(&JsValue::UNDEFINED, &JsValue::from_str(&line()));
    }
}

/// Events of other threads, for the one that has the functions.
#[cfg(feature = "threads")]
static UNDELIVERED: Mutex<Vec<(u32, String)>> = Mutex::new(Vec::new());

/// Passes on the events of other threads.
#[cfg(feature = "threads")]
pub(crate) fn deliver() {
    // Not under the lock: a function may be called for each.
    let events = std::mem::take(&mut *lock(&UNDELIVERED));
    for (store, line) in events {
        tell(store, || line);
    }
}

#[cfg(feature = "threads")]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the function that is called with the events of a store.
pub(crate) fn listen(db: &Db, store: u32, emit: Option<Function>) {
    db.set_listener(emit.is_some().then(|| listener(store)));
    LISTENERS.with_borrow_mut(|all| {
        all.retain(|(number, _)| *number != store);
        all.extend(emit.map(|emit| (store, emit)));
    });
}

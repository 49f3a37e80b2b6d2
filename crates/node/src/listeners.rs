//! The engine's events, for every opening of a store that listens, on the thread of its JavaScript.

use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use std::sync::{Arc, Mutex, PoisonError};
use terrane::Db;
use terrane_session::line;

/// A function of JavaScript that any thread may call. It does not keep a process alive.
pub(crate) type Emit = ThreadsafeFunction<String, (), String, Status, false, true>;

/// The functions that listen to a store, by the numbers of openings.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Vec<(u64, Emit)>>);

impl Listeners {
    /// Sets the function of an opening.
    pub(crate) fn set(self: &Arc<Self>, db: &Db, opening: u64, emit: Option<Emit>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(number, _)| *number != opening);
        all.extend(emit.map(|emit| (opening, emit)));
        let any = !all.is_empty();
        drop(all);
        let listeners = self.clone();
        db.set_listener(any.then(|| -> terrane::event::Listener {
            Arc::new(move |micros, event| listeners.emit(&line(micros, event)))
        }));
    }

    fn emit(&self, line: &str) {
        for (_, emit) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // A thread that ends takes no more of them.
            let _ = emit.call(line.to_owned(), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

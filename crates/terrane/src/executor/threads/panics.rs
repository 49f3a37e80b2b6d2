//! Panics of background work: each becomes an error of the store, and no thread ends with it.
//!
//! 1. What runs on a worker thread, or while a store closes, is run here, so that its panic goes no further.
//! 2. What the panic left in memory is unknown, as is whether an edit that was under way is durable. So
//!    the store starts no job, commits no edit and takes no write until it is opened again; whatever was
//!    acknowledged is in the log, or in tables that an edit names.
//! 3. Reads continue: they see nothing but what was installed.

use crate::engine::StoreState;
use crate::error::Error;
use crate::event::{Event, EventStream};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body` for the engine; `None` if it panics. `job` names it then.
pub(crate) fn catch<T>(
    store: &StoreState,
    events: &EventStream,
    job: impl FnOnce() -> String,
    body: impl FnOnce() -> T,
) -> Option<T> {
    let panicked = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(out) => return Some(out),
        Err(panicked) => panicked,
    };
    // A listener that panics, has nobody else to tell.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let error = Error::job_panicked(job(), message(&*panicked).to_owned());
        store.lock().health.doubt(&error);
        events.emit(|| Event::JobFailed { error: error.to_string() });
        drop(panicked);
    }));
    None
}

/// Returns the message of a panic.
fn message(panicked: &(dyn Any + Send)) -> &str {
    let text = panicked.downcast_ref::<&str>().copied();
    text.or_else(|| panicked.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

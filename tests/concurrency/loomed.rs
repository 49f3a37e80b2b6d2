//! Runs a test in every order that loom finds.

use loom::model::Builder;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `body` in every order with `preemptions` preemptions, or one more in the long runs.
pub fn explore(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let full = std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0");
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions + usize::from(full));
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = orders.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        body();
    });
    // The model sees no race on what the writer reads before it writes, and might explore nothing.
    assert!(orders.load(Ordering::Relaxed) > 10, "{orders:?} orders were explored");
}

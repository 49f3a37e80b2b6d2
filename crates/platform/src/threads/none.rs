//! Threads of a browser's module: JavaScript starts them, so there is nothing here to start or suspend one with.

use std::time::Duration;

/// Suspends no thread: a browser's main thread must not sleep.
pub fn pause(_lasting: Duration) {}

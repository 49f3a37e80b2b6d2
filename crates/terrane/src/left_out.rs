//! Statistics that JSON leaves out where they are always zero.

use terrane_platform::{BROWSER, THREADS};

/// Returns `true` in a browser, whatever the field.
pub(crate) fn in_browser<T>(_: &T) -> bool {
    BROWSER
}

/// Returns `true` where there is one thread, whatever the field.
pub(crate) fn on_one_thread<T>(_: &T) -> bool {
    !THREADS
}

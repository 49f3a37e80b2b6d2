//! Ctrl-C: the first asks for an orderly end, the second ends the process.

use crate::exit::{Exit, Failure};
use std::io;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

static HEARD: AtomicBool = AtomicBool::new(false);

/// Starts to listen.
pub fn listen() -> Result<(), Failure> {
    let heard = || {
        if HEARD.swap(true, Ordering::Relaxed) {
            // Safe at any moment: the store recovers as it does from a power cut.
            process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(heard)
        .map_err(|e| Failure::io("listen for Ctrl-C", &io::Error::other(e.to_string())))
}

/// Whether there was one.
pub fn heard() -> bool {
    HEARD.load(Ordering::Relaxed)
}

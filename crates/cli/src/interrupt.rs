//! Ctrl-C, SIGTERM and SIGHUP: the first ends a command in order, the second ends the process at once.

use crate::exit::{Exit, Failure};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, process};

static HEARD: AtomicBool = AtomicBool::new(false);
static TEMPORARY: OnceLock<PathBuf> = OnceLock::new();

/// Starts listening.
pub fn listen() -> Result<(), Failure> {
    let heard = || {
        if HEARD.swap(true, Ordering::Relaxed) {
            if let Some(place) = TEMPORARY.get() {
                // Nothing more can be done if this fails.
                let _ = fs::remove_dir_all(place);
            }
            // Safe at any moment: the store recovers as it does from a power cut.
            process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(heard)
        .map_err(|e| Failure::io("listen for signals", &io::Error::other(e.to_string())))
}

/// Forgets a signal that was handled, before the next command of a shell.
pub fn reset() {
    HEARD.store(false, Ordering::Relaxed);
}

/// Fails after a signal.
pub fn check() -> Result<(), Failure> {
    match HEARD.load(Ordering::Relaxed) {
        true => Err(Failure::new(Exit::Interrupted, "interrupted")),
        false => Ok(()),
    }
}

/// Names the temporary directory that goes with the process, also where a signal ends that.
pub fn remove_at_exit(place: PathBuf) {
    TEMPORARY.get_or_init(|| place);
}

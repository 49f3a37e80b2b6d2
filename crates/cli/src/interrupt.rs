//! Ctrl-C, SIGTERM and SIGHUP: the first asks for an orderly end, the second ends the process.

use crate::exit::{Exit, Failure};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, process};

static HEARD: AtomicBool = AtomicBool::new(false);
static TEMPORARY: OnceLock<PathBuf> = OnceLock::new();

/// Starts to listen.
pub fn listen() -> Result<(), Failure> {
    let heard = || {
        if HEARD.swap(true, Ordering::Relaxed) {
            if let Some(place) = TEMPORARY.get() {
                // Nobody waits to be told.
                let _ = fs::remove_dir_all(place);
            }
            // Safe at any moment: the store recovers as it does from a power cut.
            process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(heard)
        .map_err(|e| Failure::io("listen for signals", &io::Error::other(e.to_string())))
}

/// Whether there was one.
pub fn heard() -> bool {
    HEARD.load(Ordering::Relaxed)
}

/// Names the temporary directory that goes with the process, however that ends.
pub fn removes(place: PathBuf) {
    TEMPORARY.get_or_init(|| place);
}

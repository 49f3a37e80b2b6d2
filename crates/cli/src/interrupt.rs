//! Ctrl-C, SIGTERM and SIGHUP: the first ends a command in order, the second ends the process at once.

use crate::exit::{Exit, Failure};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, process, thread};

static HEARD: AtomicBool = AtomicBool::new(false);
/// Whether a second signal ends the process.
static ENDING: AtomicBool = AtomicBool::new(false);
static TEMPORARY: OnceLock<PathBuf> = OnceLock::new();

/// Starts listening.
pub fn listen() -> Result<(), Failure> {
    let heard = || {
        if HEARD.swap(true, Ordering::Relaxed) {
            ENDING.store(true, Ordering::Release);
            if let Some(place) = TEMPORARY.get() {
                remove(place);
            }
            // Safe at any moment: the store recovers as it does from a power cut.
            process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(heard)
        .map_err(|e| Failure::io("listen for signals", &io::Error::other(e.to_string())))
}

/// Leaves it to a second signal to end the process, where one came: a command that ends meanwhile may fail
/// for want of what was removed.
pub fn wait_if_ending() {
    while ENDING.load(Ordering::Acquire) {
        thread::park();
    }
}

/// Removes a directory in which threads may still create files, until it is gone. Nothing more can be done
/// where that fails again and again.
fn remove(place: &Path) {
    for _ in 0..1000 {
        match fs::remove_dir_all(place) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {}
            _ => return,
        }
    }
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

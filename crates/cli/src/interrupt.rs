//! Ctrl-C, SIGTERM and SIGHUP: the first ends a command in order, the second ends the process at once.

use crate::exit::{Exit, Failure};
use crate::message;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, io, process, thread};

/// Interval at which a signal is looked for while something else is awaited.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// Time for which a signal after the first is taken for a key that is held down.
const HELD_DOWN: Duration = Duration::from_secs(1);

static HEARD: AtomicBool = AtomicBool::new(false);
/// Whether a second signal ends the process.
static ENDING: AtomicBool = AtomicBool::new(false);
/// File or directory that a second signal removes.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Ignores SIGXFSZ, which would end the process. A write beyond the limit on file sizes then returns an error.
pub fn ignore_file_limit() {
    #[cfg(unix)]
    // SAFETY: ignoring a signal installs no handler.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Starts listening.
pub fn listen() -> Result<(), Failure> {
    start(false)
}

/// Starts listening for a shell. A second signal then ends the process only if the command has run on for a
/// while after the first: a key that is held down repeats.
pub fn listen_in_shell() -> Result<(), Failure> {
    start(true)
}

fn start(in_shell: bool) -> Result<(), Failure> {
    let mut first = Instant::now();
    let heard = move || {
        let is_first = !HEARD.swap(true, Ordering::Relaxed);
        if is_first {
            first = Instant::now();
        } else if !in_shell || first.elapsed() > HELD_DOWN {
            ENDING.store(true, Ordering::Release);
            let place = temporary().take();
            let sentence = match place.map(|place| (remove(&place), place)) {
                None => "interrupted".to_owned(),
                Some((Ok(()), place)) => format!("interrupted; removed {}", place.display()),
                Some((Err(e), place)) => format!("interrupted; {} is left: {e}", place.display()),
            };
            message::error(&sentence);
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

fn temporary() -> MutexGuard<'static, Option<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes a file, or a directory in which threads may still create files.
fn remove(place: &Path) -> io::Result<()> {
    let mut removed = Ok(());
    for _ in 0..1000 {
        removed = match fs::symlink_metadata(place) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(place),
            Ok(_) => fs::remove_file(place),
            Err(e) => Err(e),
        };
        match &removed {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {}
            _ => return Ok(()),
        }
    }
    removed
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

/// Names the file or directory that a second signal removes as it ends the process.
pub fn remove_at_exit(place: &Path) {
    *temporary() = Some(place.to_owned());
}

/// Makes a second signal leave the file or directory that was named last.
pub fn keep_at_exit() {
    *temporary() = None;
}

/// Runs `work` on a thread and waits for its result or a signal. After a signal the thread runs on until its
/// work is done or fails, for example because the store closes; its result is dropped.
pub fn unless_heard<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, done) = sync_channel(1);
    let thread = spawn(name, move || {
        // Nobody receives it after a signal.
        let _ = sender.send(work());
    })?;
    loop {
        check()?;
        match done.recv_timeout(PATIENCE) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(ended(thread)),
        }
    }
}

/// Starts a thread with a name, which a message about its panic has.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    let spawned = thread::Builder::new().name(name.into()).spawn(work);
    spawned.map_err(|e| Failure::io("start a thread", &e))
}

/// Returns the failure of a thread that ended before it sent its result.
pub fn ended(thread: JoinHandle<()>) -> Failure {
    let early = || Failure::new(Exit::Defect, "a thread ended before its work was done");
    join(thread).map_or_else(|panicked| panicked, |()| early())
}

/// Waits for a thread and returns its result. A panic is a failure, never the end of the work.
pub fn join<T>(thread: JoinHandle<T>) -> Result<T, Failure> {
    let name = thread.thread().name().unwrap_or("unnamed").to_owned();
    thread.join().map_err(|panicked| {
        let text = panicked.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panicked.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        let sentence = format!("the thread {name} panicked ({text}); please report this defect");
        Failure::new(Exit::Defect, sentence)
    })
}

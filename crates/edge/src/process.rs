//! A server for a whole process: its threads and its signals.
//!
//! 1. SIGTERM, Ctrl-C, or a client's SHUTDOWN starts the drain.
//! 2. A second signal ends the drain at once.
//! 3. SIGHUP reads files again.
//! 4. The state of the backup is noted when it changes.

use crate::{Config, Error, Server};
use std::io;
use terrane_backup::State;
use tokio::runtime::Builder;
use tokio::sync::watch;

/// The most threads for blocking calls. The runtime starts one whenever none is idle that moment, and each keeps
/// memory of its own; reads use four a processor.
const BLOCKING_THREADS_MAX: usize = 32;

/// End of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All requests that were read are answered, and the store is closed.
    Drained,
    /// A second signal arrived before that. The process should end; the store recovers as from a power cut.
    Cut,
}

/// Serves a store until a signal or a client ends it. Passes the addresses, and remarks from then on, to `note`.
///
/// # Errors
/// The errors of [`Server::start`] and [`Server::shutdown`]; threads or signals that the system refuses.
pub fn run(db: terrane::Db, config: Config, note: impl Fn(&str)) -> Result<Ending, Error> {
    let failed = |source| Error::System { action: "start threads", source };
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.enable_all().max_blocking_threads(BLOCKING_THREADS_MAX);
    let runtime = runtime.build().map_err(failed)?;
    let ended = runtime.block_on(serve(db, config, &note));
    runtime.shutdown_background();
    ended
}

async fn serve(db: terrane::Db, config: Config, note: &impl Fn(&str)) -> Result<Ending, Error> {
    // Before the addresses are announced, since their reader may send a signal.
    let failed = |source| Error::System { action: "listen for signals", source };
    let mut signals = Signals::listen().map_err(failed)?;
    let server = Server::start(db, config).await?;
    for address in server.urls() {
        note(&format!("serving {address}"));
    }
    let mut backup = server.backup_state();
    if let Some(states) = &mut backup
        && *states.borrow() != State::Uploading
    {
        // It was reached before anybody listened.
        states.mark_changed();
    }
    loop {
        let heard = tokio::select! {
            heard = signals.next() => heard,
            () = server.shutdown_requested() => Signal::End,
            state = next_state(&mut backup) => {
                note(&sentence(&state));
                continue;
            }
        };
        match heard {
            Signal::End => break,
            Signal::Reload => match server.reload() {
                Ok(()) => note("read the files again"),
                Err(e) => note(&format!("kept what was read before: {e}")),
            },
        }
    }
    note("draining");
    tokio::select! {
        drained = server.shutdown() => drained.map(|()| Ending::Drained),
        () = signals.end() => Ok(Ending::Cut),
    }
}

/// Waits for the next state of the backup.
async fn next_state(backup: &mut Option<watch::Receiver<State>>) -> State {
    if let Some(states) = backup
        && states.changed().await.is_ok()
    {
        return states.borrow_and_update().clone();
    }
    *backup = None;
    std::future::pending().await
}

/// Describes a state of the backup.
fn sentence(state: &State) -> String {
    match state {
        State::Failing(reason) => format!("the backup fails, and is tried again: {reason}"),
        State::Fenced(reason) => format!("the backup has ended, and writes are refused: {reason}"),
        _ => "the backup continues".to_owned(),
    }
}

/// A request to the process.
enum Signal {
    End,
    Reload,
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::End,
            _ = self.interrupt.recv() => Signal::End,
            _ = self.hangup.recv() => Signal::Reload,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Signals)
    }

    async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::End
    }
}

impl Signals {
    /// Waits for a signal that ends the process.
    async fn end(&mut self) {
        while !matches!(self.next().await, Signal::End) {}
    }
}

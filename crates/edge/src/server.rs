//! A server: starts the doors on a store, and drains them.

use crate::follow::{self, Replica, Source};
use crate::health::Health;
use crate::limits::Limits;
use crate::listen::{self, Door};
use crate::metrics::Metrics;
use crate::shared::Shared;
use crate::tls::Tls;
use crate::tokens::Tokens;
use crate::watchers::Watchers;
use crate::{Config, Error, http};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terrane_backup::{Backup, State};
use tokio::net::TcpListener;
use tokio::sync::{RwLock, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A running server. If it is dropped, it serves until the runtime ends; [`Server::shutdown`] drains it.
pub struct Server {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    http: Option<SocketAddr>,
    resp: Option<SocketAddr>,
    drain: Duration,
}

impl Server {
    /// Listens on both addresses, and serves the store from there.
    ///
    /// # Errors
    /// A directory of checkpoints that cannot be created; an address on which it cannot listen, or that other machines
    /// reach although there are no tokens; a malformed file; a backup that cannot be started.
    pub async fn start(db: terrane::Db, config: Config) -> Result<Server, Error> {
        let tokens = Tokens::open(config.tokens.as_deref())?;
        if tokens.anonymous().is_some() {
            check_loopback(&config)?;
        }
        let tls = config.tls.clone().map(Tls::open).transpose()?;
        let checkpoints = config.checkpoints.as_deref().map(create_dir).transpose()?;
        let watchers = Arc::<Watchers>::default();
        db.set_listener(Some(watchers.clone().listener(None)));
        check_role(&db, config.follow.as_ref())?;
        let replica = config.follow.as_ref().map(|_| Arc::new(Replica::new(config.max_lag)));
        let backup = match config.backup.clone() {
            Some(target) => Some(target.back_up(&db).await?),
            None => None,
        };
        let shared = Arc::new(Shared {
            db: terrane_tokio::Db::from(db),
            replica,
            durability: config.durability,
            replicated: config.replicated,
            backup,
            tokens,
            tls,
            limits: Limits::new(&config),
            allowed: Arc::new(config.allowed),
            watchers,
            tails: http::Tails::default(),
            creations: RwLock::default(),
            checkpoints,
            metrics: Metrics::default(),
            syncs: Arc::default(),
            resp: crate::resp::State::default(),
            health: Health::default(),
            stopping: CancellationToken::new(),
            shutdown: CancellationToken::new(),
            cut: CancellationToken::new(),
            started: Instant::now(),
        });
        let routes = http::routes(&shared);
        let tasks = TaskTracker::new();
        let mut server = Server { shared, tasks, http: None, resp: None, drain: config.drain };
        let http = config.http.map(listen::bind).transpose()?;
        let resp = config.resp.map(listen::bind).transpose()?;
        if let (Some(source), Some(replica)) = (config.follow, server.shared.replica.clone()) {
            let stopping = server.shared.stopping.clone();
            let db = server.shared.db.clone();
            server.tasks.spawn(follow::run(db, source, replica, stopping));
        }
        server.http = http.map(|listening| server.open(Door::Http(routes), listening));
        server.resp = resp.map(|listening| server.open(Door::Resp, listening));
        Ok(server)
    }

    /// Accepts connections on a listener; returns its address.
    fn open(&self, door: Door, (listener, address): (TcpListener, SocketAddr)) -> SocketAddr {
        let (shared, tasks) = (self.shared.clone(), self.tasks.clone());
        tokio::spawn(listen::accept(door, listener, shared, tasks));
        address
    }

    /// Returns the address of the HTTP door, if it is open.
    #[must_use]
    pub fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Returns the address of the door for Redis's protocol, if it is open.
    #[must_use]
    pub fn resp(&self) -> Option<SocketAddr> {
        self.resp
    }

    /// Returns the addresses as clients write them.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let s = if self.shared.tls.is_some() { "s" } else { "" };
        let http = self.http.map(|address| format!("http{s}://{address}"));
        let resp = self.resp.map(|address| format!("redis{s}://{address}"));
        http.into_iter().chain(resp).collect()
    }

    /// Returns the state that the connections share.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the state of the backup and its changes, if the store is backed up.
    pub(crate) fn backup_state(&self) -> Option<watch::Receiver<State>> {
        self.shared.backup.as_ref().map(Backup::state)
    }

    /// Reads the files of tokens and of the certificate again.
    ///
    /// # Errors
    /// A file that cannot be read or is malformed: its former contents stay in force.
    pub fn reload(&self) -> Result<(), Error> {
        let tokens = self.shared.tokens.reload();
        let certificate = self.shared.tls.as_ref().map_or(Ok(()), Tls::reload);
        tokens.and(certificate)
    }

    /// Waits until a client asks for the end of the server.
    pub async fn shutdown_requested(&self) {
        self.shared.shutdown.cancelled().await;
    }

    /// Drains the doors: accepts no more connections, answers the requests that were read, syncs, backs up, and closes
    /// the store.
    ///
    /// # Errors
    /// The errors of [`terrane_tokio::Db::close`].
    pub async fn shutdown(self) -> Result<(), Error> {
        self.shared.stopping.cancel();
        self.tasks.close();
        if tokio::time::timeout(self.drain, self.tasks.wait()).await.is_err() {
            self.shared.cut.cancel();
            self.tasks.wait().await;
        }
        if let Some(backup) = &self.shared.backup {
            // The store has the writes that cannot be uploaded in time.
            let _ = tokio::time::timeout(self.drain, backup.stop()).await;
        }
        Ok(self.shared.db.clone().close().await?)
    }
}

/// Refuses to serve a replica as a store of its own, and to follow with a store that has rows of its own.
fn check_role(db: &terrane::Db, source: Option<&Source>) -> Result<(), Error> {
    let of = follow::is_replica(db)?;
    match (of, source) {
        (Some(of), None) => Err(Error::Malformed {
            place: "the store".to_owned(),
            sentence: format!(
                "expected one of its own, found a replica of {of}; continue with --follow {of}, or \
                 promote it with --promote"
            ),
        }),
        (None, Some(_)) if db.latest_sequence() > 0 => Err(Error::Malformed {
            place: "--follow".to_owned(),
            sentence: "expected a replica or no store yet, found a store with rows of its own"
                .to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Creates a directory if there is none. Returns its absolute path.
fn create_dir(dir: &Path) -> Result<PathBuf, Error> {
    let created = std::fs::create_dir_all(dir).and_then(|()| std::path::absolute(dir));
    created.map_err(|source| Error::Directory { dir: dir.to_owned(), source })
}

/// Refuses addresses that other machines reach.
fn check_loopback(config: &Config) -> Result<(), Error> {
    let mut addresses = [config.http, config.resp].into_iter().flatten();
    match addresses.find(|address| !address.ip().is_loopback()) {
        Some(address) => Err(Error::Exposed { address }),
        None => Ok(()),
    }
}

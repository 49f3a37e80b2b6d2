//! A server: starts the doors on a store, and drains them.

use crate::limits::Limits;
use crate::listen::{self, Door};
use crate::metrics::Metrics;
use crate::shared::Shared;
use crate::tokens::Tokens;
use crate::{Config, Error};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A running server. Dropped, it serves on until the runtime ends; [`Server::shutdown`] ends it in order.
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
    /// An address that cannot be listened on.
    pub async fn start(db: terrane::Db, config: Config) -> Result<Server, Error> {
        let shared = Arc::new(Shared {
            db: terrane_tokio::Db::from(db),
            durability: config.durability,
            tokens: Tokens::none(),
            limits: Limits::new(config.connections),
            metrics: Metrics::default(),
            stopping: CancellationToken::new(),
            shutdown: CancellationToken::new(),
            started: Instant::now(),
        });
        let mut server = Server {
            shared,
            tasks: TaskTracker::new(),
            http: None,
            resp: None,
            drain: config.drain,
        };
        server.http = server.open(Door::Http, config.http).await?;
        server.resp = server.open(Door::Resp, config.resp).await?;
        Ok(server)
    }

    async fn open(
        &self,
        door: Door,
        address: Option<SocketAddr>,
    ) -> Result<Option<SocketAddr>, Error> {
        let Some(address) = address else { return Ok(None) };
        let listener = listen::bind(address).await?;
        let local = listener.local_addr().map_err(|source| Error::Listen { address, source })?;
        let (shared, tasks) = (self.shared.clone(), self.tasks.clone());
        tokio::spawn(listen::accept(door, listener, shared, tasks));
        Ok(Some(local))
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

    /// Returns what the connections share.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Waits until a client asks for the end of the server.
    pub async fn shutdown_requested(&self) {
        self.shared.shutdown.cancelled().await;
    }

    /// Drains the doors: accepts no more, answers what was read, syncs, and closes the store.
    ///
    /// # Errors
    /// Those of [`terrane_tokio::Db::close`].
    pub async fn shutdown(self) -> Result<(), Error> {
        self.shared.stopping.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(self.drain, self.tasks.wait()).await;
        Ok(self.shared.db.clone().close().await?)
    }
}

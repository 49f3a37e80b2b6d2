//! A server on a store in a folder of its own.

use crate::client::Client;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tempfile::TempDir;
use terrane::{Db, Options};
use terrane_edge::shared::Shared;
use terrane_edge::{Config, Server};
use tokio::runtime::{Builder, Runtime};

/// A running server. It is drained when dropped.
pub struct Served {
    pub address: SocketAddr,
    pub shared: Arc<Shared>,
    server: Option<Server>,
    runtime: Runtime,
    dir: Arc<TempDir>,
}

impl Served {
    pub fn start() -> Self {
        Served::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        Served::on(Arc::new(tempfile::tempdir().unwrap()), change)
    }

    /// A server on the store in a folder.
    pub fn on(dir: Arc<TempDir>, change: impl FnOnce(&mut Config)) -> Self {
        let db = Db::open(dir.path().join("db"), Options::default()).unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut config = Config::default();
        config.http = None;
        config.resp = Some((Ipv4Addr::LOCALHOST, 0).into());
        change(&mut config);
        let server = runtime.block_on(Server::start(db, config)).unwrap();
        let (address, shared) = (server.resp().unwrap(), server.shared().clone());
        Served { address, shared, server: Some(server), runtime, dir }
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// Drains the server, and returns the folder of its store.
    pub fn stop(mut self) -> Arc<TempDir> {
        self.runtime.block_on(self.server.take().unwrap().shutdown()).unwrap();
        self.dir.clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = self.runtime.block_on(server.shutdown());
        }
    }
}

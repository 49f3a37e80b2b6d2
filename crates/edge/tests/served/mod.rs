//! A server on a store of its own, with both doors open.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tempfile::TempDir;
use terrane::{Db, Options};
use terrane_edge::shared::Shared;
use terrane_edge::{Config, Server};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// A running server. It is drained when dropped.
pub struct Served {
    pub http: SocketAddr,
    pub resp: SocketAddr,
    pub shared: Arc<Shared>,
    server: Option<Server>,
    runtime: Runtime,
    dir: Arc<TempDir>,
}

impl Served {
    pub fn start() -> Self {
        Served::with(|_| {})
    }

    /// Starts a server with a changed configuration.
    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        Served::on(Arc::new(tempfile::tempdir().unwrap()), change)
    }

    /// Starts a server on the store in a folder.
    pub fn on(dir: Arc<TempDir>, change: impl FnOnce(&mut Config)) -> Self {
        let db = Db::open(dir.path().join("db"), Options::default()).unwrap();
        Served::of(dir, db, change)
    }

    /// Starts a server on an open store.
    pub fn of(dir: Arc<TempDir>, db: Db, change: impl FnOnce(&mut Config)) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut config = Config::default();
        config.http = Some((Ipv4Addr::LOCALHOST, 0).into());
        config.resp = Some((Ipv4Addr::LOCALHOST, 0).into());
        change(&mut config);
        let server = runtime.block_on(Server::start(db, config)).unwrap();
        let (http, resp) = (server.http().unwrap(), server.resp().unwrap());
        Served { http, resp, shared: server.shared().clone(), server: Some(server), runtime, dir }
    }

    /// Makes the server read its files again.
    pub fn reload(&self) -> Result<(), terrane_edge::Error> {
        self.server.as_ref().unwrap().reload()
    }

    /// Returns the folder of the store, for the next server.
    pub fn dir(&self) -> Arc<TempDir> {
        self.dir.clone()
    }

    /// Drains the server in the background.
    pub fn begin_shutdown(&mut self) -> JoinHandle<Result<(), terrane_edge::Error>> {
        self.runtime.spawn(self.server.take().unwrap().shutdown())
    }

    /// Waits for a drain.
    pub fn wait<T>(&self, task: JoinHandle<T>) -> T {
        self.runtime.block_on(task).unwrap()
    }

    /// Drains the server, and returns the folder of its store.
    pub fn stop(mut self) -> Arc<TempDir> {
        let drained = self.begin_shutdown();
        self.wait(drained).unwrap();
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

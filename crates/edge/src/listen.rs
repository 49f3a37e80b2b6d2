//! Accepting connections: each has a place among those that are allowed, and runs as a task of its own.

use crate::Error;
use crate::shared::Shared;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

/// Time between two tries to accept a connection, after one has failed.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// A protocol that a listener speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Http,
    Resp,
}

impl Door {
    /// Reply to a connection that finds no place.
    fn refusal(self) -> &'static [u8] {
        match self {
            Door::Http => {
                b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            }
            Door::Resp => b"-ERR max number of clients reached\r\n",
        }
    }
}

/// Binds an address.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })
}

/// Accepts connections until the drain starts.
pub(crate) async fn accept(
    door: Door,
    listener: TcpListener,
    shared: Arc<Shared>,
    tasks: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            () = shared.stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        // A peer that is gone already is its own affair; while descriptors are used up, each try fails at once, and a
        // connection has to end first.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(RETRY_DELAY).await;
            continue;
        };
        let Some(place) = shared.limits.connect() else {
            shared.metrics.connections_refused.add(1);
            tasks.spawn(refuse(stream, door));
            continue;
        };
        shared.metrics.connections_accepted.add(1);
        let _ = stream.set_nodelay(true);
        let shared = shared.clone();
        tasks.spawn(async move {
            match door {
                Door::Http => crate::http::serve(stream, peer, shared).await,
                Door::Resp => crate::resp::serve(stream, peer, shared).await,
            }
            drop(place);
        });
    }
}

async fn refuse(mut stream: TcpStream, door: Door) {
    let _ = stream.write_all(door.refusal()).await;
    let _ = stream.shutdown().await;
}

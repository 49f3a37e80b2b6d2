//! Accepting connections: each takes one of the places that both doors share, and runs as a task of its own.

use crate::Error;
use crate::progress::Progressing;
use crate::shared::Shared;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

/// Time between two tries to accept a connection, after one has failed.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// Time after which a connection is closed whose peer reads nothing of what it should.
const READER_PATIENCE: Duration = Duration::from_secs(60);
/// Time for the reply to a connection that finds no place.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// A protocol, as the listener of its address speaks it.
#[derive(Clone)]
pub(crate) enum Door {
    Http(axum::Router),
    Resp,
}

impl Door {
    /// Reply to a connection that finds no place.
    fn refusal(&self) -> &'static [u8] {
        match self {
            Door::Http(_) => {
                b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
                  Content-Length: 0\r\n\r\n"
            }
            Door::Resp => b"-ERR max number of clients reached\r\n",
        }
    }

    async fn serve(self, stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
        let stream = Progressing::new(stream, READER_PATIENCE);
        match self {
            Door::Http(routes) => {
                crate::http::connection::serve(stream, routes, shared.stopping.clone()).await;
            }
            Door::Resp => crate::resp::serve(stream, peer, shared).await,
        }
    }
}

/// Listens on an address. Returns the listener and its address, with the port that was chosen.
pub(crate) async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    Ok((listener, local))
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
            refuse(stream, &door).await;
            continue;
        };
        shared.metrics.connections_accepted.add(1);
        // Replies are written whole: none should wait for more.
        let _ = stream.set_nodelay(true);
        let serving = door.clone().serve(stream, peer, shared.clone());
        tasks.spawn(async move {
            serving.await;
            drop(place);
        });
    }
}

/// Answers a connection that finds no place. Others wait meanwhile, so that those that are refused take no memory.
async fn refuse(mut stream: TcpStream, door: &Door) {
    let reply = async {
        stream.write_all(door.refusal()).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(REFUSAL_TIME, reply).await;
}

//! Accepting connections: each takes one of the places that both doors share, and runs as a task of its own.

use crate::http::connection::Head;
use crate::progress::Progressing;
use crate::shared::Shared;
use crate::{Error, http, resp};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Time between two tries to accept a connection, after one has failed.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// Connections without a place that are answered at once; others are closed without a word.
const REFUSALS_MAX: usize = 64;
/// Connections that the system accepts before the server does: peers of one beyond them would try again after a second.
const BACKLOG: u32 = 4096;
/// Time for the reply to a connection without a place.
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

    /// Serves a connection. What its protocol needs has a place of its own: a connection takes no room for others.
    async fn serve(self, stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
        let stream = Progressing::new(stream, shared.limits.reader_patience);
        if shared.tls.is_some() {
            Box::pin(self.encrypt(stream, peer, shared)).await;
        } else {
            Box::pin(self.speak(stream, peer, shared)).await;
        }
    }

    async fn encrypt(self, stream: Progressing<TcpStream>, peer: SocketAddr, shared: Arc<Shared>) {
        let Some(tls) = &shared.tls else { return };
        let handshake = tls.acceptor().accept(stream);
        if let Ok(Ok(stream)) = timeout(shared.limits.head_time, handshake).await {
            Box::pin(self.speak(stream, peer, shared)).await;
        }
    }

    async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        self,
        stream: S,
        peer: SocketAddr,
        shared: Arc<Shared>,
    ) {
        match self {
            Door::Http(routes) => {
                let head =
                    Head { time: shared.limits.head_time, stopping: shared.stopping.clone() };
                Box::pin(http::connection::serve(stream, routes, head)).await;
            }
            Door::Resp => Box::pin(resp::serve(stream, peer, shared)).await,
        }
    }
}

/// Listens on an address. Returns the listener and its address, with the port that was chosen.
pub(crate) fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = listen(address).map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    Ok((listener, local))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A server that starts again finds connections of the last one that wait for their end.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until the drain starts.
pub(crate) async fn accept(
    door: Door,
    listener: TcpListener,
    shared: Arc<Shared>,
    tasks: TaskTracker,
) {
    // A small server has descriptors for few.
    let refusals = REFUSALS_MAX.min(shared.limits.connections_max());
    let refusals = Arc::new(Semaphore::new(refusals));
    loop {
        let (stream, peer) = tokio::select! {
            () = shared.stopping.cancelled() => return,
            accepted = next(&listener) => accepted,
        };
        let Some(place) = shared.limits.connect() else {
            shared.metrics.connections_refused.add(1);
            if let Ok(permit) = refusals.clone().try_acquire_owned() {
                let reply = door.refusal();
                tasks.spawn(async move {
                    let _ = timeout(REFUSAL_TIME, refuse(stream, reply)).await;
                    drop(permit);
                });
            }
            continue;
        };
        shared.metrics.connections_accepted.add(1);
        // Replies are written whole: none should wait for more.
        let _ = stream.set_nodelay(true);
        let serving = door.clone().serve(stream, peer, shared.clone());
        let shared = shared.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = shared.cut.cancelled() => {}
            }
            drop(place);
        });
    }
}

/// Accepts a connection.
pub(crate) async fn next(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        // A peer that is gone already is its own affair; while descriptors are used up, each try fails at once, and a
        // connection has to end first.
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(_) => tokio::time::sleep(RETRY_DELAY).await,
        }
    }
}

/// Answers a connection without a place, and reads what its peer sent: closing it earlier would discard the reply.
async fn refuse(mut stream: TcpStream, reply: &[u8]) -> io::Result<()> {
    stream.write_all(reply).await?;
    stream.shutdown().await?;
    while stream.read(&mut [0; 1024]).await? > 0 {}
    Ok(())
}

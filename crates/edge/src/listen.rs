//! Acceptance of connections: each takes one of the places that both doors share, and runs as a task of its own.

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

/// Time after a failed try to accept a connection.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// The most connections without a place that are being refused in words; further ones are closed in silence.
const REFUSALS_MAX: usize = 64;
/// Connections that the system holds until the server accepts them. The peer of another one would try again only after
/// a second.
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
    /// Returns the reply to a connection that finds no place.
    fn refusal(&self) -> &'static [u8] {
        match self {
            Door::Http(_) => {
                b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
                  Content-Length: 0\r\n\r\n"
            }
            Door::Resp => b"-ERR max number of clients reached\r\n",
        }
    }

    /// Serves a connection. The future of each protocol is boxed: a connection reserves no memory for the others.
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
    // Connections of an earlier server may still be closing on this address.
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
    // A server with few places has few descriptors.
    let refusals = REFUSALS_MAX.min(shared.limits.connections_max());
    let refusals = Arc::new(Semaphore::new(refusals));
    loop {
        let (stream, peer) = tokio::select! {
            () = shared.stopping.cancelled() => return,
            accepted = accept_one(&listener) => accepted,
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
        // Replies are written whole, so none should wait for more bytes.
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

/// Accepts one connection, however often the system refuses.
pub(crate) async fn accept_one(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        // A peer may be gone already. While descriptors are used up each try fails at once, and another connection has
        // to end first.
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

//! A connection of HTTP/1.1, with bounds on the time and the size of a request's head.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

/// Bytes of the longest head.
const HEAD_BYTES_MAX: usize = 64 << 10;

const TOO_SLOW: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Bounds of a connection's time.
pub(crate) struct Head {
    /// Time for a request's head, and between requests.
    pub time: Duration,
    /// Cancelled when the drain starts.
    pub stopping: CancellationToken,
}

/// Serves requests until the connection ends. When the drain starts, the request under way is the last.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    routes: Router,
    Head { time, stopping }: Head,
) {
    let service = TowerToHyperService::new(routes);
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(time)
        .max_header_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection_ends = Pin::new(&mut connection);
    let ended = tokio::select! {
        // First: a reply after the drain has started says that it is the last.
        biased;
        () = stopping.cancelled() => {
            connection_ends.as_mut().graceful_shutdown();
            connection_ends.await
        }
        ended = connection_ends.as_mut() => ended,
    };
    let Err(error) = ended else { return };
    let parts = connection.into_parts();
    // A client that sent nothing since the last reply expects no other.
    if error.is_timeout() && !parts.read_buf.is_empty() {
        let mut stream = parts.io.into_inner();
        let _ = stream.write_all(TOO_SLOW).await;
        let _ = stream.shutdown().await;
    }
}

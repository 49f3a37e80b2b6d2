//! The door for Redis's protocol.

use crate::shared::Shared;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves a connection until it ends.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: SocketAddr,
    shared: Arc<Shared>,
) {
    let _ = (stream, peer, shared);
}

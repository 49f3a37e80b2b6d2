//! A door for the events of one keyspace, `GET /events`: for a program that is no server otherwise.

use crate::http::{self, connection::Head};
use crate::listen;
use crate::origin::Allowed;
use crate::watchers::Watchers;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use terrane::Keyspace;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections at once; others wait for a place.
const CONNECTIONS_MAX: usize = 128;
/// Time for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// Serves the events of a keyspace on a thread. Returns the address and the thread, which runs until the process ends.
///
/// # Errors
/// An address that cannot be listened on, or a thread that the system refuses.
pub fn serve_events(
    listen: SocketAddr,
    allowed: Allowed,
    watchers: Arc<Watchers>,
    keyspace: Keyspace,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let routes = http::events_routes(allowed, watchers, keyspace);
    let thread = thread::Builder::new().name("terrane-events".into()).spawn(move || {
        runtime.block_on(async move {
            let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
            while let Ok(place) = places.clone().acquire_owned().await {
                let (stream, _) = listen::accept_one(&listener).await;
                let head = Head { time: HEAD_TIME, stopping: CancellationToken::new() };
                let serving = http::connection::serve(stream, routes.clone(), head);
                tokio::spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
        });
    })?;
    Ok((address, thread))
}

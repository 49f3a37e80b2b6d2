//! HTTP/1.1 on one thread: `GET /events` is an event stream.
//!
//! 1. A page of another origin reads it only if that origin is allowed.
//! 2. A name that is not this machine's is refused: otherwise a page could have its own name lead here.

use super::watchers::Watchers;
use crate::exit::Failure;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, VARY,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::mpsc::Receiver;
use tokio::time::sleep;

/// Any port of this machine, among the origins that are allowed.
pub const LOCALHOST: &str = "localhost";

/// Between two tries to accept a connection, when one has failed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Starts serving on a thread. Returns the address and the thread, which runs until the process ends.
pub fn serve(
    listen: SocketAddr,
    origins: Vec<String>,
    watchers: Arc<Watchers>,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let site = Arc::new(Site { origins, watchers });
    let thread = thread::Builder::new().name("terrane-events".into()).spawn(move || {
        if let Err(e) = runtime.block_on(accept(listener, site)) {
            Failure::io("accept connections", &e).print();
        }
    })?;
    Ok((address, thread))
}

async fn accept(listener: TcpListener, site: Arc<Site>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        // A peer that is gone already is its own affair; while descriptors are used up, each try fails at
        // once, and a connection has to end first.
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let service = service_fn(|request| ready(Ok::<_, Infallible>(site.reply(&request))));
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Events served, and the pages that may read them.
struct Site {
    origins: Vec<String>,
    watchers: Arc<Watchers>,
}

impl Site {
    fn reply(&self, request: &Request<Incoming>) -> Response<Messages> {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        if !header(HOST).is_some_and(is_this_machine) {
            return refusal(StatusCode::FORBIDDEN, "expected the name localhost, or an address");
        }
        let origin = header(ORIGIN);
        if let Some(origin) = origin.filter(|origin| !self.allows(origin)) {
            let sentence = format!("pages of {origin} may not read this: see --allow-origin");
            return refusal(StatusCode::FORBIDDEN, &sentence);
        }
        let mut reply = match (request.method(), request.uri().path()) {
            (&Method::GET, "/events") => match self.watchers.watch() {
                Ok((first, rest)) => {
                    Response::new(Messages { first: Some(first), rest: Some(rest) })
                }
                Err(error) => refusal(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
            },
            (&Method::GET, _) => refusal(StatusCode::NOT_FOUND, "the events are at /events"),
            _ => refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET"),
        };
        let headers = reply.headers_mut();
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(origin).ok()) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        reply
    }

    fn allows(&self, origin: &str) -> bool {
        let local = || {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some_and(|host| is_localhost(name_in(host)))
        };
        self.origins.iter().any(|one| one == origin || (one == LOCALHOST && local()))
    }
}

/// An origin as browsers write it, or `localhost`; another text would never match.
pub fn origin(text: &str) -> Result<String, String> {
    let host = text.split_once("://").map(|(_, host)| host);
    let names_host = host.is_some_and(|host| !host.is_empty() && !host.contains('/'));
    match names_host || [LOCALHOST, "null"].contains(&text) {
        true => Ok(text.to_owned()),
        false => Err("expected localhost, or an origin without a path; for example: \
                      http://localhost:8080"
            .to_owned()),
    }
}

/// Whether a host is an address, or the name that every machine has for itself.
fn is_this_machine(host: &str) -> bool {
    let name = name_in(host);
    is_localhost(name) || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

/// Whether a name is `localhost`, or below that.
fn is_localhost(name: &str) -> bool {
    name.strip_suffix(LOCALHOST).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// A host without its port.
fn name_in(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn refusal(status: StatusCode, sentence: &str) -> Response<Messages> {
    let first = Some(Bytes::from(format!("{sentence}\n")));
    let mut reply = Response::new(Messages { first, rest: None });
    *reply.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, plain);
    reply
}

/// A body: what there is, and what comes.
struct Messages {
    first: Option<Bytes>,
    rest: Option<Receiver<Bytes>>,
}

impl Body for Messages {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        match &mut self.rest {
            None => Poll::Ready(None),
            Some(rest) => {
                rest.poll_recv(context).map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_are_addresses_and_localhost() {
        for host in ["localhost", "localhost:4540", "127.0.0.1:4540", "[::1]:4540", "a.localhost"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["example.org", "example.org:4540", "localhost.example.org", "notlocalhost", ""]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}

//! The server that a replica follows.

use super::Ended;
use crate::Error;
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use std::fmt;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest wait for a connection, and for the head of a reply.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// A server that a replica follows.
#[derive(Clone, Debug)]
pub struct Source {
    /// Host and port.
    authority: String,
    token: Option<String>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

impl Source {
    /// Parses an address such as `http://10.0.0.7:4540`, with the token for requests to it.
    ///
    /// # Errors
    /// A malformed address, or one of another scheme.
    pub fn parse(url: &str, token: Option<String>) -> Result<Self, Error> {
        let malformed = || Error::Malformed {
            place: "--follow".to_owned(),
            sentence: format!(
                "expected the address of a server over HTTP, found {url}; for example \
                 http://10.0.0.7:4540"
            ),
        };
        let authority = url.strip_prefix("http://").ok_or_else(malformed)?;
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let parsed: hyper::http::uri::Authority = authority.parse().map_err(|_| malformed())?;
        if parsed.port().is_none() || authority.contains('@') {
            return Err(malformed());
        }
        Ok(Source { authority: authority.to_owned(), token })
    }

    /// Sends a request. Returns the body of a reply with status 200, or else its status.
    pub(super) async fn get(&self, target: &str) -> Result<Result<Incoming, u16>, Ended> {
        let failed = |e: &dyn fmt::Display| Ended::Source(format!("{self}: {e}"));
        let reply = timeout(HEAD_TIME, async {
            let stream = TcpStream::connect(&self.authority).await.map_err(|e| failed(&e))?;
            let (mut sender, connection) =
                http1::handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
            tokio::spawn(connection);
            let mut request = Request::get(target).header(header::HOST, &self.authority);
            if let Some(token) = &self.token {
                request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
            }
            let request = request.body(Empty::<Bytes>::new()).map_err(|e| failed(&e))?;
            sender.send_request(request).await.map_err(|e| failed(&e))
        });
        let reply = reply.await.map_err(|_| failed(&"no answer within 10 seconds"))??;
        Ok(match reply.status().as_u16() {
            200 => Ok(reply.into_body()),
            status => Err(status),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_an_address_over_http() {
        for url in ["http://10.0.0.7:4540", "http://db.local:80/", "http://[::1]:4540"] {
            let source = Source::parse(url, None).unwrap();
            assert_eq!(source.to_string(), url.trim_end_matches('/'));
        }
        for url in ["", "db:4540", "https://db:4540", "http://db", "http://a@db:1", "http://db:1/x"]
        {
            let refused = Source::parse(url, None).unwrap_err().to_string();
            assert!(refused.contains("for example"), "{url}: {refused}");
        }
    }
}

//! The server that a replica follows.

use super::Ended;
use crate::{Error, tls};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Longest wait for a connection, and for the head of a reply.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// A server that a replica follows.
#[derive(Clone, Debug)]
pub struct Source {
    /// Host and port.
    authority: String,
    token: Option<String>,
    /// The name in the server's certificate, and the roots that are trusted, if connections are encrypted.
    tls: Option<(ServerName<'static>, Arc<ClientConfig>)>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.tls.is_some() { "s" } else { "" };
        write!(f, "http{s}://{}", self.authority)
    }
}

impl Source {
    /// Parses an address such as `http://10.0.0.7:4540` or `https://db.example.com:4540`, with the token for requests
    /// to it. Certificates must be signed by one in the file `ca`, in PEM, or else by one that the system trusts.
    ///
    /// # Errors
    /// A malformed address, or one of another scheme; a file that cannot be read or is malformed.
    pub fn parse(url: &str, token: Option<String>, ca: Option<&Path>) -> Result<Self, Error> {
        let malformed = || {
            // A user's name, a password or a query may be secret.
            let is_plain = !url.contains(['@', '?', '#']);
            let found = if is_plain { url } else { "one with a user, a query or a fragment" };
            let example = "http://10.0.0.7:4540 or https://db.example.com:4540";
            let expected = "the address of a server over HTTP";
            refusal(
                "--follow",
                format!("expected {expected}, found {found}; for example {example}"),
            )
        };
        let encrypted = url.strip_prefix("https://");
        let authority = encrypted.or_else(|| url.strip_prefix("http://")).ok_or_else(malformed)?;
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let parsed: hyper::http::uri::Authority = authority.parse().map_err(|_| malformed())?;
        if parsed.port().is_none() || authority.contains('@') {
            return Err(malformed());
        }
        if encrypted.is_none() && ca.is_some() {
            let sentence = format!("expected an address that starts with https, found {url}");
            return Err(refusal("--follow-ca", sentence));
        }
        let host = parsed.host().trim_matches(['[', ']']).to_owned();
        let tls = encrypted.map(|_| {
            let name = ServerName::try_from(host).map_err(|_| malformed())?;
            Ok::<_, Error>((name, trusting(ca)?))
        });
        Ok(Source { authority: authority.to_owned(), token, tls: tls.transpose()? })
    }

    /// Sends a request. Returns the body of a reply with status 200, or else its status.
    pub(super) async fn get(&self, target: &str) -> Result<Result<Incoming, u16>, Ended> {
        let reply = timeout(HEAD_TIME, async {
            let stream = TcpStream::connect(&self.authority).await.map_err(|e| self.failed(&e))?;
            let Some((name, config)) = &self.tls else { return self.send(stream, target).await };
            let connector = TlsConnector::from(config.clone());
            let stream = connector.connect(name.clone(), stream).await;
            self.send(stream.map_err(|e| self.failed(&e))?, target).await
        });
        let reply = reply.await.map_err(|_| self.failed(&"no answer within 10 seconds"))??;
        Ok(match reply.status().as_u16() {
            200 => Ok(reply.into_body()),
            status => Err(status),
        })
    }

    /// Sends a request over a connection, and waits for the head of the reply.
    async fn send(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        target: &str,
    ) -> Result<Response<Incoming>, Ended> {
        let connected = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = connected.map_err(|e| self.failed(&e))?;
        tokio::spawn(connection);
        let mut request = Request::get(target).header(header::HOST, &self.authority);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|e| self.failed(&e))?;
        sender.send_request(request).await.map_err(|e| self.failed(&e))
    }

    fn failed(&self, why: &dyn fmt::Display) -> Ended {
        Ended::Source(format!("{self}: {why}"))
    }
}

/// Returns a configuration that trusts the certificates in a file or, without one, those of the system.
fn trusting(ca: Option<&Path>) -> Result<Arc<ClientConfig>, Error> {
    let mut roots = RootCertStore::empty();
    let (place, trusted) = match ca {
        Some(file) => (file.display().to_string(), tls::certificates(file)?),
        // Certificates that cannot be read are left out.
        None => ("--follow".to_owned(), rustls_native_certs::load_native_certs().certs),
    };
    let (added, _) = roots.add_parsable_certificates(trusted);
    if added == 0 {
        let sentence =
            "expected certificates to trust, found none; --follow-ca names a file of them";
        return Err(refusal(&place, sentence.to_owned()));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| refusal(&place, e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn refusal(place: &str, sentence: String) -> Error {
    Error::Malformed { place: place.to_owned(), sentence }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_an_address_over_http() {
        for url in ["http://10.0.0.7:4540", "http://db.local:80/", "http://[::1]:4540"] {
            let source = Source::parse(url, None, None).unwrap();
            assert_eq!(source.to_string(), url.trim_end_matches('/'));
        }
        let malformed = [
            "",
            "db:4540",
            "ftp://db:4540",
            "http://db",
            "https://db",
            "http://a@db:1",
            "http://db:1/x",
        ];
        for url in malformed {
            let refused = Source::parse(url, None, None).unwrap_err().to_string();
            assert!(refused.contains("for example"), "{url}: {refused}");
        }
        for url in ["http://a:secret@db:1", "http://db:1?token=secret"] {
            let refused = Source::parse(url, None, None).unwrap_err().to_string();
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_file_of_trusted_certificates_is_checked_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ca.pem");
        let parse = |url| Source::parse(url, None, Some(&file)).unwrap_err().to_string();
        assert!(parse("https://db:1").contains("ca.pem"));
        std::fs::write(&file, "malformed").unwrap();
        assert!(parse("https://db:1").contains("found none"));
        assert!(parse("http://db:1").contains("starts with https"));
    }
}

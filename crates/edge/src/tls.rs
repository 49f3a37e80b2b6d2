//! TLS: a certificate and its key, read again at SIGHUP. Connections keep what they started with.

use crate::Error;
use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Files of a certificate.
#[derive(Clone, Debug)]
pub struct Files {
    /// Path of the certificate and of those up to its root, in PEM.
    pub certificate: PathBuf,
    /// Path of the private key, in PEM.
    pub key: PathBuf,
}

/// The certificate of new connections.
pub(crate) struct Tls {
    files: Files,
    config: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Reads the files.
    pub fn open(files: Files) -> Result<Self, Error> {
        let config = ArcSwap::new(read(&files)?);
        Ok(Tls { files, config })
    }

    /// Reads the files again. Malformed files change nothing.
    pub fn reload(&self) -> Result<(), Error> {
        self.config.store(read(&self.files)?);
        Ok(())
    }

    /// Returns an acceptor of handshakes with the present certificate.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.load_full())
    }
}

fn read(files: &Files) -> Result<Arc<ServerConfig>, Error> {
    let Files { certificate, key } = files;
    let chain = certificates(certificate)?;
    let secret =
        PrivateKeyDer::from_pem_file(key).map_err(|e| failed(key, "a private key in PEM", e))?;
    let malformed = |e: rustls::Error| Error::Malformed {
        place: certificate.display().to_string(),
        sentence: format!("expected a certificate of the key {}, found: {e}", key.display()),
    };
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(malformed)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(malformed)?;
    Ok(Arc::new(config))
}

/// Reads certificates in PEM.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| failed(file, "certificates in PEM", e))
}

fn failed(file: &Path, expected: &str, error: pem::Error) -> Error {
    match error {
        pem::Error::Io(source) => Error::File { file: file.to_owned(), source },
        error => Error::Malformed {
            place: file.display().to_string(),
            sentence: format!("expected {expected}, found: {error}"),
        },
    }
}

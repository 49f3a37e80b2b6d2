//! TLS: the certificate, and another one after a reload.

use crate::client::Client;
use crate::served::Served;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use terrane_edge::tls::Files;

/// Writes a new certificate and its key, and returns it.
fn certify(dir: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(dir.join("cert.pem"), cert.pem()).unwrap();
    fs::write(dir.join("key.pem"), signing_key.serialize_pem()).unwrap();
    cert.der().clone()
}

/// Connects, and trusts this certificate alone.
fn connect(address: SocketAddr, trusted: CertificateDer<'static>) -> Client {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    Client::on(StreamOwned::new(connection, TcpStream::connect(address).unwrap()))
}

fn files(dir: &Path) -> Option<Files> {
    Some(Files { certificate: dir.join("cert.pem"), key: dir.join("key.pem") })
}

#[test]
fn clients_connect_while_certificates_change() {
    let dir = tempfile::tempdir().unwrap();
    let latest = Mutex::new(certify(dir.path()));
    let served = Served::with(|config| config.tls = files(dir.path()));
    let (connected, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // The first request makes the handshake, during which no certificate may change.
                let trusted = latest.lock().unwrap();
                let mut open = connect(served.http, trusted.clone());
                assert_eq!(open.request("PUT /v1/default/keys/a", "", b"1").status, 204);
                drop(trusted);
                while !is_over.load(Ordering::Relaxed) {
                    let trusted = latest.lock().unwrap();
                    let mut client = connect(served.http, trusted.clone());
                    assert_eq!(client.request("PUT /v1/default/keys/a", "", b"1").status, 204);
                    drop(trusted);
                    assert_eq!(open.request("GET /v1/default/keys/a", "", b"").text(), "1");
                    connected.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..10 {
            while connected.load(Ordering::Relaxed) < 4 * round {
                thread::yield_now();
            }
            let mut latest = latest.lock().unwrap();
            *latest = certify(dir.path());
            served.reload().unwrap();
            drop(latest);
            fs::write(dir.path().join("key.pem"), "garbage").unwrap();
            served.reload().unwrap_err();
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_reload_shows_another_certificate_to_new_connections() {
    let dir = tempfile::tempdir().unwrap();
    let first = certify(dir.path());
    let served = Served::with(|config| config.tls = files(dir.path()));
    let mut before = connect(served.http, first);
    assert_eq!(before.request("PUT /v1/default/keys/a", "", b"1").status, 204);
    let second = certify(dir.path());
    served.reload().unwrap();
    let mut after = connect(served.http, second.clone());
    assert_eq!(after.request("GET /v1/default/keys/a", "", b"").text(), "1");
    assert_eq!(before.request("GET /v1/default/keys/a", "", b"").text(), "1");
    fs::write(dir.path().join("cert.pem"), "malformed").unwrap();
    let sentence = served.reload().unwrap_err().to_string();
    assert!(sentence.contains("cert.pem"), "{sentence}");
    let mut still = connect(served.http, second);
    assert_eq!(still.request("GET /v1/default/keys/a", "", b"").status, 200);
}

#[test]
fn a_client_that_does_not_speak_tls_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    certify(dir.path());
    let served = Served::with(|config| {
        config.tls = files(dir.path());
        config.head_time = std::time::Duration::from_millis(50);
    });
    let mut plain = served.connect();
    plain.send("GET / HTTP/1.1\r\n\r\n");
    assert!(!plain.rest().starts_with(b"HTTP"));
    // A handshake that does not arrive ends the connection.
    assert_eq!(served.connect().rest(), b"");
}

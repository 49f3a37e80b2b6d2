//! A replica of a source that speaks TLS, and what it trusts.

use crate::follow::{assert_equal, write};
use crate::served::Served;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use terrane::{Db, Options};
use terrane_edge::follow::Source;
use terrane_edge::tls::Files;

/// Writes a new certificate and its key under a name.
fn certify(dir: &Path, name: &str) -> Files {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let files = Files {
        certificate: dir.join(format!("{name}.pem")),
        key: dir.join(format!("{name}.key")),
    };
    fs::write(&files.certificate, cert.pem()).unwrap();
    fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    files
}

/// Starts a replica of a server that trusts this certificate.
fn replica(url: &str, trusted: &Path) -> Served {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let db = Db::open(dir.path().join("db"), Options::small()).unwrap();
    Served::of(dir, db, |config| {
        config.follow = Some(Source::parse(url, None, Some(trusted)).unwrap());
        config.max_lag = Duration::MAX;
    })
}

#[test]
fn a_replica_follows_over_tls_whom_it_trusts_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (own, other) = (certify(dir.path(), "own"), certify(dir.path(), "other"));
    let source = Served::with(|config| config.tls = Some(own.clone()));
    (0..20).for_each(|n| write(&source, n));
    let url = format!("https://{}", source.http);
    let trusting = replica(&url, &own.certificate);
    let last = source.shared.db.inner().latest_sequence();
    let rows = "GET /v1/default/range";
    let least = format!("Terrane-Min-Sequence: {last}\r\n");
    while trusting.request(rows, &least, "").status != 200 {}
    let entries = |served: &Served| {
        let db = served.shared.db.inner();
        let rows = db.default_keyspace().scan(..).unwrap();
        rows.map(|row| row.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(entries(&trusting), entries(&source));
    let refusing = replica(&url, &other.certificate);
    let why = loop {
        let reply = refusing.get("/health/ready");
        if reply.text().contains("last:") {
            break reply.text().to_owned();
        }
    };
    assert!(why.contains("certificate"), "{why}");
}

#[test]
fn a_replica_reports_its_lag_once_it_has_caught_up() {
    let source = crate::follow::source(1 << 20);
    (0..10).for_each(|n| write(&source, n));
    let replica = crate::follow::replica(&source);
    assert_equal(&source, &replica);
    while replica.get("/health/ready").status != 200 {}
    let metrics = replica.get("/metrics").text().to_owned();
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name} ")));
        line.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
    };
    let last = source.shared.db.inner().latest_sequence() as f64;
    assert_eq!(value("terrane_replica_caught_up"), Some(1.0));
    assert_eq!(value("terrane_replica_sequence"), Some(last));
    assert!(value("terrane_replica_lag_seconds").is_some_and(|lag| lag >= 0.0));
    assert!(!source.get("/metrics").text().contains("terrane_replica"));
}

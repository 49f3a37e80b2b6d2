//! Errors, matched by kind: what a program can do something about, and what it reports.
//! `cargo run --example errors`.

use std::path::Path;
use terrane::{Db, Durability, Error, ErrorKind, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let place = dir.path().join("store");

    // An existing store is expected.
    let missing = open(&place, Options::default().create(false));
    assert_eq!(missing.err().as_deref(), Some("create it first"));

    // One process at a time: the holder is named.
    let db = Db::open(&place, Options::default())?;
    let busy = open(&place, Options::default());
    assert!(busy.err().is_some_and(|advice| advice.starts_with("close it in ")));

    // A bad argument says what was expected and what was found.
    let refused = db.default_keyspace().put(vec![0; 1 << 17], "value", Durability::Buffered);
    if let Err(ErrorKind::InvalidArgument(invalid)) = refused.map_err(Error::into_kind) {
        println!("{}: expected {}, found {}", invalid.what, invalid.expected, invalid.found);
    }
    db.close()?;
    Ok(())
}

/// Opens a store, or returns advice.
fn open(place: &Path, options: Options) -> Result<Db, String> {
    Db::open(place, options).map_err(|error| match error.kind() {
        ErrorKind::NoStore(_) => "create it first".to_owned(),
        ErrorKind::Busy(busy) => format!("close it in {}", busy.holder),
        ErrorKind::NoSpace(_) => "free some space; nothing was lost".to_owned(),
        ErrorKind::Corrupt(damage) => format!("restore a backup, or repair it: {damage}"),
        ErrorKind::NewerFormat(_) => "install the release that wrote it".to_owned(),
        _ => error.to_string(),
    })
}
